"""Gibson, Burch, Lanctot, Szafron 2012, "Efficient Monte Carlo CFR in games with many player actions"."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from mccfr_plus.display import mean_band
from mccfr_plus.evaluation.exact import nash_conv
from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.item import INTERVALS, Item, Paper, Result, Row, Setting, record_figure, recorded
from mccfr_plus.experiments.papers.judging import AHEAD, NOT_TRIED, TIE, Mean, end_of, mean_of, order, verdict
from mccfr_plus.experiments.papers.sizes import size_rows
from mccfr_plus.experiments.papers.uniform_play import uniform_holdem_exploitability
from mccfr_plus.experiments.plot import Line, plot_curves, plot_parameter
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.tree.game_tree import compile_game

AVERAGE_STRATEGY = "average_strategy(epsilon=0.05,tau=1000.0,beta=1e6)"
# beta makes every action likely to be visited until sums of the average strategy are of its size. The paper's runs are
# of 1e12 histories; those here are thousands of times shorter, and so are their sums.
SHORT_RUNS = "average_strategy(epsilon=0.05,tau=100.0,beta=1e3)"
PAPERS_SUMS = f"{AVERAGE_STRATEGY}/rm/stochastic"  # line 9 of algorithm 1
OUTCOME = "outcome(epsilon=0.5)"  # the paper's exploration
ALGORITHMS = ("chance", "external", OUTCOME, AVERAGE_STRATEGY, PAPERS_SUMS, SHORT_RUNS)
OURS = (AVERAGE_STRATEGY, PAPERS_SUMS, SHORT_RUNS)
WITHOUT_OUTCOME = tuple(name for name in ALGORITHMS if name != OUTCOME)  # as in figure 2b
LABELS = {
    "chance": "chance sampling",
    "external": "external sampling",
    OUTCOME: "outcome sampling",
    AVERAGE_STRATEGY: "average strategy sampling (tau 1000, beta 1e6)",
    PAPERS_SUMS: "average strategy sampling (tau 1000, beta 1e6; sums of line 9)",
    SHORT_RUNS: "average strategy sampling (tau 100, beta 1e3)",
}
MILLI_BIG_BLINDS = 500.0  # per chip: the big blind is 2
MBB = "exploitability ((b1 + b2) / 2, mbb/g)"
PLAIN = "exploitability ((b1 + b2) / 2, a win is 1)"

NO_VALUES = (
    "The paper's curves are pictures without values; `--item=claims` judges what its text says of them. "
    "Faster is here: a lower mean after as many histories; ahead, if the intervals are disjoint."
)
OTHER_BETA = (
    "The paper's tau and beta are for runs of 1e12 histories and more. After the far fewer here, beta = 1e6 is larger "
    "than the sums that it is added to, so that nearly all actions are visited as with external sampling: therefore "
    "a line has a smaller beta and tau. Sums of line 9: `averaging=stochastic`, as in the paper's algorithm 1."
)


def ending_rows(what: str, curves: Sequence[Curve], scale: float) -> list[Row]:
    """Returns where each algorithm ended, and whether average strategy sampling is ahead of the best of the others.

    Args:
        what: Begins each row.
        curves: Of one game.
        scale: What exploitability is multiplied by.
    """
    ends = {curve.algorithm: mean_of(scale * curve.y("exploitability")[:, -1]) for curve in curves}
    found = [Row(f"{what}: {LABELS[name]}", "-", str(end), "-") for name, end in ends.items()]
    best = min(end for name, end in ends.items() if name not in OURS)
    for name in OURS:
        ratio = f"{best.mean / ends[name].mean:.2f}"
        found.append(Row(f"{what}: best of the others / {LABELS[name]}", "above 1", ratio, order(ends[name], best)))
    return found


# --- figures 1a and 1b: exploitability after as many histories, for values of epsilon and of tau ---

EPSILONS = (0.001, 0.01, 0.05, 0.1, 0.3, 1.0)
TAUS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
TEXT = "average_strategy(epsilon={epsilon},tau={tau},beta={beta:g})"
CHOSEN = {"epsilon": 0.05, "tau": 1000.0}  # the paper's
BETAS = {"epsilon": (1e3, 1e5, 1e6), "tau": (1e3, 1e6)}  # for runs as short as these, and the paper's
SIZE = {"small": ("nl_holdem_buckets(stack=8)", 3e7, 5), "paper": ("nl_holdem_buckets(stack=20)", 1e10, 5)}


def epsilon(setting: Setting, name: str) -> Result:
    """Returns figure 1a."""
    note = (
        "With epsilon = 1 every action is visited: external sampling. The paper takes epsilon = 0.05 from its figure."
    )
    return _parameter_figure(setting, name, "epsilon", EPSILONS, note)


def tau(setting: Setting, name: str) -> Result:
    """Returns figure 1b."""
    note = (
        "Actions that are played with a probability of at least 1 / tau are visited surely. The paper takes tau = 1000 "
        "from its figure."
    )
    return _parameter_figure(setting, name, "tau", TAUS, note)


def _parameter_figure(setting: Setting, name: str, parameter: str, values: tuple[float, ...], note: str) -> Result:
    game, nodes, seeds = SIZE[setting.scale]
    algorithms = tuple(_text(parameter, value, beta) for beta in BETAS[parameter] for value in values)
    # Only the ends count: one measuring point.
    comparison = Comparison((game,), algorithms, tuple(range(1, seeds + 1)), Limit("nodes", nodes), 1)
    curves, pictures = record_figure(setting, name, {"runs": comparison})
    ends = _ends(curves)
    lines = [
        Line(f"beta = {beta:g}", values, [ends[_text(parameter, value, beta)] for value in values])
        for beta in BETAS[parameter]
    ]
    plot_parameter(
        lines,
        pictures,
        title=f"{holdem(game)} after {nodes:.0e} histories",
        xlabel=f"{parameter} of average strategy sampling",
        ylabel=MBB,
        band=mean_band,
    )
    notes = [
        note,
        "The paper's figure is a picture without values, of 2-NL Hold'em(30) after 1e12 histories; what the best value "
        f"is depends on both. Here: {holdem(game)}, {nodes:.0e} histories, {seeds} seeds.",
        INTERVALS,
    ]
    return Result(parameter_rows(curves, parameter), notes, pictures)


def holdem(game: str) -> str:
    """Returns what the paper calls a game."""
    return f"2-NL Hold'em({game.partition('stack=')[2].rstrip(')')})"


def _text(parameter: str, value: float, beta: float) -> str:
    return TEXT.format(**{**CHOSEN, parameter: value}, beta=beta)


def _ends(curves: Sequence[Curve]) -> dict[str, np.ndarray]:
    """Returns ``[seeds]`` exploitability at the end in mbb/g, by algorithm."""
    return {curve.algorithm: MILLI_BIG_BLINDS * curve.y("exploitability")[:, -1] for curve in curves}


VALUES = {"epsilon": EPSILONS, "tau": TAUS}


def parameter_rows(curves: Sequence[Curve], parameter: str) -> list[Row]:
    """Returns the end for each value of a parameter, and the best of them."""
    ends, found = _ends(curves), []
    for beta in BETAS[parameter]:
        means = {value: mean_of(ends[_text(parameter, value, beta)]) for value in VALUES[parameter]}
        found += [Row(f"beta {beta:g}, {parameter} {value:g}", "-", str(mean), "-") for value, mean in means.items()]
        found.append(_choice(f"beta {beta:g}: best {parameter}", CHOSEN[parameter], means))
    return found


def _choice(what: str, chosen: float, means: dict[float, Mean]) -> Row:
    """Returns the value with the lowest mean, and whether the paper's can be told apart from it."""
    best = min(means, key=lambda value: means[value].mean)
    ratio = means[chosen].mean / means[best].mean
    others = [f"{value:g}" for value in means if value != best and order(means[best], means[value]) != AHEAD]
    verdict = f"not told apart from {', '.join(others)}" if others else "ahead of all others"
    return Row(what, f"{chosen:g}", f"{best:g}; the paper's has {ratio:.2f} times its exploitability", verdict)


