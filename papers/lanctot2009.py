"""Lanctot, Waugh, Zinkevich, Bowling 2009, "Monte Carlo sampling for regret minimization in extensive games".

``python papers/lanctot2009.py figure1 --scale=small``
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import common
import numpy as np
from common import AHEAD, BEHIND, INTERVALS, NOT_REPRODUCED, Finding, Page, Setting, order, verdict

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

# The paper's outcome sampling draws one history for both players (appendix, algorithm 1), its external sampling one
# action per infoset of the opponent (section 3.2). The other forms are OpenSpiel's.
VANILLA, PRUNED = "vanilla CFR", "vanilla CFR with pruning"
EXTERNAL, EXTERNAL_PER_NODE = "external sampling", "external sampling (a draw per node)"
OUTCOME, OUTCOME_PER_PLAYER = "outcome sampling", "outcome sampling (a history per player)"
ALGORITHMS = {
    VANILLA: "full(minimizer=rm)",
    PRUNED: "full(pruning=True, minimizer=rm)",
    EXTERNAL: "external(sample_per_infoset=True)",
    OUTCOME: "outcome(update_all_players=True)",
    EXTERNAL_PER_NODE: "external",
    OUTCOME_PER_PLAYER: "outcome",
}
SAMPLED = (EXTERNAL, OUTCOME)  # the paper's forms
LEVEL = 0.5  # of b1 + b2


# --- table 1 ---

# By game: what is counted, as printed, as enumerated, and whether they agree.
SIZES: dict[str, list[tuple[str, str, Any, str]]] = {
    ONE_CARD: [
        ("histories", "22.4 M", 2246001, "a tenth of the printed figure"),
        ("infosets", "2 K", 2000, "agrees as printed"),
        ("l", "5", 3, "5 with the two cards dealt"),
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
        ("l", "13", 13, "without the cells dealt"),
        ("M", "9,541, 2,930", (4583.52, 1500.07), "could not be reproduced from the text"),
    ],
}
# Seconds per iteration as printed: vanilla CFR, external sampling, outcome sampling.
PRINTED_SECONDS = {
    ONE_CARD: (28.0, 99e-6, 46e-6),
    GOOFSPIEL: (110.0, 150e-3, 150e-6),
    LATENT: (38.0, 70e-3, 62e-6),
    PRINCESS: (120.0, 28e-3, 85e-6),
}
_SCHEMES = {VANILLA: "full", EXTERNAL: "external", OUTCOME: "outcome"}
_SECONDS = {"small": 1.0, "paper": 10.0}  # of measuring one scheme


def table1(setting: Setting, name: str) -> Page:
    """Returns sizes counted on the trees, and CPU seconds per iteration."""
    if setting.scale is None:
        raise common.MccfrPlusError("table1 measures times and has no record: give --scale.")
    findings = []
    for game, sizes in SIZES.items():
        tree = compile_game(game)
        findings += [_size(game, tree, *size) for size in sizes]
        for (label, scheme), printed in zip(_SCHEMES.items(), PRINTED_SECONDS[game], strict=True):
            found = _seconds_per_iteration(tree, scheme, _SECONDS[setting.scale])
            times = f"{max(printed, found) / min(printed, found):,.0f} times as {'fast' if found < printed else 'slow'}"
            what = f"{game}: {label}, seconds per iteration"
            findings.append(Finding(what, f"{printed:.2g}", f"{found:.2g}", times))
    notes = [
        "Sizes are enumerated. `docs/background/games.md` says which readings of the rules were tried where a printed "
        "size is not met.",
        "Seconds are CPU seconds of one thread; an iteration updates both players. The paper's machine is of 2008.",
    ]
    return Page(findings, notes, about={"scale": setting.scale, "measured": common.measured_here()})


def _size(game: str, tree: GameTree, what: str, printed: str, ours: Any, agreement: str) -> Finding:
    found = tree.statistics()
    counted: Any = {
        "histories": found.histories,
        "histories without chance": found.histories - found.chance_nodes,
        "infosets": sum(found.infosets),
        "l": found.max_moves,
        "M": tuple(round(value, 2) for value in found.m_values),
    }[what]
    here = " / ".join(f"{value:,.2f}" for value in counted) if isinstance(counted, tuple) else f"{counted:,}"
    is_known = np.allclose(counted, ours, rtol=1e-6)
    return Finding(f"{game}: {what}", printed, here, agreement if is_known else f"differs from {ours} in this script")


def _seconds_per_iteration(tree: GameTree, scheme: str, seconds: float) -> float:
    """Returns CPU seconds of an iteration, the first one left out."""
    solver = Solver(tree, scheme, "rm", seed=1).run(1)
    iterations, spent = solver.iterations, solver.cpu_seconds
    solver.run(seconds=seconds)
    return (solver.cpu_seconds - spent) / (solver.iterations - iterations)


# --- figure 1 ---

_ALL_EXTERNAL, _ALL_OUTCOME = (EXTERNAL, EXTERNAL_PER_NODE), (OUTCOME, OUTCOME_PER_PLAYER)
# Runs of the same length: algorithms, games, histories, evaluations. All games have the paper's sizes.
FIGURE1 = {
    "small": {
        "vanilla": ((VANILLA,), GAMES, 1e10, 13),
        "pruned": ((PRUNED,), GAMES, 1e9, 9),
        "sampled": ((*_ALL_EXTERNAL, *_ALL_OUTCOME), (ONE_CARD, PRINCESS), 1e8, 13),
        "sampled-goofspiel": ((*_ALL_EXTERNAL, *_ALL_OUTCOME), (GOOFSPIEL,), 2e8, 7),
        "external-latent": (_ALL_EXTERNAL, (LATENT,), 2e8, 7),
        "outcome-latent": (_ALL_OUTCOME, (LATENT,), 4e8, 7),
    },
    "paper": {
        "vanilla": ((VANILLA,), GAMES, 4e10, 9),
        "pruned": ((PRUNED,), GAMES, 5e9, 13),
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
        "The paper's curves are pictures without values. [Claim by claim](index.md#claim-by-claim) judges its text.",
        "The paper's outcome sampling updates both players by one history (appendix, algorithm 1), and its external "
        "sampling draws one action per infoset of the opponent (section 3.2). The other two forms are those of "
        "OpenSpiel and this package's defaults.",
        "Histories until b1 + b2 falls below a level are on a line between measuring points, on logarithmic axes.",
        "In Goofspiel winning pays 1 and losing -1 here. If the paper has 1 and 0, its level of 0.5 is 1 here, also "
        "given.",
        f"All games have the rules of table 1. Runs end at {', '.join(itertools.starmap(_end, parts))} histories.",
        INTERVALS,
    ]
    return Page(figure1_findings(result.curves), notes, figure, about=result.about)


def _end(algorithms: Sequence[str], games: Sequence[str], nodes: float, _: int) -> str:
    where = f" in {', '.join(NAMES[game] for game in games)}" if len(games) < len(GAMES) else ""
    seeds = "; 3 seeds" if set(algorithms) - {VANILLA, PRUNED} else ""
    return f"{nodes:.0e} ({', '.join(algorithms)}{where}{seeds})"


def figure1_findings(curves: Sequence[Curve]) -> list[Finding]:
    """Returns where each curve ended, when it fell below the level, and the order of the curves along the way."""
    found = []
    for game in dict.fromkeys(curve.game for curve in curves):
        of_game = {curve.algorithm: curve for curve in curves if curve.game == game}
        for name in ALGORITHMS:
            what = f"{NAMES[game]}: {name}, b1 + b2 after {of_game[name].x()[-1]:.2g} histories"
            found.append(Finding(what, "-", str(of_game[name].interval(measure="nash_conv")), "-"))
        for level in (LEVEL, 2 * LEVEL) if game == GOOFSPIEL else (LEVEL,):
            for name in ALGORITHMS:
                what = f"{NAMES[game]}: histories until b1 + b2 < {level:g}, {name}"
                found.append(Finding(what, "-", _nodes(_below(of_game[name], level)), "-"))
        for exponent in range(6, 11):
            in_order = _order_at(of_game, 10.0**exponent)
            if len(in_order) > 1:
                what = f"{NAMES[game]}: best to worst at 1e{exponent} histories"
                found.append(Finding(what, "-", ", ".join(in_order), "-"))
    return found


def _below(curve: Curve, level: float = LEVEL) -> float:
    return curve.crossing(level, measure="nash_conv")


def _nodes(nodes: float) -> str:
    return f"{nodes:,.3g}" if nodes < math.inf else "not reached"


def _order_at(curves: Mapping[str, Curve], nodes: float) -> list[str]:
    """Returns the curves that reach over a number of histories, the lowest first."""
    here = {
        name: curve.value_at(nodes, measure="nash_conv").mean()
        for name, curve in curves.items()
        if curve.x()[0] <= nodes <= curve.x()[-1] * 1.001
    }
    return sorted(here, key=here.__getitem__)


# --- section 5: epsilon of outcome sampling ---

EPSILONS = (0.1, 0.3, 0.6, 0.9)
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
    notes = ["The paper's outcome sampling, with a history for both players, and games of table 1.", INTERVALS]
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
    return {game: {value: ends[game, outcome_with(value)] for value in EPSILONS} for game in GAMES}


# --- claims of section 5 ---

_MARGIN = 1.5  # a ratio of NashConv that we call considerable: the paper names no number
_CHOSEN_EPSILON = 0.6


def claims(setting: Setting, name: str) -> Page:
    """Returns the verdicts on the paper's claims."""
    figures = {figure: Result.load(setting.folder / f"{figure}.jsonl").curves for figure in ("figure1", "epsilon")}
    notes = [
        "The claims are those of the experiments (section 5), in our words. CFR is vanilla CFR with pruning in them, "
        "unless the row says without: the paper draws both. Of sampled variants, the paper's forms count; the others "
        "stand beside them.",
        f"Curves are compared where the shorter one ends. Considerable: by a factor of {_MARGIN} or more.",
        INTERVALS,
    ]
    return Page(claim_findings(figures), notes)


