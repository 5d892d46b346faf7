"""Figures 1a and 1b: exploitability after as many histories, for values of epsilon and of tau."""

from __future__ import annotations

import numpy as np

from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.figure import run_figure
from mccfr_plus.experiments.papers.gibson2012.algorithms import EXPLOITABILITY
from mccfr_plus.experiments.papers.item import Result, Row, Setting
from mccfr_plus.experiments.parameter_plot import Line, plot_parameter

EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.05, 0.1, 0.3, 1.0)
TAUS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
BETAS = (1e3, 1e6)  # for runs as short as these, and the paper's
SIZE = {"small": ("nl_holdem_buckets(stack=8)", 1e8, 5), "paper": ("nl_holdem_buckets(stack=20)", 1e10, 5)}


def epsilon(setting: Setting) -> Result:
    """Returns figure 1a."""
    texts = {
        beta: {value: f"average_strategy(epsilon={value},tau=1000.0,beta={beta:g})" for value in EPSILONS}
        for beta in BETAS
    }
    note = (
        "With epsilon = 1 every action is visited: external sampling. The paper takes epsilon = 0.05 from its figure."
    )
    return _figure(setting, "figure1a", "epsilon", 0.05, texts, note)


def tau(setting: Setting) -> Result:
    """Returns figure 1b."""
    texts = {
        beta: {value: f"average_strategy(epsilon=0.05,tau={value},beta={beta:g})" for value in TAUS} for beta in BETAS
    }
    note = (
        "Actions that are played with a probability of at least 1 / tau are visited surely. The paper takes tau = 1000 "
        "from its figure."
    )
    return _figure(setting, "figure1b", "tau", 1e3, texts, note)


def _figure(
    setting: Setting, name: str, parameter: str, chosen: float, texts: dict[float, dict[float, str]], note: str
) -> Result:
    game, nodes, seeds = SIZE[setting.scale]
    algorithms = tuple(text for values in texts.values() for text in values.values())
    # Only the ends count: one measuring point.
    comparison = Comparison((game,), algorithms, tuple(range(1, seeds + 1)), Limit("nodes", nodes), 1)
    ends = {
        curve.algorithm: curve.y("exploitability")[:, -1] for curve in run_figure(setting, name, {"runs": comparison})
    }
    lines, rows = [], []
    for beta, values in texts.items():
        found = [ends[text] for text in values.values()]
        lines.append(Line(f"beta = {beta:g}", tuple(values), found))
        rows += [
            Row(
                f"beta {beta:g}, {parameter} {value:g}",
                "-",
                f"{end.mean():.4g} ({end.min():.4g} .. {end.max():.4g})",
                "-",
            )
            for value, end in zip(values, found, strict=True)
        ]
        rows.append(
            _choice(f"beta {beta:g}: best {parameter}, and how much worse the paper's is", chosen, ends, values)
        )
    pictures = [setting.folder / f"{name}.{ending}" for ending in ("png", "svg")]
    plot_parameter(
        lines,
        pictures,
        title=f"{game} after {nodes:.0e} histories",
        xlabel=f"{parameter} of average strategy sampling",
        ylabel=EXPLOITABILITY,
    )
    notes = [
        note,
        "The paper's figure is a picture without values, of 2-NL Hold'em with larger stacks and of longer runs; what "
        "the best value is depends on both. Ranges in brackets are those of the seeds.",
    ]
    return Result(rows, notes, pictures)


def _choice(what: str, chosen: float, ends: dict[str, np.ndarray], values: dict[float, str]) -> Row:
    """Returns the value with the lowest mean, and whether the paper's can be told apart from it."""
    found = {value: ends[text] for value, text in values.items()}
    best = min(found, key=lambda value: float(found[value].mean()))
    ratio = float(found[chosen].mean() / found[best].mean())
    if chosen == best:
        rivals = [value for value in found if value != best and found[value].min() <= found[best].max()]
        verdict = f"agrees, but {len(rivals)} others are within the ranges of the seeds" if rivals else "agrees"
    else:
        is_clear = found[chosen].min() > found[best].max()
        verdict = "differs" if is_clear else "not told apart by these seeds"
    return Row(what, f"{chosen:g}", f"{best:g}, {ratio:.2f} times", verdict)
