"""The tree of commands that need all of it, within the limits of their flags."""

from typing import Any

from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.command import define, whole
from mccfr_plus.trees.game_tree import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_NODES,
    DEFAULT_MAX_NODES_OF_RULES,
    GameTree,
    compile_game,
)


def define_budget(values: flags.FlagValues) -> None:
    """Defines the limits of a tree that must be compiled: ``--max_nodes`` and ``--max_bytes``."""
    usual, with_rules = f"{DEFAULT_MAX_NODES:,}", f"{DEFAULT_MAX_NODES_OF_RULES:,}"
    meaning = f"Most histories to accept. Default: {usual}, or {with_rules} with compiled rules (mccfr-plus games)."
    define(values, "max_nodes", whole(), meaning)
    define(values, "max_bytes", whole(), "Most memory of the tree to accept, in bytes.", DEFAULT_MAX_BYTES)


def compile_within_budget(game: str, values: Any) -> GameTree:
    """Returns the tree of a game, with a progress bar on a terminal unless there is a ``--quiet``."""
    max_bytes = DEFAULT_MAX_BYTES if values.max_bytes is None else values.max_bytes
    progress = False if "quiet" in values and values.quiet else None
    rules = "rules" not in values or values.rules == "on"
    tree = compile_game(game, max_nodes=values.max_nodes, max_bytes=max_bytes, progress=progress, rules=rules)
    output.show_notes()
    return tree
