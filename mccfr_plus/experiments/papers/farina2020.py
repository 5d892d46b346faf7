"""Farina, Kroer, Sandholm 2020, "Stochastic regret minimization in extensive-form games".

Figures 3 and 4: the saddle-point gap against histories touched, up to fifty traversals of the whole tree.
"""

from collections.abc import Mapping

from mccfr_plus.display import mean_band
from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.item import INTERVALS, Item, Paper, Result, Row, Setting, record_figure, recorded
from mccfr_plus.experiments.papers.judging import AHEAD, NOT_REPRODUCED, NOT_TRIED, TIE, end_of, order, verdict
from mccfr_plus.experiments.papers.sizes import size_rows
from mccfr_plus.experiments.plot import plot_curves
from mccfr_plus.trees.game_tree import compile_game

LEDUC = "leduc_ranks"
GOOFSPIEL = "bid_goofspiel(num_cards=4,reveal=bids,prizes=random)"
BATTLESHIP = (
    "battleship(board_width=2,board_height=3,ship_sizes=[2],ship_values=[1.0],num_shots=3,"
    "allow_repeated_shots=False,loss_multiplier=1.0)"
)
SEARCH_4, SEARCH_5 = "search_game(moves=4)", "search_game(moves=5)"
NAMES = {LEDUC: "Leduc13", GOOFSPIEL: "Goofspiel", BATTLESHIP: "Battleship", SEARCH_4: "Search-4", SEARCH_5: "Search-5"}
GAMES = tuple(NAMES)
LARGE = (BATTLESHIP, SEARCH_5)  # 0.7 and 3.8 million histories; the others have at most 0.2 million
# Of the smaller games and of the larger ones.
SEEDS = {"figure3": {"small": (10, 5), "paper": (50, 50)}, "figure4": {"small": (5, 3), "paper": (10, 10)}}

TRAVERSALS = 50  # of the whole tree, whose histories a run touches
STEP_SIZES = (0.1, 1.0, 10.0, 100.0)
# With a constant step size FTRL and OMD are the same algorithm (`mccfr_plus.minimizers.dilated`): one run is both.
MCCFR, FTRL, DECAYING = "MCCFR", "FTRL and OMD", "OMD, decaying"
RULES = {FTRL: "ftrl(eta={eta})", DECAYING: "omd(eta={eta},decay=0.5)"}
_BLACK = 6  # of the colours of `experiments.plot`
ESTIMATORS = {"figure3": ("external", "alternating=False"), "figure4": ("balanced", "alternating=False,batch=100")}


def figure(setting: Setting, name: str) -> Result:
    """Returns figure 3 or 4."""
    labels, styles = _labels_and_styles(name)
    comparisons = {}
    for game in GAMES:
        limit = Limit("nodes", TRAVERSALS * compile_game(game).num_nodes)
        algorithms = tuple(text for text in labels if game not in LARGE or "decay" not in text)
        seeds = tuple(range(1, SEEDS[name][setting.scale][game in LARGE] + 1))
        comparisons[NAMES[game].lower()] = Comparison((game,), algorithms, seeds, limit)
    curves, pictures = record_figure(setting, name, comparisons)
    best = {(game, text) for game in GAMES for text in _best_of_each(curves, game).values()}
    plot_curves(
        curves,
        pictures,
        measure="nash_conv",
        algorithms=tuple(labels),
        labels=labels,
        styles=styles,
        titles=NAMES,
        band=mean_band,
        faint={(curve.game, curve.algorithm) for curve in curves} - best,
        source="Saddle-point gap = NashConv. Thick: the best step size of each method at the end.",
    )
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
    return Result(rows(curves), notes, pictures)


def _labels_and_styles(name: str) -> tuple[dict[str, str], dict[str, tuple[int, int]]]:
    """Returns what algorithms are called, and their colours and dashes, MCCFR first."""
    estimator, options = ESTIMATORS[name]
    mccfr = f"{estimator}/rm[{options}]"
    labels, styles = {mccfr: MCCFR}, {mccfr: (_BLACK, 0)}
    for dashes, (rule, parameters) in enumerate(RULES.items()):
        for colour, eta in enumerate(STEP_SIZES):
            text = f"{estimator}/{parameters.format(eta=eta)}[{options}]"
            labels[text], styles[text] = f"{rule}, eta {eta:g}", (colour, dashes)
    return labels, styles


LABELS = _labels_and_styles("figure3")[0] | _labels_and_styles("figure4")[0]


def _method(algorithm: str) -> str:
    return MCCFR if "/rm[" in algorithm else DECAYING if "decay" in algorithm else FTRL


def _best_of_each(curves: list[Curve], game: str) -> dict[str, str]:
    """Returns the algorithm with the lowest mean at the end, by method."""
    best: dict[str, Curve] = {}
    for curve in curves:
        method = _method(curve.algorithm)
        if curve.game == game and (method not in best or end_of(curve) < end_of(best[method])):
            best[method] = curve
    return {method: curve.algorithm for method, curve in best.items()}


