"""Claims of Lanctot, Waugh, Zinkevich, Bowling 2009: abstract, sections 5 and 6. Run by `lanctot2009.py`."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import common
import numpy as np
from common import AHEAD, BEHIND, INTERVALS, Beside, Finding, Page, Setting, beside, order, verdict
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
    OUTCOME_ALGORITHM_1,
    PRINTED_SECONDS,
    PRUNED,
    SAMPLED,
    SIZES,
    TITLES,
    VANILLA,
    below,
    ends_by_epsilon,
    histories,
    seconds_by_game,
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
        "The claims are from the abstract and sections 5 and 6, in our words. Unless a row says *without pruning*, CFR "
        "is vanilla CFR with pruning, as section 5 introduces it.",
        "Verdicts are based on the paper's forms: simultaneous updates of CFR, one history for both players, a draw "
        "per infoset, and optimistic averages. Results with alternating updates and lazy averages follow them.",
        "Curves are compared where the shorter one ends, and never beyond the right end of the paper's axis: "
        f"{', '.join(f'{NAMES[game]} {end:.0e}' for game, end in AXIS.items())}. A *considerable* margin is a factor "
        f"of {_MARGIN} or more. CFR plays uniformly until it has completed its first iteration.",
        "Runs of the paper's forms that end before half of that axis count as smaller scale. Longer runs may lead to "
        "other results, as those with lazy averages show.",
        INTERVALS,
    ]
    _, rows = common.load_rows(setting.folder / "table1.json")
    return Page(claim_findings(figures, rows), notes)


def claim_findings(figures: Mapping[str, Sequence[Curve]], table1: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Returns a finding per claim: what it says, where, what was found here, and the verdict."""
    curves = {(curve.game, curve.algorithm): curve for curve in figures["figure1"]}
    return [
        *common.size_findings({TITLES[game]: rows for game, rows in SIZES.items()}, "table 1"),
        *_seconds_findings(seconds_by_game(table1, figures["figure1"])),
        *_level_findings(curves),
        *_order_findings(curves),
        *_pruning_findings(curves),
        *_epsilon_findings(figures["epsilon"]),
        _time_finding(curves),
        _rate_finding(curves),
        _cost_finding(curves),
    ]


def _relation(curves: _Curves, game: str, first: str, second: str, unit: str = "nodes") -> tuple[Beside | None, Beside]:
    """Returns how one algorithm stands beside another: the paper's forms, None if not run, and this package's."""
    at = AXIS[game] if unit == "nodes" else None
    of_paper, ours = (
        beside(curves[game, a], curves[game, b], at, unit, measure="nash_conv") if (game, a) in curves else None
        for a, b in ((first, second), (OURS[first], OURS[second]))
    )
    assert ours is not None
    return of_paper, ours


def _text(results: tuple[Beside | None, Beside]) -> str:
    return "; ".join(
        "the paper's form was not run" if each is None else f"{each.order}, {each.ratio:.2g} times: {each.text}"
        for each in results
    )


def _is_full(curves: _Curves, game: str, *names: str) -> bool:
    """Returns whether runs come near the right end of the paper's axis."""
    return all(curves[game, name].x()[-1] >= AXIS[game] / 2 for name in names if (game, name) in curves)


def _is(result: Beside | None, relation: str, margin: float = 0.0) -> bool | None:
    """Returns whether a curve is in some order to another, and ahead by a factor; None if it was not run."""
    return None if result is None else result.order == relation and result.ratio >= margin


def _seconds_findings(seconds: Mapping[str, Sequence[float]]) -> list[Finding]:
    """How long iterations of CFR, external and outcome sampling take, by game."""
    texts = []
    for game, found in seconds.items():
        pairs = zip(found, PRINTED_SECONDS[game], strict=True)
        texts.append(f"{NAMES[game]} {', '.join(f'{here:.2g} ({printed:.2g})' for here, printed in pairs)}")
    here = f"CFR, external, outcome sampling, and printed on another machine: {'; '.join(texts)}"
    agree = all(np.allclose(found, PRINTED_SECONDS[game], rtol=0.1) for game, found in seconds.items())
    longest = [NAMES[game] for game, found in seconds.items() if list(found) == sorted(found, reverse=True)]
    return [
        Finding("seconds per iteration, of three algorithms in four games", "table 1", here, verdict(agree, True)),
        Finding(
            "an iteration of CFR takes longest, one of outcome sampling shortest, in all games",
            "table 1",
            f"in {', '.join(longest)}",
            verdict(len(longest) == len(seconds), True),
        ),
    ]


