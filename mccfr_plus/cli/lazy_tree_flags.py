"""Flags about the tree, memory and threads of `mccfr-plus solve`."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from absl import flags

from mccfr_plus.cli.choice import Specs
from mccfr_plus.cli.flag_kinds import Bytes, Count, OneOf, Seconds
from mccfr_plus.solver import registry as parts
from mccfr_plus.solver.config import DETERMINISTIC, THREAD_MODES, TREES, SolverConfig
from mccfr_plus.solver.tree_choice import TreeLimits
from mccfr_plus.solver.tree_choice import compiled_if_it_fits as tree_if_it_fits
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.keys import KINDS as KEY_KINDS

DEFAULT_BOUND_SECONDS = 5.0


class TreeOptions(NamedTuple):
    """What the command line says about the tree."""

    kind: str
    memory: str | int | float | None
    keys: str
    limits: TreeLimits


def define(values: flags.FlagValues) -> None:
    """Defines the flags."""
    meaning = "Whether the tree is built first, or is_lazy where traversals go. Default: built if it fits."
    flags.DEFINE(OneOf(TREES), "tree", "auto", meaning, values)
    meaning = "Memory of the whole process, such as 4GB or 512MiB. Default: half of what is free."
    flags.DEFINE(Bytes(), "memory", None, meaning, values)
    meaning = "How a lazy tree tells information states apart: 128-bit hashes, checked ones, or texts."
    flags.DEFINE(OneOf(KEY_KINDS), "keys", "hash", meaning, values)
    flags.DEFINE(Count(), "threads", 1, "In how many threads to traversal.", values)
    meaning = "deterministic: gradients are added up in order; fast: shared tables, no two runs alike."
    flags.DEFINE(OneOf(THREAD_MODES), "thread_mode", DETERMINISTIC, meaning, values)
    meaning = "How long to look for a lower bound of the exploitability where the tree is_lazy; 0: not at all."
    flags.DEFINE(Seconds(), "bound_seconds", DEFAULT_BOUND_SECONDS, meaning, values)


def define_budget(values: flags.FlagValues) -> None:
    """Defines ``--max_nodes`` and ``--max_bytes`` as limits of what is compiled."""
    meaning = (
        "Largest number of histories to compile. Default: 10,000,000, or any with compiled rules (mccfr-plus games)."
    )
    flags.DEFINE(Count(), "max_nodes", None, meaning, values)
    meaning = "Largest memory of a compiled tree, in bytes. Default: half of --memory."
    flags.DEFINE(Count(), "max_bytes", None, meaning, values)


def options_of(values: Any) -> TreeOptions:
    """Returns what the command line says about the tree.

    Raises:
        ConfigError: If that makes no sense.
    """
    return TreeOptions(values.tree, values.memory, values.keys, TreeLimits(values.max_nodes, values.max_bytes))


def compiled_if_it_fits(game: str, options: TreeOptions, specs: Specs, quiet: bool) -> GameTree | None:
    """Returns the tree of the game of the command line, with a progress bar on a terminal; None if it is to expand.

    Args:
        game: The game string.
        options: See `options_of`.
        specs: The parts named: some need the whole tree.
        quiet: No progress bar and no notes, only warnings.
    """
    if quiet:
        logging.getLogger("mccfr_plus").setLevel(logging.WARNING)
    if specs.estimator is not None and options.kind == "auto":
        minimizer = parts.minimizer_of(specs.minimizer or "rm")
        averaging = parts.average_of(specs.averaging, minimizer)
        estimator = parts.estimator_of(specs.estimator)
        named = SolverConfig(estimator, minimizer, averaging, alternating=not estimator.updates_all_players)
        if named.needs_whole_tree():
            options = options._replace(kind="compiled")
    limits = options.limits._replace(progress=False if quiet else None)
    return tree_if_it_fits(game, options.kind, options.memory, limits)