# --- figures 2a, 3a and 3b: exploitability against histories touched ---

_SAME_SIZE = "The game has the paper's size; runs are of {nodes:.0e} histories, and the paper's longer."
_FOUR_FACES = (
    "Dice have four faces, the paper's six: 0.3 instead of 66 million histories. Runs are of {nodes:.0e} histories, "
    "and the paper's longer. What uniform play is worth in Bluff(2, 1) with six faces, 0.454270 and not the printed "
    "0.784, and in ten other readings, is in `docs/background/games.md`."
)
_SMALLER = (
    "The paper's figure is of stacks of 36 chips, 5e9 histories, whose tree does not fit into the memory of a common "
    "machine, and its runs are of 1e12 histories and more. Here: {game}, {nodes:.0e} histories. The buckets of cards "
    "are ours (`docs/background/games.md`)."
)
# Game, histories touched per run, seeds, note.
CURVES = {
    ("figure2a", "small"): ("nl_holdem_buckets(stack=20)", 3e8, 5, _SMALLER),
    ("figure2a", "paper"): ("nl_holdem_buckets(stack=20)", 1e10, 5, _SMALLER),
    ("figure3a", "small"): ("bluff(dice1=1,dice2=1)", 1e8, 5, _SAME_SIZE),
    ("figure3a", "paper"): ("bluff(dice1=1,dice2=1)", 1e10, 5, _SAME_SIZE),
    ("figure3b", "small"): ("bluff(dice1=2,dice2=1,faces=4)", 1e8, 5, _FOUR_FACES),
    ("figure3b", "paper"): ("bluff", 1e10, 5, _SAME_SIZE),
}


