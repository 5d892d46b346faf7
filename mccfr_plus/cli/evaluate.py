"""`mccfr-plus evaluate`: values of a policy and its distance from an equilibrium, exact or estimated."""

import math
import sys
from typing import Any

import numpy as np
import pyspiel
from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.command import (
    Command,
    UsageError,
    define,
    define_limits,
    define_rules,
    define_switch,
    fraction,
    memory_size,
    one_of,
    positive,
    text,
    whole,
    wrapped,
)
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
from mccfr_plus.evaluation.estimates import require_confidence
from mccfr_plus.evaluation.expected_time import estimated_seconds, visited_histories
from mccfr_plus.evaluation.policy_by_rules import evaluate_by_rules, is_symmetric, is_tabulated, memory_plan
from mccfr_plus.evaluation.strategies import AnyPolicy
from mccfr_plus.games import compiled_rules
from mccfr_plus.policies.files import needs_tree
from mccfr_plus.solver.tree_choice import TreeLimits, compiled_if_it_fits
from mccfr_plus.trees.by_rules.requirements import can_be_implicit, rules_to_traverse
from mccfr_plus.trees.by_rules.symmetric_tree import require_symmetries
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.sizes.infoset_estimate import estimate_infosets
from mccfr_plus.trees.sizes.size import as_text

_AGAINST_SHARE = 0.4  # of the time
_MOST_SECONDS = 3600.0  # of an exact evaluation by rules


class EvaluateCommand(Command):
    """Prints values, best-response values, NashConv and exploitability of a policy."""

    name = "evaluate"
    summary = "Values, best-response values and exploitability of a saved policy, exact or within bounds."
    positionals = ("GAME", "POLICY")
    notes = """
POLICY is a file that `mccfr-plus solve GAME --policy_out=FILE` wrote, or the word `uniform` for the uniformly random
policy.

What is printed, in the game's payoffs:
  value            expected payoff when all players follow the policy
  best response    expected payoff of the best response to the other players
  NashConv         sum over players of (best response - value); 0 at a Nash equilibrium
  exploitability   NashConv / number of players

These are exact if the game's tree fits. They are exact, too, if the game has compiled rules: then all histories are
traversed, and the time that this takes is announced. If not, if that would take an hour or more than a given --seconds,
or with --estimate, each number is estimated by play within --seconds, and is marked as an estimate, a lower bound (rely
on the start of its interval) or an upper bound (rely on the end of it). A lower bound is the best of several looks,
whose intervals hold together. A small one does not show that a policy is good.

--against=OTHER plays POLICY in each seat in turn against OTHER in all other seats: exactly if the tree fits, else by
games, with control variates for chance and for both policies' own actions.
"""

    def define_flags(self, values: flags.FlagValues) -> None:
        define_switch(values, "estimate", "Estimate by play, even if the tree would fit.")
        meaning = "Time for all estimates; if given, also the most for an exact evaluation by rules."
        define(values, "seconds", positive("SECONDS"), meaning, 20.0)
        define(values, "against", text("OTHER"), "Also play against this policy: a file, or the word uniform.")
        define(values, "confidence", fraction(), "Of each interval, at least 0.5.", 0.95)
        define(values, "seed", whole(0), "Seed of what is played. Default: random.")
        meaning = "compiled: exact numbers or an error; auto: exact if the tree fits."
        define(values, "tree", one_of("auto", "compiled"), meaning, "auto")
        meaning = (
            "Visit once what symmetries of the board turn into each other. The policy must be symmetric, which is "
            "checked. Default: if it was solved so."
        )
        define_switch(values, "symmetry", meaning, None)
        define(values, "memory", memory_size(), "Memory of the process, such as 4GB. Default: half of what is free.")
        define_rules(values)
        define_limits(values)
        keys = (
            "game, policy, kind (exact or estimates), values, best_response_values, nash_conv, exploitability (null if "
            "unknown), estimates (list of quantity, player, by, value, low, high, kind, confidence, samples, seconds), "
            "notes, head_to_head (null without --against, else the like with against, by_seat, variance_reduction)"
        )
        output.define_json(values, keys)

    def run(self, arguments: list[str], values: Any) -> None:
        name, source = arguments
        sources = [source] if values.against is None else [source, values.against]
        for file in sources:
            require_policy(file)
        if values.estimate and values.tree == "compiled":
            raise UsageError(
                "--estimate and --tree=compiled exclude each other: --tree=compiled asks for exact numbers."
            )
        excluded = values.estimate or values.tree == "compiled" or values.rules == "off"
        if values.symmetry and excluded:
            raise UsageError("--symmetry is about exact evaluation by rules: leave it out, or the other flags.")
        require_confidence(values.confidence)
        game = load_game(name)
        # Policies that need no tree come first: a bad file is an error at once.
        policies = {file: read_policy(file, game) for file in sources if file != UNIFORM and not needs_tree(file)}
        needs_a_tree = any(file not in policies and file != UNIFORM for file in sources)
        tree: GameTree | None = None
        if needs_a_tree or not (values.estimate or values.symmetry):
            kind = "compiled" if needs_a_tree else values.tree
            limits = TreeLimits(values.max_nodes, values.max_bytes)
            tree = compiled_if_it_fits(game, kind, values.memory, limits, rules=values.rules == "on")
        chosen = [policies[file] if file in policies else read_policy(file, tree or game) for file in sources]
        output.show_notes()
        against = None
        by_rules = None
        if (tree is None or values.symmetry) and not values.estimate and values.rules == "on":
            by_rules = _evaluated_by_rules(game, source, chosen[0], values)
        if by_rules is not None:
            result = _print_exact(game, source, by_rules._asdict() | _distances(by_rules))
        elif tree is None or values.estimate:
            result = _estimates(game, source, chosen[0], values)
        else:
            result = _print_exact(game, source, _exact(tree, chosen[0]))
        if values.against is not None:
            if by_rules is None and tree is not None and not values.estimate:
                match = _exact_head_to_head(tree, *chosen)
            else:
                match = head_to_head(game, *chosen, num_games=None, **_options(values, _AGAINST_SHARE))
            against = _print_head_to_head(match, sources)
        if values.json:
            output.print_json({"game": name, "policy": source, **result, "head_to_head": against})