def _level_findings(curves: _Curves) -> list[Finding]:
    """How many histories until b1 + b2 < 0.5 in Goofspiel."""
    names = (*SAMPLED, OUTCOME_ALGORITHM_1, PRUNED, VANILLA)
    reached = {
        name: below(curves[GOOFSPIEL, name])
        for name in (*names, *map(OURS.__getitem__, names))
        if (GOOFSPIEL, name) in curves
    }
    texts = [f"{name} {histories(count)}" for name, count in reached.items()]
    sampled, exact = (", ".join(text for text in texts if ("CFR" in text) == is_cfr) for is_cfr in (False, True))
    slower = max(SAMPLED, key=reached.__getitem__)
    few = reached[slower] < 1e7
    is_known = reached[PRUNED] < math.inf or curves[GOOFSPIEL, PRUNED].x()[-1] >= 2.5e9
    as_printed = abs(math.log(reached[PRUNED] / 2.5e9)) < math.log(1.1) if is_known else None
    # A run that has not reached the level needs more histories than it has, so that the orders are fewer.
    needed = min(reached[slower], curves[GOOFSPIEL, slower].x()[-1])
    orders = math.log10(reached[PRUNED] / needed) if reached[PRUNED] < math.inf else None
    ours, without = (
        math.log10(reached[OURS[name]] / max(reached[OURS[each]] for each in SAMPLED)) for name in (PRUNED, VANILLA)
    )
    less = "less than " if reached[slower] == math.inf else ""
    here = f"{'not reached' if orders is None else f'{less}{orders:.1f} orders'}; with lazy averages and alternating "
    here += f"updates {ours:.1f} orders more than the slower sampled form, {without:.1f} without pruning"
    level = f"Goofspiel: b1 + b2 < {LEVEL:g}"
    what = "Goofspiel: CFR needs three orders of magnitude more"
    holds = None if orders is None or (orders > 2.5 and reached[slower] == math.inf) else orders > 2.5
    return [
        Finding(f"{level} after a few million histories with both", "5", sampled, verdict(few, True)),
        Finding(f"{level} after 2.5 billion histories with CFR", "5", exact, verdict(as_printed, True)),
        Finding(what, "5", here, verdict(holds, True)),
    ]


def _order_findings(curves: _Curves) -> list[Finding]:
    """Which curve is ahead of which."""
    results = {(game, name): _relation(curves, game, name, PRUNED) for game in GAMES for name in SAMPLED}
    far = {
        f"{NAMES[game]}, {name.partition(',')[0]}": _is(of_paper, AHEAD, _MARGIN)
        for (game, name), (of_paper, _) in results.items()
    }
    run = {name: is_far for name, is_far in far.items() if is_far is not None}
    ahead = [name for name, is_far in run.items() if is_far]
    pairs = [_relation(curves, game, name, VANILLA)[0] for game, name in results]
    count = sum(bool(_is(each, AHEAD, _MARGIN)) for each in pairs)
    here = f"ahead by a considerable margin in {len(ahead)} of {len(run)} cases: {'; '.join(ahead)}. Of CFR without "
    here += f"pruning in {count}"
    holds = 2 * len(ahead) > len(run) if run else None
    found = [Finding("sampled variants often outperform CFR dramatically", "5; abstract", here, verdict(holds, False))]
    for game in GAMES:
        of_paper, ours = results[game, EXTERNAL]
        without = _relation(curves, game, EXTERNAL, VANILLA)
        text = f"{_text(results[game, EXTERNAL])}. Without pruning: {_short(without)}"
        what = f"{NAMES[game]}: external sampling outperforms CFR"
        is_full = _is_full(curves, game, EXTERNAL, PRUNED)
        found.append(Finding(what, "5", text, verdict(_is(of_paper, AHEAD), is_full)))
        is_ahead, is_far = _is(of_paper, AHEAD), _is(of_paper, AHEAD, _MARGIN)
        holds = is_ahead and not is_far if game == LATENT else is_far
        what = f"{NAMES[game]}: its margin is {'not ' if game == LATENT else ''}considerable"
        found.append(Finding(what, "5", _short((of_paper, ours)), verdict(holds, is_full)))
    better = _relation(curves, GOOFSPIEL, OUTCOME, EXTERNAL)
    what = "Goofspiel: outcome sampling is better than external sampling"
    is_full = _is_full(curves, GOOFSPIEL, *SAMPLED)
    other = _relation(curves, GOOFSPIEL, OUTCOME_ALGORITHM_1, EXTERNAL)
    text = f"{_text(better)}. A history per player: {_text(other)}"
    found.append(Finding(what, "5", text, verdict(_is(better[0], AHEAD), is_full)))
    worse = results[LATENT, OUTCOME]
    text = f"{_text(worse)}. Without pruning: {_short(_relation(curves, LATENT, OUTCOME, VANILLA))}"
    what = "Latent Tic-Tac-Toe: outcome sampling is worse than CFR"
    is_full = _is_full(curves, LATENT, OUTCOME, PRUNED)
    found.append(Finding(what, "5", text, verdict(_is(worse[0], BEHIND), is_full)))
    winners = {
        game: [name for name in SAMPLED if _is(results[game, name][0], AHEAD)]
        for game in GAMES
        if results[game, EXTERNAL][0] is not None
    }
    text = "; ".join(f"{NAMES[game]}: {', '.join(names) or 'none'}" for game, names in winners.items())
    what = "in very different games, cheaper iterations lead to faster convergence than CFR's"
    holds = all(winners.values()) if len(winners) == len(GAMES) else None
    return [*found, Finding(what, "6", f"ahead of CFR: {text}", verdict(holds, False))]