_Curves = dict[tuple[str, str], Curve]


def claim_findings(figures: Mapping[str, Sequence[Curve]]) -> list[Finding]:
    """Returns a finding per claim: what it says, where, what was found here, and the verdict."""
    curves = {(curve.game, curve.algorithm): curve for curve in figures["figure1"]}
    sizes = {NAMES[game]: rows for game, rows in SIZES.items()}
    speed = (
        "7 to 7,000 times as fast, on another machine ([table 1](index.md)); by how much less an iteration of a "
        "sampled variant takes than one of vanilla CFR differs, too"
    )
    return [
        *common.size_findings(sizes, "table 1"),
        Finding("seconds per iteration", "table 1", speed, NOT_REPRODUCED),
        *_speed_findings(curves),
        *_order_findings(curves),
        *_pruning_findings(curves),
        _epsilon_finding(figures["epsilon"]),
        _time_finding(curves),
    ]


def _speed_findings(curves: _Curves) -> list[Finding]:
    """How many histories until b1 + b2 < 0.5 in Goofspiel."""
    reached = {name: _below(curves[GOOFSPIEL, name]) for name in ALGORITHMS}
    slower = max(reached[name] for name in SAMPLED)
    texts = [f"{name} {_nodes(nodes)}" for name, nodes in reached.items()]
    level = f"Goofspiel: b1 + b2 < {LEVEL:g}"
    orders, pruned = (
        math.log10(reached[name] / slower) if slower < math.inf else -math.inf for name in (VANILLA, PRUNED)
    )
    as_printed = any(abs(math.log(reached[name] / 2.5e9)) < math.log(1.1) for name in (VANILLA, PRUNED))
    here = f"{orders:.1f} orders more than the slower of the paper's forms without pruning, {pruned:.1f} with it"
    what = f"{level} after a few million histories with both sampled variants"
    return [
        Finding(what, "5", ", ".join(texts[2:]), verdict(slower < 1e7, True)),
        Finding(f"{level} after 2.5 billion histories with CFR", "5", ", ".join(texts[:2]), verdict(as_printed, True)),
        Finding("Goofspiel: CFR needs three orders of magnitude more", "5", here, verdict(orders > 2.5, True)),
    ]


