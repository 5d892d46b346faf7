"""Claims of Lanctot, Waugh, Zinkevich, Bowling 2009: abstract, sections 5 and 6. Run by `lanctot2009.py`."""

import itertools
import math
from collections.abc import Mapping, Sequence

import common
import numpy as np
from common import AHEAD, BEHIND, INTERVALS, NOT_REPRODUCED, Beside, Finding, Page, Setting, beside, order, verdict
from lanctot2009 import (
    AXIS,
    EPSILONS,
    EXTERNAL,
    GAMES,
    GOOFSPIEL,
    LATENT,
    LEVEL,
    NAMES,
    OURS,
    OUTCOME,
    PRUNED,
    SAMPLED,
    SIZES,
    TITLES,
    VANILLA,
    below,
    ends_by_epsilon,
    histories,
)

from mccfr_plus.experiments import Curve, Result

_MARGIN = 1.5  # a ratio of NashConv that we call considerable: the paper names no number
_CHOSEN_EPSILON = 0.6
_RATE, _NEAR = -0.5, 0.1  # of 1 / sqrt(T), and how far from it a slope may be
_Curves = dict[tuple[str, str], Curve]


def claims(setting: Setting) -> Page:
    """Returns the verdicts on the paper's claims."""
    figures = {figure: Result.load(setting.folder / f"{figure}.jsonl").curves for figure in ("figure1", "epsilon")}
    notes = [
        "The claims are those of the abstract and of sections 5 and 6, in our words. CFR is vanilla CFR with pruning "
        "in all of them, as section 5 introduces it; a row that means the other one says without pruning.",
        "The paper's forms decide: simultaneous updates of CFR, one history for both players, a draw per infoset, "
        "optimistic averages. After them: alternating updates and lazy averages.",
        "Curves are compared where the shorter one ends, and never beyond the right end of the paper's axis: "
        f"{', '.join(f'{NAMES[game]} {end:.0e}' for game, end in AXIS.items())}. Considerable: by a factor of "
        f"{_MARGIN} or more.",
        INTERVALS,
    ]
    return Page(claim_findings(figures), notes)


def claim_findings(figures: Mapping[str, Sequence[Curve]]) -> list[Finding]:
    """Returns a finding per claim: what it says, where, what was found here, and the verdict."""
    curves = {(curve.game, curve.algorithm): curve for curve in figures["figure1"]}
    seconds = (
        "machine and program are others: [table 1](index.md) has the seconds of the paper's forms; by how much less an "
        "iteration of a sampled variant takes than one of CFR differs as well"
    )
    return [
        *common.size_findings({TITLES[game]: rows for game, rows in SIZES.items()}, "table 1"),
        Finding("12 times per iteration", "table 1", seconds, NOT_REPRODUCED),
        *_level_findings(curves),
        *_order_findings(curves),
        *_pruning_findings(curves),
        *_epsilon_findings(figures["epsilon"]),
        _time_finding(curves),
        _rate_finding(curves),
        *_cost_findings(curves),
    ]


def _relation(curves: _Curves, game: str, first: str, second: str, unit: str = "nodes") -> tuple[Beside, Beside]:
    """Returns how one algorithm stands beside another: the paper's forms, and those of this package."""
    pairs = ((first, second), (OURS[first], OURS[second]))
    at = AXIS[game] if unit == "nodes" else None
    of_paper, ours = (beside(curves[game, a], curves[game, b], at, unit, measure="nash_conv") for a, b in pairs)
    return of_paper, ours


def _text(results: tuple[Beside, Beside]) -> str:
    of_paper, ours = (f"{each.order}, {each.ratio:.2g} times: {each.text}" for each in results)
    return f"{of_paper}; {ours}"


def _level_findings(curves: _Curves) -> list[Finding]:
    """How many histories until b1 + b2 < 0.5 in Goofspiel."""
    reached = {name: below(curves[GOOFSPIEL, name]) for name in (*SAMPLED, PRUNED, VANILLA)}
    reached_ours = {OURS[name]: below(curves[GOOFSPIEL, OURS[name]]) for name in reached}
    texts = [f"{name} {histories(count)}" for name, count in [*reached.items(), *reached_ours.items()]]
    sampled, exact = (", ".join(text for text in texts if ("CFR" in text) == is_cfr) for is_cfr in (False, True))
    slower = max(reached[name] for name in SAMPLED)
    orders, without = (math.log10(reached[name] / slower) for name in (PRUNED, VANILLA))
    as_printed = abs(math.log(reached[PRUNED] / 2.5e9)) < math.log(1.1)
    level = f"Goofspiel: b1 + b2 < {LEVEL:g}"
    here = f"{orders:.1f} orders more than the slower sampled form, {without:.1f} without pruning"
    return [
        Finding(f"{level} after a few million histories with both", "5", sampled, verdict(slower < 1e7, True)),
        Finding(f"{level} after 2.5 billion histories with CFR", "5", exact, verdict(as_printed, True)),
        Finding("Goofspiel: CFR needs three orders of magnitude more", "5", here, verdict(orders > 2.5, True)),
    ]


