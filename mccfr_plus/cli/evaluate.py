"""`mccfr-plus evaluate`: values of a policy and its distance from an equilibrium, exact or estimated."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyspiel
from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.command import (
    GAME_NOTE,
    Command,
    UsageError,
    define,
    define_switch,
    fraction,
    memory_size,
    one_of,
    positive,
    text,
    whole,
    wrapped,
)
from mccfr_plus.cli.components import define_limits
from mccfr_plus.cli.policy_source import UNIFORM, read_policy, require_policy
from mccfr_plus.evaluation import (
    Estimate,
    Finding,
    HeadToHead,
    estimate_quality,
    evaluate,
    expected_values,
    head_to_head,
    nash_conv,
)
from mccfr_plus.evaluation.estimates import require_confidence
from mccfr_plus.evaluation.strategies import AnyPolicy
from mccfr_plus.policies.files import needs_tree
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.solver.tree_choice import TreeLimits, compiled_if_it_fits
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.game_tree import GameTree

_AGAINST_SHARE = 0.4  # of the time


class EvaluateCommand(Command):
    """Prints values, best-response values, NashConv and exploitability of a policy."""

    name = "evaluate"
    summary = "Values, best-response values and exploitability of a saved policy, exact or within bounds."
    positionals = ("GAME", "POLICY")
    notes = (
        GAME_NOTE
        + """
POLICY is a file that `mccfr-plus solve GAME --policy_out=FILE` wrote, or the word `uniform` for the uniformly random
policy.

What is printed, in the game's payoffs:
  value            expected payoff when all players follow the policy
  best response    expected payoff of the best response to the other players
  NashConv         sum over players of (best response - value); 0 at a Nash equilibrium
  exploitability   NashConv / number of players

These are exact if the game's tree fits. If not, or with --estimate, each number is estimated by play within --seconds,
and is marked as an estimate, a lower bound (rely on the start of its interval) or an upper bound (rely on the end of
it). A small lower bound does not show that a policy is good.

