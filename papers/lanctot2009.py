"""Lanctot, Waugh, Zinkevich, Bowling 2009, "Monte Carlo sampling for regret minimization in extensive games".

``python papers/lanctot2009.py figure1 --scale=small``
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import common
import numpy as np
from common import INTERVALS, Finding, Page, Setting

from mccfr_plus import GameTree, Solver, compile_game
from mccfr_plus.experiments import Curve, Interval, Result

ONE_CARD, GOOFSPIEL, LATENT, PRINCESS = "one_card_poker", "bid_goofspiel", "latent_tic_tac_toe", "princess_and_monster"
NAMES = {
    GOOFSPIEL: "Goofspiel",
    ONE_CARD: "One-Card Poker",
    LATENT: "Latent Tic-Tac-Toe",
    PRINCESS: "Princess and Monster",
}
GAMES = tuple(NAMES)
PRINCESS_11 = "princess_and_monster(stay=True,same_start=True,horizon=11)"
TITLES = {**NAMES, PRINCESS_11: "Princess and Monster, horizon 11 with staying and equal first cells"}

# The paper's forms: CFR updates both players at once (section 2.2), outcome sampling draws one history for both
# (appendix A.1.1; algorithm 1 draws one per player), external sampling one action per infoset of the opponent
# (section 3), and sampled variants average optimistically (appendix A.1, algorithm 1). Beside them are the exact, lazy,
# average, alternating updates, and draws per node and per player, as in OpenSpiel.
VANILLA, VANILLA_ALTERNATING = "vanilla CFR, simultaneous", "vanilla CFR"
PRUNED, PRUNED_ALTERNATING = "vanilla CFR with pruning, simultaneous", "vanilla CFR with pruning"
EXTERNAL, EXTERNAL_LAZY = "external sampling, optimistic average", "external sampling"
OUTCOME, OUTCOME_LAZY = "outcome sampling, optimistic average", "outcome sampling"
OUTCOME_ALGORITHM_1 = "outcome sampling (a history per player), optimistic average"
EXTERNAL_PER_NODE, OUTCOME_PER_PLAYER = (
    "external sampling (a draw per node)",
    "outcome sampling (a history per player)",
)
ALGORITHMS = {
    VANILLA: "full(minimizer=rm,alternating=False)",
    PRUNED: "full(pruning=True,minimizer=rm,alternating=False)",
    EXTERNAL: "external(sample_per_infoset=True,averaging=optimistic)",
    OUTCOME: "outcome(update_all_players=True,averaging=optimistic)",
    OUTCOME_ALGORITHM_1: "outcome(averaging=optimistic)",
    VANILLA_ALTERNATING: "full(minimizer=rm)",
    PRUNED_ALTERNATING: "full(pruning=True,minimizer=rm)",
    EXTERNAL_LAZY: "external(sample_per_infoset=True)",
    OUTCOME_LAZY: "outcome(update_all_players=True)",
    EXTERNAL_PER_NODE: "external",
    OUTCOME_PER_PLAYER: "outcome",
}
OURS = {  # beside each of the paper's forms
    VANILLA: VANILLA_ALTERNATING,
    PRUNED: PRUNED_ALTERNATING,
    EXTERNAL: EXTERNAL_LAZY,
    OUTCOME: OUTCOME_LAZY,
    OUTCOME_ALGORITHM_1: OUTCOME_PER_PLAYER,
}
SAMPLED = (EXTERNAL, OUTCOME)
LEVEL = 0.5  # of b1 + b2
AXIS = {GOOFSPIEL: 5e9, ONE_CARD: 1e9, LATENT: 6e8, PRINCESS: 5e8}  # histories at the right end of the paper's figure


# --- table 1 ---

# By game: what is counted, as printed, as enumerated, and whether they agree.
SIZES: dict[str, list[tuple[str, str, Any, str]]] = {
    ONE_CARD: [
        ("histories", "22.4 M", 2246001, "a tenth of the printed figure"),
        ("infosets", "2 K", 2000, "agrees as printed"),
        ("l", "5", 5, "exact"),
        ("M", "45, 32", (44.72, 31.62), "agrees as printed"),
    ],
    GOOFSPIEL: [
        ("histories", "98.3 M", 98309835, "agrees as printed"),
        ("infosets", "3,294 K", 3294456, "agrees as printed"),
        ("l", "14", 14, "exact"),
        ("M", "89,884 both", (114111.56, 114111.56), "the printed one does not follow from its definition"),
    ],
    LATENT: [
        ("histories", "70.4 M", 58086835, "could not be reproduced"),
        ("infosets", "16,039 K", 18638492, "could not be reproduced"),
        ("l", "18", 16, "a placed line ends the game before"),
        ("M", "1,333,630, 1,236,660", (1154254.9, 928401.6), "could not be reproduced"),
    ],
    PRINCESS: [
        ("histories without chance", "91.8 M", 13943668, "could not be reproduced from the text"),
        ("infosets", "20 K", 9098, "could not be reproduced from the text"),
        ("l", "13", 15, "13 without the cells dealt"),
        ("M", "9,541, 2,930", (4583.52, 1500.07), "could not be reproduced from the text"),
    ],
    # Another reading, which is not run: a horizon of 11 moves after two deals, staying and equal first cells allowed.
    PRINCESS_11: [
        ("histories without chance", "91.8 M", 91803122, "agrees as printed"),
        ("infosets", "20 K", 11923, "could not be reproduced from the text"),
        ("l", "13", 13, "exact"),
        ("M", "9,541, 2,930", (5411.89, 1300.12), "could not be reproduced from the text"),
    ],
}
DEALS = {ONE_CARD: 2, PRINCESS: 2, PRINCESS_11: 2}  # of chance in a history, which l counts
# Seconds per iteration as printed: vanilla CFR, external sampling, outcome sampling.
PRINTED_SECONDS = {
    ONE_CARD: (28.0, 99e-6, 46e-6),
    GOOFSPIEL: (110.0, 150e-3, 150e-6),
    LATENT: (38.0, 70e-3, 62e-6),
    PRINCESS: (120.0, 28e-3, 85e-6),
}
_TIMED = ("vanilla CFR", "external sampling", "outcome sampling")
_SECONDS = {"small": 1.0, "paper": 10.0}  # of measuring CFR


def table1(setting: Setting, name: str) -> Page:
    """Returns sizes and seconds per iteration; with a scale, sizes are counted and CFR is timed again."""
    record = setting.folder / "table1.json"
    if setting.scale is not None:
        rows = []
        for game in SIZES:
            tree = compile_game(game)
            rows.append({"game": game, "sizes": {what: _count(game, tree, what) for what, *_ in SIZES[game]}})
            if game in PRINTED_SECONDS:
                rows[-1]["seconds"] = _seconds_per_iteration(tree, _SECONDS[setting.scale])
        common.save_rows(record, setting, rows)
    about, rows = common.load_rows(record)
    notes = [
        "Our sizes are enumerated. Where they differ from the printed sizes, `docs/background/games.md` says which "
        "interpretations of the rules were tried. As in the paper, l includes deals: in One-Card Poker, there are two "
        "deals and three moves.",
        "Our times are CPU seconds of one thread, and the paper's are wall-clock seconds on its machine, both for an "
        "iteration of the paper's forms, which updates both players. CFR traverses all histories; the times of sampled "
        "variants are means over the runs of figure 1, if it was run. Machines and programs differ, so the ratios are "
        "not speedups.",
    ]
    figure = setting.folder / "figure1.jsonl"
    return Page(table1_findings(rows, Result.load(figure).curves if figure.exists() else []), notes, about=about)


def table1_findings(rows: Sequence[Mapping[str, Any]], curves: Sequence[Curve]) -> list[Finding]:
    """Returns a finding per size and per time."""
    findings, seconds = [], seconds_by_game(rows, curves)
    for row in rows:
        game = row["game"]
        findings += [_size(game, row["sizes"][what], what, *size) for what, *size in SIZES[game]]
        for label, printed, found in zip(_TIMED, PRINTED_SECONDS.get(game, ()), seconds.get(game, ()), strict=False):
            what = f"{TITLES[game]}: {label}, seconds per iteration"
            findings.append(Finding(what, f"{printed:.2g}", f"{found:.2g}", "-"))
    return findings


def seconds_by_game(rows: Sequence[Mapping[str, Any]], curves: Sequence[Curve]) -> dict[str, list[float]]:
    """Returns CPU seconds of an iteration of CFR, external and outcome sampling."""
    of = {(curve.game, curve.algorithm): curve.x("cpu_seconds")[-1] / curve.x("iterations")[-1] for curve in curves}
    return {
        row["game"]: [row["seconds"], *(float(of[row["game"], name]) for name in SAMPLED if (row["game"], name) in of)]
        for row in rows
        if "seconds" in row
    }


def _size(game: str, counted: Any, what: str, printed: str, ours: Any, agreement: str) -> Finding:
    is_known = np.allclose(counted, ours, rtol=1e-6)
    here = " / ".join(f"{value:,.2f}" for value in counted) if isinstance(ours, tuple) else f"{counted:,}"
    return Finding(
        f"{TITLES[game]}: {what}", printed, here, agreement if is_known else f"differs from {ours} in this script"
    )


def _count(game: str, tree: GameTree, what: str) -> Any:
    found = tree.statistics()
    return {
        "histories": found.histories,
        "histories without chance": found.histories - found.chance_nodes,
        "infosets": sum(found.infosets),
        "l": found.max_moves + DEALS.get(game, 0),
        "M": tuple(round(value, 2) for value in found.m_values),
    }[what]


def _seconds_per_iteration(tree: GameTree, seconds: float) -> float:
    """Returns CPU seconds of an iteration of CFR that visits all histories, the first one left out."""
    solver = Solver(tree, "full(traversal=True)", "rm", "uniform", alternating=False).run(1)
    iterations, spent = solver.iterations, solver.cpu_seconds
    solver.run(seconds=seconds)
    return (solver.cpu_seconds - spent) / (solver.iterations - iterations)


# --- figure 1 ---

_ALL_EXTERNAL, _ALL_OUTCOME = (EXTERNAL_LAZY, EXTERNAL_PER_NODE), (OUTCOME_LAZY, OUTCOME_PER_PLAYER)
# Runs of the same length: algorithms, games, histories, evaluations. All games have the paper's sizes.
FIGURE1 = {
    "small": {
        "vanilla": ((VANILLA, VANILLA_ALTERNATING), GAMES, 5e9, 9),
        "pruned": ((PRUNED, PRUNED_ALTERNATING), GAMES, 1e9, 9),
        "sampled": ((*SAMPLED, *_ALL_EXTERNAL, *_ALL_OUTCOME), (ONE_CARD, PRINCESS), 1e8, 13),
        "sampled-goofspiel": ((*SAMPLED, OUTCOME_ALGORITHM_1, *_ALL_EXTERNAL, *_ALL_OUTCOME), (GOOFSPIEL,), 2e8, 7),
        "external-latent": ((EXTERNAL, *_ALL_EXTERNAL), (LATENT,), 2e8, 7),
        "outcome-latent": ((OUTCOME, *_ALL_OUTCOME), (LATENT,), 2e8, 7),
    },
    "paper": {
        "vanilla-simultaneous": ((VANILLA,), GAMES, 5e9, 9),
        "pruned-simultaneous-goofspiel": ((PRUNED,), (GOOFSPIEL,), 5e9, 13),
        "pruned-simultaneous": ((PRUNED,), (ONE_CARD, LATENT, PRINCESS), 1e9, 9),
        "optimistic-goofspiel": ((*SAMPLED, OUTCOME_ALGORITHM_1), (GOOFSPIEL,), 1e8, 5),
        "optimistic-one-card": (SAMPLED, (ONE_CARD,), 5e7, 5),
        "external-latent": ((EXTERNAL,), (LATENT,), 6e8, 5),
        "outcome-latent": ((OUTCOME,), (LATENT,), 3.2e8, 5),
        "external-princess": ((EXTERNAL,), (PRINCESS,), 5e8, 9),
        "outcome-princess": ((OUTCOME,), (PRINCESS,), 5e7, 5),
        "vanilla": ((VANILLA_ALTERNATING,), GAMES, 4e10, 9),
        "pruned": ((PRUNED_ALTERNATING,), GAMES, 5e9, 13),
        "external": (_ALL_EXTERNAL, GAMES, 2e9, 8),
        "outcome": (_ALL_OUTCOME, GAMES, 1e9, 13),
    },
}


def figure1(setting: Setting, name: str) -> Page:
    """Returns the figure: b1 + b2 against histories touched."""
    result = common.recorded(
        setting,
        name,
        lambda scale: {
            folder: {
                "games": games,
                "algorithms": {label: ALGORITHMS[label] for label in algorithms},
                "seeds": 3,
                "nodes": nodes,
                "num_evaluations": points,
            }
            for folder, (algorithms, games, nodes, points) in FIGURE1[scale].items()
        },
    )
    in_order = sorted(result.curves, key=lambda c: (GAMES.index(c.game), list(ALGORITHMS).index(c.algorithm)))
    figure = common.draw(Result(in_order), NAMES, ylabel="b1 + b2 (NashConv)", measure="nash_conv")
    parts = FIGURE1[result.about["scale"]].values()
    notes = [
        "The paper's figure has ticks on its axes but no values, so we compare our results with the claims in its text "
        "([Claim by claim](index.md#claim-by-claim)).",
        "In the paper's forms, CFR updates both players at the same time, outcome sampling updates both players by one "
        "history (appendix A.1.1; algorithm 1 has a history per player), external sampling draws one action per "
        "infoset of the opponent (section 3), and sampled variants average optimistically (appendix A.1, algorithm 1). "
        "All other forms have alternating updates, the exact (lazy) average, and draws per node and per player, like "
        "OpenSpiel and this package by default.",
        "The number of histories until b1 + b2 falls below a level is interpolated on logarithmic axes.",
        *_missing(result.curves),
        f"All games have the rules of table 1. Runs have {', '.join(itertools.starmap(_end, parts))} histories.",
        INTERVALS,
    ]
    return Page(figure1_findings(result.curves), notes, figure, about=result.about)


def _missing(curves: Sequence[Curve]) -> list[str]:
    """Returns a note on what was not run, if there is something."""
    run = {(curve.game, curve.algorithm) for curve in curves}
    texts = [f"{NAMES[game]}, {name}" for game in GAMES for name in ALGORITHMS if (game, name) not in run]
    return [f"The following were not run: {'; '.join(texts)}."] if texts else []


def _end(algorithms: Sequence[str], games: Sequence[str], nodes: float, _: int) -> str:
    where = f" in {', '.join(NAMES[game] for game in games)}" if len(games) < len(GAMES) else ""
    seeds = "; 3 seeds" if any("CFR" not in name for name in algorithms) else ""
    return f"{nodes:.0e} ({', '.join(algorithms)}{where}{seeds})"


def figure1_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Returns where each curve ended, when it fell below the level, and the order of the curves along the way."""
    found = []
    for game in dict.fromkeys(curve.game for curve in curves):
        run = {curve.algorithm: curve for curve in curves if curve.game == game}
        of_game = {name: run[name] for name in ALGORITHMS if name in run}
        for name in of_game:
            what = f"{NAMES[game]}: {name}, b1 + b2 after {of_game[name].x()[-1]:.2g} histories"
            found.append(Finding(what, "-", str(of_game[name].interval(measure="nash_conv")), "-"))
        for name in of_game:
            what = f"{NAMES[game]}: histories until b1 + b2 < {LEVEL:g}, {name}"
            found.append(Finding(what, "-", histories(below(of_game[name])), "-"))
        for exponent in range(6, 11):
            in_order = _order_at(of_game, 10.0**exponent)
            if len(in_order) > 1:
                what = f"{NAMES[game]}: best to worst at 1e{exponent} histories"
                found.append(Finding(what, "-", ", ".join(in_order), "-"))
    return found