def _short(results: tuple[Beside | None, Beside]) -> str:
    texts = ["not run" if each is None else f"{each.order}, {each.ratio:.2g} times" for each in results]
    return f"{texts[0]}; with lazy averages and alternating updates {texts[1]}"


def _pruning_findings(curves: _Curves) -> list[Finding]:
    """What pruning saves."""
    texts, gains = [], []
    for game in GAMES:
        of_paper, ours = _relation(curves, game, PRUNED, VANILLA)
        assert of_paper is not None
        gains.append(of_paper.ratio)
        texts.append(f"{NAMES[game]} {of_paper.ratio:.2g} times: {of_paper.text}; alternating {ours.ratio:.2g} times")
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
            "; ".join(texts),
            verdict(min(gains) >= _MARGIN, True),
        ),
        Finding(
            what.format("the first iteration of", "es", "142"), "5", of_first, verdict(round(first / 1e6) == 142, True)
        ),
        Finding(
            what.format("later iterations of", "", "as few as 5"),
            "5",
            f"{later / 1e6:.1f} million, mean between two evaluations",
            verdict(round(later / 1e6) == 5, True),
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
    texts, beaten, ratios, uniform = [], False, [], []
    for game, means in ends_by_epsilon(curves).items():
        chosen, best = means[_CHOSEN_EPSILON], min(means, key=means.__getitem__)
        others = [f"{value:g}" for value, mean in means.items() if order(mean, chosen) == AHEAD]
        beaten |= bool(others)
        ratio = chosen.mean / means[best].mean
        texts.append(f"{NAMES[game]} {ratio:.2g} times that of {best:g}, ahead of it: {', '.join(others) or 'none'}")
        if 1.0 in means:
            uniform.append(order(chosen, means[1.0]) == AHEAD)
            ratios.append(f"{NAMES[game]} {means[1.0].mean / chosen.mean:.2g}")
    tried = ", ".join(f"{value:g}" for value in EPSILONS)
    here = f"b1 + b2 beside the best of {tried}: {'; '.join(texts)}"
    bias = f"b1 + b2 with epsilon = 1 over that with 0.6: {', '.join(ratios) or 'not run'}"
    helps = all(uniform) if len(uniform) == len(GAMES) else None
    return [
        Finding("epsilon = 0.6 worked well in all games", "5", here, verdict(not beaten, True)),
        Finding("a bias toward likely outcomes helps, against the bound", "5", bias, verdict(helps, True)),
    ]


def _time_finding(curves: _Curves) -> Finding:
    """Whether the sampled variants and CFR are in the same order after equal times as after equal histories."""
    pairs = ((EXTERNAL, PRUNED), (OUTCOME, PRUNED), (OUTCOME, EXTERNAL))
    others, count = [], 0
    for game, (first, second) in itertools.product(GAMES, pairs):
        by_nodes, _ = _relation(curves, game, first, second)
        by_time, _ = _relation(curves, game, first, second, "cpu_seconds")
        if by_nodes is None or by_time is None:
            continue
        count += 1
        if by_nodes.order != by_time.order:
            others.append(f"{NAMES[game]}: {by_time.order} instead of {by_nodes.order}: {by_time.text}")
    here = f"{count - len(others)} of {count} pairs stand in the same order after equal CPU times"
    here += f"; {'; '.join(others)}" if others else ""
    return Finding("over time the results are nearly the same", "5", here, verdict(not others if count else None, True))


def _rate_finding(curves: _Curves) -> Finding:
    """How b1 + b2 falls in the last decade of histories."""
    slopes = {
        f"{NAMES[game]}, {name.partition(',')[0]}{'' if name != PRUNED else ' (pruned)'}": _slope(curves[game, name])
        for game in GAMES
        for name in (*SAMPLED, VANILLA, PRUNED)
        if (game, name) in curves
    }
    holds = all(abs(slope - _RATE) <= _NEAR for slope in slopes.values())
    here = f"exponents of b1 + b2 over the last factor of ten: {', '.join(f'{k} {v:.2f}' for k, v in slopes.items())}"
    return Finding("regret falls at the same rate, 1 / sqrt(T), with all algorithms", "5", here, verdict(holds, True))


def _slope(curve: Curve) -> float:
    x, y = np.log(curve.x()), np.log(curve.mean("nash_conv"))
    last = x >= x[-1] - math.log(11)
    return float(np.polyfit(x[last], y[last], 1)[0])


def _cost_finding(curves: _Curves) -> Finding:
    """Whether sampled variants need more iterations."""
    texts, more = [], []
    for game in GAMES:
        full = below(curves[game, VANILLA], "iterations")
        sampled = [below(curves[game, name], "iterations") for name in SAMPLED if (game, name) in curves]
        more += [count > full for count in sampled if full < math.inf]
        texts.append(f"{NAMES[game]} {histories(full)}; {', '.join(map(histories, sampled)) or 'not run'}")
    here = f"iterations until b1 + b2 < {LEVEL:g}, CFR; external, outcome sampling: {'. '.join(texts)}"
    return Finding(
        "sampled variants need more iterations than CFR", "abstract", here, verdict(all(more) if more else None, True)
    )
