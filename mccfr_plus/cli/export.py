"""`mccfr-plus export`: a policy as CSV, JSON or Parquet, or a game in Gambit's format, for other programs."""

import argparse
import csv
import io
import json
import sys
from importlib.util import find_spec

import numpy as np

from mccfr_plus.cli import command
from mccfr_plus.cli.command import UsageError
from mccfr_plus.display import data_frame
from mccfr_plus.errors import ConfigError, PolicyFileError
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.files.atomic_write import atomic_write, require_new
from mccfr_plus.policies.table import JointTablePolicy, TreePolicy
from mccfr_plus.trees.gambit import write_efg
from mccfr_plus.trees.game_tree import compile_game
from mccfr_plus.trees.loading import load_game

SUMMARY = "Write a saved policy as CSV, JSON or Parquet, or a game in Gambit's format."

NOTES = """
The formats csv, json and parquet write POLICY with one row per information state and action, and with these columns:
  player              the player, counted from 0
  information_state   the text of the information state, or a hexadecimal key if the game was solved with --tree=rules
                      or --tree=lazy
  action              OpenSpiel's number for the action
  action_name         OpenSpiel's name for the action, or its number if the name depends on the state
  probability         the probability that the policy assigns to the action
  reach               the probability of reaching the information state if all players follow the policy; only with a
                      compiled tree

A JSON file is a list of objects. Parquet needs pandas and pyarrow: pip install 'mccfr_plus[export]'. The format efg
writes the game with all its histories and takes no POLICY; payoffs and chance probabilities are written as fractions.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command.add_game(parser)
    add = parser.add_argument
    add("policy", metavar="POLICY", nargs="?", help=command.POLICY_HELP)
    add("--format", choices=("csv", "json", "parquet", "efg"), default="csv", help="Output format. Default: csv.")
    add("--out", help="Output file, which must not already exist. Default: standard output.")


def run(arguments: argparse.Namespace) -> None:
    source, out, kind = arguments.policy, arguments.out, arguments.format
    if (source is None) != (kind == "efg"):
        raise UsageError(f"--format={kind} {'needs a POLICY' if source is None else 'takes no POLICY: leave it out'}.")
    if out is not None:
        require_new(out, PolicyFileError)
    elif kind == "parquet":
        raise UsageError("--format=parquet writes a binary file: give --out=FILE.")
    if kind == "parquet" and not (find_spec("pandas") and find_spec("pyarrow")):
        raise ConfigError("Parquet needs pandas and pyarrow: pip install 'mccfr_plus[export]'.")
    content: str | bytes
    if kind == "efg":
        tree, text = compile_game(arguments.game), io.StringIO()
        write_efg(tree, text)
        content, size = text.getvalue(), f"{command.count(tree.num_nodes)} histories"
    else:
        columns = _columns(arguments.game, source)
        size = f"{command.count(len(columns['action']))} rows"
        content = data_frame(columns).to_parquet(index=False) if kind == "parquet" else _as_text(columns, kind)
    command.show_notes()
    if out is None:
        sys.stdout.write(str(content))
        return
    with atomic_write(out, PolicyFileError) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    print(f"wrote {out} ({size})")


def _columns(name: str, source: str) -> dict[str, list]:
    """Returns the policy's columns as Python's own numbers and texts."""
    (policy,), tree = command.policies_and_tree(load_game(name), [source], only_if_needed=True)
    if not isinstance(policy, JointTablePolicy):
        tree = tree or compile_game(name)
        policy = TreePolicy(tree, strategy_of(tree, policy or command.read_policy(source, tree.game, tree)))
    columns = policy.to_table().columns()
    return {name: col.tolist() if isinstance(col, np.ndarray) else col for name, col in columns.items()}


def _as_text(columns: dict[str, list], kind: str) -> str:
    rows = list(zip(*columns.values(), strict=True))
    if kind == "json":
        lines = [json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows]
        return "[\n" + ",\n".join(lines) + "\n]\n"
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([tuple(columns), *rows])
    return text.getvalue()
