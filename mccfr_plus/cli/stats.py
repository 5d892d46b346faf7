"""`mccfr-plus stats`: the size of a game's tree, counted or estimated."""

import math
from collections.abc import Callable
from typing import Any

from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.budget import compile_within_budget, define_budget
from mccfr_plus.cli.command import Command, define, define_switch, fraction, positive, refuse, whole, wrapped
from mccfr_plus.games.compiled_rules import compiled_rules
from mccfr_plus.solver.costs import bytes_on_top
from mccfr_plus.solver.defaults import Recommendation, recommend
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.sizes.infoset_estimate import InfosetEstimate, estimate_infosets
from mccfr_plus.trees.sizes.size import ESTIMATORS, InfosetBounds, Interval, SizeEstimate, as_text
from mccfr_plus.trees.sizes.size_estimate import estimate_size

_ABOUT_ESTIMATES = ("sample_size", "seconds", "confidence", "seed")  # which are arguments of `estimate_size`
_LARGEST_SIZE = 15.0  # log10; above it bytes are written as a power of ten


class StatsCommand(Command):
    """Prints the sizes of a game's tree."""

    name = "stats"
    summary = "Count a game's histories, information sets, sequences and M-values, or estimate its size."
    positionals = ("GAME",)
    notes = """
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

    def define_flags(self, values: flags.FlagValues) -> None:
        define_budget(values)
        define_switch(values, "estimate", "Estimate the size from a sample instead of compiling the game.")
        define(values, "sample_size", whole(1, 10**9), "Histories to visit, with --estimate.", 100_000)
        define(values, "seconds", positive("SECONDS"), "When to stop at the latest, with --estimate.")
        define(values, "confidence", fraction(), "Of each interval, with --estimate.", 0.95)
        define(values, "seed", whole(0), "Seed of the sample, with --estimate. Default: drawn.")
        keys = (
            "game, players, histories, chance_nodes, terminal_nodes, max_history_length, max_moves, perfect_recall, "
            "tree_bytes, infoset_bytes, bytes (both), solver_bytes, and lists per player: decision_nodes, infosets, "
            "sequences, max_actions, m_values; with --estimate: game, recommendation (tree, estimator, minimizer, "
            "symmetry, reason), and the attributes and results of mccfr_plus.SizeEstimate, an interval being "
            "{log10, low, high} (null: 0 or no limit), and infosets_by_rules (infosets and slots of all players, "
            "relative_error; null without compiled rules)"
        )
        output.define_json(values, keys)

    def run(self, arguments: list[str], values: Any) -> None:
        (game,) = arguments
        if not values.estimate:
            refuse(values, _ABOUT_ESTIMATES, "an estimate: give --estimate, too")
        (_estimate if values.estimate else _count)(game, values)


def _count(game: str, values: Any) -> None:
    """Compiles the tree, and prints its sizes."""
    tree = compile_within_budget(game, values)
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
    if values.json:
        own = {"game": game, "players": tree.num_players}
        output.print_json({**own, **found.as_dict(), "bytes": num_bytes, "solver_bytes": solver_bytes})


def _thousands(number: int) -> str:
    """Returns a number in thousands: whole from 100 on, three significant digits below."""
    return f"{number / 1000:,.0f}" if number >= 100_000 else output.number(number / 1000, 3)


def _estimate(game: str, values: Any) -> None:
    options = {name: values[name].value for name in _ABOUT_ESTIMATES}
    estimate = estimate_size(game, **options, progress=None)
    output.show_notes()
    recommendation = recommend(estimate, values.max_nodes, values.max_bytes)
    rules = None if estimate.is_exact else compiled_rules(load_game(game))
    infosets = None if rules is None else estimate_infosets(rules)
    _print_estimate(estimate, recommendation, infosets)
    if values.json:
        found = {"game": game, "recommendation": recommendation._asdict()}
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
    print(f"\n{wrapped(f'recommended: {how}, {flags}: {reason}')}\n")
    print(wrapped(_how(estimate)))


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
        return f"Time was up before the end of the game: {looked}. Give more --seconds, or no limit."
    if estimate.is_cut_off:
        looked += ", when time was up"
    return (
        f"Limits with {estimate.confidence:.0%} confidence each, from {estimate.num_runs} independent samples; "
        f"{looked}. Information sets: at least, by how often samples met the same ones (can be far "
        "below the truth); at most, the decision nodes."
    )
