"""Farina, Kroer, Sandholm 2020, "Stochastic regret minimization in extensive-form games".

Figures 3 and 4: the saddle-point gap against histories touched, up to fifty traversals of the whole tree.
``python papers/farina2020.py figure3 --scale=small``
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import common
from common import AHEAD, BEHIND, INTERVALS, TIE, Beside, Finding, Page, Setting, beside, order, verdict

from mccfr_plus import compile_game
from mccfr_plus.experiments import Curve, Result

LEDUC = "leduc_ranks"
GOOFSPIEL = "bid_goofspiel(num_cards=4,reveal=bids,prizes=random)"
BATTLESHIP = (
    "battleship(board_width=2,board_height=3,ship_sizes=[2],ship_values=[1.0],num_shots=3,"
    "allow_repeated_shots=False,loss_multiplier=1.0)"
)
# The attacker goes to the right only, and does not wait: of the graphs that were tried the nearest to printed sizes.
_GRAPH = (
    "start S; goals g1 g2 g3; patrol a1-a2-a3; patrol c1-c2-c3; "
    "edges S>a1>b1>c1>g1 S>a2>b2>c2>g2 S>a3>b3>c3>g3 b1-b2-b3"
)
SEARCH_4, SEARCH_5 = (f"search_game(moves={moves},graph={_GRAPH},wait=False)" for moves in (4, 5))
NAMES = {LEDUC: "Leduc13", GOOFSPIEL: "Goofspiel", BATTLESHIP: "Battleship", SEARCH_4: "Search-4", SEARCH_5: "Search-5"}
LARGE = (BATTLESHIP,)  # 0.7 million histories; the others have at most 0.2 million
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
    "Battleship": [
        ("histories", "732,607", 732607, "exact"),
        ("sequences", "73,130 and 253,940", (73130, 253940), "exact"),
    ],
    "Search-4": [
        ("histories", "21,613", 22109, "another graph: the text does not have the paper's"),
        ("sequences of the defender", "2,029", 2029, "exact"),
        ("sequences of the attacker", "52", 27, "another graph"),
    ],
    "Search-5": [
        ("histories", "87,972", 182045, "another graph"),
        ("sequences of the defender", "11,830", 11830, "exact"),
        ("sequences of the attacker", "69", 45, "another graph"),
    ],
}

# Of the smaller games and of the larger ones.
SEEDS = {
    "figure3": {"small": (10, 5), "paper": (50, 50)},
    "figure4": {"small": (5, 3), "paper": (10, 10)},
    "footnote2": {"small": (5, 2), "paper": (50, 10)},
    "larger_steps": {"small": (5, 3), "paper": (10, 10)},
}
FIGURES = tuple(SEEDS)
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
    mean = "; a gradient is the mean of 100 traversals" if name == "figure4" else ""
    notes = [
        f"As in the paper, runs touch as many histories as {TRAVERSALS} traversals of the tree, players are updated at "
        f"the same time, and averages are uniform{mean}.",
        "The paper publishes no numerical values for its curves. Step sizes are the paper's (section 5), in 1 / payoff "
        "of the games as defined in `docs/background/games.md`; the paper does not print the scale of its payoffs, so "
        "only the best of the four step sizes can be compared. The regularizer has the weights of Kroer et al. 2020.",
        "With a constant step size, OMD and FTRL with dilated entropy have the same iterates, so one run stands for "
        "both. *Decaying* denotes OMD with the step size eta / sqrt(t), whose iterates differ.",
        "The search games have another graph than the paper's (`docs/background/games.md`), on which the defender has "
        "the published number of sequences.",
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


# --- footnote 2: constant weights of the regularizer; section 5.2: step sizes above the paper's ---

CONSTANT = "FTRL and OMD, constant weights"
LARGER = (1e3, 1e4, 1e5)  # step sizes
_MORE = {  # label, specs, step sizes, games
    "footnote2": (CONSTANT, "external(minimizer=ftrl(eta={eta},weights=constant)", STEP_SIZES, NAMES),
    "larger_steps": (FTRL, f"{_ESTIMATORS['figure4']}minimizer={_RULES[FTRL]}", LARGER, (GOOFSPIEL,)),
}


def more(setting: Setting, name: str) -> Page:
    """Returns how runs end with weights of 1 instead of those of Kroer et al. 2020, or with larger step sizes."""
    label, rule, sizes, games = _MORE[name]

    def runs(scale: str) -> dict[str, dict[str, Any]]:
        return {
            NAMES[game].lower(): {
                "games": game,
                "algorithms": {label_of(label, eta): f"{rule.format(eta=eta)},alternating=False)" for eta in sizes},
                "seeds": SEEDS[name][scale][game in LARGE],
                "nodes": TRAVERSALS * compile_game(game).num_nodes,
                "num_evaluations": 1,
            }
            for game in games
        }

    result = common.recorded(setting, name, runs)
    return Page(end_findings(result.curves), [INTERVALS], about=result.about)


def end_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Returns where each curve ended."""
    return [
        Finding(f"{NAMES[curve.game]}: {curve.algorithm}", "-", str(curve.interval(measure="nash_conv")), "-")
        for curve in curves
    ]


