"""Lanctot, Waugh, Zinkevich, Bowling 2009, "Monte Carlo sampling for regret minimization in extensive games".

Table 1: sizes of the four games, and seconds per iteration. Figure 1: b1 + b2 against histories touched, vanilla CFR
with and without pruning and both sampled variants.
"""

from __future__ import annotations

import gc
import math
import time
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.item import Item, Paper, Result, Row, Setting, run_figure
from mccfr_plus.experiments.plot import plot_curves
from mccfr_plus.games import catalogue
from mccfr_plus.solver.solver import Solver
from mccfr_plus.tree.game_tree import GameTree, compile_game

# --- table 1 ---

# Table 1, seconds per iteration: vanilla CFR, external sampling, outcome sampling.
PRINTED_SECONDS = {
    "one_card_poker": (28.0, 99e-6, 46e-6),
    "bid_goofspiel": (110.0, 150e-3, 150e-6),
    "latent_tic_tac_toe": (38.0, 70e-3, 62e-6),
    "princess_and_monster": (120.0, 28e-3, 85e-6),
}
_SCHEMES = {"vanilla CFR": "full", "external sampling": "external", "outcome sampling": "outcome"}
_SECONDS = {"small": 1.0, "paper": 10.0}  # of measuring one scheme


def table1(setting: Setting, name: str) -> Result:
    """Returns the table, with what is found here beside it."""
    rows = []
    for published in catalogue.CATALOGUE:
        if published.paper == catalogue.LANCTOT and published.game in PRINTED_SECONDS:
            tree = compile_game(published.game)
            rows += [_size_row(published.game, size, tree) for size in published.sizes]
            for (label, scheme), printed in zip(_SCHEMES.items(), PRINTED_SECONDS[published.game], strict=True):
                found = _seconds_per_iteration(tree, scheme, _SECONDS[setting.scale])
                ratio = max(printed, found) / min(printed, found)
                verdict = f"{ratio:,.0f} times as {'fast' if found < printed else 'slow'}"
                what = f"{published.game}: {label}, seconds per iteration"
                rows.append(Row(what, f"{printed:.2g}", f"{found:.2g}", verdict))
            del tree
            gc.collect()
    notes = [
        "Sizes are enumerated anew. Where a printed one is not met, `docs/background/games.md` says which readings of "
        "the rules were tried.",
        "Seconds are CPU seconds of one thread; an iteration updates both players. The paper's machine is of 2008.",
    ]
    return Result(rows, notes)


def _size_row(game: str, size: catalogue.Size, tree: GameTree) -> Row:
    """Returns a size counted on the tree, beside the printed one."""
    found = tree.statistics()
    counted: Any = {
        "histories": found.histories,
        "histories without chance": found.histories - found.chance_nodes,
        "infosets": sum(found.infosets),
        "l": found.max_moves,
        "M": tuple(round(value, 2) for value in found.m_values),
    }[size.what]
    is_known = np.allclose(counted, size.ours, rtol=1e-6)
    here = " / ".join(f"{value:,.2f}" for value in counted) if isinstance(counted, tuple) else f"{counted:,}"
    verdict = size.verdict if is_known else f"differs from the {size.ours} of mccfr-plus games"
    return Row(f"{game}: {size.what}", size.published, here, verdict)


def _seconds_per_iteration(tree: GameTree, scheme: str, seconds: float) -> float:
    """Returns CPU seconds of an iteration, the first one left out."""
    solver = Solver(tree, scheme, "rm", seed=1).run(1)
    before, begin = solver.iterations, time.process_time()
    while solver.iterations == before or time.process_time() - begin < seconds:
        solver.run(1 if scheme == "full" else 50)
    return (time.process_time() - begin) / (solver.iterations - before)


# --- figure 1 ---

VANILLA, PRUNED, EXTERNAL, OUTCOME = "full", "full(pruning=True)", "external", "outcome"
ALGORITHMS = (VANILLA, PRUNED, EXTERNAL, OUTCOME)
LABELS = {
    VANILLA: "vanilla CFR",
    PRUNED: "vanilla CFR with pruning",
    EXTERNAL: "external sampling",
    OUTCOME: "outcome sampling",
}


