"""Figure 1: b1 + b2 against histories touched, vanilla CFR with and without pruning and both sampled variants."""

import math
from typing import NamedTuple

from mccfr_plus.display import mean_band
from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.item import INTERVALS, Result, Row, Setting, record_figure
from mccfr_plus.experiments.papers.judging import end_of, nodes_below, values_at
from mccfr_plus.experiments.plot import plot_curves

# The paper's outcome sampling draws one history for both players (appendix, algorithm 1), its external sampling one
# action per infoset of the opponent (section 3.2). The other forms are OpenSpiel's.
VANILLA, PRUNED = "full", "full(pruning=True)"
EXTERNAL, EXTERNAL_PER_NODE = "external(sample_per_infoset=True)", "external"
OUTCOME, OUTCOME_PER_PLAYER = "outcome(update_all_players=True)", "outcome"
SAMPLED = (EXTERNAL, OUTCOME)  # the paper's forms
ALGORITHMS = (VANILLA, PRUNED, EXTERNAL, OUTCOME, EXTERNAL_PER_NODE, OUTCOME_PER_PLAYER)
LABELS = {
    VANILLA: "vanilla CFR",
    PRUNED: "vanilla CFR with pruning",
    EXTERNAL: "external sampling",
    OUTCOME: "outcome sampling",
    EXTERNAL_PER_NODE: "external sampling (a draw per node)",
    OUTCOME_PER_PLAYER: "outcome sampling (a history per player)",
}


class Runs(NamedTuple):
    """Runs that are equally long."""

    folder: str  # of the records
    algorithms: tuple[str, ...]
    games: tuple[str, ...]
    nodes: float
    points: int | None = None  # at which each run is measured; None: as many as cost little
    seeds: tuple[int, ...] = (1, 2, 3)


ONE_CARD, GOOFSPIEL, LATENT, PRINCESS = "one_card_poker", "bid_goofspiel", "latent_tic_tac_toe", "princess_and_monster"
NAMES = {
    GOOFSPIEL: "Goofspiel",
    ONE_CARD: "One-Card Poker",
    LATENT: "Latent Tic-Tac-Toe",
    PRINCESS: "Princess and Monster",
}
GAMES = tuple(NAMES)
_ALL_EXTERNAL, _ALL_OUTCOME = (EXTERNAL, EXTERNAL_PER_NODE), (OUTCOME, OUTCOME_PER_PLAYER)
# All games have the paper's sizes. As many points as take little of the time: an evaluation of Goofspiel or latent
# tic-tac-toe goes over 98 or 58 million histories for each player.
FIGURE = {
    "small": (
        Runs("vanilla", (VANILLA,), GAMES, 1e10, 13),
        Runs("pruned", (PRUNED,), GAMES, 1e9, 9),
        Runs("sampled", (*_ALL_EXTERNAL, *_ALL_OUTCOME), (ONE_CARD, PRINCESS), 1e8, 13),
        Runs("sampled-goofspiel", (*_ALL_EXTERNAL, *_ALL_OUTCOME), (GOOFSPIEL,), 2e8, 7),
        Runs("external-latent", _ALL_EXTERNAL, (LATENT,), 2e8, 7),
        Runs("outcome-latent", _ALL_OUTCOME, (LATENT,), 4e8, 7),
    ),
    "paper": (
        Runs("vanilla", (VANILLA,), GAMES, 4e10, 9),
        Runs("pruned", (PRUNED,), GAMES, 5e9, 13),
        Runs("external", _ALL_EXTERNAL, GAMES, 2e9, 8),
        Runs("outcome", _ALL_OUTCOME, GAMES, 1e9, 13),
    ),
}
LEVEL = 0.5  # of b1 + b2


def result(setting: Setting, name: str) -> Result:
    """Returns the figure, with what the paper says of it."""
    parts = FIGURE[setting.scale]
    comparisons = {
        part.folder: Comparison(part.games, part.algorithms, part.seeds, Limit("nodes", part.nodes), part.points)
        for part in parts
    }
    curves, pictures = record_figure(setting, name, comparisons)
    plot_curves(
        sorted(curves, key=lambda curve: GAMES.index(curve.game)),
        pictures,
        unit="nodes",
        measure="nash_conv",
        algorithms=ALGORITHMS,
        labels=LABELS,
        titles=NAMES,
        source="b1 + b2 = NashConv.",
        band=mean_band,
    )
    notes = [
        "The paper's curves are pictures without values; `--item=claims` judges what its text says.",
        "The paper's outcome sampling updates both players by one history (appendix, algorithm 1), and its external "
        "sampling draws one action per infoset of the opponent (section 3.2). The other two forms are those of "
        "OpenSpiel and this package's defaults.",
        "Histories until b1 + b2 falls below a level are on a line between measuring points, on logarithmic axes.",
        "In Goofspiel winning pays 1 and losing -1 here. If the paper has 1 and 0, its level of 0.5 is 1 here: that is "
        "given, too.",
        f"All games have the rules of table 1. Runs end at {', '.join(map(_end, parts))} histories.",
        INTERVALS,
    ]
    return Result(rows(curves), notes, pictures)


def _end(runs: Runs) -> str:
    where = f" in {', '.join(NAMES[game] for game in runs.games)}" if len(runs.games) < len(GAMES) else ""
    seeds = f"; {len(runs.seeds)} seeds" if set(runs.algorithms) - {VANILLA, PRUNED} else ""
    return f"{runs.nodes:.0e} ({', '.join(LABELS[name] for name in runs.algorithms)}{where}{seeds})"


def rows(curves: list[Curve]) -> list[Row]:
    """Returns where each curve ended, when it fell below the level, and in which order curves are where."""
    found = []
    for game in dict.fromkeys(curve.game for curve in curves):
        of_game = {curve.algorithm: curve for curve in curves if curve.game == game}
        for name in ALGORITHMS:
            curve = of_game[name]
            what = f"{NAMES[game]}: {LABELS[name]}, b1 + b2 after {curve.x('nodes')[-1]:.2g} histories"
            found.append(Row(what, "-", str(end_of(curve)), "-"))
        for level in (LEVEL, 2 * LEVEL) if game == GOOFSPIEL else (LEVEL,):
            for name in ALGORITHMS:
                what = f"{NAMES[game]}: histories until b1 + b2 < {level:g}, {LABELS[name]}"
                found.append(Row(what, "-", number_of_nodes(nodes_below(of_game[name], level)), "-"))
        for exponent in range(6, 11):
            in_order = _order(of_game, 10.0**exponent)
            if len(in_order) > 1:
                what = f"{NAMES[game]}: best to worst at 1e{exponent} histories"
                found.append(Row(what, "-", ", ".join(in_order), "-"))
    return found


def _order(curves: dict[str, Curve], nodes: float) -> list[str]:
    """Returns the labels of the curves that reach over a number of histories, the lowest first."""
    here = {
        name: values_at(curve, nodes).mean()
        for name, curve in curves.items()
        if curve.x("nodes")[0] <= nodes <= curve.x("nodes")[-1] * 1.001
    }
    return [LABELS[name] for name in sorted(here, key=here.__getitem__)]


def number_of_nodes(nodes: float) -> str:
    return f"{nodes:,.3g}" if nodes < math.inf else "not reached"
