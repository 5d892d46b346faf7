"""`mccfr-plus stats`: the size of a game's tree, counted or estimated."""

import argparse
import math
from typing import Any

from mccfr_plus.cli import command
from mccfr_plus.cli.command import UsageError
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.solver.choice import bytes_on_top, choose
from mccfr_plus.trees.game_tree import compile_game
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.size_estimate import CONFIDENCE, ESTIMATORS, Interval, SizeEstimate, as_text, estimate_size

SUMMARY = "Count a game's histories, information sets and sequences, or estimate its size."

_HOWS = {"compiled": "compile the tree", "rules": "traverse the game by its rules"}
_HOWS |= {"lazy": "expand the tree on demand", "public": "traverse the public tree"}
NOTES = """
  histories          all nodes of the tree: decision nodes, chance nodes and terminal nodes
  information sets   sets of decision nodes that the player to move cannot distinguish
  sequences          a player's (information set, action) pairs and the empty sequence
  M-value            the sum, over a player's action sequences, of the square root of the number of the player's
                     information sets reached with that sequence; it bounds the regret of CFR
                     (Lanctot et al. 2009, section 4)
  memory             memory of the tree, of the arrays over information sets and actions (without texts), and the
                     additional memory of external sampling with regret matching

With --estimate, the game is not compiled, so it may have any size. The command then estimates the number of histories
of each kind, the memory needed by a compiled tree and by a solver, and the number of histories that one iteration of
each estimator visits under the uniform strategy. It also counts the information sets in a sample and recommends how to
solve the game.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command.add_game(parser)
    add = parser.add_argument
    add("--estimate", action="store_true", help="Estimate the size from a sample instead of compiling the game.")
    meaning = "Number of histories that --estimate visits. Default: 100000."
    add("--sample_size", type=command.whole(1, 10**9), help=meaning)
    add("--seconds", type=command.positive, help="Time limit of --estimate.")
    meaning = "With --estimate, also show the number of histories when symmetric ones are counted only once."
    add("--symmetry", action="store_true", default=None, help=meaning)
    command.add_seed(parser, "Seed of --estimate.")
    command.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    options = {name: getattr(arguments, name) for name in ("sample_size", "seconds", "seed")}
    if arguments.estimate:
        _estimate(arguments, {name: value for name, value in options.items() if value is not None})
    else:
        command.refuse(arguments, (*options, "symmetry"), "needs an estimate: give --estimate")
        _count(arguments)


def _count(arguments: argparse.Namespace) -> None:
    tree = compile_game(arguments.game)
    command.show_notes()
    found = tree.statistics()
    num_bytes, solver_bytes = found.tree_bytes + found.infoset_bytes, bytes_on_top(tree)
    names = {"decision_nodes": "decision nodes", "infosets": "information sets", "sequences": "sequences"}
    per_player = {name: getattr(found, field) for field, name in names.items()}
    print(f"{tree.game}\n")
    command.print_table(
        [
            ["", "total", *(f"player {player}" for player in range(tree.num_players))],
            ["histories", command.count(found.histories)],
            ["chance nodes", command.count(found.chance_nodes)],
            ["terminal nodes", command.count(found.terminal_nodes)],
            *([name, command.count(sum(each)), *map(command.count, each)] for name, each in per_player.items()),
            ["most actions", command.count(max(found.max_actions)), *map(command.count, found.max_actions)],
            ["M-value", "", *(f"{m:,.2f}" for m in found.m_values)],
            ["longest history", command.count(found.max_history_length)],
            ["without chance", command.count(found.max_moves)],
            ["perfect recall", "yes" if found.perfect_recall else "no"],
            ["memory of the tree", command.short(found.tree_bytes, "B")],
            ["of its information sets", command.short(found.infoset_bytes, "B")],
            ["of a solver on top", command.short(solver_bytes, "B")],
        ]
    )
    if arguments.json:
        own = {"game": arguments.game, "players": tree.num_players}
        command.print_json({**own, **found.as_dict(), "bytes": num_bytes, "solver_bytes": solver_bytes})


def _estimate(arguments: argparse.Namespace, options: dict[str, Any]) -> None:
    symmetries = _num_symmetries(arguments.game) if arguments.symmetry else 1
    estimate = estimate_size(arguments.game, **options, progress=None)
    command.show_notes()
    config, _, reason = choose(arguments.game, {}, estimate=estimate)
    chosen = {"tree": config.tree, **config.describe(), "symmetry": config.symmetry, "reason": reason}
    recommendation = {name: chosen[name] for name in ("tree", "estimator", "minimizer", "symmetry", "reason")}
    _print_estimate(estimate, recommendation)
    if arguments.symmetry:
        about = as_text(estimate.histories.log10 - math.log10(symmetries))
        print(f"With one representative per class of {symmetries} symmetries: about {about} histories.")
    if arguments.json:
        command.print_json({**estimate.as_dict(), "game": arguments.game, "recommendation": recommendation})


def _num_symmetries(name: str) -> int:
    rules = compiled_rules(load_game(name))
    if rules is None or not rules.sizes.symmetries:
        raise UsageError(f"--symmetry: {name} has no compiled rules that define symmetries, so leave the flag out.")
    return len(rules.sizes.symmetries)


def _print_estimate(estimate: SizeEstimate, recommendation: dict[str, Any]) -> None:
    is_exact, players = estimate.is_exact, range(len(estimate.decision_nodes))
    seen = [(f"information sets of player {p}", command.count(estimate.infosets_seen[p])) for p in players]
    rows = [
        ["", "estimate", *([] if is_exact else ["low", "high"])],
        _row("histories", estimate.histories),
        _row("chance nodes", estimate.chance_nodes),
        _row("terminal nodes", estimate.terminal_nodes),
        *(_row(f"decision nodes of player {p}", estimate.decision_nodes[p]) for p in players),
        *([name, count] if is_exact else [name, "", count] for name, count in seen),
        _row("bytes, compiled, with a solver", estimate.compiled_bytes),
        *(_row(f"histories per iteration, {name}", estimate.nodes_per_iteration(name)) for name in ESTIMATORS),
    ]
    print(f"{estimate.game}\n")
    command.print_table(rows)
    recall = "no" if not estimate.perfect_recall else "yes" if is_exact else "as far as seen"
    print(f"\nlongest history seen: {estimate.depth}; perfect recall: {recall}")
    tree, estimator, minimizer, symmetry, reason = recommendation.values()
    flags = f"--estimator={estimator} --minimizer={minimizer}{' --symmetry' if symmetry else ''}"
    print(command.wrapped(f"recommended: {_HOWS[tree]}, {flags}: {reason}"))
    how = "All histories were counted."
    if not is_exact:
        how = (
            f"Low and high are limits with {CONFIDENCE:.0%} confidence each, from {estimate.visited:,} histories. "
            "The number of information sets of a player is that found in this sample, and may be far too low."
        )
    print(command.wrapped(how))


def _row(name: str, interval: Interval) -> list[str]:
    return [name, *map(as_text, interval[:1] if interval.is_exact else interval)]