class Runs(NamedTuple):
    """The runs of an algorithm that are equally long."""

    folder: str  # of the records
    algorithm: str
    games: tuple[str, ...]
    nodes: float
    points: int | None = None  # at which each run is measured; None: as many as cost little


# The small games have the same rules with fewer cards or less time; latent tic-tac-toe has no smaller board.
_LATENT = "latent_tic_tac_toe"
_SMALL = (
    "bid_goofspiel(num_cards=5)", "one_card_poker(deck_size=50)", _LATENT, "princess_and_monster(horizon=8)",
)  # fmt: skip
_LARGE = ("bid_goofspiel", "one_card_poker", _LATENT, "princess_and_monster")
_OTHERS = tuple(game for game in _LARGE if game != _LATENT)
_SEEDS = (1, 2, 3)
FIGURE = {
    "small": (
        Runs("vanilla", VANILLA, _SMALL, 1e9),
        Runs("pruned", PRUNED, _SMALL, 3e8),
        Runs("external", EXTERNAL, _SMALL, 1e8),
        Runs("outcome", OUTCOME, _SMALL, 1e8),
    ),
    # As many points as take less than 5 % of the time. An evaluation of latent tic-tac-toe goes over 58 million
    # histories for each player, so that traversals have to be longer for that.
    "paper": (
        Runs("vanilla", VANILLA, _LARGE, 4e10, 9),
        Runs("pruned", PRUNED, _LARGE, 5e9, 13),
        Runs("external", EXTERNAL, _OTHERS, 2e9, 8),
        Runs(f"external-{_LATENT}", EXTERNAL, (_LATENT,), 4e9, 8),
        Runs("outcome", OUTCOME, _OTHERS, 1e9, 13),
        Runs(f"outcome-{_LATENT}", OUTCOME, (_LATENT,), 4e9, 13),
    ),
}
_LEVEL = 0.5  # of b1 + b2, which both sampled variants are below in Goofspiel within a few million histories
_ORDERS = 3.0  # of magnitude, that vanilla CFR needs more


def figure1(setting: Setting, name: str) -> Result:
    """Returns the figure, with what the paper says of it."""
    parts = FIGURE[setting.scale]
    comparisons = {
        part.folder: Comparison(part.games, (part.algorithm,), _SEEDS, Limit("nodes", part.nodes), part.points)
        for part in parts
    }
    games = parts[0].games
    curves, pictures = run_figure(setting, name, comparisons)
    plot_curves(
        sorted(curves, key=lambda curve: games.index(curve.game)),
        pictures,
        unit="nodes",
        measure="nash_conv",
        algorithms=ALGORITHMS,
        labels=LABELS,
        source="b1 + b2 = NashConv.",
    )
    rows = []
    for game in games:
        rows += figure_rows(game, {curve.algorithm: curve for curve in curves if curve.game == game})
    notes = [
        "The paper's curves are pictures without values. Judged is what its text says: sampling makes convergence "
        "dramatically faster in various games (abstract); in Goofspiel both sampled variants are below b1 + b2 = 0.5 "
        "within a few million histories, and vanilla CFR needs three orders of magnitude more.",
        "In Goofspiel winning pays 1 and losing -1 here. If the paper has 1 and 0, its level of 0.5 is 1 here: that is "
        "given, too.",
        f"Runs end at {', '.join(map(_end, parts))} histories.",
    ]
    if setting.scale == "small":
        small = (
            "Smaller games than the paper's but for latent tic-tac-toe, so that orders of magnitude are smaller, too."
        )
        notes.insert(0, small)
    return Result(rows, notes, pictures)


def _end(runs: Runs) -> str:
    where = f" in {runs.games[0]}" if len(runs.games) == 1 else ""
    return f"{runs.nodes:.0e} ({LABELS[runs.algorithm]}{where})"


