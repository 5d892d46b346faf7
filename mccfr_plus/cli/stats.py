"""`mccfr-plus stats`: the size of a game's tree, counted or estimated."""

from __future__ import annotations

import math
from typing import Any

from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.command import GAME_NOTE, Command, define, define_switch, fraction, positive, whole, wrapped
from mccfr_plus.cli.components import Recommendation, compile_within_budget, define_budget, recommend
from mccfr_plus.solver.solver import bytes_on_top
from mccfr_plus.tree.confidence_interval import Interval, as_text
from mccfr_plus.tree.size import ESTIMATORS, InfosetBounds, SizeEstimate
from mccfr_plus.tree.size_estimate import estimate_size

_LARGEST_SIZE = 15.0  # log10; above it bytes are written as a power of ten


class StatsCommand(Command):
    """Prints the sizes of a game's tree."""

    name = "stats"
    summary = "Count a game's histories, information sets, sequences and M-values, or estimate its size."
    positionals = ("GAME",)
    notes = (
        GAME_NOTE
        + """
What is counted:
  histories          all nodes of the tree: decisions, chance nodes and ends of the game
  information sets   what a player can tell apart when it is to move
  sequences          (information set, action) pairs and the empty sequence
  M-value            sum over a player's own action sequences of sqrt(number of information sets reached by it),
                     which bounds the regret of CFR (Lanctot et al. 2009, section 4)
The last lines are a row as in table 1 of that paper: |H| and |I|, histories and information sets in thousands; l, the
longest history in moves of players; M1, M2, ... the M-values. Then memory: of the tree; of the arrays per information
set and action, without texts; and what a solver with external sampling and regret matching needs on top.

With --estimate nothing is compiled, so that games of every size can be asked for: histories by kind, limits for the
information sets, memory and time of a compiled and of a lazy tree, histories that one iteration of each scheme
visits under the uniform strategy, and how to solve the game. Seconds of iterations are orders of magnitude.
"""
    )

    def define_flags(self, values: flags.FlagValues) -> None:
        define_budget(values)
        define_switch(values, "estimate", "Estimate the size from a sample instead of compiling the game.")
        define(values, "sample_size", whole(), "Histories to visit, with --estimate.", 100_000)
        define(values, "seconds", positive("SECONDS"), "When to stop at the latest, with --estimate.")
        define(values, "confidence", fraction(), "Of each interval, with --estimate.", 0.95)
        define(values, "seed", whole(0), "Seed of the sample, with --estimate. Default: drawn.")
        keys = (
            "game, players, histories, chance_nodes, terminal_nodes, max_history_length, max_moves, perfect_recall, "
            "tree_bytes, infoset_bytes, bytes (both), solver_bytes, and lists per player: decision_nodes, infosets, "
            "sequences, max_actions, m_values; with --estimate: game, recommendation (tree, estimator, minimizer, "
            "reason), and the attributes and results of mccfr_plus.SizeEstimate, an interval being "
            "{log10, low, high} (null: 0 or no limit)"
        )
        output.define_json(values, keys)

    def run(self, arguments: list[str], values: Any) -> None:
        (game,) = arguments
        if values.estimate:
            _estimate(game, values)
            return
        tree = compile_within_budget(game, values)
        statistics = tree.statistics()
        num_bytes, solver_bytes = statistics.tree_bytes + statistics.infoset_bytes, bytes_on_top(tree)
        print(tree.game)
        print()
        players = [f"player {player}" for player in range(tree.num_players)]
        per_player = {
            "decision nodes": statistics.decision_nodes,
            "information sets": statistics.infosets,
            "sequences": statistics.sequences,
        }
        output.print_table(
            [
                ["", "total", *players],
                ["histories", output.count(statistics.histories)],
                ["chance nodes", output.count(statistics.chance_nodes)],
                ["terminal nodes", output.count(statistics.terminal_nodes)],
                *([name, output.count(sum(c)), *map(output.count, c)] for name, c in per_player.items()),
                ["most actions", output.count(max(statistics.max_actions)), *map(output.count, statistics.max_actions)],
                ["M-value", "", *(f"{m:,.2f}" for m in statistics.m_values)],
                ["longest history", output.count(statistics.max_history_length)],
                ["without chance", output.count(statistics.max_moves)],
                ["perfect recall", "yes" if statistics.perfect_recall else "no"],
                ["memory", output.size(num_bytes)],
            ]
        )
        print()
        names = [f"M{player + 1}" for player in range(tree.num_players)]
        output.print_table(
            [
                ["|H| (10^3)", "|I| (10^3)", "l", *names, "tree", "information sets", "solver on top"],
                [
                    _thousands(statistics.histories),
                    _thousands(sum(statistics.infosets)),
                    output.count(statistics.max_moves),
                    *(f"{m:,.0f}" for m in statistics.m_values),
                    output.size(statistics.tree_bytes),
                    output.size(statistics.infoset_bytes),
                    output.size(solver_bytes),
                ],
            ],
            texts=(),
        )
        if values.json:
            own = {"game": game, "players": tree.num_players}
            output.print_json({**own, **statistics.as_dict(), "bytes": num_bytes, "solver_bytes": solver_bytes})


