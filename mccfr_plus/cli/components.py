"""Turns flags into trees and solvers; chooses the components that the command line leaves open."""

from __future__ import annotations

import math
import secrets
from typing import Any, NamedTuple

from absl import flags

from mccfr_plus.cli import output
from mccfr_plus.cli.command import define, whole
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import Baseline, ExternalSampling, Full
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.registry import estimator_of
from mccfr_plus.solver.solver import Solver
from mccfr_plus.solver.tree_choice import TreeLimits, compiled_if_it_fits
from mccfr_plus.tree.confidence_interval import as_text, number_of
from mccfr_plus.tree.game_tree import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_NODES,
    DEFAULT_MAX_NODES_OF_RULES,
    GameTree,
    compile_game,
)
from mccfr_plus.tree.size import SizeEstimate
from mccfr_plus.tree.size_estimate import estimate_size

# A full iteration takes about 10 ns per history, so that a tree of this size gets some hundred of them in ten seconds.
# After as many (games of 1 to 2 million histories, stopped early) full traversals were still 4 to 10 times closer to
# an equilibrium than external sampling was in the same time; on smaller trees it is 100 to 1e6 times.
_FULL_MAX_NODES = 10_000_000
# A run of minutes or hours gets several hundred iterations of a second, in which full traversals were ahead.
_FULL_MAX_SECONDS = 1.0

# Exploitability after 10 s (5 s on the larger two), November 2026, for full traversals with
#                  rm+      dcfr     prm+
#   leduc_poker    2.2e-07  7.0e-07  6.3e-10
#   liars_dice     2.4e-06  1.3e-06  5.3e-05
#   goofspiel 6    1.5e-04  3.4e-04  6.1e-05
#   leduc, 3 pl.   1.5e-02  8.6e-03  6.3e-03
_MINIMIZER_OF_FULL = "prm+"

# On a lazy tree pyspiel expands each new history, 1e5 per second and core: a traversal of external sampling with more
# histories takes over a second, in which outcome sampling learns from thousands of histories.
_EXTERNAL_MAX_NODES = 1e5
_ENDLESS_NODES = 1e9  # hours of a traversal on a lazy tree
_PROBE_SIZE = 10_000  # histories

_OPTIONS = (
    "estimator",
    "minimizer",
    "averaging",
    "alternating",
    "batch",
    "threads",
    "thread_mode",
    "tree",
    "memory",
    "keys",
)


def arguments_of(values: Any) -> dict[str, Any]:
    """Returns the arguments of `SolverConfig.from_specs` that the command line gives."""
    given = {name: values[name].value for name in _OPTIONS if values[name].present}
    if values["baseline"].present or values["baseline_rate"].present:
        given["baseline"] = values.baseline if values.baseline_rate is None else Baseline(values.baseline_rate)
    return given


def seed_of(values: Any) -> int:
    """Returns the seed of the command line, or a new one."""
    return secrets.randbits(32) if values.seed is None else values.seed


def limits_of(values: Any) -> TreeLimits:
    """Returns the limits of a compiled tree; --quiet shows no progress bar."""
    return TreeLimits(values.max_nodes, values.max_bytes, False if values.quiet else None)


def new_solver(game: str, values: Any) -> tuple[Solver, str]:
    """Returns the solver of the command line, and why it has the estimator that it has; "" if that is named.

    Raises:
        ConfigError: If components are unknown or do not go together, or one traversal would not end.
        GameError: If the game cannot be loaded or compiled.
    """
    given, limits = arguments_of(values), limits_of(values)
    if "estimator" in given:
        solver = Solver.from_config(game, _config(given), seed=seed_of(values), limits=limits)
        if solver.tree.is_lazy and isinstance(solver.estimator, ExternalSampling):
            _require_short_traversals(game)
        return solver, ""
    draft = SolverConfig.from_specs(**given)
    kind = "compiled" if draft.needs_whole_tree() else draft.tree
    tree = compiled_if_it_fits(game, kind, draft.memory, limits)
    if tree and values.target_exploitability is not None:
        tree.require_perfect_recall("an exploitability")
    chosen, reason = _for_compiled(tree) if tree else _for_lazy(game)
    config = _config({**chosen, **given, "tree": "compiled" if tree else "lazy"})
    return Solver.from_config(tree or game, config, seed=seed_of(values)), reason


def _config(given: dict[str, Any]) -> SolverConfig:
    is_full = isinstance(estimator_of(given["estimator"]), Full)
    return SolverConfig.from_specs(**{"minimizer": _MINIMIZER_OF_FULL if is_full else "rm", **given})


def _for_compiled(tree: GameTree) -> tuple[dict[str, str], str]:
    if not tree.perfect_recall:
        return {"estimator": "outcome"}, "no other estimator can be used with imperfect recall"
    if tree.num_nodes <= _FULL_MAX_NODES:
        return {"estimator": "full"}, f"full traversals are fast with {tree.num_nodes:,} histories"
    return {"estimator": "external"}, f"sampling converges sooner with {tree.num_nodes:,} histories"


