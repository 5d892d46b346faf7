"""All minimizers on the same games: which one comes lowest, and by how much. No paper has printed this table.

Every minimizer has the defaults of its paper. Those on a schedule are given the number of iterations of the run.
``python papers/minimizers.py average --scale=small``
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import common
import numpy as np
from common import Finding, Page, Setting
from scipy import stats

from mccfr_plus.experiments import Curve, Result

FOLDER = common.PAGES.parent / "benchmarks" / "minimizers"

# Games by the name in the table. The fraction is that of the scale's iterations, for games with many histories.
GAMES: dict[str, tuple[str, float]] = {
    "Kuhn": ("kuhn_poker", 1.0),
    "Kuhn, 3 players": ("kuhn_poker(players=3)", 1.0),
    "Leduc": ("leduc_poker", 1.0),
    "Leduc, 3 players": ("leduc_poker(players=3)", 0.1),
    "Leduc, 5 ranks": ("leduc_ranks(ranks=5)", 1.0),
    "one-card poker": ("one_card_poker(deck_size=50)", 1.0),
    "Hold'em, buckets": ("nl_holdem_buckets", 1.0),
    "Liar's dice 4": ("liars_dice(dice_sides=4)", 1.0),
    "Liar's dice 5": ("liars_dice(dice_sides=5)", 1.0),
    "Bluff 2-1": ("bluff(dice1=2,dice2=1,faces=3)", 1.0),
    "Goofspiel 4": ("goofspiel(num_cards=4,imp_info=True,points_order=descending)", 1.0),
    "Goofspiel 5": ("goofspiel(num_cards=5,imp_info=True,points_order=descending)", 1.0),
    "Goofspiel 4, random prizes": ("goofspiel(num_cards=4,imp_info=True,points_order=random)", 1.0),
    "Goofspiel 4, bids shown": ("bid_goofspiel(num_cards=4,reveal=bids,prizes=random)", 1.0),
    "Battleship": (
        "battleship(board_width=2,board_height=2,ship_sizes=[2],ship_values=[1.0],num_shots=3,"
        "allow_repeated_shots=False,loss_multiplier=1.0)",
        1.0,
    ),
    "dark hex 2x2": ("dark_hex(num_rows=2,num_cols=2)", 1.0),
    "Search-3": ("search_game(moves=3)", 1.0),
    "Blotto": ("blotto(coins=5,fields=3)", 1.0),
}
_MATCHERS = (
    "rm", "rm+", "linear", "linear+", "dcfr", "dcfr+", "prm", "prm+", "pdcfr+", "sapcfr+", "apcfr+", "smooth_prm+",
)  # fmt: skip
_OTHERS = ("hedge", "ftrl")  # omd has the iterates of ftrl
_FULL_ONLY = ("rtcfr+", "mmd", "reg_cfr")  # which have no average by default

OVERVIEW = ("Leduc", "Leduc, 3 players", "Hold'em, buckets", "Liar's dice 5", "Goofspiel 5")  # in one picture
_NUM_BOLD = 6  # minimizers of the lowest mean ranks there

_FLOOR = 1e-12  # lower exploitabilities are rounding errors, and count as equal
_NUM_EVALUATIONS = 12


class Form(NamedTuple):
    """A form of the table: the gradients' estimator, and which strategy is evaluated."""

    estimator: str
    is_last: bool
    iterations: dict[str, int]  # by scale
    seeds: dict[str, int]


FORMS = {
    "average": Form("full", False, {"small": 1_000, "paper": 20_000}, {"small": 1, "paper": 1}),
    "last": Form("full", True, {"small": 1_000, "paper": 20_000}, {"small": 1, "paper": 1}),
    "external": Form("external", False, {"small": 20_000, "paper": 1_000_000}, {"small": 3, "paper": 10}),
}


def algorithms_of(form: Form, iterations: int) -> dict[str, str]:
    """Returns the specs of a form of the table, by their names there."""
    scheduled, last = f"(iterations={iterations})", ", averaging=last" if form.is_last else ""
    found = {name: f"{form.estimator}(minimizer={name}{last})" for name in (*_MATCHERS, *_OTHERS)}
    found["hs_dcfr"] = f"{form.estimator}(minimizer=hs_dcfr{scheduled}{last})"
    if not form.is_last:
        found["prm+/schedule"] = f"{form.estimator}(minimizer=prm+, averaging=schedule{scheduled})"
    elif form.estimator == "full":
        found |= {name: f"full(minimizer={name})" for name in _FULL_ONLY}
    return found


