"""Farina, Kroer, Sandholm 2020, "Stochastic regret minimization in extensive-form games".

Figures 3 and 4: the saddle-point gap against histories touched, up to fifty traversals of the whole tree.
``python papers/farina2020.py figure3 --scale=small``
"""

from collections.abc import Mapping, Sequence
from typing import Any

import common
from common import AHEAD, INTERVALS, NOT_REPRODUCED, NOT_TRIED, TIE, Finding, Page, Setting, order, verdict

from mccfr_plus import compile_game
from mccfr_plus.experiments import Curve, Result

LEDUC = "leduc_ranks"
GOOFSPIEL = "bid_goofspiel(num_cards=4,reveal=bids,prizes=random)"
BATTLESHIP = (
    "battleship(board_width=2,board_height=3,ship_sizes=[2],ship_values=[1.0],num_shots=3,"
    "allow_repeated_shots=False,loss_multiplier=1.0)"
)
SEARCH_4, SEARCH_5 = "search_game(moves=4)", "search_game(moves=5)"
NAMES = {LEDUC: "Leduc13", GOOFSPIEL: "Goofspiel", BATTLESHIP: "Battleship", SEARCH_4: "Search-4", SEARCH_5: "Search-5"}
LARGE = (BATTLESHIP, SEARCH_5)  # 0.7 and 3.8 million histories; the others have at most 0.2 million
# By game: what is counted, as printed, as enumerated, and whether they agree.
SIZES: dict[str, list[tuple[str, str, Any, str]]] = {
    "Leduc13": [
        ("histories", "166,336", 166336, "exact"),
        ("sequences", "6,007 both", (6007, 6007), "exact"),
    ],
    "Goofspiel": [
        ("histories", "54,421", 54421, "exact"),
        ("sequences", "21,329 both", (21329, 21329), "exact"),
    ],
    "Search-4": [
        ("histories", "21,613", 213465, "another graph: the paper does not print its own"),
        ("sequences", "2,029, 52", (2029, 234), "the defender's is exact, the attacker's another graph's"),
    ],
    "Search-5": [
        ("histories", "87,972", 3829510, "another graph"),
        ("sequences", "11,830, 69", (11830, 839), "the defender's is exact"),
    ],
}

# Of the smaller games and of the larger ones.
SEEDS = {"figure3": {"small": (10, 5), "paper": (50, 50)}, "figure4": {"small": (5, 3), "paper": (10, 10)}}
TRAVERSALS = 50  # of the whole tree, whose histories a run touches
STEP_SIZES = (0.1, 1.0, 10.0, 100.0)
# With a constant step size FTRL and OMD are the same algorithm (`mccfr_plus.OMD`): one run is both.
MCCFR, FTRL, DECAYING = "MCCFR", "FTRL and OMD", "OMD, decaying"
_RULES = {FTRL: "ftrl(eta={eta})", DECAYING: "omd(eta={eta},decay=0.5)"}
_ESTIMATORS = {"figure3": "external(", "figure4": "balanced(batch=100,"}
_COLOURS, _DASHES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), {FTRL: "-", DECAYING: "--"}


def label_of(rule: str, eta: float) -> str:
    """Returns the name of a rule with a step size."""
    return f"{rule}, eta {eta:g}"


def algorithms_of(name: str, game: str) -> dict[str, str]:
    """Returns what a figure compares on a game: specs by label, MCCFR first."""
    rules = (FTRL,) if game in LARGE else (FTRL, DECAYING)
    steps = {label_of(rule, eta): _RULES[rule].format(eta=eta) for rule in rules for eta in STEP_SIZES}
    start = _ESTIMATORS[name]
    return {label: f"{start}minimizer={text},alternating=False)" for label, text in {MCCFR: "rm", **steps}.items()}


def figure(setting: Setting, name: str) -> Page:
    """Returns figure 3 or 4."""

    def runs(scale: str) -> dict[str, dict[str, Any]]:
        return {
            NAMES[game].lower(): {
                "games": game,
                "algorithms": algorithms_of(name, game),
                "seeds": SEEDS[name][scale][game in LARGE],
                "nodes": TRAVERSALS * compile_game(game).num_nodes,
            }
            for game in NAMES
        }

    result = common.recorded(setting, name, runs)
    mean = ", a gradient is the mean of 100 traversals" if name == "figure4" else ""
    notes = [
        f"Runs touch as many histories as {TRAVERSALS} traversals of the tree, as in the paper; players are updated at "
        f"the same time, averages are uniform{mean}.",
        "The paper's curves are pictures without values. Step sizes are the paper's (section 5), in 1 / payoff of the "
        "games as `docs/background/games.md` has them; the scale of its payoffs is not printed. The regularizer has "
        "the weights of Kroer et al. 2020. What can be compared is the best of four.",
        "With a constant step size, OMD and FTRL with dilated entropy have the same iterates: one run stands for both. "
        "Decaying: OMD with eta / sqrt(t), which differs.",
        "The attacker's graph of the search games is not the paper's (`docs/background/games.md`).",
        INTERVALS,
    ]
    return Page(figure_findings(result.curves), notes, _drawn(result), about=result.about)


def _drawn(result: Result) -> Any:
    """Returns the figure, in which only the best step size of each method has a thick line and a band."""
    figure = common.draw(result, NAMES, ylabel="saddle-point gap (NashConv)", measure="nash_conv")
    for axes in figure.axes:
        for line in axes.get_lines():
            rule, _, eta = line.get_label().rpartition(", eta ")
            if rule:
                line.set(color=_COLOURS[STEP_SIZES.index(float(eta))], linestyle=_DASHES[rule])
            else:
                line.set(color="black")
    games = dict.fromkeys(curve.game for curve in result.curves)
    common.highlight(figure, [_best_of_each(result.curves, game).values() for game in games])
    return figure


