"""The flags ``--cluster``, ``--workers`` and ``--num_batches`` of `mccfr-plus solve`, and the solvers they choose."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import Any

from absl import flags

from mccfr_plus.checkpoints.lock import CheckpointLock
from mccfr_plus.cli.choice import Choice
from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.flag_kinds import ClusterAddress, Count
from mccfr_plus.solver.solver import Solver
from mccfr_plus.tree.game_tree import GameTree

_NUM_BATCHES, _TRAVERSALS = 8, 1000
ESTIMATOR = "external"  # where none is named: full traversals cannot be divided

_WITHOUT_EFFECT = ("threads", "thread_mode", "tree", "memory", "keys", "baseline", "baseline_rate")


def define(values: flags.FlagValues) -> None:
    """Defines the flags."""
    meaning = "Make traversals on a Ray cluster: ray, ray://HOST:PORT or HOST:PORT; local: the same in this process."
    flags.DEFINE(ClusterAddress(), "cluster", None, meaning, values)
    flags.DEFINE(Count(), "workers", None, "How many processes of the cluster make traversals. Default: 2.", values)
    meaning = (
        "Into how many batches with their own random streams traversals are divided: results depend on it. Default: "
        f"{_NUM_BATCHES}."
    )
    flags.DEFINE(Count(), "num_batches", None, meaning, values)


def check(values: Any) -> None:
    """Raises UsageError if flags do not go together."""
    if values.cluster is None:
        given = [name for name in ("workers", "num_batches") if values[name].present]
        if given:
            raise UsageError(f"--{given[0]} is about a cluster: give --cluster=ray, or local, too.")


def check_tabular(values: Any) -> None:
    """Raises UsageError if flags do not go together with `--algorithm=tabular`."""
    if values.cluster is None:
        return
    given = [name for name in _WITHOUT_EFFECT if values[name].present and values[name].value]
    if given:
        raise UsageError(f"--{given[0]} with --cluster={values.cluster}: leave it out; workers use a compiled tree.")
    num_batches, traversals = _num_batches_and_traversals(values)
    if values["batch"].present and values.batch != num_batches * traversals:
        raise UsageError(
            f"--batch={values.batch} with --num_batches={num_batches}: each batch has the same number of traversals. "
            f"Give a multiple of {num_batches} as --batch."
        )


def _num_batches_and_traversals(values: Any) -> tuple[int, int]:
    num_batches = values.num_batches or _NUM_BATCHES
    return num_batches, values.batch // num_batches if values["batch"].present else _TRAVERSALS


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

    with Cluster(values.cluster, cpus=max(workers_of(values), os.cpu_count() or 1)) as cluster:
        yield cluster


def workers_of(values: Any) -> int:
    """Returns the number of workers."""
    return values.workers or 2


def neural_plan(values: Any, cluster: Any) -> dict[str, Any]:
    """Returns the arguments of a distributed neural solver; nothing without a cluster."""
    if cluster is None:
        return {}
    return {"workers": workers_of(values), "cluster": cluster, "num_batches": values.num_batches or _NUM_BATCHES}


@contextlib.contextmanager
def distributed_solver(
    values: Any, cluster: Any, tree: GameTree, choice: Choice, claim: CheckpointLock | None, resume: bool
) -> Iterator[Solver]:
    """Yields the solver, whose workers end with the block.

    Args:
        values: Parsed flags.
        cluster: See `connected`.
        tree: The game's.
        choice: The components.
        claim: The lock of the checkpoint, if there is to be one.
        resume: Whether to continue from it.
    """
    from mccfr_plus.cluster.solver import DistributedSolver

    where = {"workers": workers_of(values), "cluster": cluster}
    if claim and resume:
        solver = DistributedSolver.from_checkpoint(claim, tree, **where)
    else:
        num_batches, traversals = _num_batches_and_traversals(values)
        solver = DistributedSolver(
            tree,
            *choice[:3],
            alternating=values.alternating,
            num_batches=num_batches,
            traversals=traversals,
            seed=secrets.randbits(32) if values.seed is None else values.seed,
            **where,
        )
    with solver:
        yield solver
