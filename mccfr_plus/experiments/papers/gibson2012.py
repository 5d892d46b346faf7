"""Gibson, Burch, Lanctot, Szafron 2012, "Efficient Monte Carlo CFR in games with many player actions"."""

from __future__ import annotations

import math

import numpy as np

from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.item import Item, Paper, Result, Row, Setting, run_figure
from mccfr_plus.experiments.plot import Line, plot_curves, plot_parameter

AVERAGE_STRATEGY = "average_strategy(epsilon=0.05,tau=1000.0,beta=1e6)"
# beta makes every action likely to be visited until sums of the average strategy are of its size. The paper's runs are
# of 1e12 histories; those here are thousands of times shorter, and so are their sums.
SHORT_RUNS = "average_strategy(epsilon=0.05,tau=100.0,beta=1e3)"
ALGORITHMS = ("chance", "external", "outcome", AVERAGE_STRATEGY, SHORT_RUNS)
LABELS = {
    "chance": "chance sampling",
    "external": "external sampling",
    "outcome": "outcome sampling",
    AVERAGE_STRATEGY: "average strategy sampling (tau 1000, beta 1e6)",
    SHORT_RUNS: "average strategy sampling (tau 100, beta 1e3)",
}
EXPLOITABILITY = "exploitability ((b1 + b2) / 2, game's payoffs)"

NO_VALUES = (
    "The paper's curves are pictures without values. Judged is what its abstract says: average strategy sampling "
    "converges faster than the other Monte Carlo variants, in no-limit poker and in Bluff. Faster is here: a lower "
    "mean after as many histories; clearly, if the bands over seeds do not overlap."
)
OTHER_BETA = (
    "The paper's tau and beta are for runs of about 1e12 histories. After the far fewer here, beta = 1e6 is larger "
    "than the sums that it is added to, so that nearly all actions are visited as with external sampling: therefore "
    "a second line has a smaller beta and tau."
)


def verdict_rows(what: str, curves: dict[str, Curve]) -> list[Row]:
    """Returns where each algorithm ended, and whether average strategy sampling ended below all others.

    Args:
        what: Begins each row.
        curves: By algorithm.
    """
    ends = {name: curve.end() for name, curve in curves.items()}
    rows = [Row(f"{what}: {LABELS[name]}", "-", str(end), "-") for name, end in ends.items()]
    others = [end for name, end in ends.items() if not name.startswith("average_strategy")]
    for name in (AVERAGE_STRATEGY, SHORT_RUNS):
        if name in ends and others:
            best, end = min(others), ends[name]
            ratio = best.mean / end.mean if end.mean > 0 else math.inf
            if end.high < best.low:
                verdict = "agrees, clearly"
            elif end.low > best.high:
                verdict = "differs, clearly"
            else:
                verdict = f"{'agrees' if ratio > 1 else 'differs'}, bands overlap"
            rows.append(Row(f"{what}: best of the others / {LABELS[name]}", "above 1", f"{ratio:.2f}", verdict))
    return rows


# --- figures 1a and 1b: exploitability after as many histories, for values of epsilon and of tau ---

EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.05, 0.1, 0.3, 1.0)
TAUS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
TEXT = "average_strategy(epsilon={epsilon},tau={tau},beta={beta:g})"
CHOSEN = {"epsilon": 0.05, "tau": 1000.0}  # the paper's
BETAS = (1e3, 1e6)  # for runs as short as these, and the paper's
SIZE = {"small": ("nl_holdem_buckets(stack=8)", 1e8, 5), "paper": ("nl_holdem_buckets(stack=20)", 1e10, 5)}


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
    texts = {
        beta: {value: TEXT.format(**{**CHOSEN, parameter: value}, beta=beta) for value in values} for beta in BETAS
    }
    algorithms = tuple(text for texts_of_beta in texts.values() for text in texts_of_beta.values())
    # Only the ends count: one measuring point.
    comparison = Comparison((game,), algorithms, tuple(range(1, seeds + 1)), Limit("nodes", nodes), 1)
    curves, pictures = run_figure(setting, name, {"runs": comparison})
    ends = {curve.algorithm: curve.y("exploitability")[:, -1] for curve in curves}
    lines, rows = [], []
    for beta, of_values in texts.items():
        lines.append(Line(f"beta = {beta:g}", values, [ends[text] for text in of_values.values()]))
        for value, text in of_values.items():
            end = ends[text]
            here = f"{end.mean():.4g} ({end.min():.4g} .. {end.max():.4g})"
            rows.append(Row(f"beta {beta:g}, {parameter} {value:g}", "-", here, "-"))
        what = f"beta {beta:g}: best {parameter}, and how much worse the paper's is"
        rows.append(_choice(what, CHOSEN[parameter], ends, of_values))
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


