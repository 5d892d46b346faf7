"""The claims of the abstract, section 6 and the captions, with verdicts."""

import itertools
from collections.abc import Mapping

from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.papers.gibson2012.algorithms import (
    AVERAGE_STRATEGY,
    LABELS,
    OUTCOME,
    PAPERS_SUMS,
    SHORT_RUNS,
)
from mccfr_plus.experiments.papers.gibson2012.games import MILLI_BIG_BLINDS, UNIFORM, stack_of, title
from mccfr_plus.experiments.papers.gibson2012.parameters import TAUS, ends_of, text_of
from mccfr_plus.experiments.papers.item import INTERVALS, Result, Row, Setting, recorded
from mccfr_plus.experiments.papers.judging import AHEAD, NOT_TRIED, TIE, end_of, mean_of, order, verdict
from mccfr_plus.experiments.papers.sizes import size_rows

_SMALL_STACK = 22  # up to it, the paper finds little difference
_TOO_LARGE = "67 million information sets, for which a solver takes about 28 GB"
FIGURES = ("figure1a", "figure1b", "figure2a", "figure2b", "figure3a", "figure3b")


def result(setting: Setting, name: str) -> Result:
    """Returns the verdicts on the paper's claims."""
    figures = recorded(setting, FIGURES)
    lengths = [curve.x("nodes")[-1] for curves in figures.values() for curve in curves]
    notes = [
        "The claims are those of the abstract, section 6 and the captions, in our words. Printed numbers that are not "
        "in `docs/background/games.md` are as we know them, without the text at hand.",
        "Average strategy sampling (AS) is judged by the better one of its two forms with the paper's parameters: "
        "with the sums of line 9, and with the default average. ES, CS, OS: external, chance, outcome sampling.",
        f"Runs are {min(lengths):.0e} to {max(lengths):.0e} histories long, the paper's 1e12 and more. So a claim of "
        "an order that is reproduced is reproduced at a smaller scale, and one that is not may hold for longer runs.",
        INTERVALS,
    ]
    return Result(rows(figures), notes)


def rows(figures: Mapping[str, list[Curve]]) -> list[Row]:
    """Returns a row per claim: what it says, where, what was found here, and the verdict."""
    names = {"bluff(dice1=1,dice2=1)": "Bluff(1, 1)", "bluff": "Bluff(2, 1)"}
    names["nl_holdem_buckets(stack=36)"] = "2-NL Hold'em(36)"
    found = [
        *size_rows("Gibson et al. 2012", "6", names),
        *_uniform_rows(),
        *_parameter_claims(figures["figure1a"], figures["figure1b"]),
    ]
    found.append(Row("2-NL Hold'em(40): values of tau do as in (30)", "6", f"more than {_TOO_LARGE}", NOT_TRIED))
    gains, ends = [], {}
    for name in ("figure2a", "figure3a", "figure3b"):
        curves = {curve.algorithm: end_of(curve, "exploitability") for curve in figures[name]}
        ends[name] = curves
        ours = min((curves[AVERAGE_STRATEGY], curves[PAPERS_SUMS]))
        gain, short = (100 * (1 - each.mean / curves["external"].mean) for each in (ours, curves[SHORT_RUNS]))
        gains.append(gain)
        if name == "figure2a":
            here = (
                f"{title(figures[name][0].game)}: {gain:.0f} %, with tau 100 and beta 1e3 {short:.0f} %; 36 chips: "
                f"{_TOO_LARGE}"
            )
            what = "2-NL Hold'em(36): AS improves on ES by 54 % at the end"
            found.append(Row(what, "6, figure 2a", here, NOT_TRIED))
            worst = max(end for name, end in curves.items() if name != OUTCOME)
            here = f"{order(worst, curves[OUTCOME])}: the worst of the others {worst}, OS {curves[OUTCOME]} (chips)"
            holds = order(worst, curves[OUTCOME]) == AHEAD
            found.append(Row("2-NL Hold'em: OS is much worse than the others", "6", here, verdict(holds, False)))
    found += _stack_claims(figures["figure2b"])
    against_external = []
    for name in ("figure3a", "figure3b"):
        texts, results = [], []
        ours = min((ends[name][AVERAGE_STRATEGY], ends[name][PAPERS_SUMS]))
        for other in ("chance", "external", OUTCOME):
            results.append(order(ours, ends[name][other]))
            texts.append(f"{LABELS[other]} {ends[name][other]}, {results[-1]}")
        against_external.append(order(ours, ends[name]["external"]) == AHEAD)
        of_short = order(ends[name][SHORT_RUNS], ends[name]["external"])
        here = (
            f"AS {ours}; {'; '.join(texts)}. With tau 100 and beta 1e3 {ends[name][SHORT_RUNS]}, against ES: {of_short}"
        )
        what = f"{title(figures[name][0].game)}: AS converges faster than CS, ES and OS"
        found.append(Row(what, f"6, {name[:6]} {name[6:]}", here, verdict(results == [AHEAD] * 3, False)))
    here = f"AS gains {gains[1]:.0f} and {gains[2]:.0f} % over ES in Bluff(1, 1) and (2, 1); orders: see above"
    found.append(
        Row("the parameters of 2-NL Hold'em(30) work well in Bluff", "6", here,
            verdict(all(against_external), False))
    )  # fmt: skip
    return found


