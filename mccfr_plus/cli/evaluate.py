"""`mccfr-plus evaluate`: values of a policy and its distance from an equilibrium, exact or estimated."""

import argparse
import math
import sys
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.cli import output
from mccfr_plus.cli.arguments import POLICY_HELP, add_game, add_json, add_seed, memory_size, positive, text
from mccfr_plus.cli.policy_source import UNIFORM, read_policy, require_policy
from mccfr_plus.evaluation import (
    Estimate,
    Evaluation,
    HeadToHead,
    estimate_quality,
    evaluate,
    expected_values,
    head_to_head,
)
from mccfr_plus.evaluation.by_rules import bytes_needed
from mccfr_plus.evaluation.expected_time import estimated_seconds, visited_histories
from mccfr_plus.evaluation.policy_by_rules import evaluate_by_rules, is_symmetric, is_tabulated, memory_plan
from mccfr_plus.evaluation.strategies import AnyPolicy
from mccfr_plus.games import compiled_rules
from mccfr_plus.policies.files import needs_tree
from mccfr_plus.solver.tree_choice import TreeLimits, compiled_if_it_fits
from mccfr_plus.trees.by_rules.requirements import can_be_implicit
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.sizes.infoset_estimate import estimate_infosets
from mccfr_plus.trees.sizes.size import as_text

_AGAINST_SHARE = 0.4  # of the time
_SECONDS = 20.0  # of estimates
_MAX_SECONDS = 3600.0  # of an exact evaluation by rules


SUMMARY = "Values, best-response values and exploitability of a saved policy, exact or within bounds."

_NOTES = """
  value            expected payoff when all players follow the policy
  best response    expected payoff of the best response to the other players
  NashConv         sum over players of (best response - value); 0 at a Nash equilibrium
  exploitability   NashConv / number of players, in the game's payoffs

These are exact if the game's tree fits memory, or if the game has compiled rules: then all histories are traversed, and
the expected time is printed. Otherwise, with --estimate, or if that would take an hour or more than a given --seconds,
games are played for --seconds, and each number is marked as an estimate, a lower bound (rely on the start of its
interval) or an upper bound (rely on its end). The lower bound is the best of several estimates; their intervals are
valid simultaneously. A small lower bound does not show that a policy is good.

--against=OTHER plays POLICY in each seat in turn against OTHER in all other seats: exactly if the tree fits, else by
games, with control variates for chance and for the policies' own actions.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the verb."""
    parser.epilog = _NOTES
    add_game(parser)
    add = parser.add_argument
    add("policy", metavar="POLICY", type=text, help=POLICY_HELP)
    add("--estimate", action="store_true", help="Estimate by play, even if the tree would fit.")
    meaning = (
        f"Time for all estimates, by default {_SECONDS:g}. If given, also the limit of an exact evaluation by rules."
    )
    add("--seconds", metavar="SECONDS", type=positive, help=meaning)
    add("--against", metavar="OTHER", type=text, help="Also play against this policy: a file, or the word uniform.")
    add(
        "--memory", metavar="SIZE", type=memory_size, help="Of the process, such as 4GB. Default: half of the free one."
    )
    add_seed(parser, "Makes estimates repeatable.")
    add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    """Runs the verb."""
    source = arguments.policy
    sources = [source] if arguments.against is None else [source, arguments.against]
    for file in sources:
        require_policy(file)
    game = load_game(arguments.game)
    # Policies that need no tree come first: a bad file is an error before the game is compiled.
    policies = {file: read_policy(file, game) for file in sources if file != UNIFORM and not needs_tree(file)}
    needs_a_tree = any(file not in policies and file != UNIFORM for file in sources)
    tree: GameTree | None = None
    if needs_a_tree or not arguments.estimate:
        tree = compiled_if_it_fits(game, "compiled" if needs_a_tree else "auto", arguments.memory, TreeLimits())
    chosen = [policies[file] if file in policies else read_policy(file, tree or game) for file in sources]
    output.show_notes()
    by_rules = None
    if tree is None and not arguments.estimate:
        by_rules = _evaluated_by_rules(game, source, chosen[0], arguments)
    if by_rules is not None:
        result = _print_exact(game, source, by_rules._asdict() | _distances(by_rules))
    elif tree is None or arguments.estimate:
        result = _estimates(game, source, chosen[0], arguments)
    else:
        result = _print_exact(game, source, _exact(tree, chosen[0]))
    against = None
    if arguments.against is not None:
        if tree is not None and not arguments.estimate:
            match = _exact_head_to_head(tree, *chosen)
        else:
            match = head_to_head(game, *chosen, num_games=None, **_options(arguments, _AGAINST_SHARE))
        against = _print_head_to_head(match, sources)
    if arguments.json:
        output.print_json({"game": arguments.game, "policy": source, **result, "head_to_head": against})


def _exact(tree: GameTree, policy: Any) -> dict[str, Any]:
    """Returns exact numbers."""
    if tree.perfect_recall:
        evaluation = evaluate(tree, policy)
        return evaluation._asdict() | _distances(evaluation)
    return {"values": expected_values(tree, policy), "best_response_values": None, **_distances(None)}


def _distances(evaluation: Evaluation | None) -> dict[str, float | None]:
    """Returns NashConv and exploitability, or None for both."""
    return {name: evaluation and getattr(evaluation, name) for name in ("nash_conv", "exploitability")}