def below(curve: Curve, unit: str = "nodes") -> float:
    """Returns after how many histories, or iterations, b1 + b2 is below the level."""
    return curve.crossing(LEVEL, unit, measure="nash_conv")


def histories(count: float) -> str:
    """Returns a number of histories as a text."""
    return f"{count:,.3g}" if count < math.inf else "not reached"


def _order_at(curves: Mapping[str, Curve], nodes: float) -> list[str]:
    """Returns the curves that reach over a number of histories, the lowest first."""
    here = {
        name: curve.value_at(nodes, measure="nash_conv").mean()
        for name, curve in curves.items()
        if curve.x()[0] <= nodes <= curve.x()[-1] * 1.001
    }
    return sorted(here, key=here.__getitem__)


# --- section 5: epsilon of outcome sampling ---

EPSILONS = (0.1, 0.3, 0.6, 0.9, 1.0)
_NODES = 1e8  # at each scale: the paper draws no figure of this


def outcome_with(epsilon: float) -> str:
    """Returns the paper's outcome sampling with an epsilon."""
    return f"outcome(epsilon={epsilon:g},update_all_players=True)"


def epsilon(setting: Setting, name: str) -> Page:
    """Returns how outcome sampling ends with several epsilons."""
    algorithms = list(map(outcome_with, EPSILONS))
    options = {"games": GAMES, "algorithms": algorithms, "seeds": 3, "nodes": _NODES, "num_evaluations": 1}
    result = common.recorded(setting, name, lambda scale: {"runs": options})
    ends = ends_by_epsilon(result.curves)
    figure = common.draw_parameter(
        {NAMES[game]: means for game, means in ends.items()},
        f"Outcome sampling after {_NODES:.0e} histories",
        "epsilon: share of uniform play at own information sets",
        "b1 + b2 (NashConv)",
        "linear",
    )
    notes = [
        "The runs use outcome sampling with one history for both players and the lazy average, on the games of table "
        "1. With epsilon = 1, all actions are equally likely.",
        INTERVALS,
    ]
    return Page(epsilon_findings(result.curves), notes, figure, about=result.about)


