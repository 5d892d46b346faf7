"""Figures 2a, 3a and 3b: exploitability against histories touched."""

from __future__ import annotations

from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.figure import run_figure
from mccfr_plus.experiments.papers.gibson2012.algorithms import ALGORITHMS, LABELS, NO_VALUES, OTHER_BETA, verdict_rows
from mccfr_plus.experiments.papers.item import Result, Setting
from mccfr_plus.experiments.plot import plot_curves

# Game, histories touched per run, seeds.
HOLDEM = {"small": ("nl_holdem_buckets(stack=10)", 2e8, 3), "paper": ("nl_holdem_buckets(stack=20)", 1e10, 5)}
BLUFF_1_1 = {"small": ("bluff(dice1=1,dice2=1)", 2e8, 3), "paper": ("bluff(dice1=1,dice2=1)", 1e10, 5)}
BLUFF_2_1 = {"small": ("bluff(dice1=2,dice2=1,faces=4)", 2e8, 3), "paper": ("bluff", 1e10, 5)}


def holdem(setting: Setting) -> Result:
    """Returns figure 2a."""
    note = (
        "The paper's stacks go up to 36 chips: 5e9 histories, whose tree does not fit into the memory of a common "
        "machine. Here they are smaller, and the buckets of cards are ours (`docs/games.md`)."
    )
    return _figure(setting, "figure2a", *HOLDEM[setting.scale], note)


def bluff_1_1(setting: Setting) -> Result:
    """Returns figure 3a."""
    return _figure(setting, "figure3a", *BLUFF_1_1[setting.scale], "The game has the paper's size.")


def bluff_2_1(setting: Setting) -> Result:
    """Returns figure 3b."""
    note = "The game has the paper's size." if setting.scale == "paper" else "Dice of four faces, the paper's have six."
    return _figure(setting, "figure3b", *BLUFF_2_1[setting.scale], note)


def _figure(setting: Setting, name: str, game: str, nodes: float, seeds: int, note: str) -> Result:
    comparison = Comparison((game,), ALGORITHMS, tuple(range(1, seeds + 1)), Limit("nodes", nodes))
    curves = run_figure(setting, name, {"runs": comparison})
    pictures = [setting.folder / f"{name}.{ending}" for ending in ("png", "svg")]
    plot_curves(
        curves,
        pictures,
        algorithms=ALGORITHMS,
        labels=LABELS,
        source="Exploitability is (b1 + b2) / 2, as in the paper.",
    )
    rows = verdict_rows(f"{game} after {nodes:.0e} histories", {curve.algorithm: curve for curve in curves})
    return Result(rows, [NO_VALUES, OTHER_BETA, note], pictures)
