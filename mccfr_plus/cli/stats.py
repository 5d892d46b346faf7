"""`mccfr-plus stats`: the size of a game's tree, counted or estimated."""

import argparse
import math
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
from mccfr_plus.trees.sizes.size import ESTIMATORS, InfosetBounds, Interval, SizeEstimate, as_text
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

--estimate compiles nothing, so that it works for games of every size: histories by kind, limits for the information
sets, memory and time of a compiled and of a lazy tree, histories that one iteration of each estimator visits under the
uniform strategy, and a recommendation how to solve the game. Seconds of iterations are orders of magnitude.
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
    """Prints sizes, costs, iterations and the recommendation."""
    players, limits = range(len(estimate.decision_nodes)), [] if estimate.is_exact else ["at least", "at most"]
    recall = "no" if not estimate.perfect_recall else "yes" if estimate.is_exact else "as far as seen"
    sizes = [
        ["", "estimate", *limits],
        _row("histories", estimate.histories),
        _row("chance nodes", estimate.chance_nodes),
        _row("terminal nodes", estimate.terminal_nodes),
        *(_row(f"decision nodes of player {p}", estimate.decision_nodes[p]) for p in players),
        *(_infosets(f"information sets of player {p}", estimate.infosets[p], estimate.is_exact) for p in players),
    ]
    if by_rules is not None:
        sizes.append(["information sets, by the rules", output.count(by_rules.infosets), *_limits(by_rules)])
    actions = [
        ["", *(f"player {p}" for p in players)],
        ["actions, mean", *(f"{mean:.2f}" for mean in estimate.mean_actions)],
        ["actions, most seen", *map(output.count, estimate.most_actions)],
    ]
    costs = [
        ["memory and time", "estimate", *limits],
        _row("compiled tree", estimate.compiled_bytes(), _size),
        _row("solver on top", estimate.solver_bytes(), _size),
        _row("lazy tree, all visited", estimate.lazy_bytes(), _size),
        _row("seconds to compile", estimate.compile_seconds()),
    ]
    iterations = [["one iteration", "histories visited", "seconds, compiled"]]
    for name in ESTIMATORS:
        seconds = estimate.seconds_per_iteration(name).log10
        shown = f"{10**seconds:.2g}" if seconds < 0 else as_text(seconds)
        iterations.append([name, as_text(estimate.nodes_per_iteration(name).log10), shown])
    print(f"{estimate.game}\n")
    output.print_table(sizes)
    print()
    output.print_table(actions)
    print(f"random play: {estimate.mean_length:.1f} moves on average; longest history seen: {estimate.longest_seen}")
    print(f"perfect recall: {recall}\n")
    output.print_table(costs)
    print()
    output.print_table(iterations)
    tree, estimator, minimizer, symmetry, reason = recommendation
    hows = {
        "compiled": "compile the tree",
        "rules": "traverse the game by its rules",
        "lazy": "expand the tree on demand",
    }
    how = hows[tree]
    flags = f"--estimator={estimator} --minimizer={minimizer}{' --symmetry' if symmetry else ''}"
    print(f"\n{output.wrapped(f'recommended: {how}, {flags}: {reason}')}\n")
    print(output.wrapped(_how(estimate)))


def _row(name: str, interval: Interval, as_text: Callable[[float], str] = as_text) -> list[str]:
    return [name, *map(as_text, interval[:1] if interval.is_exact else interval)]


def _infosets(name: str, bounds: InfosetBounds, is_exact: bool) -> list[str]:
    if is_exact:
        return [name, output.count(bounds.seen)]
    return [name, "", output.count(bounds.at_least), as_text(bounds.at_most)]


def _limits(estimate: InfosetEstimate) -> list[str]:
    """Returns two standard errors below and above."""
    return [output.count(estimate.infosets * (1 + side * 2 * estimate.relative_error)) for side in (-1, 1)]


def _size(log10: float) -> str:
    if log10 == math.inf:
        return as_text(log10)
    return output.size(10**log10) if log10 < _LARGEST_SIZE else f"{as_text(log10)} bytes"


def _how(estimate: SizeEstimate) -> str:
    if estimate.is_exact:
        return f"All histories were counted, in {estimate.seconds:.1f} s."
    looked = f"{estimate.num_nodes_seen:,} histories visited in {estimate.seconds:.1f} s"
    if not estimate.is_complete:
        return f"The time limit came before the end of the game: {looked}. Give more --seconds, or no limit."
    if estimate.is_cut_off:
        looked += ", until the time limit"
    return (
        f"Limits with {estimate.confidence:.0%} confidence each, from {estimate.num_runs} independent samples; "
        f"{looked}. Information sets: at least, by how often samples met the same ones (can be far "
        "below the truth); at most, the decision nodes."
    )
