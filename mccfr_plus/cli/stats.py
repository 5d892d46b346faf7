"""`mccfr-plus stats`: the size of a game's tree, counted or estimated."""

import argparse
from collections.abc import Callable
from typing import Any

from mccfr_plus.cli import output
from mccfr_plus.cli.arguments import add_game, add_json, add_seed, positive, refuse, whole
from mccfr_plus.games.compiled_rules import compiled_rules
from mccfr_plus.solver.costs import bytes_on_top
from mccfr_plus.solver.defaults import Recommendation, recommend
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.game_tree import DEFAULT_MAX_BYTES, compile_game
from mccfr_plus.trees.sizes.infoset_estimate import InfosetEstimate, estimate_infosets
from mccfr_plus.trees.sizes.size import CONFIDENCE, ESTIMATORS, Interval, SizeEstimate, as_text
from mccfr_plus.trees.sizes.size_estimate import estimate_size

SUMMARY = "Count a game's histories, information sets, sequences and M-values, or estimate its size."

_LARGEST_SIZE = 15.0  # log10; above it bytes are written as a power of ten
_NOTES = """
  histories          all nodes of the tree: decisions, chance nodes and terminal nodes
  information sets   decision nodes that the player to move cannot distinguish
  sequences          (information set, action) pairs and the empty sequence
  M-value            sum over a player's own action sequences of sqrt(number of information sets reached by it),
                     which bounds the regret of CFR (Lanctot et al. 2009, section 4)
The last lines are a row as in table 1 of that paper: |H| and |I|, histories and information sets in thousands; l, the
longest history in moves of players; M1, M2, ... the M-values. Then memory: of the tree; of the arrays per information
set and action, without texts; and the additional memory of external sampling with regret matching.

--estimate compiles nothing, so that it works for games of every size: histories by kind, the information sets seen,
the memory of a compiled tree with a solver, histories that one iteration of each estimator visits under the uniform
strategy, and a recommendation how to solve the game.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the verb."""
    parser.epilog = _NOTES
    add_game(parser)
    add = parser.add_argument
    add("--estimate", action="store_true", help="Estimate the size from a sample instead of compiling the game.")
    meaning = "Histories to visit, with --estimate. Default: 100000."
    add("--sample_size", metavar="N", type=whole(1, 10**9), help=meaning)
    add("--seconds", metavar="SECONDS", type=positive, help="Time limit of --estimate.")
    add_seed(parser, "Seed of the sample, with --estimate.")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Runs the verb."""
    options = {name: getattr(arguments, name) for name in ("sample_size", "seconds", "seed")}
    if arguments.estimate:
        _estimate(arguments, {name: value for name, value in options.items() if value is not None})
    else:
        refuse(arguments, tuple(options), "needs an estimate: give --estimate")
        _count(arguments)


def _count(arguments: argparse.Namespace) -> None:
    """Compiles the tree, and prints its sizes."""
    tree = compile_game(arguments.game)
    output.show_notes()
    found = tree.statistics()
    num_bytes, solver_bytes = found.tree_bytes + found.infoset_bytes, bytes_on_top(tree)
    per_player = {
        "decision nodes": found.decision_nodes,
        "information sets": found.infosets,
        "sequences": found.sequences,
    }
    print(f"{tree.game}\n")
    output.print_table(
        [
            ["", "total", *(f"player {player}" for player in range(tree.num_players))],
            ["histories", output.count(found.histories)],
            ["chance nodes", output.count(found.chance_nodes)],
            ["terminal nodes", output.count(found.terminal_nodes)],
            *([name, output.count(sum(each)), *map(output.count, each)] for name, each in per_player.items()),
            ["most actions", output.count(max(found.max_actions)), *map(output.count, found.max_actions)],
            ["M-value", "", *(f"{m:,.2f}" for m in found.m_values)],
            ["longest history", output.count(found.max_history_length)],
            ["without chance", output.count(found.max_moves)],
            ["perfect recall", "yes" if found.perfect_recall else "no"],
            ["memory", output.size(num_bytes)],
        ]
    )
    print()
    row = {
        "|H| (10^3)": _thousands(found.histories),
        "|I| (10^3)": _thousands(sum(found.infosets)),
        "l": output.count(found.max_moves),
        **{f"M{player}": f"{m:,.0f}" for player, m in enumerate(found.m_values, 1)},
        "tree": output.size(found.tree_bytes),
        "information sets": output.size(found.infoset_bytes),
        "solver on top": output.size(solver_bytes),
    }
    output.print_table([list(row), list(row.values())], texts=())
    if arguments.json:
        own = {"game": arguments.game, "players": tree.num_players}
        output.print_json({**own, **found.as_dict(), "bytes": num_bytes, "solver_bytes": solver_bytes})


def _thousands(number: int) -> str:
    """Returns a number in thousands: whole from 100 on, three significant digits below."""
    return f"{number / 1000:,.0f}" if number >= 100_000 else output.number(number / 1000, 3)


def _estimate(arguments: argparse.Namespace, options: dict[str, Any]) -> None:
    estimate = estimate_size(arguments.game, **options, progress=None)
    output.show_notes()
    recommendation = recommend(estimate, None, DEFAULT_MAX_BYTES)
    rules = None if estimate.is_exact else compiled_rules(load_game(arguments.game))
    infosets = None if rules is None else estimate_infosets(rules)
    _print_estimate(estimate, recommendation, infosets)
    if arguments.json:
        found = {"game": arguments.game, "recommendation": recommendation._asdict()}
        output.print_json({**estimate.as_dict(), **found, "infosets_by_rules": infosets and infosets._asdict()})


def _print_estimate(estimate: SizeEstimate, recommendation: Recommendation, by_rules: InfosetEstimate | None) -> None:
    """Prints sizes, memory, histories per iteration and the recommendation."""
    is_exact, players = estimate.is_exact, range(len(estimate.decision_nodes))
    recall = "no" if not estimate.perfect_recall else "yes" if is_exact else "as far as seen"
    seen = [(f"information sets of player {p}", output.count(estimate.infosets_seen[p])) for p in players]
    rows = [
        ["", "estimate", *([] if is_exact else ["low", "high"])],
        _row("histories", estimate.histories),
        _row("chance nodes", estimate.chance_nodes),
        _row("terminal nodes", estimate.terminal_nodes),
        *(_row(f"decision nodes of player {p}", estimate.decision_nodes[p]) for p in players),
        *([name, count] if is_exact else [name, "", count] for name, count in seen),
    ]
    if by_rules is not None:
        limits = [by_rules.infosets * (1 + side * 2 * by_rules.relative_error) for side in (0, -1, 1)]
        rows.append(["information sets, by the rules", *map(output.count, limits)])
    rows.append(_row("memory, compiled, with solver", estimate.compiled_bytes, _size))
    rows += [_row(f"histories per iteration, {name}", estimate.nodes_per_iteration(name)) for name in ESTIMATORS]
    print(f"{estimate.game}\n")
    output.print_table(rows)
    print(f"\nlongest history seen: {estimate.depth}; perfect recall: {recall}")
    tree, estimator, minimizer, symmetry, reason = recommendation
    hows = {
        "compiled": "compile the tree",
        "rules": "traverse the game by its rules",
        "lazy": "expand the tree on demand",
    }
    flags = f"--estimator={estimator} --minimizer={minimizer}{' --symmetry' if symmetry else ''}"
    print(f"\n{output.wrapped(f'recommended: {hows[tree]}, {flags}: {reason}')}\n")
    print(output.wrapped(_how(estimate)))


def _row(name: str, interval: Interval, as_text: Callable[[float], str] = as_text) -> list[str]:
    return [name, *map(as_text, interval[:1] if interval.is_exact else interval)]


def _size(log10: float) -> str:
    return output.size(10**log10) if log10 < _LARGEST_SIZE else as_text(log10)


def _how(estimate: SizeEstimate) -> str:
    """Returns sentences on how the numbers were found."""
    if estimate.is_exact:
        return "All histories were counted."
    if not estimate.is_complete:
        reached = f"{estimate.visited:,} histories visited, to depth {estimate.depth}"
        return f"The time limit came before the end of the game: {reached}. Give more --seconds, or no limit."
    return (
        f"Low and high: limits with {CONFIDENCE:.0%} confidence each, from {estimate.visited:,} histories visited. "
        "Information sets of a player: the number of different ones seen, which can be far below the truth."
    )