# --- claim by claim ---

_SAME = "with constant step sizes OMD has the iterates of FTRL"
_OTHER_GRAPH = (SEARCH_4, SEARCH_5)  # so a claim that holds is one of another, here smaller, game


def claims(setting: Setting, name: str) -> Page:
    """Returns the verdicts on the paper's claims."""
    figures = {figure: Result.load(setting.folder / f"{figure}.jsonl").curves for figure in FIGURES}
    return Page(claim_findings(figures), [*_CLAIM_NOTES, INTERVALS])


_CLAIM_NOTES = (
    "The claims are from the abstract, sections 5, 5.1 and 5.2, and the conclusion, in our words. Each algorithm has "
    "its best step size. Unless stated otherwise, numbers are saddle-point gaps at the end of the runs.",
    "*Better* means that the 95 % intervals of the means are disjoint, and *comparable* that they overlap. "
    "*Significantly better* means that the bands of one standard deviation, which the paper draws, are disjoint as "
    "well; *slightly better* means that these bands overlap.",
    "FTRL and OMD add the same gradients to the same regularizer, which is steep at the border. So their iterates "
    "agree for any constant step size (McMahan 2011; `mccfr_plus.OMD`), whatever the weights of Kroer et al. 2020 are; "
    "tests compute both from their definitions. If the paper reports a difference, it must come from something that "
    "the paper does not mention, such as a decaying step size; we therefore also show OMD with eta / sqrt(t).",
    "The search games have another graph ([games](../../background/games.md#search_game)) than the paper's, so claims "
    "that hold there count as reproduced at smaller scale.",
)


def compared(curves: Sequence[Curve], game: str, first: str, second: str, at: float | None = None) -> Beside:
    """Returns how the best step size of one method stands beside the best of another, at the end or after histories."""
    of_game = {curve.algorithm: curve for curve in curves if curve.game == game}
    best = _best_of_each(curves, game)
    return beside(of_game[best[first]], of_game[best[second]], at, measure="nash_conv")


def _far(result: Beside) -> bool:
    return result.order == AHEAD and result.is_apart


def _slightly(result: Beside) -> bool:
    return result.order == AHEAD and not result.is_apart


def claim_findings(figures: Mapping[str, Sequence[Curve]]) -> list[Finding]:
    """Returns a finding per claim: what it says, where, what was found here, and the verdict."""
    return [
        *common.size_findings(SIZES, "5"),
        *_step_findings(figures),
        *_external_findings(figures["figure3"]),
        *_summary_findings(figures["figure3"]),
        *_outcome_findings(figures["figure4"]),
        _larger_finding(figures),
        _sensitivity_finding(figures),
    ]


def _row(game: str, what: str, where: str, here: str, holds: bool) -> Finding:
    return Finding(f"{NAMES[game]}: {what}", where, here, verdict(holds, game not in _OTHER_GRAPH))