def _order_findings(curves: _Curves) -> list[Finding]:
    """Which curve is ahead of which."""
    results = {(game, name): _relation(curves, game, name, PRUNED) for game in GAMES for name in SAMPLED}
    far = [
        f"{NAMES[game]} {name.partition(',')[0]} {of_paper.ratio:.2g}"
        for (game, name), (of_paper, _) in results.items()
        if of_paper.order == AHEAD and of_paper.ratio >= _MARGIN
    ]
    here = f"ahead by a considerable margin in {len(far)} of {len(results)} cases: {', '.join(far)}"
    holds = 2 * len(far) > len(results)
    found = [Finding("sampled variants often outperform CFR dramatically", "5; abstract", here, verdict(holds, True))]
    for game in GAMES:
        of_paper, _ = results[game, EXTERNAL]
        without, _ = _relation(curves, game, EXTERNAL, VANILLA)
        text = f"{_text(results[game, EXTERNAL])}; without pruning: {without.order}, {without.ratio:.2g} times"
        what = f"{NAMES[game]}: external sampling outperforms CFR"
        found.append(Finding(what, "5", text, verdict(of_paper.order == AHEAD, True)))
        is_far = of_paper.order == AHEAD and of_paper.ratio >= _MARGIN
        what = f"{NAMES[game]}: its margin is {'not ' if game == LATENT else ''}considerable"
        text = f"{of_paper.order}, {of_paper.ratio:.2g} times"
        found.append(Finding(what, "5", text, verdict(is_far != (game == LATENT), True)))
    better = _relation(curves, GOOFSPIEL, OUTCOME, EXTERNAL)
    what = "Goofspiel: outcome sampling is better than external sampling"
    found.append(Finding(what, "5", _text(better), verdict(better[0].order == AHEAD, True)))
    worse = results[LATENT, OUTCOME]
    without, _ = _relation(curves, LATENT, OUTCOME, VANILLA)
    text = f"{_text(worse)}; without pruning: {without.order}, {without.ratio:.2g} times"
    what = "Latent Tic-Tac-Toe: outcome sampling is worse than CFR"
    found.append(Finding(what, "5", text, verdict(worse[0].order == BEHIND, True)))
    winners = {game: [name for name in SAMPLED if results[game, name][0].order == AHEAD] for game in GAMES}
    text = "; ".join(f"{NAMES[game]}: {', '.join(names) or 'none'}" for game, names in winners.items())
    what = "in very different games, cheaper iterations lead to faster convergence than CFR's"
    return [*found, Finding(what, "6", f"ahead of CFR: {text}", verdict(all(winners.values()), True))]


def _pruning_findings(curves: _Curves) -> list[Finding]:
    """What pruning saves."""
    texts, gains = [], []
    for game in GAMES:
        plain, pruned = (below(curves[game, name]) for name in (VANILLA, PRUNED))
        gains.append(plain / pruned)
        texts.append(f"{NAMES[game]} {histories(pruned)} instead of {histories(plain)}, {gains[-1]:.2g} times")
    run = curves[LATENT, PRUNED].runs[0]
    first = run[0].nodes / run[0].iterations
    later = min((b.nodes - a.nodes) / (b.iterations - a.iterations) for a, b in itertools.pairwise(run))
    size = next(ours for what, _, ours, _ in SIZES[LATENT] if what == "histories")
    second = f"iterations {run[0].iterations + 1} to {run[1].iterations}: {_per_iteration(run, 1):.1f} million each"
    of_first = f"{first / 1e6:.1f} million, {first / size:.2f} times all histories; printed: 2.02 times"
    what = "Latent Tic-Tac-Toe: {} CFR touch{} {} million histories"
    return [
        Finding(
            "pruning is key to CFR being practical in all games",
            "5",
            f"histories until b1 + b2 < {LEVEL:g}: {'; '.join(texts)}",
            verdict(min(gains) >= _MARGIN, True),
        ),
        Finding(
            what.format("the first iteration of", "es", "142"), "5", of_first, verdict(round(first / 1e6) == 142, True)
        ),
        Finding(
            what.format("later iterations of", "", "as few as 5"),
            "5",
            f"{later / 1e6:.1f} million, mean between two evaluations",
            verdict(later < 5.5e6, True),
        ),
        Finding(
            "Latent Tic-Tac-Toe: dominated actions are gone after one or two traversals, which allows pruning",
            "5",
            second,
            verdict(_per_iteration(run, 1) < first / 2e6, True),
        ),
    ]


