"""`mccfr-plus evaluate`: values of a policy and its distance from an equilibrium, exact or estimated."""

import argparse
import math
import sys
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.cli import command
from mccfr_plus.evaluation import Estimate, Evaluation, estimate_quality, evaluate, expected_values, head_to_head
from mccfr_plus.evaluation.by_rules import evaluate_by_rules, is_symmetric, is_tabulated
from mccfr_plus.solver.choice import evaluation_seconds, visited_histories
from mccfr_plus.trees.by_rules.implicit_tree import rules_with_recall
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.size_estimate import as_text

SUMMARY = "Compute a saved policy's values, best-response values and exploitability, exactly or within bounds."

_HEADING = ["", "kind", "value", "95% from", "to", "samples"]
_SECONDS = 20.0  # of estimates
_AGAINST_SHARE = 0.4  # of these seconds
_MAX_SECONDS = 3600.0  # of an exact evaluation with compiled rules
NOTES = """
  value            expected payoff when all players follow the policy
  best response    expected payoff of a best response to the other players' strategies
  NashConv         sum over players of best response minus value, as above; 0 at a Nash equilibrium
  exploitability   NashConv / number of players, in units of the game's payoffs

The numbers are exact if the game's tree fits into memory or the game has compiled rules. Otherwise, or if you give
the flag --estimate, they are estimated by playing games for the time given by --seconds. They are also estimated if an
exact evaluation would take longer than --seconds, or longer than an hour if --seconds is not given. Each number is then
marked as an estimate, a lower bound (rely on the lower end of its confidence interval) or an upper bound (rely on the
upper end). The lower bound is the best of several estimates, whose confidence intervals are simultaneously valid. A
small lower bound on the exploitability does not show that a policy is good.

With --against=OTHER, POLICY plays in each seat in turn against OTHER in all other seats. The result is exact if the
tree fits into memory; otherwise it is estimated, with control variates for chance and for the policies' actions.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command.add_game(parser)
    add = parser.add_argument
    add("policy", metavar="POLICY", help=command.POLICY_HELP)
    add("--estimate", action="store_true", help="Estimate by playing games, even if the tree fits into memory.")
    meaning = (
        f"Time limit for estimates (default: {_SECONDS:g}) and, if given, for an exact evaluation with compiled rules."
    )
    add("--seconds", type=command.positive, help=meaning)
    add(
        "--against",
        metavar="OTHER",
        help="Also let POLICY play against this policy, given as a file or as the word uniform.",
    )
    add("--memory", type=command.memory_size, help="Memory limit, such as 4GB. Default: half of the free memory.")
    command.add_seed(parser, "Seed for the estimates.")
    command.add_json(parser)


def run(arguments: argparse.Namespace) -> None:
    source, estimates = arguments.policy, arguments.estimate
    sources = [source] if arguments.against is None else [source, arguments.against]
    game = load_game(arguments.game)
    chosen, tree = command.policies_and_tree(game, sources, arguments.memory, only_if_needed=estimates)
    command.show_notes()
    found: dict[str, Any] | None = None
    if tree is not None and not estimates:
        found = _numbers(evaluate(tree, chosen[0]))
    elif not estimates:
        by_rules = _evaluated_by_rules(game, chosen[0], arguments)
        found = by_rules and _numbers(by_rules)
    result = dict.fromkeys(("values", "best_response_values", "nash_conv", "exploitability"))
    result |= {"kind": "exact" if found else "estimates", "estimates": [], "notes": []} | (found or {})
    print(f"{game}, policy {source}: {result['kind']}\n")
    if found:
        _print_exact(result)
    else:
        result |= _estimates(game, chosen[0], arguments)
    match = None
    if arguments.against is not None:
        match = _head_to_head(game, None if estimates else tree, chosen, arguments)
    if arguments.json:
        command.print_json({"game": arguments.game, "policy": source, **result, "head_to_head": match})


def _numbers(evaluation: Evaluation) -> dict[str, Any]:
    values = {name: value.tolist() for name, value in evaluation._asdict().items() if isinstance(value, np.ndarray)}
    return {**values, "nash_conv": evaluation.nash_conv, "exploitability": evaluation.exploitability}


def _evaluated_by_rules(game: pyspiel.Game, policy: Any, arguments: argparse.Namespace) -> Evaluation | None:
    """Returns the exact evaluation of a policy in a game that is not stored; None if it can only be estimated."""
    if (rules := rules_with_recall(game)) is None:
        return None
    chosen = None if arguments.policy == command.UNIFORM else policy
    symmetry = is_symmetric(chosen)
    histories, is_listed = visited_histories(game, rules, symmetry), is_tabulated(chosen, symmetry)
    seconds = evaluation_seconds(histories, numbers_infosets=is_listed, is_symmetric=symmetry)
    if seconds > (arguments.seconds or _MAX_SECONDS):
        print(f"an exact evaluation would take at least {seconds:,.0f} s: estimating instead", file=sys.stderr)
        return None
    what = f"exact evaluation of {as_text(math.log10(histories))} histories: at least {seconds:.0f} s"
    print(what, file=sys.stderr)
    return evaluate_by_rules(game, chosen, memory=arguments.memory, symmetry=symmetry)


def _print_exact(found: dict[str, Any]) -> None:
    table = [["", "value", "best response", "gain"]]
    best = found["best_response_values"] or [None] * len(found["values"])
    for i, (value, response) in enumerate(zip(found["values"], best, strict=True)):
        gain = None if response is None else response - value
        table.append([f"player {i}", command.number(value), command.number(response), command.number(gain, 4)])
    command.print_table(table)
    print(f"\nNashConv        {command.number(found['nash_conv'])}")
    print(f"exploitability  {command.number(found['exploitability'])}")


def _estimates(game: pyspiel.Game, policy: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    """Prints bounds and estimates and returns them."""
    print(f"estimating by playing games, for about {arguments.seconds or _SECONDS:g} seconds", file=sys.stderr)
    seconds = (arguments.seconds or _SECONDS) * (1.0 if arguments.against is None else 1 - _AGAINST_SHARE)
    quality = estimate_quality(game, policy, seconds=seconds, seed=arguments.seed, progress=sys.stderr.isatty())
    rows = [[*_HEADING, "by"]]
    found = []
    for quantity, player, method, estimate in quality.findings:
        who = "" if player is None else f" of player {player}"
        rows.append([quantity + who, *_cells(estimate), method])
        found.append({"quantity": quantity, "player": player, "by": method, **estimate._asdict()})
    command.print_table(rows, texts=(0, 1, 6))
    for note in quality.notes:
        print(command.wrapped(note))
    return {"estimates": found, "notes": list(quality.notes)}


def _head_to_head(
    game: pyspiel.Game, tree: GameTree | None, policies: list[Any], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Prints the payoff of a policy per game, in each seat and on average, and returns it; exact with a tree."""
    reduction = None
    if tree is not None:
        players = range(tree.num_players)
        seated = [[policies[0] if player == seat else policies[1] for player in players] for seat in players]
        values = [float(expected_values(tree, seated[seat])[seat]) for seat in players]
        mean, *by_seat = (Estimate(v, v, v, "exact", 1.0, 0, 0.0) for v in (sum(values) / len(values), *values))
    else:
        options = {"seconds": (arguments.seconds or _SECONDS) * _AGAINST_SHARE, "seed": arguments.seed}
        result = head_to_head(game, *policies, num_games=None, **options, progress=sys.stderr.isatty())
        mean, by_seat, reduction = result.estimate, list(result.by_seat), result.variance_reduction
    print(f"\n{arguments.policy} against {arguments.against}, payoff per game")
    rows = [[f"as player {seat}", *_cells(found)] for seat, found in enumerate(by_seat)]
    rows = [_HEADING, *rows, ["in all seats", *_cells(mean)]]
    command.print_table([row[:3] if tree else row for row in rows], texts=(0, 1))
    if reduction is not None:
        print(f"control variates reduce the variance of payoffs by a factor of {command.number(reduction, 3)}")
    found = {"by_seat": [seat._asdict() for seat in by_seat], "variance_reduction": reduction}
    return {"against": arguments.against, **mean._asdict(), **found}


def _cells(found: Estimate) -> list[str]:
    numbers = [command.number(number, 4) for number in (found.value, found.low, found.high)]
    return [found.kind, *numbers, command.count(found.samples)]
