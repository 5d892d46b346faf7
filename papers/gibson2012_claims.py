"""Claims of Gibson, Burch, Lanctot, Szafron 2012: abstract, sections 4 to 6, captions. Run by `gibson2012.py`."""

import itertools
from collections.abc import Mapping, Sequence

import common
from common import AHEAD, INTERVALS, NOT_TRIED, TIE, Beside, Finding, Page, Setting, beside, order, verdict
from gibson2012 import (
    ALGORITHMS_OF_LINE_9,
    AVERAGE_STRATEGY,
    CHANCE,
    EXTERNAL,
    MILLI_BIG_BLINDS,
    OUTCOME,
    PAPERS_SUMS,
    RIVALS,
    SHORT_RUNS,
    SIZES,
    UNIFORM,
    VALUES,
    ends_of,
    holdem,
    stack_of,
    text_of,
    title,
)

from mccfr_plus.experiments import Curve, Result

_MUCH = 1.5  # a ratio that we call much: the paper names no number
_SMALL_STACK = 22  # up to it, the paper finds little difference
_TOO_LARGE = "67 million information sets, for which a solver takes about 28 GB"
FIGURES = ("figure1a", "figure1b", "figure2a", "figure2b", "figure3a", "figure3b")


def claims(setting: Setting) -> Page:
    """Returns the verdicts on the paper's claims."""
    figures = {figure: Result.load(setting.folder / f"{figure}.jsonl").curves for figure in FIGURES}
    lengths = [curve.x()[-1] for curves in figures.values() for curve in curves]
    notes = [
        "The claims are from the abstract, sections 4 to 6 and the captions, in our words.",
        "We compare all algorithms with the average of line 9 of algorithm 1, on which the verdicts are based, and all "
        "algorithms with the lazy average, in both cases where the shorter run ends. Figure 2b has lazy averages only. "
        "AS is average strategy sampling with the paper's parameters; ES, CS and OS are external, chance and outcome "
        "sampling. CS draws at every chance node, as in section 2.",
        f"Our runs have {min(lengths):.0e} to {max(lengths):.0e} histories, and the paper's 1e12 and more. So if an "
        "order of algorithms is reproduced, it is reproduced at a smaller scale; otherwise, it may still hold for "
        "longer runs.",
        INTERVALS,
    ]
    return Page(claim_findings(figures), notes)


def claim_findings(figures: Mapping[str, Sequence[Curve]]) -> list[Finding]:
    """Returns a finding per claim: what it says, where, what was found here, and the verdict."""
    found = [
        *common.size_findings(SIZES, "5"),
        *_uniform_findings(),
        *_parameter_claims(figures["figure1a"], figures["figure1b"]),
        Finding("2-NL Hold'em(40): values of tau do as in (30)", "5", f"more than {_TOO_LARGE}", NOT_TRIED),
    ]
    of = {name: {curve.algorithm: curve for curve in figures[name]} for name in ("figure2a", "figure3a", "figure3b")}
    forms = {name: _forms(curves) for name, curves in of.items()}
    chips = title(figures["figure2a"][0].game)
    gains = (f"{form}: {_gain(each)}" for form, each in zip(_FORMS, forms["figure2a"], strict=True))
    here = f"{chips}, {', '.join(gains)}; 36 chips: {_TOO_LARGE}"
    found.append(Finding("2-NL Hold'em(36): AS improves on ES by 54 % at the end", "5, figure 2a", here, NOT_TRIED))
    found += _stack_claims(figures["figure2b"])
    others = [AVERAGE_STRATEGY, CHANCE, EXTERNAL]
    worst = min((beside(of["figure2a"][name], of["figure2a"][OUTCOME]) for name in others), key=lambda each: each.ratio)
    here = f"{chips}, lazy averages: {worst.order}, {worst.ratio:.2f} times: {worst.text}"
    what = "stacks of 20 to 40: OS is much worse than AS, ES and CS"
    found.append(Finding(what, "5, figure 2b", here, verdict(worst.order == AHEAD and worst.ratio >= _MUCH, False)))
    for name in ("figure3a", "figure3b"):
        texts = [f"{form}: {_numbers(results)}" for form, results in zip(_FORMS, forms[name], strict=True)]
        what = f"{title(figures[name][0].game)}: AS converges faster than CS, ES and OS"
        holds = _all_ahead(forms[name][0])
        found.append(Finding(what, f"5, {name[:6]} {name[6:]}", ". ".join(texts), verdict(holds, False)))
    return [*found, *_summary_findings({title(figures[name][0].game): each for name, each in forms.items()})]


