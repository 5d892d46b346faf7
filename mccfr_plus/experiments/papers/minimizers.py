"""All minimizers on the same games: which one comes lowest, and by how much. No paper has printed this table.

Every minimizer has the defaults of its paper. Those on a schedule are given the number of iterations of the run.
"""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mccfr_plus.errors import RecordError
from mccfr_plus.experiments.comparison import Comparison
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.item import Item, Paper, Result, Row, Setting, run_figure
from mccfr_plus.experiments.plot import plot_curves
from mccfr_plus.experiments.record import record_errors
from mccfr_plus.files.atomic_write import atomic_write

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
    "rm",
    "rm+",
    "linear",
    "linear+",
    "dcfr",
    "dcfr+",
    "prm",
    "prm+",
    "pdcfr+",
    "sapcfr+",
    "apcfr+",
    "smooth_prm+",
)
_OTHERS = ("hedge", "ftrl")  # omd has the iterates of ftrl
_FULL_ONLY = ("rtcfr+", "mmd", "reg_cfr")  # which have no average by default

OVERVIEW = ("Leduc", "Leduc, 3 players", "Hold'em, buckets", "Liar's dice 5", "Goofspiel 5")  # in one picture
_NUM_BOLD = 6  # minimizers of the lowest mean ranks there

_FLOOR = 1e-12  # exploitability below is rounding: such runs are all as good
_NUM_EVALUATIONS = 12


class Form(NamedTuple):
    """A form of the table: how gradients come about, what is evaluated."""

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
    """Returns what is run in a form of the table, and what it is called there."""
    end = "/last" if form.is_last else ""
    found = {f"{form.estimator}/{name}{end}": name for name in (*_MATCHERS, *_OTHERS)}
    found[f"{form.estimator}/hs_dcfr(iterations={iterations}){end}"] = "hs_dcfr"
    if not form.is_last:
        found[f"{form.estimator}/prm+/schedule(iterations={iterations})"] = "prm+/schedule"
    elif form.estimator == "full":
        found |= {f"full/{name}": name for name in _FULL_ONLY}
    return found


def table(setting: Setting, name: str) -> Result:
    """Returns a form of the table: mean rank, and geometric mean of the ratio to the best of each game."""
    form = FORMS[name]
    seeds = tuple(range(1, form.seeds[setting.scale] + 1))
    comparisons: dict[str, Comparison] = {}
    labels: dict[str, str] = {}
    for label, (game, fraction) in GAMES.items():
        iterations = round(form.iterations[setting.scale] * fraction)
        algorithms = algorithms_of(form, iterations)
        labels |= algorithms
        limit = Limit("iterations", float(iterations))
        folder = "".join(c if c.isalnum() else "-" for c in label.lower())
        comparisons[folder] = Comparison((game,), tuple(algorithms), seeds, limit, _NUM_EVALUATIONS)
    curves, _ = run_figure(setting, name, comparisons)
    pictures = []
    for folder, (label, (game, _)) in zip(comparisons, GAMES.items(), strict=True):
        of_game = [curve for curve in curves if curve.game == game]
        for unit in ("iterations", "cpu_seconds"):
            pictures.append(setting.folder / f"{name}-{folder}-{unit}.png")
            plot_curves(of_game, pictures[-1:], unit=unit, labels=labels, titles={game: label})
    with atomic_write(setting.folder / f"{name}.jsonl", RecordError) as file:
        file.write("\n".join(records_of(curves, labels)).encode() + b"\n")
    ends = read_ends(setting.folder / f"{name}.jsonl")
    rows = summary_of(ends)
    titles = {GAMES[label][0]: label for label in OVERVIEW if label in GAMES}
    # By their labels, as a schedule's iterations are part of its name.
    shown = [replace(curve, algorithm=labels[curve.algorithm]) for curve in curves if curve.game in titles]
    if shown:
        best = {row.what for row in rows[:_NUM_BOLD]}
        faint = {(curve.game, curve.algorithm) for curve in shown if curve.algorithm not in best}
        pictures.insert(0, setting.folder / f"{name}.png")
        plot_curves(shown, pictures[:1], unit="iterations", labels={}, titles=titles, faint=faint)
    notes = [
        f"{form.iterations[setting.scale]:,} iterations with the defaults of the papers, "
        f"{len(seeds)} seed{'s' * (len(seeds) > 1)}; a tenth of the iterations on three-player Leduc.",
        "Times the best: geometric mean over the games of exploitability (NashConv / players) divided by the lowest on "
        f"the game, where what is below {_FLOOR:g} counts as that.",
        "hs_dcfr and prm+/schedule know the number of iterations beforehand. omd has the iterates of ftrl.",
        "With three players nothing is proven; what is measured is the same.",
    ]
    return Result(rows, notes, pictures, lines_of(ends))


