"""Lanctot, Waugh, Zinkevich, Bowling 2009, "Monte Carlo sampling for regret minimization in extensive games".

Table 1: sizes of the four games, and seconds per iteration. Figure 1: b1 + b2 against histories touched, vanilla CFR
with and without pruning and both sampled variants.
"""

from __future__ import annotations

import gc
import itertools
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.display import mean_band
from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.item import INTERVALS, Item, Paper, Result, Row, Setting, record_figure, recorded
from mccfr_plus.experiments.papers.judging import (
    AHEAD,
    BEHIND,
    NOT_REPRODUCED,
    Mean,
    common_end,
    end_of,
    nodes_below,
    order,
    values_at,
    verdict,
)
from mccfr_plus.experiments.papers.sizes import size_rows
from mccfr_plus.experiments.plot import Line, plot_curves, plot_parameter
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
_OTHERS = tuple(game for game in GAMES if game != LATENT)
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
        Runs("external", _ALL_EXTERNAL, _OTHERS, 2e9, 8),
        Runs("external-latent", _ALL_EXTERNAL, (LATENT,), 4e9, 8),
        Runs("outcome", _ALL_OUTCOME, _OTHERS, 1e9, 13),
        Runs("outcome-latent", _ALL_OUTCOME, (LATENT,), 4e9, 13),
    ),
}
_LEVEL = 0.5  # of b1 + b2
_MARGIN = 1.5  # a ratio of NashConv that we call considerable: the paper names no number


def figure1(setting: Setting, name: str) -> Result:
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
        for level in (_LEVEL, 2 * _LEVEL) if game == GOOFSPIEL else (_LEVEL,):
            for name in ALGORITHMS:
                what = f"{NAMES[game]}: histories until b1 + b2 < {level:g}, {LABELS[name]}"
                found.append(Row(what, "-", _number(nodes_below(of_game[name], level)), "-"))
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


def _number(nodes: float) -> str:
    return f"{nodes:,.3g}" if nodes < math.inf else "not reached"


# --- claim by claim ---

PAPER = "Lanctot et al. 2009"


def claims(setting: Setting, name: str) -> Result:
    """Returns the verdicts on the paper's claims."""
    curves = recorded(setting, ("figure1", "epsilon"))
    notes = [
        "The claims are those of the experiments (section 5), in our words. CFR is vanilla CFR with pruning in them, "
        "unless the row says without: the paper draws both. Of sampled variants, the paper's forms count; the others "
        "stand beside them.",
        f"Curves are compared where the shorter one ends. Considerable: by a factor of {_MARGIN} or more.",
        INTERVALS,
    ]
    return Result(claim_rows(curves), notes)


def claim_rows(figures: Mapping[str, list[Curve]]) -> list[Row]:
    """Returns a row per claim: what it says, where, what was found here, and the verdict.

    Args:
        figures: Curves by figure.
    """
    curves = {(curve.game, curve.algorithm): curve for curve in figures["figure1"]}
    found = size_rows(PAPER, "table 1", NAMES)
    found.append(
        Row(
            "seconds per iteration",
            "table 1",
            "7 to 7,000 times as fast, on another machine ([table 1](index.md)); by how much less an iteration of a "
            "sampled variant takes than one of vanilla CFR differs, too",
            NOT_REPRODUCED,
        )
    )
    found += [*_speed_rows(curves), *_order_rows(curves), *_pruning_rows(curves)]
    return [*found, _epsilon_claim(figures["epsilon"]), _time_claim(curves)]


_Curves = dict[tuple[str, str], Curve]


def _speed_rows(curves: _Curves) -> list[Row]:
    """How many histories until b1 + b2 < 0.5 in Goofspiel."""
    reached = {name: nodes_below(curves[GOOFSPIEL, name], _LEVEL) for name in ALGORITHMS}
    slower = max(reached[name] for name in SAMPLED)
    texts = [f"{LABELS[name]} {_number(nodes)}" for name, nodes in reached.items()]
    level = f"Goofspiel: b1 + b2 < {_LEVEL:g}"
    sampled = ", ".join(texts[2:])
    orders = math.log10(reached[VANILLA] / slower) if slower < math.inf else -math.inf
    pruned = math.log10(reached[PRUNED] / slower) if slower < math.inf else -math.inf
    return [
        Row(f"{level} after a few million histories with both sampled variants", "5", sampled,
            verdict(slower < 1e7, True)),
        Row(f"{level} after 2.5 billion histories with CFR", "5", ", ".join(texts[:2]),
            verdict(any(abs(math.log(reached[name] / 2.5e9)) < math.log(1.1) for name in (VANILLA, PRUNED)), True)),
        Row("Goofspiel: CFR needs three orders of magnitude more", "5",
            f"{orders:.1f} orders more than the slower of the paper's forms without pruning, {pruned:.1f} with it",
            verdict(orders > 2.5, True)),
    ]  # fmt: skip