# --- figures 2a, 3a and 3b: exploitability against histories touched ---

_SAME_SIZE = "The game has the paper's size."
_SMALLER = (
    "The paper's stacks go up to 36 chips: 5e9 histories, whose tree does not fit into the memory of a common machine. "
    "Here they are smaller, and the buckets of cards are ours (`docs/background/games.md`)."
)
# Game, histories touched per run, seeds, note.
CURVES = {
    ("figure2a", "small"): ("nl_holdem_buckets(stack=10)", 2e8, 3, _SMALLER),
    ("figure2a", "paper"): ("nl_holdem_buckets(stack=20)", 1e10, 5, _SMALLER),
    ("figure3a", "small"): ("bluff(dice1=1,dice2=1)", 2e8, 3, _SAME_SIZE),
    ("figure3a", "paper"): ("bluff(dice1=1,dice2=1)", 1e10, 5, _SAME_SIZE),
    ("figure3b", "small"): ("bluff(dice1=2,dice2=1,faces=4)", 2e8, 3, "Dice of four faces, the paper's have six."),
    ("figure3b", "paper"): ("bluff", 1e10, 5, _SAME_SIZE),
}


def curve_figure(setting: Setting, name: str) -> Result:
    """Returns figure 2a, 3a or 3b."""
    game, nodes, seeds, note = CURVES[name, setting.scale]
    comparison = Comparison((game,), ALGORITHMS, tuple(range(1, seeds + 1)), Limit("nodes", nodes))
    curves, pictures = run_figure(setting, name, {"runs": comparison})
    source = "Exploitability is (b1 + b2) / 2, as in the paper."
    plot_curves(curves, pictures, algorithms=ALGORITHMS, labels=LABELS, source=source)
    rows = verdict_rows(f"{game} after {nodes:.0e} histories", {curve.algorithm: curve for curve in curves})
    return Result(rows, [NO_VALUES, OTHER_BETA, note], pictures)


# --- figure 2b: exploitability after as many histories, with larger and larger stacks ---

# Stacks, histories touched per run, seeds.
STACKS = {"small": ((4, 6, 8, 10, 12), 5e7, 3), "paper": ((6, 8, 10, 12, 16, 20), 1e10, 5)}


def stack_sizes(setting: Setting, name: str) -> Result:
    """Returns the figure."""
    stacks, nodes, seeds = STACKS[setting.scale]
    games = {f"nl_holdem_buckets(stack={stack})": stack for stack in stacks}
    comparison = Comparison(tuple(games), ALGORITHMS, tuple(range(1, seeds + 1)), Limit("nodes", nodes))
    curves, pictures = run_figure(setting, name, {"runs": comparison})
    lines = []
    for algorithm in ALGORITHMS:
        ends = [curve.y("exploitability")[:, -1] for curve in curves if curve.algorithm == algorithm]
        lines.append(Line(LABELS[algorithm], tuple(map(float, stacks)), ends))
    plot_parameter(
        lines,
        pictures,
        title=f"2-NL Hold'em after {nodes:.0e} histories",
        xlabel="stacks (chips; blinds 1 and 2)",
        ylabel=EXPLOITABILITY,
        xscale="linear",
    )
    rows = []
    for game, stack in games.items():
        rows += verdict_rows(f"stacks of {stack}", {curve.algorithm: curve for curve in curves if curve.game == game})
    note = "The paper's stacks are 20 to 40 chips; the buckets of cards are ours (`docs/background/games.md`)."
    return Result(rows, [NO_VALUES, OTHER_BETA, note], pictures)


GIBSON_2012 = Paper(
    "gibson2012",
    "Gibson, Burch, Lanctot, Szafron 2012",
    (
        Item("figure1a", "figure 1a: epsilon of average strategy sampling in 2-NL Hold'em", epsilon),
        Item("figure1b", "figure 1b: tau of average strategy sampling in 2-NL Hold'em", tau),
        Item("figure2a", "figure 2a: exploitability against histories touched in 2-NL Hold'em", curve_figure),
        Item("figure2b", "figure 2b: exploitability against stacks in 2-NL Hold'em", stack_sizes),
        Item("figure3a", "figure 3a: exploitability against histories touched in Bluff(1, 1)", curve_figure),
        Item("figure3b", "figure 3b: exploitability against histories touched in Bluff(2, 1)", curve_figure),
    ),
)
