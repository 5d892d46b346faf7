"""The claims of section 5, with verdicts."""

import itertools
import math
from collections.abc import Mapping, Sequence

from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.papers.item import INTERVALS, Result, Row, Setting, recorded
from mccfr_plus.experiments.papers.judging import (
    AHEAD,
    BEHIND,
    NOT_REPRODUCED,
    common_end,
    end_of,
    nodes_below,
    order,
    verdict,
)
from mccfr_plus.experiments.papers.lanctot2009.epsilon import EPSILONS, ends_by_epsilon
from mccfr_plus.experiments.papers.lanctot2009.figure1 import (
    ALGORITHMS,
    EXTERNAL,
    EXTERNAL_PER_NODE,
    GAMES,
    GOOFSPIEL,
    LABELS,
    LATENT,
    LEVEL,
    NAMES,
    OUTCOME,
    OUTCOME_PER_PLAYER,
    PRUNED,
    SAMPLED,
    VANILLA,
    number_of_nodes,
)
from mccfr_plus.experiments.papers.sizes import size_rows

PAPER = "Lanctot et al. 2009"
_MARGIN = 1.5  # a ratio of NashConv that we call considerable: the paper names no number
_CHOSEN_EPSILON = 0.6


def result(setting: Setting, name: str) -> Result:
    """Returns the verdicts on the paper's claims."""
    curves = recorded(setting, ("figure1", "epsilon"))
    notes = [
        "The claims are those of the experiments (section 5), in our words. CFR is vanilla CFR with pruning in them, "
        "unless the row says without: the paper draws both. Of sampled variants, the paper's forms count; the others "
        "stand beside them.",
        f"Curves are compared where the shorter one ends. Considerable: by a factor of {_MARGIN} or more.",
        INTERVALS,
    ]
    return Result(rows(curves), notes)


def rows(figures: Mapping[str, list[Curve]]) -> list[Row]:
    """Returns a row per claim: what it says, where, what was found here, and the verdict."""
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
    reached = {name: nodes_below(curves[GOOFSPIEL, name], LEVEL) for name in ALGORITHMS}
    slower = max(reached[name] for name in SAMPLED)
    texts = [f"{LABELS[name]} {number_of_nodes(nodes)}" for name, nodes in reached.items()]
    level = f"Goofspiel: b1 + b2 < {LEVEL:g}"
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
    return order(*means), means[1].mean / means[0].mean, f"{', '.join(texts)} after {at:.3g} {of}"


def _pruning_rows(curves: _Curves) -> list[Row]:
    """What pruning saves."""
    texts, holds = [], True
    for game in GAMES:
        reached = [nodes_below(curves[game, name], LEVEL) for name in (VANILLA, PRUNED)]
        texts.append(f"{NAMES[game]} {number_of_nodes(reached[1])} instead of {number_of_nodes(reached[0])}")
        holds &= reached[1] < reached[0]
    run = curves[LATENT, PRUNED].runs[0]
    first = run[0].nodes / run[0].iterations
    later = min((b.nodes - a.nodes) / (b.iterations - a.iterations) for a, b in itertools.pairwise(run))
    here = f"{first / 1e6:.1f} million, then down to {later / 1e6:.1f} million (mean between two measuring points)"
    return [
        Row("pruning is key to CFR being practical", "5",
            f"histories until b1 + b2 < {LEVEL:g}: {'; '.join(texts)}", verdict(holds, True)),
        Row("Latent Tic-Tac-Toe: CFR's first iteration touches 142 million histories, later ones as few as 5 million",
            "5", f"{here}; its tree is another one than the paper's", NOT_REPRODUCED),
    ]  # fmt: skip


def _epsilon_claim(curves: Sequence[Curve]) -> Row:
    """Whether outcome sampling with the paper's epsilon ends near the best one in each game."""
    texts, holds = [], True
    for game, means in ends_by_epsilon(curves).items():
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
