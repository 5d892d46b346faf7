"""Gibson, Burch, Lanctot, Szafron 2012, "Efficient Monte Carlo CFR in games with many player actions".

``python papers/gibson2012.py figure3a --scale=small``
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import common
from common import AHEAD, INTERVALS, NOT_TRIED, TIE, Finding, Page, Setting, order, scaled, verdict

from mccfr_plus.experiments import Curve, Interval, Result

# --- games and algorithms ---

MILLI_BIG_BLINDS = 500.0  # per chip: the big blind is 2
MBB = "exploitability ((b1 + b2) / 2, mbb/g)"
PLAIN = "exploitability ((b1 + b2) / 2, a win is 1)"
# Information sets of 2-NL Hold'em by stack; tests count them.
INFOSETS = {8: 2_640, 12: 20_600, 16: 112_920, 20: 505_840}
# (b1 + b2) / 2 of uniform play, in the game's payoffs; tests compute it.
UNIFORM = {
    "nl_holdem_buckets(stack=16)": 5.301990335169428,
    "nl_holdem_buckets(stack=20)": 6.922002893345559,
    "nl_holdem_buckets(stack=36)": 13.629135432916183,
    "bluff(dice1=1,dice2=1)": 0.78074432319224,
    "bluff(dice1=2,dice2=1,faces=4)": 0.36562117319259657,
    "bluff": 0.454270,
}
BLUFF = {
    "bluff(dice1=1,dice2=1)": "Bluff(1, 1)",
    "bluff(dice1=2,dice2=1,faces=4)": "Bluff(2, 1), dice of four faces",
    "bluff": "Bluff(2, 1)",
}
# By game: what is counted, as printed, as enumerated, and whether they agree.
SIZES: dict[str, list[tuple[str, str, Any, str]]] = {
    "Bluff(2, 1)": [
        ("histories without chance", "66 million", 66060162, "agrees as printed"),
        ("infosets", "over 3.5 million", 3538944, "agrees as printed"),
    ],
    "2-NL Hold'em(36)": [
        ("histories", "5 billion", 5004989726, "agrees as printed; counted, too large for a tree"),
        ("infosets", "approximately 68 million", 67233560, "agrees as printed; counted"),
    ],
}

_SAMPLING = "average_strategy(epsilon=0.05,tau=1000.0,beta=1e6"
AVERAGE_STRATEGY = "average strategy sampling (tau 1000, beta 1e6)"
PAPERS_SUMS = "average strategy sampling (tau 1000, beta 1e6; sums of line 9)"  # of algorithm 1
# beta makes every action likely to be visited until sums of the average strategy are of its size. The paper's runs have
# 1e12 histories; those here are thousands of times shorter, and so are their sums.
SHORT_RUNS = "average strategy sampling (tau 100, beta 1e3)"
CHANCE, EXTERNAL, OUTCOME = "chance sampling", "external sampling", "outcome sampling"
ALGORITHMS = {
    CHANCE: "chance",
    EXTERNAL: "external",
    OUTCOME: "outcome(epsilon=0.5)",  # the paper's exploration
    AVERAGE_STRATEGY: f"{_SAMPLING})",
    PAPERS_SUMS: f"{_SAMPLING},averaging=stochastic)",
    SHORT_RUNS: "average_strategy(epsilon=0.05,tau=100.0,beta=1e3)",
}
OURS = (AVERAGE_STRATEGY, PAPERS_SUMS, SHORT_RUNS)
WITHOUT_OUTCOME = tuple(name for name in ALGORITHMS if name != OUTCOME)  # as in figure 2b


def holdem(stack: int) -> str:
    """Returns the game of a stack."""
    return f"nl_holdem_buckets(stack={stack})"


def stack_of(game: str) -> int:
    """Returns the stack of a game of hold'em."""
    return int(game.partition("stack=")[2].rstrip(")"))


def scale_of(game: str) -> float:
    """Returns the factor from the game's payoffs to the paper's unit."""
    return MILLI_BIG_BLINDS if game.startswith("nl_holdem") else 1.0


def title(game: str) -> str:
    """Returns the paper's name of a game."""
    return f"2-NL Hold'em({stack_of(game)})" if game.startswith("nl_holdem") else BLUFF.get(game, game)


