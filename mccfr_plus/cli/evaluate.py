"""`mccfr-plus evaluate`: what a policy is worth, and how far from an equilibrium it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

from mccfr_plus.cli import output, trees
from mccfr_plus.cli.command import Command
from mccfr_plus.cli.flag_kinds import define_switch
from mccfr_plus.errors import PolicyFileError
from mccfr_plus.evaluation import evaluate, expected_values, nash_conv
from mccfr_plus.policies import TreePolicy
from mccfr_plus.policy_file import load_policy

_UNIFORM = "uniform"


class EvaluateCommand(Command):
    """Prints values, best-response values, NashConv and exploitability of a policy."""

    name = "evaluate"
    summary = "Values, best-response values and exploitability of a saved policy."
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
"""
    )

    def define_flags(self, values: flags.FlagValues) -> None:
        trees.define_budget(values)
        text = "Ask OpenSpiel for the same numbers, too; this can take minutes."
        define_switch(values, "use_openspiel", False, text)
        keys = (
            "game, policy, values, best_response_values (lists per player), nash_conv, exploitability (null with "
            "imperfect recall), and with --use_openspiel an object openspiel with values, nash_conv, exploitability"
        )
        output.define_json(values, keys)

    def run(self, arguments: list[str], values: Any) -> None:
        game, source = arguments
        if source != _UNIFORM and not Path(source).is_file():
            raise PolicyFileError(f"there is no file {source}. Give a saved policy, or the word {_UNIFORM}.")
        tree = trees.compile_within_budget(game, values)
        policy = TreePolicy(tree, tree.uniform_strategy()) if source == _UNIFORM else load_policy(source, tree)
        found = _ours(tree, policy)
        rows = [_row("", found)]
        theirs = None
        if values.use_openspiel:
            theirs = _openspiels(tree, policy)
            rows = [_row("mccfr_plus", found), _row("OpenSpiel", theirs)]
        print(f"{tree.game}, policy {source}")
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
        output.print_table(
            [["", *(f"value {i}" for i in range(tree.num_players)), "NashConv", "exploitability"], *rows]
        )
        if values.json:
            also = {} if theirs is None else {"openspiel": theirs}
            output.print_json({"game": game, "policy": source, **found, **also})


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