def _order_rows(curves: _Curves) -> list[Row]:
    """Which curve is ahead of which."""
    found = []
    ahead = []
    for game in GAMES:
        relations = [_relation(curves, game, name, VANILLA) for name in SAMPLED]
        ahead += [NAMES[game]] if all(result == AHEAD for result, _, _ in relations) else []
    here = f"both of the paper's forms are ahead of CFR without pruning in {', '.join(ahead) or 'no game'}"
    found.append(
        Row("sampled variants often outperform CFR dramatically", "5; abstract", here, verdict(len(ahead) > 2, True))
    )
    for game in GAMES:
        result, ratio, numbers = _relation(curves, game, EXTERNAL, PRUNED)
        if game == LATENT:
            what = f"{NAMES[game]}: external sampling is not ahead of CFR by a considerable margin"
            holds = ratio < _MARGIN
        else:
            what = f"{NAMES[game]}: external sampling is ahead of CFR by a considerable margin"
            holds = result == AHEAD and ratio >= _MARGIN
        found.append(Row(what, "5", f"{result}, {ratio:.2g} times: {numbers}", verdict(holds, True)))
    result, _, numbers = _relation(curves, GOOFSPIEL, OUTCOME, EXTERNAL)
    other, _, others = _relation(curves, GOOFSPIEL, OUTCOME_PER_PLAYER, EXTERNAL_PER_NODE)
    here = f"the paper's forms: {result}, {numbers}; the others: {other}, {others}"
    what = "Goofspiel: outcome sampling is better than external sampling"
    found.append(Row(what, "5", here, verdict(result == AHEAD, True)))
    result, _, numbers = _relation(curves, LATENT, OUTCOME, PRUNED)
    other, _, others = _relation(curves, LATENT, OUTCOME_PER_PLAYER, PRUNED)
    plain, _, _ = _relation(curves, LATENT, OUTCOME, VANILLA)
    here = f"{result}: {numbers}; a history per player: {other}, {others}; without pruning: {plain}"
    what = "Latent Tic-Tac-Toe: outcome sampling is worse than CFR"
    found.append(Row(what, "5", here, verdict(result == BEHIND, True)))
    return found


def _relation(curves: _Curves, game: str, first: str, second: str, unit: str = "nodes") -> tuple[str, float, str]:
    """Returns whether the first is ahead where the shorter curve ends, the ratio of means, and both means."""
    pair = curves[game, first], curves[game, second]
    at = common_end(pair, unit)
    means = [end_of(curve, at=at, unit=unit) for curve in pair]
    texts = [f"{LABELS[name]} {mean}" for name, mean in zip((first, second), means, strict=True)]
    of = {"nodes": "histories", "cpu_seconds": "CPU seconds"}[unit]
    return order(*means), means[1].mean / means[0].mean, f"{', '.join(texts)} after {at:.2g} {of}"


def _pruning_rows(curves: _Curves) -> list[Row]:
    """What pruning saves."""
    texts, holds = [], True
    for game in GAMES:
        reached = [nodes_below(curves[game, name], _LEVEL) for name in (VANILLA, PRUNED)]
        texts.append(f"{NAMES[game]} {_number(reached[1])} instead of {_number(reached[0])}")
        holds &= reached[1] < reached[0]
    run = curves[LATENT, PRUNED].runs[0]
    first = run[0].nodes / run[0].iterations
    later = min((b.nodes - a.nodes) / (b.iterations - a.iterations) for a, b in itertools.pairwise(run))
    here = f"{first / 1e6:.1f} million, then down to {later / 1e6:.1f} million (mean between two measuring points)"
    return [
        Row("pruning is key to CFR being practical", "5",
            f"histories until b1 + b2 < {_LEVEL:g}: {'; '.join(texts)}", verdict(holds, True)),
        Row("Latent Tic-Tac-Toe: CFR's first iteration touches 142 million histories, later ones as few as 5 million",
            "5", f"{here}; its tree is another one than the paper's", NOT_REPRODUCED),
    ]  # fmt: skip


