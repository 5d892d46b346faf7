"""Rudolph et al. 2025, "Reevaluating Policy Gradient Methods for Imperfect-Information Games" (arXiv 2502.08938)."""

from typing import NamedTuple

from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.item import Item, Paper, Result, Row, Setting, run_figure
from mccfr_plus.experiments.plot import plot_curves

ESTIMATORS = {
    "external": "external sampling",
    "outcome": "outcome sampling",
    "average_strategy": "average strategy sampling",
}
_TEXT, _SYMMETRY = "{}/rm/stochastic(gamma=1.0)", "[symmetry=True]"
EXTERNAL, FULL = _TEXT.format("external"), "pcfr+"
SAMPLED = tuple(map(_TEXT.format, ESTIMATORS))
LABELS = {
    text + options: label + about
    for text, label in zip((*SAMPLED, FULL), (*ESTIMATORS.values(), "PCFR+"), strict=True)
    for options, about in (("", ""), (_SYMMETRY, ", symmetries of the board"))
}


class Benchmark(NamedTuple):
    """A game of the paper, and what is run on it, by scale."""

    name: str  # as the paper calls it
    value: float  # of the first player, as published
    sampled: dict[str, tuple[str, ...]]  # algorithms that run for `SECONDS`
    full: dict[str, tuple[str, int]]  # an algorithm, and how many iterations


_ON_BOARDS = tuple(text + _SYMMETRY for text in SAMPLED)
_FULL_ON_BOARDS = FULL + _SYMMETRY
GAMES = {
    "phantom_ttt": Benchmark(
        "PTTT",
        0.6667,
        {"small": (EXTERNAL + _SYMMETRY,), "paper": (*_ON_BOARDS, EXTERNAL)},
        {"small": (_FULL_ON_BOARDS, 320), "paper": (_FULL_ON_BOARDS, 5000)},
    ),
    # Full iterations on dark hex need 20 GB and more; external sampling finds that the first player of DH3 always wins.
    "perfect_recall_dark_hex(num_rows=3,num_cols=3)": Benchmark(
        "DH3", 1.0, {"small": (EXTERNAL + _SYMMETRY,), "paper": _ON_BOARDS}, {}
    ),
    "liars_dice(numdice=2,dice_sides=5)": Benchmark(
        "LD2D5F", 0.0177, {"paper": SAMPLED}, {"small": (FULL, 160), "paper": (FULL, 2500)}
    ),
    "phantom_ttt(gameversion=abrupt)": Benchmark(
        "APTTT", 0.5502, {"paper": (EXTERNAL + _SYMMETRY,)}, {"paper": (_FULL_ON_BOARDS, 1000)}
    ),
    "perfect_recall_dark_hex(num_rows=3,num_cols=3,gameversion=adh)": Benchmark(
        "ADH3", 0.3844, {"paper": (EXTERNAL + _SYMMETRY,)}, {}
    ),
}

SECONDS = {"small": 240.0, "paper": 7200.0}  # of a run that samples
NUM_EVALUATIONS = {"small": 4, "paper": 8}  # of such a run: each traverses all histories
NUM_EVALUATIONS_OF_FULL = 10  # each is a product with the payoff matrix


def comparisons_of(scale: str) -> dict[str, Comparison]:
    """Returns what is run on each game, by label."""
    found = {}
    for game, benchmark in GAMES.items():
        label, seeds = benchmark.name.lower(), (1,)
        if scale in benchmark.sampled:
            limit = Limit("seconds", SECONDS[scale])
            found[label] = Comparison((game,), benchmark.sampled[scale], seeds, limit, NUM_EVALUATIONS[scale])
        if scale in benchmark.full:
            algorithm, iterations = benchmark.full[scale]
            limit = Limit("iterations", float(iterations))
            found[f"{label}-full"] = Comparison((game,), (algorithm,), seeds, limit, NUM_EVALUATIONS_OF_FULL)
    return found


def exact_exploitability(setting: Setting, name: str) -> Result:
    """Returns how low exact exploitability comes, and between which limits that puts the values of the games."""
    curves, pictures = run_figure(setting, name, comparisons_of(setting.scale))
    titles = {game: benchmark.name for game, benchmark in GAMES.items()}
    plot_curves(curves, pictures, unit="seconds", labels=LABELS, titles=titles, source="Every history is evaluated.")
    rows = [row for curve in curves for row in _rows(curve)]
    notes = [
        "Exploitability is NashConv / 2, in payoffs of 1 for a win and -1 for a loss.",
        "A value lies between what the best responses to both average policies leave: both are exact. The verdict says "
        "how far the farther one is from the published value.",
        "The paper's curves are of policy gradient and other neural methods after 10 million steps; those are not run.",
    ]
    return Result(rows, notes, pictures)


def _rows(curve: Curve) -> list[Row]:
    benchmark, label = GAMES[curve.game], LABELS[curve.algorithm]
    end = curve.runs[0][-1]
    low, high = -end.best_response_values[1], end.best_response_values[0]
    what = f"{benchmark.name}, {label}, {end.seconds:,.0f} s, {end.nodes:.3g} histories"
    return [
        Row(f"{what}: exploitability", "-", f"{end.nash_conv / 2:.3g}", "-"),
        Row(
            f"{what}: value of the first player",
            f"{benchmark.value:.4f}",
            f"{low:.5f} to {high:.5f}",
            verdict(benchmark.value, low, high),
        ),
    ]


def verdict(published: float, low: float, high: float) -> str:
    """Returns whether a published value can lie between exact limits, and how far from it these are at most."""
    if not low - _ROUNDING <= published <= high + _ROUNDING:
        return f"differs by at least {max(low - published, published - high):.2g}"
    return f"agrees within {max(high - published, published - low):.2g}"


_ROUNDING = 5e-5  # of the published values

RUDOLPH_2025 = Paper(
    "rudolph2025",
    "Rudolph, Lichtle, Mohammadpour, Bayen, Kolter, Zhang, Farina, Vinitsky, Sokota 2025",
    (Item("benchmark", "exact exploitability on the benchmark's games", exact_exploitability),),
)