def _evaluated_by_rules(
    game: pyspiel.Game, source: str, policy: Any, arguments: argparse.Namespace
) -> Evaluation | None:
    """Returns the exact evaluation of a policy in a game that is not stored; None if it can only be estimated."""
    rules = compiled_rules(game)
    if rules is None or not can_be_implicit(rules):
        return None
    chosen = None if source == UNIFORM else policy
    symmetry = is_symmetric(chosen)
    histories = visited_histories(game, rules, symmetry)
    with_histories = is_tabulated(chosen, symmetry)
    whole = estimate_infosets(rules)
    infosets = whole and whole.times(1 / len(rules.sizes.symmetries) if symmetry else 1.0)
    seconds = estimated_seconds(histories, with_histories, symmetry, slots=infosets.slots if infosets else 0.0)
    if seconds > (arguments.seconds or _MAX_SECONDS):
        print(f"an exact evaluation would take about {seconds:,.0f} s: estimating instead", file=sys.stderr)
        return None
    text = f"exact evaluation of {as_text(math.log10(histories))} histories: about {seconds:.0f} s"
    if infosets:
        needed = bytes_needed(rules, memory_plan(rules, arguments.memory, with_histories), infosets)
        text += f", {output.count(infosets.infosets)} information sets, {needed / 1e6:,.0f} MB"
    print(text, file=sys.stderr)
    return evaluate_by_rules(game, chosen, memory=arguments.memory, symmetry=symmetry)


def _print_exact(game: pyspiel.Game, source: str, found: dict[str, Any]) -> dict[str, Any]:
    """Prints exact numbers and returns them."""
    num_players = game.num_players()
    found = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}
    print(f"{game}, policy {source}: exact\n")
    table = [["", "value", "best response", "gain"]]
    best = found["best_response_values"] or [None] * num_players
    for i, (value, response) in enumerate(zip(found["values"], best, strict=True)):
        gain = None if response is None else response - value
        table.append([f"player {i}", output.number(value), output.number(response), output.number(gain, 4)])
    output.print_table(table)
    print()
    heading = ["", *(f"value {i}" for i in range(num_players)), "NashConv", "exploitability"]
    numbers = [*found["values"], found["nash_conv"], found["exploitability"]]
    output.print_table([heading, ["", *map(output.number, numbers)]])
    return {"kind": "exact", **found, "estimates": [], "notes": []}


def _options(arguments: argparse.Namespace, share: float) -> dict[str, Any]:
    """Returns the options of an estimate that takes a share of the time."""
    seconds = share * (arguments.seconds or _SECONDS)
    return {"seconds": seconds, "seed": arguments.seed, "progress": sys.stderr.isatty()}


def _estimates(game: pyspiel.Game, source: str, policy: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    """Prints bounds and estimates and returns them."""
    print(f"estimating by play, for about {arguments.seconds or _SECONDS:g} seconds", file=sys.stderr)
    share = 1.0 if arguments.against is None else 1 - _AGAINST_SHARE
    quality = estimate_quality(game, policy, **_options(arguments, share))
    print(f"{game}, policy {source}: estimates\n")
    confidence = quality.findings[0].estimate.confidence if quality.findings else 0.95
    rows, found = [["", "what it is", "value", *_limits(confidence), "samples", "by"]], []
    for quantity, player, method, estimate in quality.findings:
        who = "" if player is None else f" of player {player}"
        rows.append([quantity + who, *_cells(estimate), method])
        found.append({"quantity": quantity, "player": player, "by": method, **estimate._asdict()})
    output.print_table(rows, texts=(0, 1, 6))
    for note in quality.notes:
        print(output.wrapped(note))
    unknown = dict.fromkeys(("values", "best_response_values", "nash_conv", "exploitability"))
    return {"kind": "estimates", **unknown, "estimates": found, "notes": list(quality.notes)}


def _exact_head_to_head(tree: GameTree, first: AnyPolicy, second: AnyPolicy) -> HeadToHead:
    """Returns what a policy wins against another in all seats, computed and not played."""
    values = []
    for seat in range(tree.num_players):
        seated = [first if player == seat else second for player in range(tree.num_players)]
        values.append(float(expected_values(tree, seated)[seat]))
    mean, *seats = (Estimate(v, v, v, "exact", 1.0, 0, 0.0) for v in (sum(values) / len(values), *values))
    return HeadToHead(estimate=mean, plain=mean, by_seat=tuple(seats), variance_reduction=1.0)


def _print_head_to_head(result: HeadToHead, sources: list[str]) -> dict[str, Any]:
    """Prints what a policy wins per game, in each seat and on average, and returns it."""
    print(f"\n{sources[0]} against {sources[1]}, won per game")
    is_exact = result.estimate.kind == "exact"
    rows = [["", "what it is", "value", *_limits(result.estimate.confidence), "samples"]]
    rows += [[f"as player {seat}", *_cells(found)] for seat, found in enumerate(result.by_seat)]
    rows.append(["in all seats", *_cells(result.estimate)])
    output.print_table([row[:3] if is_exact else row for row in rows], texts=(0, 1))
    if not is_exact:
        factor = output.number(result.variance_reduction, 3)
        print(f"control variates reduce the variance of payoffs by a factor of {factor}")
    by_seat = [seat._asdict() for seat in result.by_seat]
    reduction = None if is_exact else result.variance_reduction
    return {"against": sources[1], **result.estimate._asdict(), "by_seat": by_seat, "variance_reduction": reduction}


def _limits(confidence: float) -> list[str]:
    return [f"{100 * confidence:g} % from", "to"]


def _cells(found: Estimate) -> list[str]:
    numbers = [output.number(number, 4) for number in (found.value, found.low, found.high)]
    return [found.kind, *numbers, output.count(found.samples)]