def curve_figure(setting: Setting, name: str) -> Result:
    """Returns figure 2a, 3a or 3b."""
    game, nodes, seeds, note = CURVES[name, setting.scale]
    comparison = Comparison((game,), ALGORITHMS, tuple(range(1, seeds + 1)), Limit("nodes", nodes))
    curves, pictures = record_figure(setting, name, {"runs": comparison})
    scale = scale_of(game)
    plot_curves(
        curves,
        pictures,
        algorithms=ALGORITHMS,
        labels=LABELS,
        titles={game: title(game)},
        band=mean_band,
        levels={game: scale * uniform_exploitability(game)},
        scale=scale,
        ylabel=PLAIN if scale == 1 else MBB,
    )
    what = holdem(game) if game.startswith("nl_holdem") else game
    notes = [NO_VALUES, OTHER_BETA, note.format(game=what, nodes=nodes), INTERVALS]
    return Result(curve_rows(curves), notes, pictures)


def scale_of(game: str) -> float:
    """Returns what exploitability is multiplied by, for the paper's unit."""
    return MILLI_BIG_BLINDS if game.startswith("nl_holdem") else 1.0


def title(game: str) -> str:
    """Returns what the paper calls a game."""
    return holdem(game) if game.startswith("nl_holdem") else BLUFF.get(game, game)


BLUFF = {
    "bluff(dice1=1,dice2=1)": "Bluff(1, 1)",
    "bluff(dice1=2,dice2=1,faces=4)": "Bluff(2, 1), dice of four faces",
    "bluff": "Bluff(2, 1)",
}


def uniform_exploitability(game: str) -> float:
    """Returns (b1 + b2) / 2 of uniform play, in the game's payoffs."""
    if game.startswith("nl_holdem"):
        return uniform_holdem_exploitability(int(game.partition("stack=")[2].rstrip(")")))
    tree = compile_game(game)
    return float(nash_conv(tree, TreePolicy(tree, tree.uniform_strategy()))) / 2


def curve_rows(curves: Sequence[Curve]) -> list[Row]:
    """Returns where each algorithm ended."""
    game, nodes = curves[0].game, curves[0].x("nodes")[-1]
    unit = "mbb/g" if scale_of(game) != 1 else "a win is 1"
    return ending_rows(f"{title(game)} after {nodes:.2g} histories, {unit}", curves, scale_of(game))


# --- figure 2b: exploitability after as many histories, with larger and larger stacks ---

# Stacks, histories touched per run, seeds.
STACKS = {"small": ((8, 12, 16, 20, 22), 3e8, 5), "paper": ((12, 16, 20, 22, 24), 1e10, 5)}