def rows(curves: list[Curve]) -> list[Row]:
    """Returns where each algorithm ended, and whether the best of each method is ahead of MCCFR."""
    found = []
    for game in dict.fromkeys(curve.game for curve in curves):
        ends = {curve.algorithm: end_of(curve) for curve in curves if curve.game == game}
        found += [Row(f"{NAMES[game]}: {LABELS[text]}", "-", str(end), "-") for text, end in ends.items()]
        best = _best_of_each(curves, game)
        mccfr = ends[best.pop(MCCFR)]
        for text in best.values():
            what = f"{NAMES[game]}: MCCFR / {LABELS[text]}, which is"
            found.append(Row(what, "-", f"{mccfr.mean / ends[text].mean:.2f}", order(ends[text], mccfr)))
    return found


# --- claim by claim ---


def claims(setting: Setting, name: str) -> Result:
    """Returns the verdicts on the paper's claims."""
    return Result(claim_rows(recorded(setting, tuple(ESTIMATORS))), [*CLAIM_NOTES, INTERVALS])


CLAIM_NOTES = (
    "The claims are those of the abstract and of sections 5 and 5.1 that are known to us, in our words. Other "
    "sentences of 5.1 and those of 5.2 were not at hand: [the figures](index.md) have the numbers of all five games.",
    "FTRL and OMD: the minimizers add the same gradients to the same regularizer, which is steep at the border. So "
    "with one constant step size their iterates agree (McMahan 2011; `mccfr_plus.minimizers.dilated`), whatever the "
    "weights of Kroer et al. 2020 are; tests compute both from their definitions. A difference that is printed must "
    "come from something that is not printed, such as a step size that decays.",
)


def claim_rows(figures: Mapping[str, list[Curve]]) -> list[Row]:
    """Returns a row per claim: what it says, where, what was found here, and the verdict."""
    found = size_rows("Farina et al. 2020", "5, games", {"search_game": NAMES[SEARCH_4], **NAMES})
    for figure, section in (("figure3", "abstract; 5.1, figure 3"), ("figure4", "abstract; 5.2, figure 4")):
        ahead, ratios = [], []
        for game in GAMES:
            result, ratio, _ = _order(figures[figure], game, FTRL, MCCFR)
            ahead += [NAMES[game]] if result == AHEAD else []
            ratios.append(f"{NAMES[game]} {ratio:.2f}, {result}")
        here = f"FTRL is ahead of MCCFR in {', '.join(ahead) or 'no game'}; MCCFR / FTRL: {'; '.join(ratios)}"
        found.append(Row("some variants outperform MCCFR", section, here, verdict(bool(ahead), True)))
    external = figures["figure3"]
    for game in (LEDUC, GOOFSPIEL):
        result, _, numbers = _order(external, game, DECAYING, FTRL)
        here = f"with a constant step size the same iterates; with eta / sqrt(t) {result}: {numbers}"
        what = f"{NAMES[game]}: OMD is significantly worse than FTRL"
        found.append(Row(what, "5.1, figure 3", here, NOT_REPRODUCED))
    result, _, numbers = _order(external, SEARCH_4, FTRL, MCCFR)
    what = "Search-4: FTRL is significantly better than MCCFR"
    here = f"{result}: {numbers}; another graph"
    found.append(Row(what, "5.1, figure 3", here, verdict(result == AHEAD, False)))
    result, _, numbers = _order(external, GOOFSPIEL, FTRL, MCCFR)
    found.append(
        Row("Goofspiel: FTRL and MCCFR tie", "5.1, figure 3", f"{result}: {numbers}", verdict(result == TIE, True))
    )
    found.append(Row("the other sentences on single games", "5.1, 5.2", "their text was not at hand", NOT_TRIED))
    return found


def _order(curves: list[Curve], game: str, first: str, second: str) -> tuple[str, float, str]:
    """Returns whether the best of one method is ahead of the best of another, the ratio of means, and both ends."""
    best, of_game = _best_of_each(curves, game), {c.algorithm: end_of(c) for c in curves if c.game == game}
    ends = of_game[best[first]], of_game[best[second]]
    texts = [f"{LABELS[best[method]]} {end}" for method, end in zip((first, second), ends, strict=True)]
    return order(*ends), ends[1].mean / ends[0].mean, ", ".join(texts)


FARINA_2020 = Paper(
    "farina2020",
    "Farina, Kroer, Sandholm 2020",
    (
        Item("figure3", "figure 3: MCCFR, FTRL and OMD with external sampling", figure),
        Item("figure4", "figure 4: MCCFR, FTRL and OMD with exploration-balanced outcome sampling", figure),
        Item("claims", "claim by claim", claims),
    ),
)
