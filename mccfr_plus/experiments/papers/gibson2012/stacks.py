"""Figure 2b: exploitability after as many histories, in 2-NL Hold'em with larger and larger stacks."""

from __future__ import annotations

from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.figure import run_figure
from mccfr_plus.experiments.papers.gibson2012.algorithms import (
    ALGORITHMS,
    EXPLOITABILITY,
    LABELS,
    NO_VALUES,
    OTHER_BETA,
    verdict_rows,
)
from mccfr_plus.experiments.papers.item import Result, Setting
from mccfr_plus.experiments.parameter_plot import Line, plot_parameter

# Stacks, histories touched per run, seeds.
STACKS = {"small": ((4, 6, 8, 10, 12), 5e7, 3), "paper": ((6, 8, 10, 12, 16, 20), 1e10, 5)}


def compute(setting: Setting) -> Result:
    """Returns the figure."""
    stacks, nodes, seeds = STACKS[setting.scale]
    games = {f"nl_holdem_buckets(stack={stack})": stack for stack in stacks}
    comparison = Comparison(tuple(games), ALGORITHMS, tuple(range(1, seeds + 1)), Limit("nodes", nodes))
    curves = run_figure(setting, "figure2b", {"runs": comparison})
    lines = []
    for algorithm in ALGORITHMS:
        ends = [curve.y("exploitability")[:, -1] for curve in curves if curve.algorithm == algorithm]
        lines.append(Line(LABELS[algorithm], tuple(map(float, stacks)), ends))
    pictures = [setting.folder / f"figure2b.{ending}" for ending in ("png", "svg")]
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
    note = "The paper's stacks go up to 36; the buckets of cards are ours (`docs/games.md`)."
    return Result(rows, [NO_VALUES, OTHER_BETA, note], pictures)