def stack_sizes(setting: Setting, name: str) -> Result:
    """Returns the figure."""
    stacks, nodes, seeds = STACKS[setting.scale]
    games = {f"nl_holdem_buckets(stack={stack})": stack for stack in stacks}
    comparison = Comparison(tuple(games), WITHOUT_OUTCOME, tuple(range(1, seeds + 1)), Limit("nodes", nodes))
    curves, pictures = record_figure(setting, name, {"runs": comparison})
    lines = []
    for algorithm in WITHOUT_OUTCOME:
        ends = [
            scale_of(curve.game) / _stack(curve) * curve.y("exploitability")[:, -1]
            for curve in curves
            if curve.algorithm == algorithm
        ]
        lines.append(Line(LABELS[algorithm], tuple(map(float, stacks)), ends))
    plot_parameter(
        lines,
        pictures,
        title=f"2-NL Hold'em after {nodes:.0e} histories",
        xlabel="stacks (chips; blinds 1 and 2)",
        ylabel="exploitability ((b1 + b2) / 2, mbb/g per chip of the stack)",
        xscale="linear",
        band=mean_band,
    )
    note = (
        f"The paper's stacks are 20 to 40 chips, after 3e12 histories; here {', '.join(map(str, stacks))}, after "
        f"{nodes:.0e}. The buckets of cards are ours (`docs/background/games.md`). The paper does not show outcome "
        "sampling here."
    )
    return Result(stack_rows(curves), [NO_VALUES, OTHER_BETA, note, INTERVALS], pictures)


def _stack(curve: Curve) -> int:
    return int(curve.game.partition("stack=")[2].rstrip(")"))


def stack_rows(curves: Sequence[Curve]) -> list[Row]:
    """Returns where each algorithm ended, by stack, in mbb/g per chip of the stack."""
    found = []
    for stack in sorted({_stack(curve) for curve in curves}):
        of_stack = [curve for curve in curves if _stack(curve) == stack]
        found += ending_rows(f"stacks of {stack}", of_stack, MILLI_BIG_BLINDS / stack)
    return found


# --- claim by claim ---

FIGURES = ("figure1a", "figure1b", "figure2a", "figure2b", "figure3a", "figure3b")


def claims(setting: Setting, name: str) -> Result:
    """Returns the verdicts on the paper's claims."""
    notes = [
        "The claims are those of the abstract, section 6 and the captions, in our words. Printed numbers that are not "
        "in `docs/background/games.md` are as we know them, without the text at hand.",
        "Average strategy sampling (AS) is judged by the better one of its two forms with the paper's parameters: "
        "with the sums of line 9, and with the default average. ES, CS, OS: external, chance, outcome sampling.",
        "Runs are 3e7 to 1e8 histories long, the paper's 1e12 and more. So a claim about an order that is reproduced "
        "is reproduced at a smaller scale, and one that is not may hold for longer runs.",
        INTERVALS,
    ]
    return Result(claim_rows(recorded(setting, FIGURES)), notes)


