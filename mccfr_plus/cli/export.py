"""`mccfr-plus export`: a policy as CSV, JSON or Parquet, or a game in Gambit's format, for other programs."""

import contextlib
import csv
import importlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TextIO

import numpy as np
from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.budget import compile_within_budget, define_budget
from mccfr_plus.cli.command import Command, UsageError, define, one_of, text
from mccfr_plus.cli.policy_source import NOTE, UNIFORM, read_policy, require_policy
from mccfr_plus.errors import ConfigError, PolicyFileError
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.files.atomic_write import atomic_write, require_new
from mccfr_plus.policies.files import needs_tree
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.trees.gambit import write_efg
from mccfr_plus.trees.game import load_game

_PARQUET, _EFG = "parquet", "efg"


class ExportCommand(Command):
    """Writes a policy as a table, or a game."""

    name = "export"
    summary = "Write a saved policy as CSV, JSON or Parquet, or a game in Gambit's format."
    positionals = ("GAME",)
    optional = ("POLICY",)
    notes = f"""
{NOTE}

--format=efg writes the game, and takes no POLICY: Gambit's extensive game, with all histories. Probabilities of chance
and payoffs are fractions. The other formats have a row per information state and action.

columns
  player              from 0
  information_state   its text; of policies that were solved without a compiled tree the key in hexadecimal digits,
                      unless they were solved with --keys=text
  action              OpenSpiel's number
  action_name         what OpenSpiel calls it; its number where that depends on the state
  probability         that the policy plays it
  reach               probability of the information state if all players follow the policy; only with a compiled tree

JSON is a list of objects. Parquet needs pyarrow or polars: pip install 'mccfr_plus[export]'.
"""

    def define_flags(self, values: flags.FlagValues) -> None:
        define(values, "format", one_of(*_WRITERS, _PARQUET, _EFG), "What is written, and how.", "csv")
        define(values, "out", text("FILE"), "Where to; not overwritten. Default: standard output.")
        define_budget(values)

    def run(self, arguments: list[str], values: Any) -> None:
        name = arguments[0]
        if values.format == _EFG:
            _export_game(name, arguments[1:], values)
            return
        if len(arguments) < 2:
            raise UsageError(f"POLICY is missing: {self.usage()}. Only --format={_EFG} goes without.")
        source = arguments[1]
        require_policy(source)
        is_parquet = values.format == _PARQUET
        if values.out is not None:
            require_new(values.out, PolicyFileError)
        elif is_parquet:
            raise UsageError(f"--format={_PARQUET} is no text: give a file by --out=FILE.")
        write_parquet = _parquet_writer() if is_parquet else None  # an error comes before the game is compiled
        columns = _columns(name, source, values)
        output.show_notes()
        if values.out is None:
            _WRITERS[values.format](columns, sys.stdout)
            return
        with atomic_write(values.out, PolicyFileError) as file:
            if write_parquet is not None:
                write_parquet(columns, file)
            else:
                with _lines_of(file) as lines:
                    _WRITERS[values.format](columns, lines)
        print(f"wrote {values.out} ({output.count(len(columns['action']))} rows)")


def _export_game(name: str, policies: list[str], values: Any) -> None:
    if policies:
        raise UsageError(f"unexpected argument {policies[0]!r}: --format={_EFG} writes the game, and no policy.")
    if values.out is not None:
        require_new(values.out, PolicyFileError)
    tree = compile_within_budget(name, values)
    output.show_notes()
    if values.out is None:
        write_efg(tree, sys.stdout)
        return
    with atomic_write(values.out, PolicyFileError) as file, _lines_of(file) as lines:
        write_efg(tree, lines)
    print(f"wrote {values.out} ({output.count(tree.num_nodes)} histories)")


@contextlib.contextmanager
def _lines_of(file: BinaryIO) -> Iterator[TextIO]:
    """Yields a file of text over an open file of bytes, which stays open."""
    lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
    yield lines
    lines.detach()


def _columns(name: str, source: str, values: Any) -> dict[str, list]:
    """Returns the policy's columns as Python's own numbers and texts."""
    policy: Any = None
    if source != UNIFORM and not needs_tree(source):
        policy = read_policy(source, load_game(name))
    if not isinstance(policy, KeyedPolicy):
        tree = compile_within_budget(name, values)
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


_WRITERS: dict[str, Callable[[dict[str, list], TextIO], None]] = {"csv": _write_csv, "json": _write_json}


def _parquet_writer() -> Callable[[dict[str, list], BinaryIO], Any]:
    """Returns what writes columns as Parquet, by the first library that is installed."""
    try:
        parquet, arrow = importlib.import_module("pyarrow.parquet"), importlib.import_module("pyarrow")
        return lambda columns, file: parquet.write_table(arrow.table(columns), file)
    except ImportError:
        pass
    try:
        polars = importlib.import_module("polars")
        return lambda columns, file: polars.DataFrame(columns).write_parquet(file)
    except ImportError:
        raise ConfigError("Parquet needs pyarrow or polars: pip install 'mccfr_plus[export]'.") from None