_Form = dict[str, Beside]  # AS beside each rival that was run
_FORMS = ("averages of line 9", "lazy averages")


def _forms(curves: Mapping[str, Curve]) -> tuple[_Form, _Form]:
    """Returns how AS stands beside the rivals: all with the average of line 9, and all with the lazy one."""
    line_9 = {
        rival: beside(curves[PAPERS_SUMS], curves[label])
        for rival, label in zip(RIVALS, ALGORITHMS_OF_LINE_9, strict=True)
        if label in curves
    }
    return line_9, {rival: beside(curves[AVERAGE_STRATEGY], curves[rival]) for rival in RIVALS}


def _all_ahead(form: _Form, rivals: Sequence[str] = RIVALS) -> bool | None:
    """Returns whether AS is ahead of some rivals; None: not all of them were run."""
    if not set(rivals) <= set(form):
        return None
    return all(form[rival].order == AHEAD for rival in rivals)


def _numbers(form: _Form) -> str:
    return "; ".join(f"{each.order}, {each.ratio:.2f} times: {each.text}" for each in form.values()) or "not run"


def _gain(form: _Form) -> str:
    """Returns by how much AS improves on ES."""
    return f"{100 * (1 - 1 / form[EXTERNAL].ratio):.0f} %" if EXTERNAL in form else "not run"


def _summary_findings(forms: Mapping[str, tuple[_Form, _Form]]) -> list[Finding]:
    """What the paper says about several games."""
    found = []
    for what, where, rivals in (
        ("the parameters of 2-NL Hold'em(30) work well in other 2-NL Hold'em(k) and Bluff", "5", (EXTERNAL,)),
        ("AS converges faster than CS, ES and OS in all games", "abstract; 6", RIVALS),
        ("AS is a better choice than OS", "4", (OUTCOME,)),
    ):
        judged = {game: _all_ahead(line_9, rivals) for game, (line_9, _) in forms.items()}
        texts = [
            f"{game}: {'; '.join(_orders(form, rivals, each) for form, each in zip(_FORMS, both, strict=True))}"
            for game, both in forms.items()
        ]
        fails = False in judged.values()
        holds = None if None in judged.values() and not fails else not fails
        found.append(Finding(what, where, f"AS beside others. {'. '.join(texts)}", verdict(holds, False)))
    return found


def _orders(form: str, rivals: Sequence[str], results: _Form) -> str:
    texts = [f"{rival} {results[rival].order}, {results[rival].ratio:.2f}" for rival in rivals if rival in results]
    return f"{form}: {', '.join(texts) or 'not run'}"


def _uniform_findings() -> list[Finding]:
    """Exploitability of uniform play."""
    here = MILLI_BIG_BLINDS * UNIFORM[holdem(36)]
    difference = here / 6793 - 1
    what = "2-NL Hold'em(36): uniform play is exploitable for 6793 mbb/g"
    text = f"{here:.0f} mbb/g, {difference:+.1%}; buckets are ours"
    found = [Finding(what, "figure 2a", text, verdict(round(here) == 6793, True))]
    no_reading = "; no reading that was tried gives the print ([games](../../background/games.md#bluff))"
    for game, printed in (("bluff(dice1=1,dice2=1)", 0.780), ("bluff", 0.784)):
        holds = round(UNIFORM[game], 3) == printed
        what = f"{title(game)}: uniform play is exploitable for {printed:.3f}"
        cut = "; 0.780 if digits are cut off, 0.781 if it is rounded" if game != "bluff" else no_reading
        text = f"{UNIFORM[game]:.6f}{cut}"
        found.append(Finding(what, "figure 3", text, verdict(holds, True)))
    return found


