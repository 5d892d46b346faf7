"""`mccfr-plus view`: a policy in the browser, from this machine only or as a file."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from absl import flags

from mccfr_plus.cli.command import Command, define, port, text
from mccfr_plus.cli.components import compile_within_budget, define_budget
from mccfr_plus.cli.local_server import Answer, serve_until_interrupted
from mccfr_plus.cli.policy_source import read_policy, require_policy
from mccfr_plus.display import html_table, require_library
from mccfr_plus.evaluation.exact import evaluate_strategy
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.experiments import page
from mccfr_plus.experiments.strategy_table import strategy_view
from mccfr_plus.tree.game_tree import GameTree


class ViewCommand(Command):
    """Shows a policy's information states, with bars for their actions."""

    name = "view"
    summary = "Look at a saved policy in the browser: information states, probabilities, values, regrets."
    positionals = ("GAME", "POLICY")
    notes = """
POLICY is a file that `mccfr-plus solve GAME --policy_out=FILE` wrote, or the word `uniform`.

The page is one file with everything in it. It is served to browsers on this machine until Ctrl-C, or written with
--out. Its table can be searched by words of the information state; choosing a row shows, for each action,
  probability   what the policy plays
  value         the player's expected payoff after it, given that play has come there
  regret        value - what the policy gets there: above 0, the policy should have played it more
Values are a dash where the others never let play come.
"""

    def define_flags(self, values: flags.FlagValues) -> None:
        define(values, "out", text("FILE"), "Write the page there instead of serving it.")
        define(values, "port", port(), "Port to serve on; 0: any that is free.", 0)
        define_budget(values)

    def run(self, arguments: list[str], values: Any) -> None:
        name, source = arguments
        require_library("bokeh")
        require_policy(source)
        tree = compile_within_budget(name, values)
        content = _page(tree, name, source, strategy_of(tree, read_policy(source, tree)))
        if values.out is not None:
            page.write_page(values.out, content)
            print(f"wrote {values.out} ({len(content.encode()) / 1e6:.1f} MB)")
        else:
            serve_until_interrupted(lambda _, path, __: Answer(content) if path == "/" else None, values.port)


def _page(tree: GameTree, name: str, source: str, strategy: np.ndarray) -> str:
    from bokeh.layouts import column

    rows = [["game", name], ["policy", source]]
    if tree.perfect_recall:
        found = evaluate_strategy(tree, strategy)
        rows.append(["values", ", ".join(f"{value:.6g}" for value in found.values.tolist())])
        rows.append(["exploitability", f"{found.exploitability:.6g}"])
    about = page.block(f"<h1>{escape(name)}</h1>{html_table(['', ''], rows, numbers_from=2)}")
    return page.page_of(column(about, strategy_view(tree, strategy)), f"{name}: {source}")
