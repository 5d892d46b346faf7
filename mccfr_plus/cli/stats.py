"""`mccfr-plus stats`: how large a game's tree is."""

from __future__ import annotations

from typing import Any

from absl import flags

from mccfr_plus.cli import output, trees
from mccfr_plus.cli.command import Command
from mccfr_plus.cli.flag_kinds import Count, Fraction, Positive, define_switch
from mccfr_plus.cli.recommendation import recommend
from mccfr_plus.cli.size_table import print_estimate
from mccfr_plus.solver.solver import bytes_on_top
from mccfr_plus.tree.size_estimate import estimate_size


class StatsCommand(Command):
    """Prints the sizes of a game's tree."""

    name = "stats"
    summary = "Count a game's histories, information sets, sequences and M-values, or estimate its size."
    positionals = ("GAME",)
    notes = (
        trees.GAME_NOTE
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
        trees.define_budget(values)
        define_switch(values, "estimate", False, "Estimate the size from a sample instead of compiling the game.")
        flags.DEFINE(Count(1), "sample_size", 100_000, "Histories to visit, with --estimate.", values)
        flags.DEFINE(Positive("SECONDS"), "seconds", None, "When to stop at the latest, with --estimate.", values)
        flags.DEFINE(Fraction(), "confidence", 0.95, "Of each interval, with --estimate.", values)
        flags.DEFINE(Count(0), "seed", None, "Seed of the sample, with --estimate. Default: drawn.", values)
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
        tree = trees.compile_within_budget(game, values)
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
    print_estimate(estimate, recommendation)
    if values.json:
        output.print_json({**estimate.as_dict(), "game": game, "recommendation": recommendation._asdict()})


def _thousands(number: int) -> str:
    """Returns a number in thousands: whole from 100 on, three significant digits below."""
    return f"{number / 1000:,.0f}" if number >= 100_000 else output.number(number / 1000, 3)