def table(setting: Setting, name: str) -> Page:
    """Returns a form of the table: mean rank, and geometric mean of the ratio to the best of each game."""
    form = FORMS[name]

    def runs(scale: str) -> dict[str, dict[str, Any]]:
        found = {}
        for label, (game, fraction) in GAMES.items():
            iterations = round(form.iterations[scale] * fraction)
            found["".join(c if c.isalnum() else "-" for c in label.lower())] = {
                "games": game,
                "algorithms": algorithms_of(form, iterations),
                "seeds": form.seeds[scale],
                "iterations": iterations,
                "num_evaluations": _NUM_EVALUATIONS,
            }
        return found

    result = common.recorded(setting, name, runs)
    ends = ends_of(result.curves)
    findings = summary_of(ends)
    scale = result.about["scale"]
    seeds = form.seeds[scale]
    notes = [
        f"{form.iterations[scale]:,} iterations with the defaults of the papers, {seeds} seed{'s' * (seeds > 1)}; a "
        "tenth of the iterations on three-player Leduc.",
        "Times the best: geometric mean over the games of exploitability (NashConv / players) divided by the lowest on "
        f"the game; values below {_FLOOR:g} count as {_FLOOR:g}.",
        "hs_dcfr and prm+/schedule know the number of iterations beforehand. omd has the iterates of ftrl.",
        "With three players nothing is proven; the same quantity is measured.",
    ]
    figure = _drawn(result.curves, {finding.what for finding in findings[:_NUM_BOLD]})
    return Page(findings, notes, figure, lines_of(ends), result.about)


def _drawn(curves: Sequence[Curve], best: set[str]) -> Any:
    """Returns the curves of the games of the overview; the best minimizers have thick lines."""
    titles = {GAMES[label][0]: label for label in OVERVIEW if label in GAMES}
    shown = Result([curve for curve in curves if curve.game in titles])
    if not shown.curves:
        return None
    figure = common.draw(shown, titles, "iterations")
    common.highlight(figure, [best] * len(figure.axes))
    return figure


def ends_of(curves: Sequence[Curve]) -> dict[str, dict[str, float]]:
    """Returns the last exploitability, the mean over seeds, by the table's names of game and minimizer."""
    names = {game: label for label, (game, _) in GAMES.items()}
    found: dict[str, dict[str, float]] = {}
    for curve in curves:
        found.setdefault(names[curve.game], {})[curve.algorithm] = max(float(curve.mean()[-1]), 0.0)
    return found


def summary_of(ends: Mapping[str, Mapping[str, float]]) -> list[Finding]:
    """Returns a finding per minimizer, the smallest mean rank first.

    Args:
        ends: Exploitability by game and minimizer; all games have the same minimizers.
    """
    minimizers = list(next(iter(ends.values())))
    values = np.maximum([[of_game[name] for name in minimizers] for of_game in ends.values()], _FLOOR)
    ranks = stats.rankdata(values, axis=1).mean(axis=0)  # ties share the mean of their ranks
    is_best = values == values.min(axis=1, keepdims=True)
    ratios = stats.gmean(values / values.min(axis=1, keepdims=True))
    return [
        Finding(
            minimizers[i],
            "-",
            f"mean rank {ranks[i]:.1f}, {ratios[i]:.3g} times the best",
            f"best on {int(is_best[:, i].sum())} of {len(ends)} games",
        )
        for i in np.argsort(ranks, kind="stable")
    ]


def lines_of(ends: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Returns a table in Markdown: exploitability, a row per game and a column per minimizer, the best in bold."""
    minimizers = list(next(iter(ends.values())))
    lines = [f"| | {' | '.join(f'`{name}`' for name in minimizers)} |", "|---" * (len(minimizers) + 1) + "|"]
    for game, found in ends.items():
        best = max(min(found.values()), _FLOOR)
        cells = (f"**{found[name]:.2g}**" if found[name] <= best else f"{found[name]:.2g}" for name in minimizers)
        lines.append(f"| {game} | {' | '.join(cells)} |")
    return lines


ITEMS = {
    "average": ("exact gradients, average strategy", table),
    "last": ("exact gradients, last strategy", table),
    "external": ("external sampling, average strategy", table),
}

if __name__ == "__main__":
    common.main(__file__, "The minimizers in one table", ITEMS, FOLDER)