def length_of(stack: int, nodes: float) -> str:
    """Returns how long runs are beside the paper's."""
    return (
        f"Here: 2-NL Hold'em({stack}), {nodes:.0e} histories, {nodes / INFOSETS[stack]:,.2g} per information set; 1e12 "
        "in the paper's game of 36 chips, which has 68 million of them, are 1.5e+04. The buckets of cards are ours "
        "(`docs/background/games.md`)."
    )


def ending_findings(what: str, curves: Sequence[Curve]) -> list[Finding]:
    """Returns where each algorithm ended, and whether average strategy sampling is ahead of the best of the others.

    Args:
        what: First words of each finding.
        curves: Of one game.
    """
    ends = {curve.algorithm: curve.interval() for curve in curves}
    found = [Finding(f"{what}: {name}", "-", str(end), "-") for name, end in ends.items()]
    best = min(end for name, end in ends.items() if name not in OURS)
    for name in OURS:
        ratio = f"{best.mean / ends[name].mean:.2f}"
        found.append(Finding(f"{what}: best of the others / {name}", "above 1", ratio, order(ends[name], best)))
    return found


# --- figures 1a and 1b: values of epsilon and of tau ---

VALUES = {"epsilon": (0.001, 0.01, 0.05, 0.1, 0.3, 1.0), "tau": (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)}
CHOSEN = {"epsilon": 0.05, "tau": 1000.0}  # the paper's
BETAS = {"epsilon": (1e3, 1e5, 1e6), "tau": (1e3, 1e6)}  # for runs as short as these, and the paper's
SIZE = {"small": (8, 3e7), "paper": (12, 1e9)}  # stack, histories
_PARAMETERS = {"figure1a": "epsilon", "figure1b": "tau"}
_PARAMETER_NOTES = {
    "epsilon": "With epsilon = 1 every action is visited: external sampling. The paper takes epsilon = 0.05 from its "
    "figure.",
    "tau": "Actions that are played with a probability of at least 1 / tau are visited surely. The paper takes tau = "
    "1000 from its figure.",
}


def parameter_figure(setting: Setting, name: str) -> Page:
    """Returns figure 1a or 1b: exploitability after as many histories, for values of a parameter."""
    parameter = _PARAMETERS[name]
    result = common.recorded(setting, name, lambda scale: {"runs": _parameter_runs(parameter, *SIZE[scale])})
    stack, nodes = SIZE[result.about["scale"]]
    ends = ends_of(result.curves)
    figure = common.draw_parameter(
        {
            f"beta = {beta:g}": {value: ends[text_of(parameter, value, beta)] for value in VALUES[parameter]}
            for beta in BETAS[parameter]
        },
        f"{title(holdem(stack))} after {nodes:.0e} histories",
        f"{parameter} of average strategy sampling",
        MBB,
    )
    notes = [
        _PARAMETER_NOTES[parameter],
        "The paper's figure is a picture without values, of 2-NL Hold'em(30) after 1e12 histories; what the best value "
        f"is depends on both. {length_of(stack, nodes)} 5 seeds.",
        INTERVALS,
    ]
    return Page(parameter_findings(result.curves, parameter), notes, figure, about=result.about)


def _parameter_runs(parameter: str, stack: int, nodes: float) -> dict[str, Any]:
    texts = [text_of(parameter, value, beta) for beta in BETAS[parameter] for value in VALUES[parameter]]
    return {"games": holdem(stack), "algorithms": texts, "nodes": nodes, "num_evaluations": 1}


def text_of(parameter: str, value: float, beta: float) -> str:
    """Returns average strategy sampling with a value of epsilon or tau."""
    given = {**CHOSEN, parameter: value}
    return f"average_strategy(epsilon={given['epsilon']},tau={given['tau']},beta={beta:g})"


def ends_of(curves: Sequence[Curve]) -> dict[str, Interval]:
    """Returns the exploitability at the end in mbb/g, by algorithm."""
    return {curve.algorithm: curve.interval() for curve in scaled(curves, MILLI_BIG_BLINDS)}


def parameter_findings(curves: Sequence[Curve], parameter: str) -> list[Finding]:
    """Returns the end for each value of a parameter, and the best of them."""
    ends, found = ends_of(curves), []
    for beta in BETAS[parameter]:
        means = {value: ends[text_of(parameter, value, beta)] for value in VALUES[parameter]}
        found += [
            Finding(f"beta {beta:g}, {parameter} {value:g}", "-", str(mean), "-") for value, mean in means.items()
        ]
        found.append(choice(f"beta {beta:g}: best {parameter}", CHOSEN[parameter], means))
    return found


