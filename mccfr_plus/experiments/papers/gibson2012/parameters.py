"""Figures 1a and 1b: exploitability after as many histories, for values of epsilon and of tau."""

from collections.abc import Sequence

import numpy as np

from mccfr_plus.display import mean_band
from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.gibson2012.games import MBB, MILLI_BIG_BLINDS, length_of, stack_of, title
from mccfr_plus.experiments.papers.item import INTERVALS, Result, Row, Setting, record_figure
from mccfr_plus.experiments.papers.judging import AHEAD, Mean, mean_of, order
from mccfr_plus.experiments.plot import Line, plot_parameter

EPSILONS = (0.001, 0.01, 0.05, 0.1, 0.3, 1.0)
TAUS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
TEXT = "average_strategy(epsilon={epsilon},tau={tau},beta={beta:g})"
CHOSEN = {"epsilon": 0.05, "tau": 1000.0}  # the paper's
BETAS = {"epsilon": (1e3, 1e5, 1e6), "tau": (1e3, 1e6)}  # for runs as short as these, and the paper's
SIZE = {"small": ("nl_holdem_buckets(stack=8)", 3e7, 5), "paper": ("nl_holdem_buckets(stack=12)", 1e9, 5)}


def epsilon(setting: Setting, name: str) -> Result:
    """Returns figure 1a."""
    note = (
        "With epsilon = 1 every action is visited: external sampling. The paper takes epsilon = 0.05 from its figure."
    )
    return _parameter_figure(setting, name, "epsilon", EPSILONS, note)


def tau(setting: Setting, name: str) -> Result:
    """Returns figure 1b."""
    note = (
        "Actions that are played with a probability of at least 1 / tau are visited surely. The paper takes tau = 1000 "
        "from its figure."
    )
    return _parameter_figure(setting, name, "tau", TAUS, note)


def _parameter_figure(setting: Setting, name: str, parameter: str, values: tuple[float, ...], note: str) -> Result:
    game, nodes, seeds = SIZE[setting.scale]
    algorithms = tuple(text_of(parameter, value, beta) for beta in BETAS[parameter] for value in values)
    # Only the ends count: one measuring point.
    comparison = Comparison((game,), algorithms, tuple(range(1, seeds + 1)), Limit("nodes", nodes), 1)
    curves, pictures = record_figure(setting, name, {"runs": comparison})
    ends = ends_of(curves)
    lines = [
        Line(f"beta = {beta:g}", values, [ends[text_of(parameter, value, beta)] for value in values])
        for beta in BETAS[parameter]
    ]
    plot_parameter(
        lines,
        pictures,
        title=f"{title(game)} after {nodes:.0e} histories",
        xlabel=f"{parameter} of average strategy sampling",
        ylabel=MBB,
        band=mean_band,
    )
    notes = [
        note,
        "The paper's figure is a picture without values, of 2-NL Hold'em(30) after 1e12 histories; what the best value "
        f"is depends on both. {length_of(stack_of(game), nodes)} {seeds} seeds.",
        INTERVALS,
    ]
    return Result(rows(curves, parameter), notes, pictures)


def text_of(parameter: str, value: float, beta: float) -> str:
    return TEXT.format(**{**CHOSEN, parameter: value}, beta=beta)


def ends_of(curves: Sequence[Curve]) -> dict[str, np.ndarray]:
    """Returns ``[seeds]`` exploitability at the end in mbb/g, by algorithm."""
    return {curve.algorithm: MILLI_BIG_BLINDS * curve.y("exploitability")[:, -1] for curve in curves}


VALUES = {"epsilon": EPSILONS, "tau": TAUS}


def rows(curves: Sequence[Curve], parameter: str) -> list[Row]:
    """Returns the end for each value of a parameter, and the best of them."""
    ends, found = ends_of(curves), []
    for beta in BETAS[parameter]:
        means = {value: mean_of(ends[text_of(parameter, value, beta)]) for value in VALUES[parameter]}
        found += [Row(f"beta {beta:g}, {parameter} {value:g}", "-", str(mean), "-") for value, mean in means.items()]
        found.append(_choice(f"beta {beta:g}: best {parameter}", CHOSEN[parameter], means))
    return found


def _choice(what: str, chosen: float, means: dict[float, Mean]) -> Row:
    """Returns the value with the lowest mean, and whether the paper's can be told apart from it."""
    best = min(means, key=lambda value: means[value].mean)
    ratio = means[chosen].mean / means[best].mean
    others = [f"{value:g}" for value in means if value != best and order(means[best], means[value]) != AHEAD]
    verdict = f"not told apart from {', '.join(others)}" if others else "ahead of all others"
    return Row(what, f"{chosen:g}", f"{best:g}; the paper's has {ratio:.2f} times its exploitability", verdict)
