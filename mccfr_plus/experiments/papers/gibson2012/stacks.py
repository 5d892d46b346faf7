"""Figure 2b: exploitability after as many histories, with larger and larger stacks."""

from collections.abc import Sequence

from mccfr_plus.display import mean_band
from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.gibson2012.algorithms import LABELS, WITHOUT_OUTCOME, ending_rows
from mccfr_plus.experiments.papers.gibson2012.curves import NO_VALUES, OTHER_BETA
from mccfr_plus.experiments.papers.gibson2012.games import MILLI_BIG_BLINDS, scale_of, stack_of
from mccfr_plus.experiments.papers.item import INTERVALS, Result, Row, Setting, record_figure
from mccfr_plus.experiments.plot import Line, plot_parameter

# Stacks, histories touched per run, seeds. From 24 on the tree does not fit: the game is traversed by its rules.
STACKS = {"small": ((8, 12, 16, 20, 22), 3e8, 5), "paper": ((20, 22, 24, 28, 30), 5e8, 5)}


def result(setting: Setting, name: str) -> Result:
    """Returns the figure."""
    stacks, nodes, seeds = STACKS[setting.scale]
    games = {f"nl_holdem_buckets(stack={stack})": stack for stack in stacks}
    limit = Limit("nodes", nodes)
    comparison = Comparison(tuple(games), WITHOUT_OUTCOME, tuple(range(1, seeds + 1)), limit, num_evaluations=1)
    curves, pictures = record_figure(setting, name, {"runs": comparison})
    lines = []
    for algorithm in WITHOUT_OUTCOME:
        ends = [
            scale_of(curve.game) / stack_of(curve.game) * curve.y("exploitability")[:, -1]
            for curve in curves
            if curve.algorithm == algorithm
        ]
        lines.append(Line(LABELS[algorithm], tuple(map(float, stacks)), ends))
    plot_parameter(
        lines,
        pictures,
        title=f"2-NL Hold'em after {nodes:.0e} histories",
        xlabel="stacks (chips; blinds 1 and 2)",
        ylabel="exploitability ((b1 + b2) / 2, mbb/g per chip of the stack)",
        xscale="linear",
        band=mean_band,
    )
    note = (
        f"The paper's stacks are 20 to 40 chips, after 3e12 histories; here {', '.join(map(str, stacks))}, after "
        f"{nodes:.0e}. The buckets of cards are ours (`docs/background/games.md`). The paper does not show outcome "
        "sampling here."
    )
    return Result(rows(curves), [NO_VALUES, OTHER_BETA, note, INTERVALS], pictures)


def rows(curves: Sequence[Curve]) -> list[Row]:
    """Returns where each algorithm ended, by stack, in mbb/g per chip of the stack."""
    found = []
    for stack in sorted({stack_of(curve.game) for curve in curves}):
        of_stack = [curve for curve in curves if stack_of(curve.game) == stack]
        found += ending_rows(f"stacks of {stack}", of_stack, MILLI_BIG_BLINDS / stack)
    return found
