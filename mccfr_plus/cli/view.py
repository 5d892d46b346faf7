"""`mccfr-plus view`: a policy in the browser, from this machine only or as a file."""

import os
from html import escape
from typing import Any

from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.command import Command, UsageError, define, define_limits, refuse, text, whole
from mccfr_plus.cli.local_server import Answer, serve_until_interrupted
from mccfr_plus.cli.policy_source import NOTE, policy_and_tree
from mccfr_plus.display import html_table
from mccfr_plus.evaluation.exact import evaluate_strategy
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.experiments import page, strategy_table
from mccfr_plus.experiments.strategy_page import page_of_strategies
from mccfr_plus.files.atomic_write import require_kind
from mccfr_plus.solver.tree_choice import TreeLimits
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.game_tree import GameTree


class ViewCommand(Command):
    """Shows a policy's information states, with bars for their actions."""

    name = "view"
    summary = "Look at a saved policy in the browser: information states, probabilities, values, regrets."
    positionals = ("GAME", "POLICY")
    notes = f"""
{NOTE}

The page is one file with everything in it. It is served to browsers on this machine until Ctrl-C, or written with
--out. Information states come in the order in which the policy reaches them. They can be searched by words. Choosing
one shows, for each action,
  probability   what the policy plays
  value         the player's expected payoff after it, given that play has come there
  regret        value - what the policy gets there: above 0, the policy should have played it more
Values are a dash where the others never let play come. Of a game that is too large to compile, the page shows the
information states of the {strategy_table.MOST_HISTORIES:,} most probable histories, without values.
"""

    def define_flags(self, values: flags.FlagValues) -> None:
        define(values, "out", text("FILE"), "Write the page there instead of serving it.")
        define(values, "port", whole(0, 65535), "Port to serve on; 0: any that is free.", 0)
        define_limits(values)

    def run(self, arguments: list[str], values: Any) -> None:
        name, source = arguments
        if values.out is not None:
            refuse(values, ["port"], "a page that is served: leave it out, or leave out --out")
        if values.out is not None and os.path.realpath(values.out) == os.path.realpath(source):
            raise UsageError(f"--out={values.out} is the policy itself: give another name.")
        if values.out is not None:
            require_kind(values.out, UsageError, begins=b"<!DOCTYPE html>")
        content = _page(name, source, *policy_and_tree(name, source, TreeLimits(values.max_nodes, values.max_bytes)))
        output.show_notes()
        if values.out is not None:
            page.write_page(values.out, content)
            print(f"wrote {values.out} ({len(content.encode()) / 1e3:,.0f} kB)")
        else:
            serve_until_interrupted(lambda _, path, __: Answer(content) if path == "/" else None, values.port)


def _page(name: str, source: str, policy: Any, tree: GameTree | None) -> str:
    rows = [["game", name], ["policy", source]]
    if tree is None:
        table = strategy_table.table_of_histories(source, load_game(name), policy)
    else:
        strategy = strategy_of(tree, policy)
        table = strategy_table.table_of_tree(source, tree, strategy)
        if tree.perfect_recall:
            found = evaluate_strategy(tree, strategy)
            rows.append(["values", ", ".join(f"{value:.6g}" for value in found.values.tolist())])
            rows.append(["exploitability", f"{found.exploitability:.6g}"])
    about = f"<h1>{escape(name)}</h1><section>{html_table(['', ''], rows, numbers_from=2)}</section>"
    return page_of_strategies(f"{name}: {source}", about, [table])