def _for_lazy(game: str) -> tuple[dict[str, str], str]:
    size = estimate_size(game, sample_size=_PROBE_SIZE, seed=0)
    if not size.perfect_recall:
        chosen = {"estimator": "outcome", "averaging": "stochastic"}
        return chosen, "no other components can be used with imperfect recall on a lazy tree"
    traversal = max(interval.log10 for interval in size.external)
    is_short = size.is_complete and traversal <= math.log10(_EXTERNAL_MAX_NODES)
    estimator = "external" if is_short else "outcome"
    return {
        "estimator": estimator
    }, f"on the lazy tree a traversal of external sampling visits {as_text(traversal)} histories"


def _require_short_traversals(game: str) -> None:
    """Raises ConfigError if not even one traversal of external sampling would end."""
    size = estimate_size(game, sample_size=_PROBE_SIZE, seed=0)
    traversal = max(interval.low for interval in size.external)
    if traversal > math.log10(_ENDLESS_NODES):
        raise ConfigError(
            f"one traversal of external sampling on {game} would visit at least {as_text(traversal)} histories, and "
            "the tree does not fit into memory: use --estimator=outcome, which samples single histories."
        )


def define_limits(values: flags.FlagValues) -> None:
    """Defines the limits of a tree that need not be compiled: ``--max_nodes`` and ``--max_bytes``."""
    meaning = "Most histories to compile. Default: 10,000,000, or any with compiled rules (mccfr-plus games)."
    define(values, "max_nodes", whole(), meaning)
    define(values, "max_bytes", whole(), "Most memory of a compiled tree, in bytes. Default: half of --memory.")


def define_budget(values: flags.FlagValues) -> None:
    """Defines the limits of a tree that must be compiled: ``--max_nodes`` and ``--max_bytes``."""
    usual, with_rules = f"{DEFAULT_MAX_NODES:,}", f"{DEFAULT_MAX_NODES_OF_RULES:,}"
    meaning = f"Most histories to accept. Default: {usual}, or {with_rules} with compiled rules (mccfr-plus games)."
    define(values, "max_nodes", whole(), meaning)
    define(values, "max_bytes", whole(), "Most memory of the tree to accept, in bytes.", DEFAULT_MAX_BYTES)


def compile_within_budget(game: str, values: Any, *, quiet: bool = False) -> GameTree:
    """Returns the tree of the game of the command line, with a progress bar if standard error is a terminal.

    Args:
        game: The game string.
        values: Parsed flags ``max_nodes`` and ``max_bytes``.
        quiet: No progress bar.
    """
    max_bytes = DEFAULT_MAX_BYTES if values.max_bytes is None else values.max_bytes
    tree = compile_game(game, max_nodes=values.max_nodes, max_bytes=max_bytes, progress=False if quiet else None)
    output.show_notes()
    return tree


class Recommendation(NamedTuple):
    """How to solve a game of a given size, and why."""

    tree: str  # "compiled" or "lazy"
    estimator: str
    minimizer: str
    reason: str


def recommend(estimate: SizeEstimate, max_nodes: int | None, max_bytes: int) -> Recommendation:
    """Returns how to solve a game of this size, in a run of minutes or hours.

    Args:
        estimate: The size.
        max_nodes: The largest number of histories of a compiled tree; None: the default for the game.
        max_bytes: Its largest memory, in bytes.
    """
    if max_nodes is None:
        max_nodes = DEFAULT_MAX_NODES_OF_RULES if estimate.has_compiled_rules else DEFAULT_MAX_NODES
    fits = estimate.fits(max_nodes, max_bytes)
    tree = "compiled" if fits else "lazy"
    if fits:
        why = f"the tree keeps within {max_nodes:,} nodes and the memory limit"
    elif number_of(estimate.histories.low) > max_nodes:
        why = f"the tree is larger than {max_nodes:,} nodes"
    else:
        why = "the tree may not keep within the limits of nodes and memory"
    if not estimate.perfect_recall:
        why += "; with imperfect recall, only outcome can be used"
        return Recommendation(tree, "outcome", "rm", why)
    if fits:
        seconds = number_of(estimate.seconds_per_iteration("full").log10)
        takes = f"a full iteration takes about {seconds:.2g} s"
        if seconds <= _FULL_MAX_SECONDS:
            return Recommendation(tree, "full", _MINIMIZER_OF_FULL, f"{why}, and {takes}")
        return Recommendation(tree, "external", "rm", f"{why}, but {takes}")
    traversal = max(interval.log10 for interval in estimate.external)
    why += f", and a traversal of external sampling visits {as_text(traversal)} histories"
    is_short = estimate.is_complete and number_of(traversal) <= _EXTERNAL_MAX_NODES
    return Recommendation(tree, "external" if is_short else "outcome", "rm", why)