def _exact(tree: GameTree, policy: Any) -> dict[str, Any]:
    """Returns exact numbers."""
    if tree.perfect_recall:
        evaluation = evaluate(tree, policy)
        return evaluation._asdict() | _distances(evaluation)
    return {"values": expected_values(tree, policy), "best_response_values": None, **_distances(None)}


def _distances(evaluation: Evaluation | None) -> dict[str, float | None]:
    """Returns NashConv and exploitability, or None for both."""
    return {name: evaluation and getattr(evaluation, name) for name in ("nash_conv", "exploitability")}


def _evaluated_by_rules(game: pyspiel.Game, source: str, policy: Any, values: Any) -> Evaluation | None:
    """Returns the exact evaluation of a policy in a game that is not stored; None if it can only be estimated."""
    rules = compiled_rules(game)
    chosen = None if source == UNIFORM else policy
    symmetry = is_symmetric(chosen) if values.symmetry is None else values.symmetry
    if symmetry:
        require_symmetries(game, rules_to_traverse(game))
    if rules is None or not can_be_implicit(rules):
        return None
    histories = visited_histories(game, rules, symmetry)
    with_histories = is_tabulated(chosen, symmetry)
    whole = estimate_infosets(rules)
    infosets = whole and whole.times(1 / len(rules.sizes.symmetries) if symmetry else 1.0)
    seconds = estimated_seconds(histories, with_histories, symmetry, slots=infosets.slots if infosets else 0.0)
    limit = values.seconds if values["seconds"].present else _MOST_SECONDS
    if seconds > limit:
        print(f"an exact evaluation would take about {seconds:,.0f} s: estimating instead", file=sys.stderr)
        return None
    text = f"exact evaluation of {as_text(math.log10(histories))} histories: about {seconds:.0f} s"
    if infosets:
        needed = bytes_needed(rules, memory_plan(rules, values.memory, with_histories), infosets)
        text += f", {output.count(infosets.infosets)} information sets, {needed / 1e6:,.0f} MB"
    print(text, file=sys.stderr)
    return evaluate_by_rules(game, chosen, memory=values.memory, symmetry=symmetry)


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


def _options(values: Any, share: float) -> dict[str, Any]:
    """Returns the options of an estimate that takes a share of the time."""
    progress = sys.stderr.isatty()
    seconds = share * values.seconds
    return {"seconds": seconds, "confidence": values.confidence, "seed": values.seed, "progress": progress}


def _estimates(game: pyspiel.Game, source: str, policy: Any, values: Any) -> dict[str, Any]:
    """Prints bounds and estimates and returns them."""
    print(f"estimating by play, for about {values.seconds:g} seconds", file=sys.stderr)
    share = 1.0 if values.against is None else 1 - _AGAINST_SHARE
    quality = estimate_quality(game, policy, **_options(values, share))
    print(f"{game}, policy {source}: estimates\n")
    rows, found = [["", "what it is", "value", *_limits(values.confidence), "samples", "by"]], []
    for quantity, player, method, estimate in quality.findings:
        who = "" if player is None else f" of player {player}"
        rows.append([quantity + who, *_cells(estimate), method])
        found.append({"quantity": quantity, "player": player, "by": method, **estimate._asdict()})
    output.print_table(rows, texts=(0, 1, 6))
    for note in quality.notes:
        print(wrapped(note))
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
        print(f"control variates reduce variance: {factor} times less than that of payoffs")
    by_seat = [seat._asdict() for seat in result.by_seat]
    reduction = None if is_exact else result.variance_reduction
    return {"against": sources[1], **result.estimate._asdict(), "by_seat": by_seat, "variance_reduction": reduction}


def _limits(confidence: float) -> list[str]:
    return [f"{100 * confidence:g} % from", "to"]


def _cells(found: Estimate) -> list[str]:
    numbers = [output.number(number, 4) for number in (found.value, found.low, found.high)]
    return [found.kind, *numbers, output.count(found.samples)]