def _ahead(curves: Sequence[Curve], game: str) -> list[float]:
    """Returns the step sizes with which FTRL is better than MCCFR."""
    ends = {curve.algorithm: curve.interval(measure="nash_conv") for curve in curves if curve.game == game}
    return [eta for eta in STEP_SIZES if order(ends[label_of(FTRL, eta)], ends[MCCFR]) == AHEAD]


def _step_findings(figures: Mapping[str, Sequence[Curve]]) -> list[Finding]:
    """What section 5 says about step sizes and weights."""
    steps = {
        f"{NAMES[game]}, {figure}": _ahead(figures[figure], game) for figure in ("figure3", "figure4") for game in NAMES
    }
    winners = {where: etas for where, etas in steps.items() if etas}
    here = "; ".join(f"{where}: {', '.join(f'{eta:g}' for eta in etas)}" for where, etas in winners.items())
    holds = 2 * sum(len(etas) == 1 for etas in winners.values()) > len(winners)
    what = "in most games where FTRL or OMD beats MCCFR, only the best step size does"
    found = [Finding(what, "5", f"step sizes that are better: {here}", verdict(holds, True))]
    texts, worse = [], []
    for game in NAMES:
        here_of = compared([*figures["figure3"], *figures["footnote2"]], game, FTRL, CONSTANT)
        texts.append(f"{NAMES[game]}: {here_of.order}: {here_of.text}")
        worse.append(here_of.order == AHEAD)
    here = f"recursive weights are better in {sum(worse)} of {len(worse)} games. {'; '.join(texts)}"
    what = "constant weights of the regularizer gave worse results"
    return [*found, Finding(what, "5, footnote 2", here, verdict(2 * sum(worse) > len(worse), True))]


