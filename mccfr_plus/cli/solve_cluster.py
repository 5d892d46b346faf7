"""``--cluster`` and what goes with it of `mccfr-plus solve`. What needs Ray is imported when it is asked for."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import Any, NamedTuple

from absl import flags

from mccfr_plus.checkpoints.lock import CheckpointLock
from mccfr_plus.cli.choice import Choice
from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.flag_kinds import ClusterAddress, Count
from mccfr_plus.solver.solver import Solver
from mccfr_plus.tree.game_tree import GameTree

_CHUNKS, _WALKS = 8, 1000
ESTIMATOR = "external"  # where none is named: full traversals cannot be shared out

# Flags of other ways to run, which say nothing here.
_OTHERS = ("threads", "thread_mode", "tree", "memory", "keys", "baseline", "baseline_rate")


def define(values: flags.FlagValues) -> None:
    """Defines the flags."""
    meaning = "Make traversals on a Ray cluster: ray, ray://HOST:PORT or HOST:PORT; local: the same in this process."
    flags.DEFINE(ClusterAddress(), "cluster", None, meaning, values)
    flags.DEFINE(Count(), "workers", None, "How many processes of the cluster make traversals. Default: 2.", values)
    meaning = "Among how many further processes the tables are split. Default: 0, not at all."
    flags.DEFINE(Count(0), "owners", None, meaning, values)
    meaning = (
        f"In how many chunks traversals are made, with streams of their own: results depend on it. Default: {_CHUNKS}."
    )
    flags.DEFINE(Count(), "num_batches", None, meaning, values)


def check(values: Any) -> None:
    """Raises UsageError if flags do not go together."""
    if values.cluster is None:
        given = [name for name in ("workers", "owners", "num_batches") if values[name].present]
        if given:
            raise UsageError(f"--{given[0]} is about a cluster: give --cluster=ray, or local, too.")


def check_tabular(values: Any) -> None:
    """Raises UsageError if flags do not go together with `--algorithm=tabular`."""
    if values.cluster is None:
        return
    given = [name for name in _OTHERS if values[name].present and values[name].value]
    if given:
        raise UsageError(
            f"--{given[0]} with --cluster={values.cluster}: leave it out; workers traversal a compiled tree."
        )
    plan = _plan_of(values)
    if plan.batch % plan.chunks:
        raise UsageError(
            f"--batch={plan.batch} in --num_batches={plan.chunks}: chunks have the same number of traversals, so that the batch "
            "must be a multiple of them."
        )


class _Plan(NamedTuple):
    batch: int
    chunks: int


def _plan_of(values: Any) -> _Plan:
    chunks = values.num_batches or _CHUNKS
    return _Plan(values.batch if values["batch"].present else chunks * _WALKS, chunks)


@contextlib.contextmanager
def connected(values: Any) -> Iterator[Any]:
    """Yields the cluster of the command line: connected, or ``"local"``; None without one.

    Raises:
        ConfigError: If Ray is not installed.
        ClusterError: If there is no cluster, or its nodes have other versions.
    """
    if values.cluster in (None, "local"):
        yield values.cluster
        return
    from mccfr_plus.cluster.cluster import Cluster

    with Cluster(values.cluster, cpus=max(workers_of(values) + (values.owners or 0), os.cpu_count() or 1)) as cluster:
        yield cluster


def workers_of(values: Any) -> int:
    """Returns how many workers are wanted."""
    return values.workers or 2


def neural_plan(values: Any, cluster: Any) -> dict[str, Any]:
    """Returns what a distributed solver with networks is made with; nothing without a cluster."""
    if cluster is None:
        return {}
    return {"workers": workers_of(values), "cluster": cluster, "chunks": values.num_batches or _CHUNKS}


@contextlib.contextmanager
def distributed_solver(
    values: Any, cluster: Any, tree: GameTree, choice: Choice, claim: CheckpointLock | None, resume: bool
) -> Iterator[Solver]:
    """Yields the solver, whose workers end with the block.

    Args:
        values: Parsed flags.
        cluster: See `connected`.
        tree: The game's.
        choice: The parts.
        claim: On the checkpoint, if there is to be one.
        resume: Whether to go on from it.
    """
    from mccfr_plus.cluster.solver import DistributedSolver

    where = {"workers": workers_of(values), "owners": values.owners or 0, "cluster": cluster}
    if claim and resume:
        solver = DistributedSolver.from_checkpoint(claim, tree, **where)
    else:
        plan = _plan_of(values)
        solver = DistributedSolver(
            tree,
            *choice[:3],
            alternating=values.alternating,
            chunks=plan.chunks,
            traversals=plan.batch // plan.chunks,
            seed=secrets.randbits(32) if values.seed is None else values.seed,
            **where,
        )
    with solver:
        yield solver