def _estimate(game: str, values: Any) -> None:
    estimate = estimate_size(
        game,
        sample_size=values.sample_size,
        seconds=values.seconds,
        confidence=values.confidence,
        seed=values.seed,
        progress=None,
    )
    output.show_notes()
    recommendation = recommend(estimate, values.max_nodes, values.max_bytes)
    _print_estimate(estimate, recommendation)
    if values.json:
        output.print_json({**estimate.as_dict(), "game": game, "recommendation": recommendation._asdict()})


def _thousands(number: int) -> str:
    """Returns a number in thousands: whole from 100 on, three significant digits below."""
    return f"{number / 1000:,.0f}" if number >= 100_000 else output.number(number / 1000, 3)


def _print_estimate(estimate: SizeEstimate, recommendation: Recommendation) -> None:
    """Prints sizes, costs, iterations and the recommendation."""
    players = range(len(estimate.decision_nodes))
    print(estimate.game)
    print()
    rows = [
        ["", "estimate", *_limits(estimate)],
        _row("histories", estimate.histories),
        _row("chance nodes", estimate.chance_nodes),
        _row("terminal nodes", estimate.terminal_nodes),
        *(_row(f"decision nodes of player {p}", estimate.decision_nodes[p]) for p in players),
        *(_infosets(f"information sets of player {p}", estimate.infosets[p], estimate.is_exact) for p in players),
    ]
    output.print_table(rows)
    print()
    output.print_table(
        [
            ["", *(f"player {p}" for p in players)],
            ["actions, mean", *(f"{mean:.2f}" for mean in estimate.mean_actions)],
            ["actions, most seen", *map(output.count, estimate.most_actions)],
        ]
    )
    print(f"random play: {estimate.mean_length:.1f} moves on average; longest history seen: {estimate.longest_seen}")
    print(
        f"perfect recall: {'no' if not estimate.perfect_recall else 'yes' if estimate.is_exact else 'as far as seen'}"
    )
    print()
    output.print_table(
        [
            ["memory and time", "estimate", *_limits(estimate)],
            _size_row("compiled tree", estimate.compiled_bytes()),
            _size_row("solver on top", estimate.solver_bytes()),
            _size_row("lazy tree, all visited", estimate.lazy_bytes()),
            _row("seconds to compile", estimate.compile_seconds()),
        ]
    )
    print()
    rows = [["one iteration", "histories visited", "seconds, compiled"]]
    for name in ESTIMATORS:
        nodes, seconds = estimate.nodes_per_iteration(name), estimate.seconds_per_iteration(name)
        rows.append([name, as_text(nodes.log10), _seconds(seconds)])
    output.print_table(rows)
    print()
    print(_recommended(recommendation))
    print()
    print(wrapped(_how(estimate)))


def _limits(estimate: SizeEstimate) -> list[str]:
    return [] if estimate.is_exact else ["at least", "at most"]


def _row(name: str, interval: Interval) -> list[str]:
    if interval.is_exact:
        return [name, as_text(interval.log10)]
    return [name, *map(as_text, interval)]


def _infosets(name: str, bounds: InfosetBounds, is_exact: bool) -> list[str]:
    if is_exact:
        return [name, output.count(bounds.seen)]
    return [name, "", output.count(bounds.at_least), as_text(bounds.at_most)]


def _size_row(name: str, interval: Interval) -> list[str]:
    return [name, *map(_size, interval[:1] if interval.is_exact else interval)]


def _size(log10: float) -> str:
    if log10 == math.inf:
        return as_text(log10)
    return output.size(10**log10) if log10 < _LARGEST_SIZE else f"{as_text(log10)} bytes"


def _seconds(interval: Interval) -> str:
    return f"{10**interval.log10:.2g}" if interval.log10 < 0 else as_text(interval.log10)


def _recommended(recommendation: Recommendation) -> str:
    components = f"--estimator={recommendation.estimator} --minimizer={recommendation.minimizer}"
    tree = "compile the tree" if recommendation.tree == "compiled" else "expand the tree on demand"
    return wrapped(f"recommended: {tree}, {components}: {recommendation.reason}")


def _how(estimate: SizeEstimate) -> str:
    if estimate.is_exact:
        return f"All histories were counted, in {estimate.seconds:.1f} s."
    looked = f"{estimate.num_nodes_seen:,} histories visited in {estimate.seconds:.1f} s"
    if not estimate.is_complete:
        return f"Time was up before the end of the game: {looked}. Give more --seconds, or no limit."
    if estimate.is_cut_off:
        looked += ", when time was up"
    return (
        f"Limits with {estimate.confidence:.0%} confidence each, from {estimate.num_runs} independent samples; "
        f"{looked}. Information sets: at least, by how often samples met the same ones (can be far "
        "below the truth); at most, the decision nodes."
    )