def claim_rows(figures: Mapping[str, list[Curve]]) -> list[Row]:
    """Returns a row per claim: what it says, where, what was found here, and the verdict.

    Args:
        figures: Curves by figure.
    """
    names = {"bluff(dice1=1,dice2=1)": "Bluff(1, 1)", "bluff": "Bluff(2, 1)"}
    names["nl_holdem_buckets(stack=36)"] = "2-NL Hold'em(36)"
    found = [
        *size_rows("Gibson et al. 2012", "6", names),
        *_uniform_rows(),
        *_parameter_claims(figures["figure1a"], figures["figure1b"]),
    ]
    found.append(Row("2-NL Hold'em(40): values of tau do as in (30)", "6", "the tree is too large", NOT_TRIED))
    gains, ends = [], {}
    for name in ("figure2a", "figure3a", "figure3b"):
        curves = {curve.algorithm: end_of(curve, "exploitability") for curve in figures[name]}
        ends[name] = curves
        ours = min((curves[AVERAGE_STRATEGY], curves[PAPERS_SUMS]))
        gain, short = (100 * (1 - each.mean / curves["external"].mean) for each in (ours, curves[SHORT_RUNS]))
        gains.append(gain)
        if name == "figure2a":
            here = (
                f"{title(figures[name][0].game)}: {gain:.0f} %, with tau 100 and beta 1e3 {short:.0f} %; the game of "
                "36 chips is too large here"
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
    here = MILLI_BIG_BLINDS * uniform_holdem_exploitability(36)
    text = f"{here:.0f} mbb/g, {here / 6793 - 1:+.1%}; buckets are ours"
    found = [
        Row("2-NL Hold'em(36): uniform play is exploitable for 6793 mbb/g", "figure 2a", text,
            verdict(abs(here / 6793 - 1) < 0.01, True))
    ]  # fmt: skip
    for game, printed, ours in (("Bluff(1, 1)", 0.780, 0.780744), ("Bluff(2, 1)", 0.784, 0.454270)):
        holds = abs(ours - printed) < 1e-3
        text = f"{ours:.6f}" + (
            "" if holds else "; no reading that was tried gives the print ([games](../../background/games.md#bluff))"
        )
        what = f"{game}: uniform play is exploitable for {printed:.3f}"
        found.append(Row(what, "figure 3", text, verdict(holds, True)))
    return found


def _parameter_claims(of_epsilon: list[Curve], of_tau: list[Curve]) -> list[Row]:
    found = []
    means = {name: mean_of(values) for name, values in _ends(of_epsilon).items()}
    best = min(means.values())
    chosen = [means[_text("epsilon", 0.05, beta)] for beta in (1e5, 1e6)]
    texts = " and ".join(map(str, chosen))
    others = sum(order(best, mean) != AHEAD for mean in means.values()) - 1
    here = f"{texts}; the best of all {best}, from which {others} of {len(means) - 1} others are not told apart"
    # Where no value is behind the best, the runs say nothing.
    holds = all(order(best, mean) != AHEAD for mean in chosen) and others < len(means) - 1
    what = "epsilon 0.05 with beta 1e5 or 1e6 is the least exploitable, within noise"
    found.append(Row(what, "6, figure 1a", here, verdict(holds, False)))
    by_tau = {value: mean_of(_ends(of_tau)[_text("tau", value, 1e6)]) for value in TAUS}
    best = min(by_tau.values())
    near = [f"{value:g}" for value, mean in by_tau.items() if order(best, mean) != AHEAD]
    here = f"not told apart from the best: {', '.join(near)}"
    holds = {"100", "1000"} <= set(near) and len(near) < len(TAUS)
    what = "tau 100 and 1000 with beta 1e6 are the least exploitable, within noise"
    found.append(Row(what, "6, figure 1b", here, verdict(holds, False)))
    return found


def _stack_claims(curves: list[Curve]) -> list[Row]:
    ratios, short, texts, little = [], [], [], []
    stacks = sorted({_stack(curve) for curve in curves})
    for stack in stacks:
        ends = {curve.algorithm: end_of(curve, "exploitability") for curve in curves if _stack(curve) == stack}
        ours = min((ends[AVERAGE_STRATEGY], ends[PAPERS_SUMS]))
        best = min(ends["chance"], ends["external"])
        ratios.append(best.mean / ours.mean)
        short.append(best.mean / ends[SHORT_RUNS].mean)
        texts.append(f"{stack} chips {order(ours, best)}, {ratios[-1]:.2f} ({short[-1]:.2f})")
        if stack in (20, 22):
            little += [
                (stack, name, order(ours, ends[name]), ends[name].mean / ours.mean) for name in ("external", "chance")
            ]
    here = "best of ES and CS / AS (with tau 100 and beta 1e3): " + "; ".join(texts)
    steps = [a < b for a, b in itertools.pairwise(ratios)]
    grows = sum(steps) > len(steps) / 2 and ratios[-1] > ratios[0]
    rows = "; ".join(
        f"{stack} chips, {LABELS[name]} / AS: {ratio:.2f}, {which}" for stack, name, which, ratio in little
    )
    return [
        Row("stacks of 20 and 22: little difference between AS, ES and CS", "6, figure 2b", rows,
            verdict(all(which == TIE for _, _, which, _ in little), False)),
        Row("larger stacks: AS is significantly better than CS and ES", "6, figure 2b",
            f"stacks of up to {stacks[-1]} only: the next row", NOT_TRIED),
        Row("margins mostly grow with the size of the game", "6, figure 2b", here, verdict(grows, False)),
    ]  # fmt: skip


GIBSON_2012 = Paper(
    "gibson2012",
    "Gibson, Burch, Lanctot, Szafron 2012",
    (
        Item("figure1a", "figure 1a: epsilon of average strategy sampling in 2-NL Hold'em", epsilon),
        Item("figure1b", "figure 1b: tau of average strategy sampling in 2-NL Hold'em", tau),
        Item("figure2a", "figure 2a: exploitability against histories touched in 2-NL Hold'em", curve_figure),
        Item("figure2b", "figure 2b: exploitability against stacks in 2-NL Hold'em", stack_sizes),
        Item("figure3a", "figure 3a: exploitability against histories touched in Bluff(1, 1)", curve_figure),
        Item("figure3b", "figure 3b: exploitability against histories touched in Bluff(2, 1)", curve_figure),
        Item("claims", "claim by claim", claims),
    ),
)
