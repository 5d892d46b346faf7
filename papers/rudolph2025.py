"""Rudolph et al. 2025, "Reevaluating Policy Gradient Methods for Imperfect-Information Games" (arXiv 2502.08938).

``python papers/rudolph2025.py --scale=small``
"""

from typing import Any, NamedTuple

import common
from common import Finding, Page, Setting

from mccfr_plus.experiments import Curve, Result

_LABELS = {
    "external": "external sampling",
    "outcome": "outcome sampling",
    "average_strategy": "average strategy sampling",
}
_SYMMETRY = ", symmetries of the board"
EXTERNAL, FULL = _LABELS["external"], "PCFR+"
ALGORITHMS = {FULL: "pcfr+", FULL + _SYMMETRY: "pcfr+(symmetry=True)"}
for _name, _label in _LABELS.items():
    ALGORITHMS[_label] = f"{_name}(averaging=stochastic(gamma=1.0))"
    ALGORITHMS[_label + _SYMMETRY] = f"{_name}(averaging=stochastic(gamma=1.0), symmetry=True)"


class Benchmark(NamedTuple):
    """A game of the paper, and the runs on it by scale."""

    name: str  # in the paper
    value: float  # of the first player, as published
    sampled: dict[str, tuple[str, ...]]  # algorithms that run for `SECONDS`
    full: dict[str, tuple[str, int]]  # an algorithm and its number of iterations


_SAMPLED = tuple(_LABELS.values())
_ON_BOARDS = tuple(label + _SYMMETRY for label in _SAMPLED)
_EXTERNAL_ON_BOARDS, _FULL_ON_BOARDS = EXTERNAL + _SYMMETRY, FULL + _SYMMETRY
GAMES = {
    "phantom_ttt": Benchmark(
        "PTTT",
        0.6667,
        {"small": (_EXTERNAL_ON_BOARDS,), "paper": (*_ON_BOARDS, EXTERNAL)},
        {"small": (_FULL_ON_BOARDS, 320), "paper": (_FULL_ON_BOARDS, 5000)},
    ),
    # Full iterations on dark hex need 20 GB and more; external sampling finds that the first player of DH3 always wins.
    "perfect_recall_dark_hex(num_rows=3,num_cols=3)": Benchmark(
        "DH3", 1.0, {"small": (_EXTERNAL_ON_BOARDS,), "paper": _ON_BOARDS}, {}
    ),
    "liars_dice(numdice=2,dice_sides=5)": Benchmark(
        "LD2D5F", 0.0177, {"paper": _SAMPLED}, {"small": (FULL, 160), "paper": (FULL, 2500)}
    ),
    "phantom_ttt(gameversion=abrupt)": Benchmark(
        "APTTT", 0.5502, {"paper": (_EXTERNAL_ON_BOARDS,)}, {"paper": (_FULL_ON_BOARDS, 1000)}
    ),
    "perfect_recall_dark_hex(num_rows=3,num_cols=3,gameversion=adh)": Benchmark(
        "ADH3", 0.3844, {"paper": (_EXTERNAL_ON_BOARDS,)}, {}
    ),
}

SECONDS = {"small": 240.0, "paper": 7200.0}  # of a run that samples
NUM_EVALUATIONS = {"small": 4, "paper": 8}  # of such a run: each traverses all histories
NUM_EVALUATIONS_OF_FULL = 10  # each is a product with the payoff matrix


def runs_of(scale: str) -> dict[str, dict[str, Any]]:
    """Returns the arguments of `compare`, by folder."""
    found = {}
    for game, (name, _, sampled, full) in GAMES.items():
        options: dict[str, Any] = {"games": game, "seeds": 1}
        if scale in sampled:
            algorithms = {label: ALGORITHMS[label] for label in sampled[scale]}
            limit = {"seconds": SECONDS[scale], "num_evaluations": NUM_EVALUATIONS[scale]}
            found[name.lower()] = {**options, "algorithms": algorithms, **limit}
        if scale in full:
            label, iterations = full[scale]
            limit = {"iterations": iterations, "num_evaluations": NUM_EVALUATIONS_OF_FULL}
            found[f"{name.lower()}-full"] = {**options, "algorithms": {label: ALGORITHMS[label]}, **limit}
    return found


def benchmark(setting: Setting, name: str) -> Page:
    """Returns how low exact exploitability comes, and the limits that this puts on the values of the games."""
    if setting.scale is None:
        raise common.MccfrPlusError("benchmark needs best-response values, which no record has: give --scale.")
    curves = common.run(setting, name, runs_of(setting.scale))
    in_order = Result(sorted(curves, key=lambda curve: list(GAMES).index(curve.game)))
    figure = common.draw(in_order, {game: benchmark.name for game, benchmark in GAMES.items()}, "seconds")
    notes = [
        "Exploitability is NashConv / 2, in payoffs of 1 for a win and -1 for a loss.",
        "The game's value lies between two exact bounds, given by the best responses to both average policies. The "
        "verdict states the distance between the published value and the farther of these bounds.",
        "The paper's curves show policy gradient and other neural methods after 10 million steps, which we did not "
        "run.",
    ]
    about = {"scale": setting.scale, "measured": common.measured_here()}
    return Page([finding for curve in curves for finding in findings_of(curve)], notes, figure, about=about)


def findings_of(curve: Curve) -> list[Finding]:
    """Returns the exploitability and the limits of the game's value at the end of a curve."""
    name, value = GAMES[curve.game][:2]
    end = curve.runs[0][-1]
    low, high = -end.best_response_values[1], end.best_response_values[0]
    what = f"{name}, {curve.algorithm}, {end.seconds:,.0f} s, {end.nodes:.3g} histories"
    limits = f"{low:.5f} to {high:.5f}"
    return [
        Finding(f"{what}: exploitability", "-", f"{end.nash_conv / 2:.3g}", "-"),
        Finding(f"{what}: value of the first player", f"{value:.4f}", limits, verdict(value, low, high)),
    ]


_ROUNDING = 5e-5  # of the published values


def verdict(published: float, low: float, high: float) -> str:
    """Returns whether a published value can lie between exact limits, and how far from it these are at most."""
    if not low - _ROUNDING <= published <= high + _ROUNDING:
        return f"differs by at least {max(low - published, published - high):.2g}"
    return f"agrees within {max(high - published, published - low):.2g}"


ITEMS = {"benchmark": ("exact exploitability on the benchmark's games", benchmark)}

if __name__ == "__main__":
    authors = "Rudolph, Lichtle, Mohammadpour, Bayen, Kolter, Zhang, Farina, Vinitsky, Sokota 2025"
    common.main(__file__, authors, ITEMS)
