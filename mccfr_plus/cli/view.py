"""`mccfr-plus view`: writes a policy as one HTML file and opens it in the browser."""

import argparse
import os
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from mccfr_plus.cli import command
from mccfr_plus.cli.command import UsageError
from mccfr_plus.display import html_table
from mccfr_plus.errors import shortened
from mccfr_plus.evaluation.exact import evaluate_strategy
from mccfr_plus.evaluation.range_grid import MOST_NODES, section_of_ranges
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.evaluation.strategy_page import (
    MOST_HISTORIES,
    page_of_strategies,
    table_of_histories,
    table_of_tree,
    write_page,
)
from mccfr_plus.files.atomic_write import require_kind
from mccfr_plus.games import compiled_rules
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.needs import HISTORIES
from mccfr_plus.trees.public.public_tree import PublicTree, given_public_tree

SUMMARY = "Show the probabilities, values and regrets of a saved policy in the browser."

NOTES = f"""
The page is a single file that works offline. It lists the information states, starting with those that are reached most
often, and can be searched for words and "quoted phrases". For each action of the selected information state, it shows
  probability   the probability that the policy assigns to the action
  value         the acting player's expected payoff after the action, given that play has reached the information state
  regret        the action's value minus the policy's value; if positive, playing the action more often pays
If the other players' strategies never lead to an information state, dashes are shown instead of values. For a game that
is too large to compile, the page shows the information states of the {MOST_HISTORIES:,} most probable histories,
without values. For poker with two hole cards, the page shows ranges, as grids of hands at the {MOST_NODES:,} most
frequently reached public nodes.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command.add_game(parser)
    parser.add_argument("policy", metavar="POLICY", help=command.POLICY_HELP)
    parser.add_argument("--out", help="Write the page to this file. Default: a temporary file.")
    flag = argparse.BooleanOptionalAction
    parser.add_argument("--open", action=flag, default=True, help="Open the page in the browser (default).")


def run(arguments: argparse.Namespace) -> None:
    name, source, out = arguments.game, arguments.policy, arguments.out
    if out is not None:
        if os.path.realpath(out) == os.path.realpath(source):
            raise UsageError(f"--out={out} names the file of the policy itself: choose another name.")
        require_kind(out, UsageError, begins=b"<!DOCTYPE html>")
    (policy,), tree = command.policies_and_tree(load_game(name), [source])
    content = _page(name, source, policy, tree)
    command.show_notes()
    if out is None:
        out = os.path.join(tempfile.mkdtemp(prefix="mccfr-plus-"), "policy.html")
    write_page(out, content)
    print(f"wrote {out} ({len(content.encode()) / 1e3:,.0f} kB)", flush=True)
    if arguments.open:
        command.open_in_browser(Path(out).resolve().as_uri())


def _page(name: str, source: str, policy: Any, tree: Any) -> str:
    game, title = load_game(name), shortened(name)
    rows, tables, ranges, script, head = [["game", shortened(name, 200)], ["policy", source]], [], "", "", ""
    if tree is None:
        tables = [table_of_histories(source, game, policy)]
    else:
        strategy, rules = strategy_of(tree, policy), compiled_rules(game)
        found = evaluate_strategy(tree, strategy)
        rows.append(["values", ", ".join(f"{value:.6g}" for value in found.values.tolist())])
        rows.append(["exploitability", f"{found.exploitability:.6g}"])
        if HISTORIES in tree.provides:
            tables = [table_of_tree(source, tree, strategy)]
        if rules is not None and rules.deal is not None:
            public = given_public_tree(tree) or PublicTree(game)
            if HISTORIES in tree.provides:
                public.stored = tree
            ranges, script, head = section_of_ranges(public, rules.deal, strategy_of(public, policy))
    about = f"<section class='about'>{html_table(['', ''], rows, numbers_from=2)}</section>"
    return page_of_strategies(f"{title}: {source}", f"<h1>{escape(title)}</h1>{about}{ranges}", tables, script, head)
