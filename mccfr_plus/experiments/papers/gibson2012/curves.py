"""Figures 2a, 3a and 3b: exploitability against histories touched."""

from collections.abc import Sequence

from mccfr_plus.display import mean_band
from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.gibson2012.algorithms import ALGORITHMS, LABELS, ending_rows
from mccfr_plus.experiments.papers.gibson2012.games import MBB, PLAIN, UNIFORM, length_of, scale_of, stack_of, title
from mccfr_plus.experiments.papers.item import INTERVALS, Result, Row, Setting, record_figure
from mccfr_plus.experiments.plot import plot_curves

NO_VALUES = (
    "The paper's curves are pictures without values; `--item=claims` judges what its text says of them. "
    "Faster is here: a lower mean after as many histories; ahead, if the intervals are disjoint."
)
OTHER_BETA = (
    "The paper's tau and beta are for runs of 1e12 histories and more. After the far fewer here, beta = 1e6 is larger "
    "than the sums that it is added to, so that nearly all actions are visited as with external sampling: therefore "
    "a line has a smaller beta and tau. Sums of line 9: `averaging=stochastic`, as in the paper's algorithm 1."
)

_SAME_SIZE = "The game has the paper's size; runs are of {nodes:.0e} histories, and the paper's longer."
_UNIFORM_PLAY = (
    "What uniform play is worth in Bluff(2, 1) with six faces, 0.454270 and not the printed 0.784, and in ten other "
    "readings, is in `docs/background/games.md`."
)
_FOUR_FACES = (
    "Dice have four faces, the paper's six: 0.3 instead of 66 million histories. Runs are of {nodes:.0e} histories, "
    f"and the paper's longer. {_UNIFORM_PLAY}"
)
_SMALLER = (
    "The paper's figure is of stacks of 36 chips, whose 67 million information sets do not fit into the memory of a "
    "common machine, and its runs are of 1e12 histories and more. {length}"
)
# Game, histories touched per run, seeds, note.
CURVES = {
    ("figure2a", "small"): ("nl_holdem_buckets(stack=20)", 3e8, 5, _SMALLER),
    ("figure2a", "paper"): ("nl_holdem_buckets(stack=16)", 2e9, 5, _SMALLER),
    ("figure3a", "small"): ("bluff(dice1=1,dice2=1)", 1e8, 5, _SAME_SIZE),
    ("figure3a", "paper"): ("bluff(dice1=1,dice2=1)", 1e9, 5, _SAME_SIZE),
    ("figure3b", "small"): ("bluff(dice1=2,dice2=1,faces=4)", 1e8, 5, _FOUR_FACES),
    ("figure3b", "paper"): ("bluff", 1e9, 5, f"{_SAME_SIZE} {_UNIFORM_PLAY}"),
}


def result(setting: Setting, name: str) -> Result:
    """Returns figure 2a, 3a or 3b."""
    game, nodes, seeds, note = CURVES[name, setting.scale]
    comparison = Comparison((game,), ALGORITHMS, tuple(range(1, seeds + 1)), Limit("nodes", nodes))
    curves, pictures = record_figure(setting, name, {"runs": comparison})
    scale = scale_of(game)
    plot_curves(
        curves,
        pictures,
        algorithms=ALGORITHMS,
        labels=LABELS,
        titles={game: title(game)},
        band=mean_band,
        levels={name: scale * level for name, level in UNIFORM.items()},
        scale=scale,
        ylabel=PLAIN if scale == 1 else MBB,
    )
    length = length_of(stack_of(game), nodes) if game.startswith("nl_holdem") else ""
    notes = [NO_VALUES, OTHER_BETA, note.format(length=length, nodes=nodes), INTERVALS]
    return Result(rows(curves), notes, pictures)


def rows(curves: Sequence[Curve]) -> list[Row]:
    """Returns where each algorithm ended."""
    game, nodes = curves[0].game, curves[0].x("nodes")[-1]
    unit = "mbb/g" if scale_of(game) != 1 else "a win is 1"
    return ending_rows(f"{title(game)} after {nodes:.2g} histories, {unit}", curves, scale_of(game))
