"""`mccfr-plus export`: a policy as CSV, JSON or Parquet, or a game in Gambit's format, for other programs."""

import argparse
import csv
import functools
import io
import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, BinaryIO, TextIO

import numpy as np

from mccfr_plus.cli import output
from mccfr_plus.cli.arguments import POLICY_HELP, UsageError, add_game, text
from mccfr_plus.cli.policy_source import UNIFORM, read_policy, require_policy
from mccfr_plus.errors import ConfigError, PolicyFileError
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.files.atomic_write import atomic_write, require_new
from mccfr_plus.policies.files import needs_tree
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.trees.gambit import write_efg
from mccfr_plus.trees.game import load_game
from mccfr_plus.trees.game_tree import compile_game

SUMMARY = "Write a saved policy as CSV, JSON or Parquet, or a game in Gambit's format."

_EFG = "efg"
_NOTES = """
csv, json and parquet write POLICY, one row per information state and action:
  player              from 0
  information_state   its text; its key in hexadecimal digits if the policy was solved without a compiled tree
  action              OpenSpiel's number
  action_name         OpenSpiel's name; the number where the name depends on the state
  probability         the policy's probability of the action
  reach               probability of the information state if all players follow the policy; only with a compiled tree

JSON is a list of objects. Parquet needs pandas and pyarrow: pip install 'mccfr_plus[export]'. efg writes the game with
all its histories, without a POLICY. Probabilities of chance and payoffs are fractions.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the verb."""
    parser.epilog = _NOTES
    add_game(parser)
    add = parser.add_argument
    add("policy", metavar="POLICY", nargs="?", type=text, help=POLICY_HELP)
    add("--format", choices=("csv", "json", "parquet", _EFG), default="csv", help="Default: csv.")
    add("--out", metavar="FILE", type=text, help="The file; it is not overwritten. Default: standard output.")


def run(arguments: argparse.Namespace) -> None:
    """Runs the verb."""
    name, source, out, kind = arguments.game, arguments.policy, arguments.out, arguments.format
    if (source is None) != (kind == _EFG):
        raise UsageError(f"--format={kind} takes {'a POLICY' if source is None else 'no POLICY'}.")
    if kind == "parquet" and out is None:
        raise UsageError("--format=parquet is not text: give --out=FILE.")
    if out is not None:
        require_new(out, PolicyFileError)
    if kind == "parquet" and not (find_spec("pandas") and find_spec("pyarrow")):
        raise ConfigError("Parquet needs pandas and pyarrow: pip install 'mccfr_plus[export]'.")
    write: Callable[[Any], None]
    if kind == _EFG:
        tree = compile_game(name)
        write, size = functools.partial(write_efg, tree), f"{output.count(tree.num_nodes)} histories"
    else:
        require_policy(source)
        columns = _columns(name, source)
        write = functools.partial(_WRITERS[kind], columns)
        size = f"{output.count(len(columns['action']))} rows"
    output.show_notes()
    if out is None:
        write(sys.stdout)
        return
    with atomic_write(out, PolicyFileError) as file:
        if kind == "parquet":
            write(file)
        else:
            lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
            write(lines)
            lines.detach()  # without closing the file
    print(f"wrote {out} ({size})")


def _columns(name: str, source: str) -> dict[str, list]:
    """Returns the policy's columns as Python's own numbers and texts."""
    policy: Any = None
    if source != UNIFORM and not needs_tree(source):
        policy = read_policy(source, load_game(name))
    if not isinstance(policy, KeyedPolicy):
        tree = compile_game(name)
        policy = TreePolicy(tree, strategy_of(tree, policy or read_policy(source, tree)))
    columns = policy.to_table().columns()
    return {name: col.tolist() if isinstance(col, np.ndarray) else col for name, col in columns.items()}


def _write_csv(columns: dict[str, list], file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))


def _write_json(columns: dict[str, list], file: TextIO) -> None:
    separator = "[\n"
    for row in zip(*columns.values(), strict=True):
        file.write(separator + json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False))
        separator = ",\n"
    file.write("\n]\n" if columns["action"] else "[]\n")


def _write_parquet(columns: dict[str, list], file: BinaryIO) -> None:
    import pandas

    pandas.DataFrame(columns).to_parquet(file, index=False)


_WRITERS: dict[str, Callable[[dict[str, list], Any], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