def figure_rows(game: str, curves: dict[str, Curve]) -> list[Row]:
    """Returns when each curve falls below the level, the verdicts, and in which order the curves are where."""
    rows = _level_rows(game, curves, _LEVEL)
    if game.startswith("bid_goofspiel"):
        rows += _level_rows(game, curves, 2 * _LEVEL)
    ahead = {name: _overtaken(curves[VANILLA], curves[name]) for name in (EXTERNAL, OUTCOME)}
    for name, nodes in ahead.items():
        what = f"{game}: histories from which on vanilla CFR is below {LABELS[name]}"
        rows.append(Row(what, "-", _number(nodes), "-"))
    for exponent in range(5, 12):
        order = _order(curves, 10.0**exponent)
        if len(order) > 1:
            rows.append(Row(f"{game}: best to worst at 1e{exponent} histories", "-", ", ".join(order), "-"))
    return rows


def _level_rows(game: str, curves: dict[str, Curve], level: float) -> list[Row]:
    """Returns when each curve falls below a level, and how much sooner the sampled ones do."""
    reached = {name: _nodes_below(curve, level) for name, curve in curves.items()}
    rows = [
        Row(f"{game}: histories until b1 + b2 < {level:g}, {LABELS[name]}", "-", _number(nodes), "-")
        for name, nodes in reached.items()
    ]
    sampled = max(reached[EXTERNAL], reached[OUTCOME])
    more = math.log10(reached[VANILLA] / sampled) if sampled < math.inf else -math.inf
    here = "no sampled one is" if sampled == math.inf else f"{sampled:,.3g}, "
    if sampled < math.inf:
        here += f"{more:.1f} orders" if more < math.inf else "vanilla CFR not yet"
    if game == "bid_goofspiel":
        printed = "a few million, 3 orders"
        verdict = "agrees" if sampled < 1e7 and more > _ORDERS - 0.5 else "differs"
    else:
        printed = "a few million, 3 orders (of 7 cards)" if game.startswith("bid_goofspiel") else "dramatically faster"
        verdict = "the same direction" if more > 0 else "differs"
    what = f"{game}: the slower sampled variant at {level:g}, and how much more vanilla CFR needs"
    return [*rows, Row(what, printed, here, verdict)]


def _order(curves: dict[str, Curve], nodes: float) -> list[str]:
    """Returns the labels of the curves that reach over a number of histories, the lowest first."""
    here = {
        name: _at(curve, nodes)
        for name, curve in curves.items()
        if curve.x("nodes")[0] <= nodes <= curve.x("nodes")[-1] * 1.001
    }
    return [LABELS[name] for name in sorted(here, key=here.__getitem__)]


def _at(curve: Curve, nodes: float) -> float:
    """Returns the mean over seeds at a number of histories, on a line between points on logarithmic axes."""
    mean = np.maximum(curve.mean("nash_conv"), 1e-300)
    return float(np.exp(np.interp(np.log(nodes), np.log(curve.x("nodes")), np.log(mean))))


def _nodes_below(curve: Curve, level: float) -> float:
    """Returns after how many histories the mean over seeds is below a level; infinity if it never is."""
    below = np.flatnonzero(curve.mean("nash_conv") < level)
    return float(curve.x("nodes")[below[0]]) if len(below) else math.inf


def _overtaken(vanilla: Curve, sampled: Curve) -> float:
    """Returns from which of its points on vanilla CFR is below the sampled one, as far as both run; else infinity."""
    since = math.inf
    for nodes, value in zip(vanilla.x("nodes"), vanilla.mean("nash_conv"), strict=True):
        if sampled.x("nodes")[0] <= nodes <= sampled.x("nodes")[-1] * 1.001:
            is_below = value < _at(sampled, float(nodes)) * (1 - 1e-9)
            since = min(since, float(nodes)) if is_below else math.inf
    return since


def _number(nodes: float) -> str:
    return f"{nodes:,.3g}" if nodes < math.inf else "not reached"


LANCTOT_2009 = Paper(
    "lanctot2009",
    "Lanctot, Waugh, Zinkevich, Bowling 2009",
    (
        Item("table1", "table 1: sizes of the games, and seconds per iteration", table1),
        Item("figure1", "figure 1: exploitability against histories touched", figure1),
    ),
)
