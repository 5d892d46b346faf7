"""Turns flags into the arguments of trees and solvers."""

import secrets
from typing import Any

from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.command import define, one_of, whole
from mccfr_plus.estimators import Baseline
from mccfr_plus.solver.tree_choice import TreeLimits
from mccfr_plus.tree.game_tree import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_NODES,
    DEFAULT_MAX_NODES_OF_RULES,
    GameTree,
    compile_game,
)

_OPTIONS = (
    "estimator", "minimizer", "averaging", "alternating", "batch", "threads", "thread_mode", "tree", "memory", "keys",
    "symmetry",
)  # fmt: skip


def arguments_of(values: Any) -> dict[str, Any]:
    """Returns the arguments of `SolverConfig.from_specs` that the command line gives."""
    given = {name: values[name].value for name in _OPTIONS if values[name].present}
    if values["baseline"].present or values["baseline_rate"].present:
        given["baseline"] = values.baseline if values.baseline_rate is None else Baseline(values.baseline_rate)
    if values["rules"].present:
        given["rules"] = uses_rules(values)
    return given


def uses_rules(values: Any) -> bool:
    """Returns whether compiled rules may be used."""
    return values.rules == "on"


def seed_of(values: Any) -> int:
    """Returns the seed of the command line, or a new one."""
    return secrets.randbits(32) if values.seed is None else values.seed


def limits_of(values: Any) -> TreeLimits:
    """Returns the limits of a compiled tree; --quiet shows no progress bar."""
    return TreeLimits(values.max_nodes, values.max_bytes, False if values.quiet else None)


def define_limits(values: flags.FlagValues) -> None:
    """Defines the limits of a tree that need not be compiled: ``--max_nodes`` and ``--max_bytes``."""
    meaning = "Most histories to compile. Default: 10,000,000, or any with compiled rules (mccfr-plus games)."
    define(values, "max_nodes", whole(), meaning)
    define(values, "max_bytes", whole(), "Most memory of a compiled tree, in bytes. Default: half of --memory.")


def define_rules(values: flags.FlagValues) -> None:
    """Defines ``--rules``."""
    meaning = "off: do without the compiled rules of games that have some (mccfr-plus games). Results are the same."
    define(values, "rules", one_of("on", "off"), meaning, "on")


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
    rules = "rules" not in values or uses_rules(values)
    tree = compile_game(game, max_nodes=values.max_nodes, max_bytes=max_bytes, progress=progress, rules=rules)
    output.show_notes()
    return tree
