"""`mccfr-plus evaluate`: what a policy is worth, and how far from an equilibrium it is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from absl import flags

from mccfr_plus.cli import lazy_tree_flags as growth_flags
from mccfr_plus.cli import output, trees
from mccfr_plus.cli.command import Command, UsageError
from mccfr_plus.cli.flag_kinds import Bytes, Count, Fraction, OneOf, Positive, Text, define_switch
from mccfr_plus.cli.policy_source import read_policy
from mccfr_plus.cli.quality_table import (
    exact_head_to_head,
    finding_as_dict,
    head_to_head_as_dict,
    print_findings,
    print_head_to_head,
)
from mccfr_plus.errors import PolicyFileError
from mccfr_plus.evaluation import HeadToHead, estimate_quality, evaluate, expected_values, head_to_head, nash_conv
from mccfr_plus.evaluation.estimates import require_confidence
from mccfr_plus.policies.files import needs_tree
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.solver.tree_choice import TreeLimits, compiled_if_it_fits
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.game_tree import GameTree

_UNIFORM = "uniform"
_DEFAULT_SECONDS = 20.0
_AGAINST_SHARE = 0.4  # of the time


class EvaluateCommand(Command):
    """Prints values, best-response values, NashConv and exploitability of a policy."""

    name = "evaluate"
    summary = "Values, best-response values and exploitability of a saved policy, exact or within bounds."
    positionals = ("GAME", "POLICY")
    notes = (
        trees.GAME_NOTE
        + """
POLICY is a file that `mccfr-plus solve GAME --policy_out=FILE` wrote, or the word `uniform` for the policy that plays
all actions alike.

What is printed, in the game's payoffs:
  value            expected payoff when all players follow the policy
  best response    expected payoff of the best response to what the others do
  NashConv         sum over players of (best response - value); 0 at a Nash equilibrium
  exploitability   NashConv / number of players

These are exact where the game's tree fits. Where it does not, or with --estimate, each number comes from play within
--seconds, and says what it is: an estimate, a lower bound (rely on where its interval begins) or an upper bound (rely
on where it ends). A small lower bound does not show that a policy is good.

--against=OTHER lets POLICY play OTHER, in each seat in turn with OTHER in all others: exactly where the tree fits,
else by games from which the luck of chance and of both policies' own draws is subtracted.
"""
    )

    def define_flags(self, values: flags.FlagValues) -> None:
        define_switch(values, "estimate", False, "Estimate by playing, even where the tree would fit.")
        meaning = "How long to play, all in all, where it does not fit."
        flags.DEFINE(Positive("SECONDS"), "seconds", _DEFAULT_SECONDS, meaning, values)
        meaning = "Also play against this policy: a file, or the word uniform."
        flags.DEFINE(Text("OTHER"), "against", None, meaning, values)
        flags.DEFINE(Fraction(), "confidence", 0.95, "Of each interval, at least 0.5.", values)
        flags.DEFINE(Count(0), "seed", None, "Seed of what is played. Default: drawn.", values)
        meaning = "compiled: exact numbers or an error; auto: exact if the tree fits."
        flags.DEFINE(OneOf(("auto", "compiled")), "tree", "auto", meaning, values)
        meaning = "Memory of the whole process, such as 4GB or 512MiB. Default: half of what is free."
        flags.DEFINE(Bytes(), "memory", None, meaning, values)
        growth_flags.define_budget(values)
        text = "Ask OpenSpiel for the same numbers, too; this can take minutes."
        define_switch(values, "use_openspiel", False, text)
        keys = (
            "game, policy, kind (exact or estimates), values, best_response_values (lists per player), nash_conv, "
            "exploitability (null with imperfect recall, and the four where kind is estimates), estimates (list of "
            "quantity, player, by, value, low, high, kind, confidence, samples, seconds), notes, head_to_head (null "
            "without --against, else against, value, low, high, kind, confidence, samples, seconds, by_seat, "
            "variance_reduction), and with --use_openspiel an object openspiel with values, nash_conv, exploitability"
        )
        output.define_json(values, keys)

    def run(self, arguments: list[str], values: Any) -> None:
        name, source = arguments
        sources = [source] if values.against is None else [source, values.against]
        for file in sources:
            if file != _UNIFORM and not Path(file).is_file():
                raise PolicyFileError(f"there is no file {file}. Give a saved policy, or the word {_UNIFORM}.")
        if values.estimate and (values.use_openspiel or values.tree == "compiled"):
            flag = "--use_openspiel" if values.use_openspiel else "--tree=compiled"
            raise UsageError(f"--estimate and {flag} exclude each other: {flag} asks for exact numbers.")
        require_confidence(values.confidence)
        game = load_game(name)
        of_trees = [file for file in sources if file != _UNIFORM and needs_tree(file)]
        # First what needs no tree: a bad file is an error at once.
        policies: dict[str, Any] = {
            file: read_policy(file, game) for file in sources if file != _UNIFORM and file not in of_trees
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
            played = _played(game, chosen, values) if to_compute is None else exact_head_to_head(to_compute, *chosen)
            print()
            print_head_to_head(played, source, values.against)
        if values.json:
            against = None if played is None else head_to_head_as_dict(played, values.against)
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
    print_findings(quality.findings, quality.notes)
    unknown = {"values": None, "best_response_values": None, "nash_conv": None, "exploitability": None}
    found = [finding_as_dict(finding) for finding in quality.findings]
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
