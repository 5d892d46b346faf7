"""Farina, Kroer, Sandholm 2020, "Stochastic regret minimization in extensive-form games".

Figures 3 and 4: the saddle-point gap against histories touched, up to fifty traversals of the whole tree.
"""

from __future__ import annotations

from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.item import Item, Paper, Result, Row, Setting, run_figure
from mccfr_plus.experiments.plot import plot_curves
from mccfr_plus.tree.game_tree import compile_game

LEDUC = "leduc_ranks"
GOOFSPIEL = "bid_goofspiel(num_cards=4,reveal=bids,prizes=random)"
BATTLESHIP = (
    "battleship(board_width=2,board_height=3,ship_sizes=[2],ship_values=[1.0],num_shots=3,"
    "allow_repeated_shots=False,loss_multiplier=1.0)"
)
SEARCH_4, SEARCH_5 = "search_game(moves=4)", "search_game(moves=5)"
NAMES = {LEDUC: "Leduc13", GOOFSPIEL: "Goofspiel", BATTLESHIP: "Battleship", SEARCH_4: "Search-4", SEARCH_5: "Search-5"}
GAMES = {"small": (LEDUC, GOOFSPIEL, SEARCH_4), "paper": tuple(NAMES)}
SEEDS = {"figure3": {"small": 5, "paper": 50}, "figure4": {"small": 3, "paper": 10}}

TRAVERSALS = 50  # of the whole tree, whose histories a run touches
STEP_SIZES = (0.1, 1.0, 10.0, 100.0)
_BLACK = 6  # of the colours of `experiments.plot`
ESTIMATORS = {"figure3": ("external", "alternating=False"), "figure4": ("balanced", "alternating=False,batch=100")}


def figure(setting: Setting, name: str) -> Result:
    """Returns figure 3 or 4."""
    estimator, options = ESTIMATORS[name]
    mccfr = f"{estimator}/rm[{options}]"
    labels, styles = {mccfr: "MCCFR"}, {mccfr: (_BLACK, 0)}
    for dashes, rule in enumerate(("ftrl", "omd")):
        for colour, eta in enumerate(STEP_SIZES):
            text = f"{estimator}/{rule}(eta={eta})[{options}]"
            labels[text], styles[text] = f"{rule.upper()}, eta {eta:g}", (colour, dashes)
    seeds = tuple(range(1, SEEDS[name][setting.scale] + 1))
    comparisons = {}
    for game in GAMES[setting.scale]:
        nodes = TRAVERSALS * compile_game(game).num_nodes
        label = NAMES[game].lower()
        comparisons[label] = Comparison((game,), tuple(labels), seeds, Limit("nodes", nodes))
    curves, pictures = run_figure(setting, name, comparisons)
    plot_curves(
        curves,
        pictures,
        measure="nash_conv",
        algorithms=tuple(labels),
        labels=labels,
        styles=styles,
        titles=NAMES,
        source="Saddle-point gap = NashConv.",
    )
    rows, better = [], []
    for game in GAMES[setting.scale]:
        ends = {labels[curve.algorithm]: curve for curve in curves if curve.game == game}
        rows += _rows(NAMES[game], ends)
        better += [NAMES[game]] if rows[-1].verdict == "ahead of MCCFR, clearly" else []
    rows.append(
        Row(
            "games in which a variant of FTRL or OMD ends clearly below MCCFR",
            "some variants outperform MCCFR (abstract)",
            ", ".join(better) or "none",
            "agrees" if better else "differs",
        )
    )
    notes = [
        f"Runs touch as many histories as {TRAVERSALS} traversals of the tree; players are updated at the same time, "
        "averages are uniform" + (", a gradient is the mean of 100 traversals." if name == "figure4" else "."),
        "The paper's curves are pictures without values. Step sizes are the paper's (section 5), in 1 / payoff of the "
        "games as `docs/background/games.md` has them; the scale of its payoffs is not printed. The regularizer has "
        "the weights of Kroer et al. 2020. What can be compared is the best of four.",
        "With a constant step size, OMD and FTRL with dilated entropy have the same iterates up to rounding: both are "
        "run, and their lines lie on one another.",
        "The attacker's graph of the search games is not the paper's (`docs/background/games.md`). Ranges in brackets "
        "hold nine tenths of the seeds; clearly: they do not overlap.",
    ]
    return Result(rows, notes, pictures)


def _rows(game: str, ends: dict[str, Curve]) -> list[Row]:
    """Returns where each algorithm ended, and as the last row whether a variant is ahead of MCCFR."""
    found = {label: curve.end("nash_conv") for label, curve in ends.items()}
    rows = [Row(f"{game}: {label}", "-", str(end), "-") for label, end in found.items()]
    mccfr = found.pop("MCCFR")
    label, best = min(found.items(), key=lambda item: item[1].mean)
    ratio = mccfr.mean / best.mean
    is_clear = best.high < mccfr.low or best.low > mccfr.high
    verdict = ("ahead of" if ratio > 1 else "behind") + " MCCFR, " + ("clearly" if is_clear else "bands overlap")
    return [*rows, Row(f"{game}: MCCFR / best of FTRL and OMD", "-", f"{ratio:.2f}, {label}", verdict)]


FARINA_2020 = Paper(
    "farina2020",
    "Farina, Kroer, Sandholm 2020",
    (
        Item("figure3", "figure 3: MCCFR, FTRL and OMD with external sampling", figure),
        Item("figure4", "figure 4: MCCFR, FTRL and OMD with exploration-balanced outcome sampling", figure),
    ),
)
