"""Rudolph et al. 2025, "Reevaluating Policy Gradient Methods for Imperfect-Information Games" (arXiv 2502.08938)."""

from __future__ import annotations

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
EXTERNAL = _TEXT.format("external")
LABELS = {
    _TEXT.format(name) + options: label + about
    for name, label in ESTIMATORS.items()
    for options, about in (("", ""), (_SYMMETRY, ", symmetries of the board"))
}


class Benchmark(NamedTuple):
    """A game of the paper."""

    name: str  # as the paper calls it
    value: float  # of the first player, as published
    algorithms: dict[str, tuple[str, ...]]  # by scale


_DICE = {"small": (EXTERNAL,), "paper": tuple(_TEXT.format(name) for name in ESTIMATORS)}
_BOARD = {
    "small": (EXTERNAL + _SYMMETRY,),
    "paper": (*(_TEXT.format(name) + _SYMMETRY for name in ESTIMATORS), EXTERNAL),
}
GAMES = {
    "phantom_ttt": Benchmark("PTTT", 0.6667, _BOARD),
    "perfect_recall_dark_hex(num_rows=3,num_cols=3)": Benchmark("DH3", 1.0, _BOARD),
    "liars_dice(numdice=2,dice_sides=5)": Benchmark("LD2D5F", 0.0177, _DICE),
}

SECONDS = {"small": 240.0, "paper": 7200.0}  # of a run
NUM_EVALUATIONS = {"small": 4, "paper": 8}


def exact_exploitability(setting: Setting, name: str) -> Result:
    """Returns how low exact exploitability comes, and between which limits that puts the values of the games."""
    comparisons = {
        benchmark.name.lower(): Comparison(
            (game,),
            benchmark.algorithms[setting.scale],
            (1,),
            Limit("seconds", SECONDS[setting.scale]),
            NUM_EVALUATIONS[setting.scale],
        )
        for game, benchmark in GAMES.items()
    }
    curves, pictures = run_figure(setting, name, comparisons)
    titles = {game: benchmark.name for game, benchmark in GAMES.items()}
    plot_curves(curves, pictures, unit="seconds", labels=LABELS, titles=titles, source="Every history is evaluated.")
    rows = [row for curve in curves for row in _rows(curve)]
    notes = [
        "Exploitability is NashConv / 2, in payoffs of 1 for a win and -1 for a loss.",
        "A value lies between what the best responses to both average policies leave: both are exact.",
        "The paper's curves are of policy gradient and other neural methods after 10 million steps; those are not run.",
    ]
    return Result(rows, notes, pictures)


def _rows(curve: Curve) -> list[Row]:
    benchmark, label = GAMES[curve.game], LABELS[curve.algorithm]
    end = curve.runs[0][-1]
    low, high = -end.best_response_values[1], end.best_response_values[0]
    what = f"{benchmark.name}, {label}, {end.seconds:,.0f} s, {end.nodes:.3g} histories"
    is_inside = low <= benchmark.value + _ROUNDING and benchmark.value - _ROUNDING <= high
    return [
        Row(f"{what}: exploitability", "-", f"{end.nash_conv / 2:.3g}", "-"),
        Row(
            f"{what}: value of the first player",
            f"{benchmark.value:.4f}",
            f"{low:.4f} to {high:.4f}",
            "agrees" if is_inside else "differs",
        ),
    ]


_ROUNDING = 5e-5  # of the published values

RUDOLPH_2025 = Paper(
    "rudolph2025",
    "Rudolph, Lichtle, Mohammadpour, Bayen, Kolter, Zhang, Farina, Vinitsky, Sokota 2025",
    (Item("benchmark", "exact exploitability on the benchmark's games", exact_exploitability),),
)