def _order_findings(curves: _Curves) -> list[Finding]:
    """Which curve is ahead of which."""
    ahead = [
        NAMES[game] for game in GAMES if all(_relation(curves, game, name, VANILLA)[0] == AHEAD for name in SAMPLED)
    ]
    here = f"both of the paper's forms are ahead of CFR without pruning in {', '.join(ahead) or 'no game'}"
    what = "sampled variants often outperform CFR dramatically"
    found = [Finding(what, "5; abstract", here, verdict(len(ahead) > 2, True))]
    for game in GAMES:
        result, ratio, numbers = _relation(curves, game, EXTERNAL, PRUNED)
        is_not = "is not" if game == LATENT else "is"
        holds = ratio < _MARGIN if game == LATENT else result == AHEAD and ratio >= _MARGIN
        what = f"{NAMES[game]}: external sampling {is_not} ahead of CFR by a considerable margin"
        found.append(Finding(what, "5", f"{result}, {ratio:.2g} times: {numbers}", verdict(holds, True)))
    result, _, numbers = _relation(curves, GOOFSPIEL, OUTCOME, EXTERNAL)
    other, _, others = _relation(curves, GOOFSPIEL, OUTCOME_PER_PLAYER, EXTERNAL_PER_NODE)
    here = f"the paper's forms: {result}, {numbers}; the others: {other}, {others}"
    what = "Goofspiel: outcome sampling is better than external sampling"
    found.append(Finding(what, "5", here, verdict(result == AHEAD, True)))
    result, _, numbers = _relation(curves, LATENT, OUTCOME, PRUNED)
    other, _, others = _relation(curves, LATENT, OUTCOME_PER_PLAYER, PRUNED)
    plain, _, _ = _relation(curves, LATENT, OUTCOME, VANILLA)
    here = f"{result}: {numbers}; a history per player: {other}, {others}; without pruning: {plain}"
    what = "Latent Tic-Tac-Toe: outcome sampling is worse than CFR"
    return [*found, Finding(what, "5", here, verdict(result == BEHIND, True))]


