"""Gibson, Burch, Lanctot, Szafron 2012, "Efficient Monte Carlo CFR in games with many player actions".

``python papers/gibson2012.py figure3a --scale=small``
"""

from collections.abc import Mapping, Sequence
from typing import Any

import common
from common import AHEAD, INTERVALS, Finding, Page, Setting, beside, order, scaled

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
    "Bluff(1, 1)": [
        ("histories", "294 thousand", 294883, "agrees as printed"),
        ("infosets", "over 24 thousand", 24576, "agrees as printed"),
    ],
    "Bluff(2, 1)": [
        ("histories without chance", "66 million", 66060162, "agrees as printed"),
        ("infosets", "over 3.5 million", 3538944, "agrees as printed"),
    ],
    "2-NL Hold'em(36)": [
        ("histories", "5 billion", 5004989726, "agrees as printed; counted, too large for a tree"),
        ("infosets", "approximately 68 million", 67233560, "counted; 67 million when rounded"),
    ],
    "Bluff(1, 1), actions at an information set": [
        (
            "at most",
            "6 (D1 + D2) + 1 = 13",
            12,
            "12 bids at first, then at most 11 higher ones and the call",
        ),
    ],
    "2-NL Hold'em(8), actions at an information set": [("at most", "k = 8", (7, 6), "agrees as printed")],
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
RIVALS = (CHANCE, EXTERNAL, OUTCOME)
ALGORITHMS_OF_LINE_9 = {  # rivals with the average of line 9
    f"{CHANCE} (sums of line 9)": "chance(averaging=stochastic)",
    f"{EXTERNAL} (sums of line 9)": "external(averaging=stochastic)",
    f"{OUTCOME} (sums of line 9)": "outcome(epsilon=0.5,averaging=stochastic)",
}


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
        f"Our runs are on 2-NL Hold'em({stack}), with {nodes:.0e} histories, or {nodes / INFOSETS[stack]:,.2g} per "
        "information set; in the paper's game of 36 chips, which has 68 million information sets, 1e12 histories are "
        "1.5e+04 per information set. The buckets of cards are ours (`docs/background/games.md`)."
    )


def ending_findings(what: str, curves: Sequence[Curve]) -> list[Finding]:
    """Returns where each algorithm ended, and whether average strategy sampling is ahead of the best of the others.

    Args:
        what: First words of each finding.
        curves: Of one game.
    """
    of = {curve.algorithm: curve for curve in curves}
    found = [
        Finding(f"{what} after {curve.x()[-1]:.2g} histories: {name}", "-", str(curve.interval()), "-")
        for name, curve in of.items()
    ]
    for name in OURS:
        rivals = list(ALGORITHMS_OF_LINE_9) if name == PAPERS_SUMS else list(RIVALS)
        results = [beside(of[name], of[rival]) for rival in rivals if rival in of]
        if results:
            nearest = min(results, key=lambda each: each.ratio)
            text = f"{nearest.ratio:.2f}: {nearest.text}"
            found.append(Finding(f"{what}: best of the others / {name}", "-", text, nearest.order))
    return found


# --- figures 1a and 1b: values of epsilon and of tau ---