def _parameter_claims(of_epsilon: Sequence[Curve], of_tau: Sequence[Curve]) -> list[Finding]:
    means = ends_of(of_epsilon)
    best = min(means.values())
    chosen = [means[text_of("epsilon", 0.05, beta)] for beta in (1e5, 1e6)]
    others = sum(order(best, mean) != AHEAD for mean in means.values()) - 1
    here = (
        f"{' and '.join(map(str, chosen))}; the best of all {best}, from which {others} of {len(means) - 1} others are "
        "not told apart"
    )
    # Where no value is behind the best, the runs say nothing.
    holds = all(order(best, mean) != AHEAD for mean in chosen) and others < len(means) - 1
    what = "epsilon 0.05 with beta 1e5 or 1e6 is the least exploitable, within noise"
    found = [Finding(what, "5, figure 1a", here, verdict(holds, False))]
    ends = ends_of(of_tau)
    by_tau = {value: ends[text_of("tau", value, 1e6)] for value in VALUES["tau"]}
    best = min(by_tau.values())
    near = [f"{value:g}" for value, mean in by_tau.items() if order(best, mean) != AHEAD]
    holds = {"100", "1000"} <= set(near) and len(near) < len(by_tau)
    what = "tau 100 and 1000 with beta 1e6 are the least exploitable, within noise"
    here = f"not told apart from the best: {', '.join(near)}"
    return [*found, Finding(what, "5, figure 1b", here, verdict(holds, False))]


def _stack_claims(curves: Sequence[Curve]) -> list[Finding]:
    ratios, texts, little, orders = [], [], [], {}
    stacks = sorted({stack_of(curve.game) for curve in curves})
    for stack in stacks:
        ends = {curve.algorithm: curve.interval() for curve in curves if stack_of(curve.game) == stack}
        ours, best = ends[AVERAGE_STRATEGY], min(ends[CHANCE], ends[EXTERNAL])
        ratios.append(best.mean / ours.mean)
        orders[stack] = order(ours, best)
        texts.append(f"{stack} chips {orders[stack]}, {ratios[-1]:.2f} ({best.mean / ends[SHORT_RUNS].mean:.2f})")
        if 20 <= stack <= _SMALL_STACK:
            little += [
                (stack, name, order(ours, ends[name]), ends[name].mean / ours.mean) for name in (EXTERNAL, CHANCE)
            ]
    here = "best of ES and CS / AS (with tau 100 and beta 1e3): " + "; ".join(texts)
    steps = [a < b for a, b in itertools.pairwise(ratios)]
    grows = sum(steps) > len(steps) / 2 and ratios[-1] > ratios[0]
    is_ahead = [orders[stack] == AHEAD for stack in stacks if stack > _SMALL_STACK]
    wins = f"ahead in {sum(is_ahead)} of {len(is_ahead)}: the next row" if is_ahead else "not run at this scale"
    rows = "; ".join(f"{stack} chips, {name} / AS: {ratio:.2f}, {which}" for stack, name, which, ratio in little)
    no_difference = all(which == TIE for _, _, which, _ in little)
    larger = verdict(all(is_ahead), False) if is_ahead else NOT_TRIED
    what = "stacks of 20 and 22: little difference between AS, ES and CS"
    return [
        Finding(what, "5, figure 2b", rows, verdict(no_difference, False)),
        Finding("larger stacks: AS is significantly better than CS and ES", "5, figure 2b", wins, larger),
        Finding("margins mostly grow with the size of the game", "5, figure 2b", here, verdict(grows, False)),
    ]