def _epsilon_claim(curves: Sequence[Curve]) -> Row:
    """Whether outcome sampling with the paper's epsilon ends near the best one in each game."""
    texts, holds = [], True
    for game, means in _ends_by_epsilon(curves).items():
        best = min(means, key=means.__getitem__)
        ratio = means[_CHOSEN_EPSILON].mean / means[best].mean
        texts.append(f"{NAMES[game]} {ratio:.2g} ({best:g})")
        holds &= ratio < _MARGIN
    here = f"b1 + b2 over that of the best of {', '.join(map(str, EPSILONS))} (which): {'; '.join(texts)}"
    return Row("epsilon = 0.6 worked well in all games", "5", here, verdict(holds, True))


def _time_claim(curves: _Curves) -> Row:
    """Whether the sampled variants and CFR stand in the same order after equal times as after equal histories."""
    pairs = ((EXTERNAL, PRUNED), (OUTCOME, PRUNED), (OUTCOME, EXTERNAL))
    others = []
    for game, (first, second) in itertools.product(GAMES, pairs):
        by_nodes, _, _ = _relation(curves, game, first, second)
        by_time, _, numbers = _relation(curves, game, first, second, "cpu_seconds")
        if by_nodes != by_time:
            others.append(f"{NAMES[game]}: {by_time} instead of {by_nodes}: {numbers}")
    count = len(GAMES) * len(pairs)
    here = f"{count - len(others)} of {count} pairs stand in the same order after equal CPU times"
    here += f"; {'; '.join(others)}" if others else ""
    return Row("over time the results are nearly the same", "5", here, verdict(not others, True))


# --- section 5: epsilon ---

EPSILONS = (0.1, 0.3, 0.6, 0.9)
_CHOSEN_EPSILON = 0.6
_EPSILON_NODES = {"small": 1e8, "paper": 1e9}


def epsilon(setting: Setting, name: str) -> Result:
    """Returns how outcome sampling ends with several epsilons."""
    nodes = _EPSILON_NODES[setting.scale]
    algorithms = tuple(_outcome(value) for value in EPSILONS)
    comparison = Comparison(GAMES, algorithms, (1, 2, 3), Limit("nodes", nodes), 1)  # only the ends count
    curves, pictures = record_figure(setting, name, {"runs": comparison})
    ends = {
        game: [curve.y("nash_conv")[:, -1] for curve in sorted(curves, key=_epsilon_of) if curve.game == game]
        for game in GAMES
    }
    plot_parameter(
        [Line(NAMES[game], EPSILONS, values) for game, values in ends.items()],
        pictures,
        title=f"Outcome sampling after {nodes:.0e} histories",
        xlabel="epsilon: share of uniform play at own information sets",
        ylabel="b1 + b2 (NashConv)",
        xscale="linear",
        band=mean_band,
    )
    notes = ["The paper's outcome sampling, with a history for both players, and games of table 1.", INTERVALS]
    return Result(epsilon_rows(curves), notes, pictures)


def epsilon_rows(curves: Sequence[Curve]) -> list[Row]:
    """Returns where outcome sampling ended, by game and epsilon."""
    return [
        Row(f"{NAMES[game]}: epsilon {value:g}, b1 + b2", "-", str(mean), "-")
        for game, means in _ends_by_epsilon(curves).items()
        for value, mean in means.items()
    ]


def _outcome(epsilon: float) -> str:
    return f"outcome(epsilon={epsilon:g},update_all_players=True)"


def _epsilon_of(curve: Curve) -> float:
    return next(value for value in EPSILONS if _outcome(value) == curve.algorithm)


def _ends_by_epsilon(curves: Sequence[Curve]) -> dict[str, dict[float, Mean]]:
    found: dict[str, dict[float, Mean]] = {game: {} for game in GAMES}
    for curve in sorted(curves, key=_epsilon_of):
        found[curve.game][_epsilon_of(curve)] = end_of(curve)
    return found


LANCTOT_2009 = Paper(
    "lanctot2009",
    "Lanctot, Waugh, Zinkevich, Bowling 2009",
    (
        Item("table1", "table 1: sizes of the games, and seconds per iteration", table1),
        Item("figure1", "figure 1: exploitability against histories touched", figure1),
        Item("epsilon", "section 5: epsilon of outcome sampling", epsilon),
        Item("claims", "claim by claim", claims),
    ),
)