def _uniform_rows() -> list[Row]:
    """What uniform play is worth."""
    here = MILLI_BIG_BLINDS * UNIFORM["nl_holdem_buckets(stack=36)"]
    text = f"{here:.0f} mbb/g, {here / 6793 - 1:+.1%}; buckets are ours"
    found = [
        Row("2-NL Hold'em(36): uniform play is exploitable for 6793 mbb/g", "figure 2a", text,
            verdict(abs(here / 6793 - 1) < 0.01, True))
    ]  # fmt: skip
    for game, printed, ours in (
        ("Bluff(1, 1)", 0.780, UNIFORM["bluff(dice1=1,dice2=1)"]),
        ("Bluff(2, 1)", 0.784, UNIFORM["bluff"]),
    ):
        holds = abs(ours - printed) < 1e-3
        text = f"{ours:.6f}" + (
            "" if holds else "; no reading that was tried gives the print ([games](../../background/games.md#bluff))"
        )
        what = f"{game}: uniform play is exploitable for {printed:.3f}"
        found.append(Row(what, "figure 3", text, verdict(holds, True)))
    return found


def _parameter_claims(of_epsilon: list[Curve], of_tau: list[Curve]) -> list[Row]:
    found = []
    means = {name: mean_of(values) for name, values in ends_of(of_epsilon).items()}
    best = min(means.values())
    chosen = [means[text_of("epsilon", 0.05, beta)] for beta in (1e5, 1e6)]
    texts = " and ".join(map(str, chosen))
    others = sum(order(best, mean) != AHEAD for mean in means.values()) - 1
    here = f"{texts}; the best of all {best}, from which {others} of {len(means) - 1} others are not told apart"
    # Where no value is behind the best, the runs say nothing.
    holds = all(order(best, mean) != AHEAD for mean in chosen) and others < len(means) - 1
    what = "epsilon 0.05 with beta 1e5 or 1e6 is the least exploitable, within noise"
    found.append(Row(what, "6, figure 1a", here, verdict(holds, False)))
    by_tau = {value: mean_of(ends_of(of_tau)[text_of("tau", value, 1e6)]) for value in TAUS}
    best = min(by_tau.values())
    near = [f"{value:g}" for value, mean in by_tau.items() if order(best, mean) != AHEAD]
    here = f"not told apart from the best: {', '.join(near)}"
    holds = {"100", "1000"} <= set(near) and len(near) < len(TAUS)
    what = "tau 100 and 1000 with beta 1e6 are the least exploitable, within noise"
    found.append(Row(what, "6, figure 1b", here, verdict(holds, False)))
    return found


def _stack_claims(curves: list[Curve]) -> list[Row]:
    ratios, short, texts, little, orders = [], [], [], [], {}
    stacks = sorted({stack_of(curve.game) for curve in curves})
    for stack in stacks:
        ends = {curve.algorithm: end_of(curve, "exploitability") for curve in curves if stack_of(curve.game) == stack}
        ours = min((ends[AVERAGE_STRATEGY], ends[PAPERS_SUMS]))
        best = min(ends["chance"], ends["external"])
        ratios.append(best.mean / ours.mean)
        short.append(best.mean / ends[SHORT_RUNS].mean)
        orders[stack] = order(ours, best)
        texts.append(f"{stack} chips {orders[stack]}, {ratios[-1]:.2f} ({short[-1]:.2f})")
        if 20 <= stack <= _SMALL_STACK:
            little += [
                (stack, name, order(ours, ends[name]), ends[name].mean / ours.mean) for name in ("external", "chance")
            ]
    here = "best of ES and CS / AS (with tau 100 and beta 1e3): " + "; ".join(texts)
    steps = [a < b for a, b in itertools.pairwise(ratios)]
    grows = sum(steps) > len(steps) / 2 and ratios[-1] > ratios[0]
    is_ahead = [orders[stack] == AHEAD for stack in stacks if stack > _SMALL_STACK]
    wins = f"ahead in {sum(is_ahead)} of {len(is_ahead)}: the next row" if is_ahead else "not run at this scale"
    rows = "; ".join(
        f"{stack} chips, {LABELS[name]} / AS: {ratio:.2f}, {which}" for stack, name, which, ratio in little
    )
    return [
        Row("stacks of 20 and 22: little difference between AS, ES and CS", "6, figure 2b", rows,
            verdict(all(which == TIE for _, _, which, _ in little), False)),
        Row("larger stacks: AS is significantly better than CS and ES", "6, figure 2b",
            wins, verdict(all(is_ahead), False) if is_ahead else NOT_TRIED),
        Row("margins mostly grow with the size of the game", "6, figure 2b", here, verdict(grows, False)),
    ]  # fmt: skip