def _external_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Section 5.1, game by game."""
    found, where = [], "5.1, figure 3"
    of = {game: compared(curves, game, FTRL, MCCFR) for game in NAMES}
    best = of[BATTLESHIP].text.startswith(label_of(FTRL, 10))
    for rule in ("FTRL", "OMD"):
        what = f"{rule} is better than MCCFR, with step size 10"
        here = f"{_SAME}; {of[BATTLESHIP].order}, {of[BATTLESHIP].text}"
        found.append(_row(BATTLESHIP, what, where, here, of[BATTLESHIP].order == AHEAD and best))
    for game in (GOOFSPIEL, LEDUC):
        found += _worse_omd(curves, game, where)
        if game == GOOFSPIEL:
            result = compared(curves, game, MCCFR, FTRL)
            what = "MCCFR is slightly better than FTRL"
        else:
            result, what = of[game], "FTRL is slightly better than MCCFR"
        found.append(_row(game, what, where, f"{result.order}, {result.text}", _slightly(result)))
    for game in (SEARCH_4, SEARCH_5):
        place = where if game == SEARCH_4 else "5.1, appendix C"
        here = f"{_SAME}: {of[game].order}, {of[game].text}"
        found.append(_row(game, "OMD and MCCFR are comparable", place, here, of[game].order == TIE))
    here = f"{of[SEARCH_4].order}, {of[SEARCH_4].text}"
    found.append(_row(SEARCH_4, "FTRL is significantly better than MCCFR", where, here, _far(of[SEARCH_4])))
    here = f"{of[SEARCH_5].order}, {of[SEARCH_5].text}"
    found.append(_row(SEARCH_5, "FTRL is slightly better than MCCFR", "5.1, appendix C", here, _slightly(of[SEARCH_5])))
    found.append(_row(SEARCH_5, "FTRL is slightly better than OMD", "5.1, appendix C", _SAME, False))
    return found


def _worse_omd(curves: Sequence[Curve], game: str, where: str) -> list[Finding]:
    """The claims that OMD is significantly worse than MCCFR, and than FTRL."""
    constant, decaying = (compared(curves, game, MCCFR, rule) for rule in (FTRL, DECAYING))
    here = f"{_SAME}: MCCFR {constant.order}, {constant.text}; eta / sqrt(t): MCCFR {decaying.order}, {decaying.text}"
    both = compared(curves, game, FTRL, DECAYING)
    same = f"{_SAME}; eta / sqrt(t): FTRL {both.order}, {both.text}"
    return [
        _row(game, "OMD is significantly worse than MCCFR", where, here, _far(constant)),
        _row(game, "OMD is significantly worse than FTRL", where, same, False),
    ]


def _summary_findings(curves: Sequence[Curve]) -> list[Finding]:
    """What section 5.1, the abstract and the conclusion say about all games."""
    of = {game: compared(curves, game, FTRL, MCCFR) for game in NAMES}
    ratios = "; ".join(f"{NAMES[game]} {result.ratio:.2f}, {result.order}" for game, result in of.items())
    here = f"MCCFR / FTRL: {ratios}"
    coarse = [game for game in NAMES if set(_ahead(curves, game)) & {10.0, 100.0}]
    count = sum(result.order == AHEAD for result in of.values())
    searches = all(_far(of[game]) for game in _OTHER_GRAPH)
    what = "FTRL with step size 10 or 100 is better than MCCFR in four of five games"
    tie = f"{of[GOOFSPIEL].order}, {of[GOOFSPIEL].text}"
    battleship = f"{_SAME}; beside MCCFR {of[BATTLESHIP].order}, {of[BATTLESHIP].text}"
    return [
        Finding(what, "5.1", f"in {len(coarse)}. {here}", verdict(len(coarse) == 4, True)),
        Finding(
            "FTRL and MCCFR tie in the fifth", "5.1", f"Goofspiel: {tie}", verdict(of[GOOFSPIEL].order == TIE, True)
        ),
        Finding("FTRL is significantly better in the Search games", "5.1", here, verdict(searches, False)),
        _row(BATTLESHIP, "OMD is significantly better than MCCFR", "5.1", battleship, _far(of[BATTLESHIP])),
        _row(BATTLESHIP, "OMD is significantly better than FTRL", "5.1", _SAME, False),
        Finding("some variants outperform MCCFR", "abstract", here, verdict(count > 0, True)),
        Finding(
            "it is often possible to beat MCCFR",
            "6",
            f"in {count} of {len(of)} games",
            verdict(2 * count > len(of), True),
        ),
    ]


def _outcome_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Section 5.2."""
    found, where = [], "5.2, figure 4"
    of = {game: compared(curves, game, MCCFR, FTRL) for game in NAMES}
    along = {game: [compared(curves, game, MCCFR, FTRL, at) for at in _curve(curves, game).x()[1:]] for game in NAMES}
    orders = {game: ", ".join(result.order for result in results) for game, results in along.items()}
    path = f"MCCFR beside FTRL from first to last evaluation: {orders[BATTLESHIP]}"
    first = next((n for n, result in enumerate(along[BATTLESHIP]) if result.order != BEHIND), 0)
    while_worse = first > 0 and all(result.is_apart for result in along[BATTLESHIP][: first - 1])
    found.append(_row(BATTLESHIP, "MCCFR is significantly worse for a while", where, path, while_worse))
    better = any(_slightly(result) for result in along[BATTLESHIP][first:])
    after = "; ".join(result.text for result in along[BATTLESHIP][first:])
    found.append(_row(BATTLESHIP, "then MCCFR is slightly better", where, after, better))
    alike = compared(curves, BATTLESHIP, MCCFR, FTRL, 3e7)
    what, text = "near 3e7 histories all are alike", f"{alike.order}, {alike.text}"
    found.append(_row(BATTLESHIP, what, where, text, alike.order == TIE))
    for game in (GOOFSPIEL, SEARCH_5):
        for rule in ("FTRL", "OMD"):
            here = f"{_SAME}: MCCFR {of[game].order}, {of[game].text}"
            what = f"MCCFR is significantly better than {rule}"
            found.append(_row(game, what, where, here, _far(of[game])))
    best = label_of(FTRL, 100) in of[GOOFSPIEL].text
    found.append(_row(GOOFSPIEL, "FTRL and OMD are best with step size 100", where, of[GOOFSPIEL].text, best))
    path = f"MCCFR beside FTRL from first to last evaluation: {orders[LEDUC]}"
    slower = any(result.order == AHEAD for result in along[LEDUC]) and along[LEDUC][-1].order == BEHIND
    found.append(_row(LEDUC, "FTRL is slower at first and overtakes MCCFR", where, path, slower))
    found += _worse_omd(curves, LEDUC, where)
    ratios = [result.ratio for result in along[SEARCH_5]]
    here = f"FTRL / MCCFR from first to last evaluation: {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
    found.append(_row(SEARCH_5, "FTRL catches up late", where, here, ratios[-1] < max(ratios)))
    here = f"MCCFR {of[SEARCH_4].order}, {of[SEARCH_4].text}"
    found.append(_row(SEARCH_4, "too noisy to conclude from", "5.2, appendix C", here, of[SEARCH_4].order == TIE))
    four = [of[game] for game in NAMES if game != SEARCH_4]
    far, slight = sum(_far(result) for result in four), sum(_slightly(result) for result in four)
    behind = sum(result.order == BEHIND for result in four)
    here = f"significantly in {far} of four games, slightly in {slight}; FTRL is better in {behind}"
    what = "MCCFR is significantly better than FTRL and OMD in two of four games, slightly in one; FTRL is in one"
    return [*found, Finding(what, "5.2", here, verdict((far, slight, behind) == (2, 1, 1), True))]