def _relation(curves: _Curves, game: str, first: str, second: str, unit: str = "nodes") -> tuple[str, float, str]:
    """Returns whether the first is ahead where the shorter curve ends, the ratio of means, and both means."""
    pair = curves[game, first], curves[game, second]
    at = min(float(curve.x(unit)[-1]) for curve in pair)
    means = [curve.interval(at=at, unit=unit, measure="nash_conv") for curve in pair]
    texts = [f"{name} {mean}" for name, mean in zip((first, second), means, strict=True)]
    of = {"nodes": "histories", "cpu_seconds": "CPU seconds"}[unit]
    return order(*means), means[1].mean / means[0].mean, f"{', '.join(texts)} after {at:.3g} {of}"


def _pruning_findings(curves: _Curves) -> list[Finding]:
    """What pruning saves."""
    texts, holds = [], True
    for game in GAMES:
        plain, pruned = (_below(curves[game, name]) for name in (VANILLA, PRUNED))
        texts.append(f"{NAMES[game]} {_nodes(pruned)} instead of {_nodes(plain)}")
        holds &= pruned < plain
    run = curves[LATENT, PRUNED].runs[0]
    first = run[0].nodes / run[0].iterations
    later = min((b.nodes - a.nodes) / (b.iterations - a.iterations) for a, b in itertools.pairwise(run))
    here = f"{first / 1e6:.1f} million, then down to {later / 1e6:.1f} million (mean between two measuring points)"
    saved = f"histories until b1 + b2 < {LEVEL:g}: {'; '.join(texts)}"
    what = "Latent Tic-Tac-Toe: CFR's first iteration touches 142 million histories, later ones as few as 5 million"
    return [
        Finding("pruning is key to CFR being practical", "5", saved, verdict(holds, True)),
        Finding(what, "5", f"{here}; its tree is another one than the paper's", NOT_REPRODUCED),
    ]


def _epsilon_finding(curves: Sequence[Curve]) -> Finding:
    """Whether outcome sampling with the paper's epsilon ends near the best one in each game."""
    texts, holds = [], True
    for game, means in ends_by_epsilon(curves).items():
        best = min(means, key=means.__getitem__)
        ratio = means[_CHOSEN_EPSILON].mean / means[best].mean
        texts.append(f"{NAMES[game]} {ratio:.2g} ({best:g})")
        holds &= ratio < _MARGIN
    here = f"b1 + b2 over that of the best of {', '.join(map(str, EPSILONS))} (which): {'; '.join(texts)}"
    return Finding("epsilon = 0.6 worked well in all games", "5", here, verdict(holds, True))


def _time_finding(curves: _Curves) -> Finding:
    """Whether the sampled variants and CFR are in the same order after equal times as after equal histories."""
    pairs = ((EXTERNAL, PRUNED), (OUTCOME, PRUNED), (OUTCOME, EXTERNAL))
    others = []
    for game, (first, second) in itertools.product(GAMES, pairs):
        by_nodes, _, _ = _relation(curves, game, first, second)
        by_time, _, numbers = _relation(curves, game, first, second, "cpu_seconds")
        if by_nodes != by_time:
            others.append(f"{NAMES[game]}: {by_time} instead of {by_nodes}: {numbers}")
    count = len(GAMES) * len(pairs)
    here = f"{count - len(others)} of {count} pairs stand in the same order after equal CPU times"
    here += f"; {'; '.join(others)}" if others else ""
    return Finding("over time the results are nearly the same", "5", here, verdict(not others, True))


ITEMS = {
    "table1": ("table 1: sizes of the games, and seconds per iteration", table1),
    "figure1": ("figure 1: exploitability against histories touched", figure1),
    "epsilon": ("section 5: epsilon of outcome sampling", epsilon),
    "claims": ("claim by claim", claims),
}

if __name__ == "__main__":
    common.main(__file__, "Lanctot, Waugh, Zinkevich, Bowling 2009", ITEMS)