def choice(what: str, chosen: float, means: Mapping[float, Interval]) -> Finding:
    """Returns the value with the lowest mean, and whether the paper's can be told apart from it."""
    best = min(means, key=lambda value: means[value].mean)
    ratio = means[chosen].mean / means[best].mean
    others = [f"{value:g}" for value in means if value != best and order(means[best], means[value]) != AHEAD]
    apart = f"not told apart from {', '.join(others)}" if others else "ahead of all others"
    return Finding(what, f"{chosen:g}", f"{best:g}; the paper's has {ratio:.2f} times its exploitability", apart)


# --- figures 2a, 3a and 3b: exploitability against histories touched ---

NO_VALUES = (
    "The paper's curves are pictures without values. [Claim by claim](index.md#claim-by-claim) judges its text. "
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
# Game, histories touched per run, note.
CURVES = {
    ("figure2a", "small"): (holdem(20), 3e8, _SMALLER),
    ("figure2a", "paper"): (holdem(16), 2e9, _SMALLER),
    ("figure3a", "small"): ("bluff(dice1=1,dice2=1)", 1e8, _SAME_SIZE),
    ("figure3a", "paper"): ("bluff(dice1=1,dice2=1)", 1e9, _SAME_SIZE),
    ("figure3b", "small"): ("bluff(dice1=2,dice2=1,faces=4)", 1e8, _FOUR_FACES),
    ("figure3b", "paper"): ("bluff", 1e9, f"{_SAME_SIZE} {_UNIFORM_PLAY}"),
}


def curve_figure(setting: Setting, name: str) -> Page:
    """Returns figure 2a, 3a or 3b."""
    result = common.recorded(
        setting,
        name,
        lambda scale: {
            "runs": {"games": CURVES[name, scale][0], "algorithms": ALGORITHMS, "nodes": CURVES[name, scale][1]}
        },
    )
    game, nodes, note = CURVES[name, result.about["scale"]]
    scale = scale_of(game)
    shown = Result(scaled(result.curves, scale))
    figure = common.draw(shown, {game: title(game)}, ylabel=PLAIN if scale == 1 else MBB)
    (axes,) = figure.axes
    axes.axhline(scale * UNIFORM[game], color="black", dashes=(6, 3), linewidth=1.0, label="uniform play")
    axes.legend(fontsize=7, loc="lower left")
    length = length_of(stack_of(game), nodes) if game.startswith("nl_holdem") else ""
    notes = [NO_VALUES, OTHER_BETA, note.format(length=length, nodes=nodes), INTERVALS]
    return Page(curve_findings(result.curves), notes, figure, about=result.about)


def curve_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Returns where each algorithm ended."""
    game, nodes = curves[0].game, curves[0].x()[-1]
    unit = "mbb/g" if scale_of(game) != 1 else "a win is 1"
    return ending_findings(f"{title(game)} after {nodes:.2g} histories, {unit}", scaled(curves, scale_of(game)))


# --- figure 2b: larger and larger stacks ---

# Stacks, histories touched per run. From 24 on the tree does not fit: the game is traversed by its rules.
STACKS = {"small": ((8, 12, 16, 20, 22), 3e8), "paper": ((20, 22, 24, 28, 30), 5e8)}


def stack_figure(setting: Setting, name: str) -> Page:
    """Returns figure 2b: exploitability after as many histories against the stack."""
    algorithms = {label: ALGORITHMS[label] for label in WITHOUT_OUTCOME}

    def runs(scale: str) -> dict[str, Any]:
        stacks, nodes = STACKS[scale]
        games = list(map(holdem, stacks))
        return {"runs": {"games": games, "algorithms": algorithms, "nodes": nodes, "num_evaluations": 1}}

    result = common.recorded(setting, name, runs)
    stacks, nodes = STACKS[result.about["scale"]]
    lines: dict[str, dict[float, Interval]] = {label: {} for label in WITHOUT_OUTCOME}
    for curve in scaled(result.curves, MILLI_BIG_BLINDS):
        (per_chip,) = scaled([curve], 1 / stack_of(curve.game))
        lines[curve.algorithm][stack_of(curve.game)] = per_chip.interval()
    figure = common.draw_parameter(
        lines,
        f"2-NL Hold'em after {nodes:.0e} histories",
        "stacks (chips; blinds 1 and 2)",
        "exploitability (mbb/g per chip of the stack)",
        "linear",
    )
    note = (
        f"The paper's stacks are 20 to 40 chips, after 3e12 histories; here {', '.join(map(str, stacks))}, after "
        f"{nodes:.0e}. The buckets of cards are ours (`docs/background/games.md`). The paper does not show outcome "
        "sampling here."
    )
    return Page(stack_findings(result.curves), [NO_VALUES, OTHER_BETA, note, INTERVALS], figure, about=result.about)


def stack_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Returns where each algorithm ended, by stack, in mbb/g per chip of the stack."""
    found = []
    for stack in sorted({stack_of(curve.game) for curve in curves}):
        of_stack = [curve for curve in curves if stack_of(curve.game) == stack]
        found += ending_findings(f"stacks of {stack}", scaled(of_stack, MILLI_BIG_BLINDS / stack))
    return found


# --- claims of the abstract, section 6 and the captions ---

_SMALL_STACK = 22  # up to it, the paper finds little difference
_TOO_LARGE = "67 million information sets, for which a solver takes about 28 GB"
FIGURES = ("figure1a", "figure1b", "figure2a", "figure2b", "figure3a", "figure3b")


def claims(setting: Setting, name: str) -> Page:
    """Returns the verdicts on the paper's claims."""
    figures = {figure: Result.load(setting.folder / f"{figure}.jsonl").curves for figure in FIGURES}
    lengths = [curve.x()[-1] for curves in figures.values() for curve in curves]
    notes = [
        "The claims are those of the abstract, section 6 and the captions, in our words. Printed numbers that are not "
        "in `docs/background/games.md` are as we know them, without the text at hand.",
        "Average strategy sampling (AS) is judged by the better one of its two forms with the paper's parameters: "
        "with the sums of line 9, and with the default average. ES, CS, OS: external, chance, outcome sampling.",
        f"Runs are {min(lengths):.0e} to {max(lengths):.0e} histories long, the paper's 1e12 and more. So a claim of "
        "an order that is reproduced is reproduced at a smaller scale, and one that is not may hold for longer runs.",
        INTERVALS,
    ]
    return Page(claim_findings(figures), notes)


def claim_findings(figures: Mapping[str, Sequence[Curve]]) -> list[Finding]:
    """Returns a finding per claim: what it says, where, what was found here, and the verdict."""
    found = [
        *common.size_findings(SIZES, "6"),
        *_uniform_findings(),
        *_parameter_claims(figures["figure1a"], figures["figure1b"]),
        Finding("2-NL Hold'em(40): values of tau do as in (30)", "6", f"more than {_TOO_LARGE}", NOT_TRIED),
    ]
    ends = {
        name: {curve.algorithm: curve.interval() for curve in figures[name]}
        for name in ("figure2a", "figure3a", "figure3b")
    }
    gains = {name: 100 * (1 - _best_as(of).mean / of[EXTERNAL].mean) for name, of in ends.items()}
    holdem_ends = ends["figure2a"]
    short = 100 * (1 - holdem_ends[SHORT_RUNS].mean / holdem_ends[EXTERNAL].mean)
    here = (
        f"{title(figures['figure2a'][0].game)}: {gains['figure2a']:.0f} %, with tau 100 and beta 1e3 {short:.0f} %; 36 "
        f"chips: {_TOO_LARGE}"
    )
    found.append(Finding("2-NL Hold'em(36): AS improves on ES by 54 % at the end", "6, figure 2a", here, NOT_TRIED))
    worst = max(end for label, end in holdem_ends.items() if label != OUTCOME)
    ahead = order(worst, holdem_ends[OUTCOME])
    here = f"{ahead}: the worst of the others {worst}, OS {holdem_ends[OUTCOME]} (chips)"
    found.append(Finding("2-NL Hold'em: OS is much worse than the others", "6", here, verdict(ahead == AHEAD, False)))
    found += _stack_claims(figures["figure2b"])
    against_external = []
    for name in ("figure3a", "figure3b"):
        ours = _best_as(ends[name])
        results = [order(ours, ends[name][other]) for other in (CHANCE, EXTERNAL, OUTCOME)]
        against_external.append(results[1] == AHEAD)
        texts = [
            f"{other} {ends[name][other]}, {result}"
            for other, result in zip((CHANCE, EXTERNAL, OUTCOME), results, strict=True)
        ]
        of_short = order(ends[name][SHORT_RUNS], ends[name][EXTERNAL])
        here = (
            f"AS {ours}; {'; '.join(texts)}. With tau 100 and beta 1e3 {ends[name][SHORT_RUNS]}, against ES: {of_short}"
        )
        what = f"{title(figures[name][0].game)}: AS converges faster than CS, ES and OS"
        holds = results == [AHEAD] * 3
        found.append(Finding(what, f"6, {name[:6]} {name[6:]}", here, verdict(holds, False)))
    percent = f"{gains['figure3a']:.0f} and {gains['figure3b']:.0f} %"
    here = f"AS gains {percent} over ES in Bluff(1, 1) and (2, 1); orders: see above"
    what = "the parameters of 2-NL Hold'em(30) work well in Bluff"
    return [*found, Finding(what, "6", here, verdict(all(against_external), False))]


def _best_as(ends: Mapping[str, Interval]) -> Interval:
    """Returns the better form of average strategy sampling with the paper's parameters."""
    return min(ends[AVERAGE_STRATEGY], ends[PAPERS_SUMS])


def _uniform_findings() -> list[Finding]:
    """Exploitability of uniform play."""
    here = MILLI_BIG_BLINDS * UNIFORM[holdem(36)]
    difference = here / 6793 - 1
    what = "2-NL Hold'em(36): uniform play is exploitable for 6793 mbb/g"
    text = f"{here:.0f} mbb/g, {difference:+.1%}; buckets are ours"
    found = [Finding(what, "figure 2a", text, verdict(abs(difference) < 0.01, True))]
    no_reading = "; no reading that was tried gives the print ([games](../../background/games.md#bluff))"
    for game, printed in (("bluff(dice1=1,dice2=1)", 0.780), ("bluff", 0.784)):
        holds = abs(UNIFORM[game] - printed) < 1e-3
        what = f"{title(game)}: uniform play is exploitable for {printed:.3f}"
        text = f"{UNIFORM[game]:.6f}{'' if holds else no_reading}"
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
    found = [Finding(what, "6, figure 1a", here, verdict(holds, False))]
    ends = ends_of(of_tau)
    by_tau = {value: ends[text_of("tau", value, 1e6)] for value in VALUES["tau"]}
    best = min(by_tau.values())
    near = [f"{value:g}" for value, mean in by_tau.items() if order(best, mean) != AHEAD]
    holds = {"100", "1000"} <= set(near) and len(near) < len(by_tau)
    what = "tau 100 and 1000 with beta 1e6 are the least exploitable, within noise"
    here = f"not told apart from the best: {', '.join(near)}"
    return [*found, Finding(what, "6, figure 1b", here, verdict(holds, False))]


def _stack_claims(curves: Sequence[Curve]) -> list[Finding]:
    ratios, texts, little, orders = [], [], [], {}
    stacks = sorted({stack_of(curve.game) for curve in curves})
    for stack in stacks:
        ends = {curve.algorithm: curve.interval() for curve in curves if stack_of(curve.game) == stack}
        ours, best = _best_as(ends), min(ends[CHANCE], ends[EXTERNAL])
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
        Finding(what, "6, figure 2b", rows, verdict(no_difference, False)),
        Finding("larger stacks: AS is significantly better than CS and ES", "6, figure 2b", wins, larger),
        Finding("margins mostly grow with the size of the game", "6, figure 2b", here, verdict(grows, False)),
    ]


ITEMS = {
    "figure1a": ("figure 1a: epsilon of average strategy sampling in 2-NL Hold'em", parameter_figure),
    "figure1b": ("figure 1b: tau of average strategy sampling in 2-NL Hold'em", parameter_figure),
    "figure2a": ("figure 2a: exploitability against histories touched in 2-NL Hold'em", curve_figure),
    "figure2b": ("figure 2b: exploitability against stacks in 2-NL Hold'em", stack_figure),
    "figure3a": ("figure 3a: exploitability against histories touched in Bluff(1, 1)", curve_figure),
    "figure3b": ("figure 3b: exploitability against histories touched in Bluff(2, 1)", curve_figure),
    "claims": ("claim by claim", claims),
}

if __name__ == "__main__":
    common.main(__file__, "Gibson, Burch, Lanctot, Szafron 2012", ITEMS)