def _larger_finding(figures: Mapping[str, Sequence[Curve]]) -> Finding:
    """Whether step sizes above the paper's are better on Goofspiel with balanced outcome sampling."""
    (largest,) = (c for c in figures["figure4"] if (c.game, c.algorithm) == (GOOFSPIEL, label_of(FTRL, 100)))
    results = [beside(curve, largest, measure="nash_conv") for curve in figures["larger_steps"]]
    here = "; ".join(f"{result.order}, {result.text}" for result in results)
    holds = any(result.order == AHEAD for result in results)
    return _row(GOOFSPIEL, "step sizes above 100 are likely better", "5.2, figure 4", here, holds)


def _sensitivity_finding(figures: Mapping[str, Sequence[Curve]]) -> Finding:
    """How much the step size of FTRL matters with both estimators."""
    ratios = {}
    for game, name in itertools.product(NAMES, ("figure3", "figure4")):
        of_game = {curve.algorithm: curve for curve in figures[name] if curve.game == game}
        means = [of_game[label_of(FTRL, eta)].mean("nash_conv")[-1] for eta in STEP_SIZES]
        ratios[game, name] = max(means) / min(means)
    pairs = {game: (ratios[game, "figure3"], ratios[game, "figure4"]) for game in NAMES}
    texts = [f"{NAMES[game]} {external:.1f}, {outcome:.1f}" for game, (external, outcome) in pairs.items()]
    holds = all(outcome > external for external, outcome in pairs.values())
    here = f"worst over best of the step sizes, external and balanced outcome sampling: {'; '.join(texts)}"
    what = "FTRL and OMD are more sensitive to the step size with outcome sampling"
    return Finding(what, "5.2", here, verdict(holds, False))


def _curve(curves: Sequence[Curve], game: str) -> Curve:
    return next(curve for curve in curves if (curve.game, curve.algorithm) == (game, MCCFR))


ITEMS = {
    "figure3": ("figure 3: MCCFR, FTRL and OMD with external sampling", figure),
    "figure4": ("figure 4: MCCFR, FTRL and OMD with exploration-balanced outcome sampling", figure),
    "footnote2": ("footnote 2: constant weights of the regularizer, external sampling", more),
    "larger_steps": ("section 5.2: step sizes above the paper's, balanced outcome sampling", more),
    "claims": ("claim by claim", claims),
}

if __name__ == "__main__":
    common.main(__file__, "Farina, Kroer, Sandholm 2020", ITEMS)