def records_of(curves: list[Curve], labels: dict[str, str]) -> list[str]:
    """Returns a line of JSON per game and minimizer: [iterations, CPU seconds, exploitability], means over seeds.

    Of every second point, the last among them, in three digits.
    """
    names, lines = {game: label for label, (game, _) in GAMES.items()}, []
    for curve in curves:
        rows = zip(curve.x("iterations"), curve.x("cpu_seconds"), np.maximum(curve.mean(), 0.0), strict=True)
        points = [[int(row[0]), *(float(f"{number:.3g}") for number in row[1:])] for row in rows]
        line = {"game": names[curve.game], "minimizer": labels[curve.algorithm], "points": points[::-1][::2][::-1]}
        lines.append(json.dumps(line, separators=(",", ":")))
    return lines


def read_ends(path: Path) -> dict[str, dict[str, float]]:
    """Returns the last exploitability by game and minimizer, of a file of `records_of`."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with record_errors(path, "read"):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            found[line["game"]][line["minimizer"]] = line["points"][-1][-1]
    return dict(found)


def summary_of(ends: dict[str, dict[str, float]]) -> list[Row]:
    """Returns a row per minimizer, the smallest mean rank first.

    Args:
        ends: Exploitability by game and minimizer; all games have the same minimizers.
    """
    from scipy import stats  # here, as importing it takes long

    minimizers = list(next(iter(ends.values())))
    values = np.maximum([[of_game[name] for name in minimizers] for of_game in ends.values()], _FLOOR)
    ranks = stats.rankdata(values, axis=1).mean(axis=0)  # ties share the mean of their ranks
    is_best = values == values.min(axis=1, keepdims=True)
    ratios = stats.gmean(values / values.min(axis=1, keepdims=True))
    return [
        Row(
            minimizers[i],
            "-",
            f"mean rank {ranks[i]:.1f}, {ratios[i]:.3g} times the best",
            f"best on {int(is_best[:, i].sum())} of {len(ends)} games",
        )
        for i in np.argsort(ranks, kind="stable")
    ]


def lines_of(ends: dict[str, dict[str, float]]) -> list[str]:
    """Returns a table in Markdown: exploitability, a row per game and a column per minimizer, the best in bold."""
    minimizers = list(next(iter(ends.values())))
    lines = [f"| | {' | '.join(f'`{name}`' for name in minimizers)} |", "|---" * (len(minimizers) + 1) + "|"]
    for game, found in ends.items():
        best = max(min(found.values()), _FLOOR)
        cells = (f"**{found[name]:.2g}**" if found[name] <= best else f"{found[name]:.2g}" for name in minimizers)
        lines.append(f"| {game} | {' | '.join(cells)} |")
    return lines


MINIMIZERS = Paper(
    "minimizers",
    "The minimizers in one table",
    (
        Item("average", "exact gradients, average strategy", table),
        Item("last", "exact gradients, last strategy", table),
        Item("external", "external sampling, average strategy", table),
    ),
)