def epsilon_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Returns where outcome sampling ended, by game and epsilon."""
    return [
        Finding(f"{NAMES[game]}: epsilon {value:g}, b1 + b2", "-", str(mean), "-")
        for game, means in ends_by_epsilon(curves).items()
        for value, mean in means.items()
    ]


def ends_by_epsilon(curves: Sequence[Curve]) -> dict[str, dict[float, Interval]]:
    """Returns b1 + b2 at the end, by game and epsilon."""
    ends = {(curve.game, curve.algorithm): curve.interval(measure="nash_conv") for curve in curves}
    return {
        game: {value: ends[game, outcome_with(value)] for value in EPSILONS if (game, outcome_with(value)) in ends}
        for game in GAMES
    }


def claims(setting: Setting, name: str) -> Page:
    """Returns the verdicts on the paper's claims."""
    import lanctot2009_claims  # which needs this module

    return lanctot2009_claims.claims(setting)


ITEMS = {
    "figure1": ("figure 1: exploitability against histories touched", figure1),
    "table1": ("table 1: sizes of the games, and seconds per iteration", table1),
    "epsilon": ("section 5: epsilon of outcome sampling", epsilon),
    "claims": ("claim by claim", claims),
}

if __name__ == "__main__":
    common.main(__file__, "Lanctot, Waugh, Zinkevich, Bowling 2009", ITEMS)