def _method(label: str) -> str:
    return MCCFR if label == MCCFR else label.rpartition(", eta ")[0]


def _best_of_each(curves: Sequence[Curve], game: str) -> dict[str, str]:
    """Returns the algorithm with the lowest mean at the end, by method."""
    ends = {curve.algorithm: curve.interval(measure="nash_conv") for curve in curves if curve.game == game}
    best: dict[str, str] = {}
    for label, end in ends.items():
        if _method(label) not in best or end < ends[best[_method(label)]]:
            best[_method(label)] = label
    return best


def figure_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Returns where each algorithm ended, and whether the best of each method is ahead of MCCFR."""
    found = []
    for game in dict.fromkeys(curve.game for curve in curves):
        ends = {curve.algorithm: curve.interval(measure="nash_conv") for curve in curves if curve.game == game}
        found += [Finding(f"{NAMES[game]}: {label}", "-", str(end), "-") for label, end in ends.items()]
        best = _best_of_each(curves, game)
        mccfr = ends[best.pop(MCCFR)]
        for label in best.values():
            ratio = f"{mccfr.mean / ends[label].mean:.2f}"
            found.append(Finding(f"{NAMES[game]}: MCCFR / {label}, which is", "-", ratio, order(ends[label], mccfr)))
    return found


# --- claim by claim ---


def claims(setting: Setting, name: str) -> Page:
    """Returns the verdicts on the paper's claims."""
    figures = {figure: Result.load(setting.folder / f"{figure}.jsonl").curves for figure in _ESTIMATORS}
    return Page(claim_findings(figures), [*_CLAIM_NOTES, INTERVALS])


_CLAIM_NOTES = (
    "The claims are those of the abstract and of sections 5 and 5.1 that are known to us, in our words. Other "
    "sentences of 5.1 and those of 5.2 were not at hand: [the figures](index.md) have the numbers of all five games.",
    "FTRL and OMD: the minimizers add the same gradients to the same regularizer, which is steep at the border. So "
    "with one constant step size their iterates agree (McMahan 2011; `mccfr_plus.OMD`), whatever the "
    "weights of Kroer et al. 2020 are; tests compute both from their definitions. A difference that is printed must "
    "come from something that is not printed, such as a step size that decays.",
)


def claim_findings(figures: Mapping[str, Sequence[Curve]]) -> list[Finding]:
    """Returns a finding per claim: what it says, where, what was found here, and the verdict."""
    found = common.size_findings(SIZES, "5, games")
    for figure, section in (("figure3", "abstract; 5.1, figure 3"), ("figure4", "abstract; 5.2, figure 4")):
        ahead, ratios = [], []
        for game in NAMES:
            result, ratio, _ = _order(figures[figure], game, FTRL, MCCFR)
            ahead += [NAMES[game]] if result == AHEAD else []
            ratios.append(f"{NAMES[game]} {ratio:.2f}, {result}")
        here = f"FTRL is ahead of MCCFR in {', '.join(ahead) or 'no game'}; MCCFR / FTRL: {'; '.join(ratios)}"
        found.append(Finding("some variants outperform MCCFR", section, here, verdict(bool(ahead), True)))
    external, where = figures["figure3"], "5.1, figure 3"
    for game in (LEDUC, GOOFSPIEL):
        result, _, numbers = _order(external, game, DECAYING, FTRL)
        here = f"with a constant step size the same iterates; with eta / sqrt(t) {result}: {numbers}"
        what = f"{NAMES[game]}: OMD is significantly worse than FTRL"
        found.append(Finding(what, where, here, NOT_REPRODUCED))
    result, _, numbers = _order(external, SEARCH_4, FTRL, MCCFR)
    what, here = "Search-4: FTRL is significantly better than MCCFR", f"{result}: {numbers}; another graph"
    found.append(Finding(what, where, here, verdict(result == AHEAD, False)))
    result, _, numbers = _order(external, GOOFSPIEL, FTRL, MCCFR)
    what = "Goofspiel: FTRL and MCCFR tie"
    found.append(Finding(what, where, f"{result}: {numbers}", verdict(result == TIE, True)))
    what = "the other sentences on single games"
    return [*found, Finding(what, "5.1, 5.2", "their text was not at hand", NOT_TRIED)]


def _order(curves: Sequence[Curve], game: str, first: str, second: str) -> tuple[str, float, str]:
    """Returns whether the best of one method is ahead of the best of another, the ratio of means, and both ends."""
    ends = {curve.algorithm: curve.interval(measure="nash_conv") for curve in curves if curve.game == game}
    best = _best_of_each(curves, game)
    pair = ends[best[first]], ends[best[second]]
    texts = [f"{best[method]} {end}" for method, end in zip((first, second), pair, strict=True)]
    return order(*pair), pair[1].mean / pair[0].mean, ", ".join(texts)


ITEMS = {
    "figure3": ("figure 3: MCCFR, FTRL and OMD with external sampling", figure),
    "figure4": ("figure 4: MCCFR, FTRL and OMD with exploration-balanced outcome sampling", figure),
    "claims": ("claim by claim", claims),
}

if __name__ == "__main__":
    common.main(__file__, "Farina, Kroer, Sandholm 2020", ITEMS)