VALUES = {"epsilon": (0.001, 0.01, 0.05, 0.1, 0.3, 1.0), "tau": (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)}
CHOSEN = {"epsilon": 0.05, "tau": 1000.0}  # the paper's
# The best values that the text names, by parameter and beta.
PRINTED_BEST = {("epsilon", 1e5): "0.05", ("epsilon", 1e6): "0.05", ("tau", 1e6): "100, 1000"}
BETAS = {"epsilon": (1e3, 1e5, 1e6), "tau": (1e3, 1e6)}  # for runs as short as these, and the paper's
SIZE = {"small": (8, 3e7), "paper": (12, 1e9)}  # stack, histories
_PARAMETERS = {"figure1a": "epsilon", "figure1b": "tau"}
_PARAMETER_NOTES = {
    "epsilon": "With epsilon = 1, every action is visited, as in external sampling. The paper chooses epsilon = 0.05 "
    "by its figure.",
    "tau": "Actions that are played with a probability of at least 1 / tau are always visited. The paper chooses tau = "
    "1000 by its figure.",
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
        "The paper's figure shows 2-NL Hold'em(30) after 1e12 histories, without numerical values; the best parameter "
        f"depends on both. {length_of(stack, nodes)} There are 5 seeds.",
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
        found.append(
            choice(f"beta {beta:g}: best {parameter}", PRINTED_BEST.get((parameter, beta), "-"), parameter, means)
        )
    return found


def choice(what: str, printed: str, parameter: str, means: Mapping[float, Interval]) -> Finding:
    """Returns the value with the lowest mean, and which others cannot be told apart from it."""
    best, chosen = min(means, key=lambda value: means[value].mean), CHOSEN[parameter]
    ratio = means[chosen].mean / means[best].mean
    others = [f"{value:g}" for value in means if value != best and order(means[best], means[value]) != AHEAD]
    apart = f"not told apart from {', '.join(others)}" if others else "ahead of all others"
    return Finding(what, printed, f"{best:g}; {chosen:g} has {ratio:.2f} times its exploitability", apart)


# --- figures 2a, 3a and 3b: exploitability against histories touched ---

NO_VALUES = (
    "The paper publishes no numerical values for its curves, so we compare our results with the claims in its text "
    "([Claim by claim](index.md#claim-by-claim)). *Faster* means a lower mean after equally many histories."
)
OTHER_BETA = (
    "The paper's tau and beta are meant for runs of 1e12 histories and more. Our runs are far shorter, so beta = 1e6 "
    "is larger than the sums to which it is added, and nearly all actions are visited, as in external sampling. "
    "Therefore, one line has a smaller beta and tau. *Sums of line 9* are those of `averaging=stochastic`, as in line "
    "9 of the paper's algorithm 1."
)
_SAME_SIZE = "The game has the paper's size. Our runs have {nodes:.0e} histories; the paper's are longer."
_UNIFORM_PLAY = (
    "In Bluff(2, 1) with six faces, the exploitability of uniform play is 0.454270 instead of the printed 0.784; "
    "`docs/background/games.md` has its value under other interpretations of the rules."
)
_FOUR_FACES = (
    "Dice have four faces instead of the paper's six, so there are 0.3 instead of 66 million histories. Our runs have "
    f"{{nodes:.0e}} histories; the paper's are longer. {_UNIFORM_PLAY}"
)
_SMALLER = (
    "The paper's figure is for stacks of 36 chips, whose 67 million information sets do not fit into the memory of a "
    "common machine, and for runs of 1e12 histories and more. {length}"
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
# Histories of the rivals' runs with the average of line 9: of chance and outcome sampling, and of external sampling.
LINE_9 = {
    ("figure2a", "small"): (5e7, 3e8),
    ("figure2a", "paper"): (5e7, 1e9),
    ("figure3a", "small"): (5e7, 5e7),
    ("figure3a", "paper"): (5e7, 5e7),
    ("figure3b", "small"): (2e7, 1e8),
    ("figure3b", "paper"): (2e7, 1e9),
}


def curve_figure(setting: Setting, name: str) -> Page:
    """Returns figure 2a, 3a or 3b."""

    def runs(scale: str) -> dict[str, dict[str, Any]]:
        game, nodes, _ = CURVES[name, scale]
        found = {"runs": {"games": game, "algorithms": ALGORITHMS, "nodes": nodes}}
        for label, text in ALGORITHMS_OF_LINE_9.items():
            length = LINE_9[name, scale][label.startswith(EXTERNAL)]
            folder = f"line9-{label.partition(' ')[0]}"
            found[folder] = {"games": game, "algorithms": {label: text}, "nodes": length}
        return found

    result = common.recorded(setting, name, runs)
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
    game = curves[0].game
    unit = "mbb/g" if scale_of(game) != 1 else "a win is 1"
    return ending_findings(f"{title(game)}, {unit}", scaled(curves, scale_of(game)))


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
        f"The paper has stacks of 20 to 40 chips and runs of 3e12 histories; we have {', '.join(map(str, stacks))} "
        f"chips and {nodes:.0e} histories. The buckets of cards are ours (`docs/background/games.md`). The paper does "
        "not show outcome sampling here."
    )
    return Page(stack_findings(result.curves), [NO_VALUES, OTHER_BETA, note, INTERVALS], figure, about=result.about)


def stack_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Returns where each algorithm ended, by stack, in mbb/g per chip of the stack."""
    found = []
    for stack in sorted({stack_of(curve.game) for curve in curves}):
        of_stack = [curve for curve in curves if stack_of(curve.game) == stack]
        found += ending_findings(f"stacks of {stack}", scaled(of_stack, MILLI_BIG_BLINDS / stack))
    return found


def claims(setting: Setting, name: str) -> Page:
    """Returns the verdicts on the paper's claims."""
    import gibson2012_claims  # which needs this module

    return gibson2012_claims.claims(setting)


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