def _per_iteration(run: Sequence, number: int) -> float:
    """Returns the millions of histories per iteration before an evaluation."""
    before, after = run[number - 1], run[number]
    return (after.nodes - before.nodes) / (after.iterations - before.iterations) / 1e6


def _epsilon_findings(curves: Sequence[Curve]) -> list[Finding]:
    """How outcome sampling with the paper's epsilon stands beside others."""
    texts, beaten, uniform = [], False, True
    for game, means in ends_by_epsilon(curves).items():
        chosen = means[_CHOSEN_EPSILON]
        best = min(means, key=means.__getitem__)
        others = [f"{value:g}" for value, mean in means.items() if order(mean, chosen) == AHEAD]
        beaten |= bool(others)
        uniform &= order(chosen, means[1.0]) == AHEAD
        ratio = chosen.mean / means[best].mean
        texts.append(f"{NAMES[game]} {ratio:.2g} times that of {best:g}, ahead of it: {', '.join(others) or 'none'}")
    tried = ", ".join(f"{value:g}" for value in EPSILONS)
    here = f"b1 + b2 beside the best of {tried}: {'; '.join(texts)}"
    ratios = [
        f"{NAMES[game]} {means[1.0].mean / means[_CHOSEN_EPSILON].mean:.2g}"
        for game, means in ends_by_epsilon(curves).items()
    ]
    bias = f"b1 + b2 with epsilon = 1 over that with 0.6: {', '.join(ratios)}"
    return [
        Finding("epsilon = 0.6 worked well in all games", "5", here, verdict(not beaten, True)),
        Finding("a bias towards likely outcomes helps, against the bound", "5", bias, verdict(uniform, True)),
    ]


def _time_finding(curves: _Curves) -> Finding:
    """Whether the sampled variants and CFR are in the same order after equal times as after equal histories."""
    pairs = ((EXTERNAL, PRUNED), (OUTCOME, PRUNED), (OUTCOME, EXTERNAL))
    others = []
    for game, (first, second) in itertools.product(GAMES, pairs):
        by_nodes, _ = _relation(curves, game, first, second)
        by_time, _ = _relation(curves, game, first, second, "cpu_seconds")
        if by_nodes.order != by_time.order:
            others.append(f"{NAMES[game]}: {by_time.order} instead of {by_nodes.order}: {by_time.text}")
    count = len(GAMES) * len(pairs)
    here = f"{count - len(others)} of {count} pairs stand in the same order after equal CPU times"
    here += f"; {'; '.join(others)}" if others else ""
    return Finding("over time the results are nearly the same", "5", here, verdict(not others, True))


def _rate_finding(curves: _Curves) -> Finding:
    """How b1 + b2 falls in the last decade of histories."""
    slopes = {
        f"{NAMES[game]}, {name.partition(',')[0]}{'' if name != PRUNED else ' (pruned)'}": _slope(curves[game, name])
        for game in GAMES
        for name in (*SAMPLED, VANILLA, PRUNED)
    }
    holds = all(abs(slope - _RATE) <= _NEAR for slope in slopes.values())
    here = f"exponents of b1 + b2 over the last factor of ten: {', '.join(f'{k} {v:.2f}' for k, v in slopes.items())}"
    return Finding("regret falls at the same rate, 1 / sqrt(T), with all algorithms", "5", here, verdict(holds, True))


def _slope(curve: Curve) -> float:
    x, y = np.log(curve.x()), np.log(curve.mean("nash_conv"))
    last = x >= x[-1] - math.log(11)
    return float(np.polyfit(x[last], y[last], 1)[0])


def _cost_findings(curves: _Curves) -> list[Finding]:
    """Whether sampled variants need more iterations."""
    texts, more = [], []
    for game in GAMES:
        full, *sampled = (below(curves[game, name], "iterations") for name in (VANILLA, *SAMPLED))
        more += [count > full for count in sampled]
        texts.append(f"{NAMES[game]} {histories(full)}; {', '.join(map(histories, sampled))}")
    here = f"iterations until b1 + b2 < {LEVEL:g}, CFR; external, outcome sampling: {'. '.join(texts)}"
    return [Finding("sampled variants need more iterations than CFR", "abstract", here, verdict(all(more), True))]