--against=OTHER plays POLICY in each seat in turn against OTHER in all other seats: exactly if the tree fits, else by
games, with control variates for the luck of chance and of both policies' own actions.
"""
    )

    def define_flags(self, values: flags.FlagValues) -> None:
        define_switch(values, "estimate", "Estimate by play, even if the tree would fit.")
        define(values, "seconds", positive("SECONDS"), "Time for all estimates.", 20.0)
        define(values, "against", text("OTHER"), "Also play against this policy: a file, or the word uniform.")
        define(values, "confidence", fraction(), "Of each interval, at least 0.5.", 0.95)
        define(values, "seed", whole(0), "Seed of what is played. Default: random.")
        meaning = "compiled: exact numbers or an error; auto: exact if the tree fits."
        define(values, "tree", one_of("auto", "compiled"), meaning, "auto")
        define(values, "memory", memory_size(), "Memory of the process, such as 4GB. Default: half of what is free.")
        define_limits(values)
        define_switch(values, "use_openspiel", "Also compute the numbers by OpenSpiel; this can take minutes.")
        keys = (
            "game, policy, kind (exact or estimates), values, best_response_values, nash_conv, exploitability (null if "
            "unknown), estimates (list of quantity, player, by, value, low, high, kind, confidence, samples, seconds), "
            "notes, head_to_head (null without --against, else the like with against, by_seat, variance_reduction); "
            "with --use_openspiel an object openspiel with values, nash_conv, exploitability"
        )
        output.define_json(values, keys)

    def run(self, arguments: list[str], values: Any) -> None:
        name, source = arguments
        sources = [source] if values.against is None else [source, values.against]
        for file in sources:
            require_policy(file)
        if values.estimate and (values.use_openspiel or values.tree == "compiled"):
            flag = "--use_openspiel" if values.use_openspiel else "--tree=compiled"
            raise UsageError(f"--estimate and {flag} exclude each other: {flag} asks for exact numbers.")
        require_confidence(values.confidence)
        game = load_game(name)
        of_trees = [file for file in sources if file != UNIFORM and needs_tree(file)]
        # Policies that need no tree come first: a bad file is an error at once.
        policies: dict[str, Any] = {
            file: read_policy(file, game) for file in sources if file != UNIFORM and file not in of_trees
        }
        tree = _tree(game, values, bool(of_trees))
        for file in of_trees:
            policies[file] = read_policy(file, tree)
        output.show_notes()
        to_compute = None if values.estimate else tree
        uniform: Any = {} if to_compute is None else TreePolicy(to_compute, to_compute.uniform_strategy())
        chosen = [policies.get(file, uniform) for file in sources]
        if to_compute is None:
            result = _estimates(game, source, chosen[0], values)
        else:
            result = _exact(to_compute, source, chosen[0], values.use_openspiel)
        played = None
        if values.against is not None:
            played = _played(game, chosen, values) if to_compute is None else _exact_head_to_head(to_compute, *chosen)
            print()
            _print_head_to_head(played, source, values.against)
        if values.json:
            against = None if played is None else _head_to_head_as_dict(played, values.against)
            output.print_json({"game": name, "policy": source, **result, "head_to_head": against})


def _tree(game: pyspiel.Game, values: Any, is_needed: bool) -> GameTree | None:
    """Returns the compiled tree if it fits or is needed."""
    if values.estimate and not is_needed:
        return None
    must_fit = is_needed or values.use_openspiel or values.tree == "compiled"
    kind = "compiled" if must_fit else "auto"
    return compiled_if_it_fits(game, kind, values.memory, TreeLimits(values.max_nodes, values.max_bytes))


def _exact(tree: GameTree, source: str, policy: Any, use_openspiel: bool) -> dict[str, Any]:
    """Prints exact numbers and returns them."""
    found = _ours(tree, policy)
    rows = [_row("", found)]
    theirs = None
    if use_openspiel:
        theirs = _openspiels(tree, policy)
        rows = [_row("mccfr_plus", found), _row("OpenSpiel", theirs)]
    print(f"{tree.game}, policy {source}: exact")
    print()
    best = found["best_response_values"] or [None] * tree.num_players
    output.print_table(
        [
            ["", "value", "best response", "gain"],
            *(
                [f"player {i}", output.number(v), output.number(b), output.number(None if b is None else b - v, 4)]
                for i, (v, b) in enumerate(zip(found["values"], best, strict=True))
            ),
        ]
    )
    print()
    output.print_table([["", *(f"value {i}" for i in range(tree.num_players)), "NashConv", "exploitability"], *rows])
    also = {} if theirs is None else {"openspiel": theirs}
    return {"kind": "exact", **found, "estimates": [], "notes": [], **also}


def _estimates(game: pyspiel.Game, source: str, policy: Any, values: Any) -> dict[str, Any]:
    """Prints bounds and estimates and returns them."""
    share = 1.0 if values.against is None else 1 - _AGAINST_SHARE
    print(f"estimating by play, for about {values.seconds:g} seconds", file=sys.stderr)
    quality = estimate_quality(
        game,
        policy,
        seconds=share * values.seconds,
        confidence=values.confidence,
        seed=values.seed,
        progress=sys.stderr.isatty(),
    )
    print(f"{game}, policy {source}: estimates")
    print()
    _print_findings(quality.findings, quality.notes)
    unknown = {"values": None, "best_response_values": None, "nash_conv": None, "exploitability": None}
    found = [_finding_as_dict(finding) for finding in quality.findings]
    return {"kind": "estimates", **unknown, "estimates": found, "notes": list(quality.notes)}


def _played(game: pyspiel.Game, pair: list[Any], values: Any) -> HeadToHead:
    return head_to_head(
        game,
        *pair,
        num_games=None,
        seconds=_AGAINST_SHARE * values.seconds,
        confidence=values.confidence,
        seed=values.seed,
        progress=sys.stderr.isatty(),
    )


def _row(name: str, found: dict) -> list[str]:
    digits = 10 if name else 6
    numbers = [*found["values"], found["nash_conv"], found["exploitability"]]
    return [name, *(output.number(n, digits) for n in numbers)]


def _ours(tree, policy) -> dict:
    if not tree.perfect_recall:
        unknown = {"best_response_values": None, "nash_conv": None, "exploitability": None}
        return {"values": expected_values(tree, policy).tolist(), **unknown}
    evaluation = evaluate(tree, policy)
    return {
        "values": evaluation.values.tolist(),
        "best_response_values": evaluation.best_response_values.tolist(),
        "nash_conv": evaluation.nash_conv,
        "exploitability": evaluation.exploitability,
    }


def _openspiels(tree, policy) -> dict:
    values = np.asarray(expected_values(tree, policy, use_openspiel=True)).tolist()
    if not tree.perfect_recall:
        return {"values": values, "nash_conv": None, "exploitability": None}
    distance = nash_conv(tree, policy, use_openspiel=True)
    return {"values": values, "nash_conv": distance, "exploitability": distance / tree.num_players}


def _print_findings(findings: tuple[Finding, ...], notes: tuple[str, ...]) -> None:
    """Prints a row per number, with what it is, and what is missing."""
    rows = [["", "what it is", "value", *_limits(findings[0].estimate.confidence), "samples", "by"]]
    for found in findings:
        who = "" if found.player is None else f" of player {found.player}"
        rows.append([found.quantity + who, *_cells(found.estimate), found.method])
    output.print_table(rows, texts=(0, 1, 6))
    for note in notes:
        print(wrapped(note))


def _finding_as_dict(found: Finding) -> dict[str, Any]:
    """Returns a number as JSON has it."""
    return {"quantity": found.quantity, "player": found.player, "by": found.method, **found.estimate._asdict()}


def _exact_head_to_head(tree: GameTree, first: AnyPolicy, second: AnyPolicy) -> HeadToHead:
    """Returns what a policy wins against another in all seats, computed and not played."""
    seats = []
    for seat in range(tree.num_players):
        seated = [first if player == seat else second for player in range(tree.num_players)]
        seats.append(_exactly(float(expected_values(tree, seated)[seat])))
    mean = _exactly(sum(seat.value for seat in seats) / len(seats))
    return HeadToHead(estimate=mean, plain=mean, by_seat=tuple(seats), variance_reduction=1.0)


def _print_head_to_head(result: HeadToHead, policy: str, other: str) -> None:
    """Prints what a policy wins per game, in each seat and on average."""
    print(f"{policy} against {other}, won per game")
    is_exact = result.estimate.kind == "exact"
    rows = [["", "what it is", "value", *_limits(result.estimate.confidence), "samples"]]
    rows += [[f"as player {seat}", *_cells(found)] for seat, found in enumerate(result.by_seat)]
    rows.append(["in all seats", *_cells(result.estimate)])
    output.print_table([row[:3] if is_exact else row for row in rows], texts=(0, 1))
    if not is_exact:
        factor = output.number(result.variance_reduction, 3)
        print(f"control variates reduce variance: {factor} times less than that of payoffs")


def _head_to_head_as_dict(result: HeadToHead, other: str) -> dict[str, Any]:
    """Returns the result as JSON has it."""
    is_exact = result.estimate.kind == "exact"
    return {
        "against": other,
        **result.estimate._asdict(),
        "by_seat": [seat._asdict() for seat in result.by_seat],
        "variance_reduction": None if is_exact else result.variance_reduction,
    }


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value, "exact", 1.0, 0, 0.0)


def _limits(confidence: float) -> list[str]:
    return [f"{100 * confidence:g} % from", "to"]


def _cells(found: Estimate) -> list[str]:
    numbers = [output.number(number, 4) for number in (found.value, found.low, found.high)]
    return [found.kind, *numbers, output.count(found.samples)]
