"""``--cluster`` and the flags that go with it. What needs Ray is imported when it is asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from absl import flags

from mccfr_plus.cli.command import LOCAL, UsageError, address, define, seed_of, whole
from mccfr_plus.user_modules import imported_modules

if TYPE_CHECKING:
    from mccfr_plus.cluster.cluster import Cluster
    from mccfr_plus.cluster.solver import DistributedSolver
    from mccfr_plus.files.lock import CheckpointLock

WORKERS = 2  # default
_NUM_BATCHES = 8
_TRAVERSALS = 1000
_COMPONENTS = ("estimator", "minimizer", "averaging", "alternating")

# Flags of other ways to run, which have no meaning with a cluster.
_OTHERS = ("threads", "thread_mode", "tree", "memory", "keys", "symmetry", "baseline", "baseline_rate")


# --- mccfr-plus solve: traversals of one run ---


def check_flags(values: Any) -> None:
    """Raises UsageError if flags do not go together with ``--cluster``."""
    given = [name for name in _OTHERS if values[name].present and values[name].value]
    if given:
        raise UsageError(f"--{given[0]} with --cluster={values.cluster}: leave it out; workers use a compiled tree.")
    if values["batch"].present and values.batch % _NUM_BATCHES:
        raise UsageError(
            f"--batch={values.batch} with --cluster={values.cluster}: it must be a multiple of {_NUM_BATCHES}, the "
            "number of equal parts that workers sample."
        )


def connected(values: Any) -> AbstractContextManager[Cluster | str]:
    """Returns the cluster of `mccfr-plus solve`, which a ``with`` block connects to, or ``"local"``.

    Raises:
        ConfigError: If Ray is not installed.
        ClusterError: If there is no cluster, or its nodes have other versions.
    """
    if values.cluster == LOCAL:
        return contextlib.nullcontext(LOCAL)
    from mccfr_plus.cluster.cluster import Cluster

    return Cluster(values.cluster, imports=imported_modules())


def new_solver(
    game: str, given: dict[str, Any], values: Any, cluster: Cluster | str, lock: CheckpointLock | None
) -> DistributedSolver:
    """Returns the tabular solver of the command line, or the one of the checkpoint. The caller closes it.

    Args:
        given: The arguments of `SolverConfig.from_specs` that the command line gives.
        values: Its parsed flags.
        cluster: See `connected`.
        lock: Of the checkpoint to continue from, if there is one.
    """
    from mccfr_plus.cli.budget import compile_within_budget
    from mccfr_plus.cli.checkpoints import arguments_to_resume
    from mccfr_plus.cluster.solver import DistributedSolver
    from mccfr_plus.solver.config import SolverConfig
    from mccfr_plus.solver.saved_state import read_header

    num_batches, seed = _NUM_BATCHES, None
    arguments = {"batch": num_batches * _TRAVERSALS, **given}
    if lock is not None:
        arguments = arguments_to_resume(lock, given, values)
        seed, num_batches = arguments.pop("seed"), read_header(lock)["num_batches"]
    components = {name: arguments[name] for name in _COMPONENTS if name in arguments}
    # Errors come before the tree is compiled, which may take long.
    SolverConfig.from_specs(**components, batch=arguments["batch"])
    options = {"num_batches": num_batches, "traversals": arguments["batch"] // num_batches, "cluster": cluster}
    options["workers"] = values.workers or WORKERS
    tree = compile_within_budget(game, values)
    if lock is not None:
        return DistributedSolver(tree, **components, seed=seed, **options).restore(lock)
    return DistributedSolver(tree, **components, seed=seed_of(values), **options)


# --- mccfr-plus compare and reproduce: whole runs ---


def define_for_runs(values: flags.FlagValues) -> None:
    """Defines the flags of commands that distribute runs."""
    define(values, "processes", whole(1, 10_000), "Runs at a time. Default: one per core.")
    meaning = (
        "Where runs are made: local, processes of this machine; ray, a Ray cluster that this machine belongs to, or a "
        "new one on this machine; ray://HOST:PORT, any, through Ray's client server; HOST:PORT, one that this machine "
        "is a node of."
    )
    define(values, "cluster", address(), meaning, LOCAL)


def check_processes(values: Any) -> None:
    """Raises UsageError if ``--processes`` is given with a cluster."""
    if values.cluster != LOCAL and values.processes is not None:
        raise UsageError(
            f"--processes={values.processes} is for --cluster={LOCAL}: with --cluster={values.cluster} the number of "
            "parallel runs is the number of free CPUs of the cluster (ray start --num-cpus=N sets a node's)."
        )


@contextlib.contextmanager
def chosen_cluster(values: Any, games: Sequence[str] = ()) -> Iterator[Cluster | None]:
    """Yields the connected cluster of the flags, checked; None: runs are made on this machine.

    Raises:
        ConfigError: If Ray is not installed.
        ClusterError: If there is no cluster there, or it cannot do the work.
    """
    if values.cluster == LOCAL:
        yield None
        return
    from mccfr_plus.cluster.cluster import Cluster

    with Cluster(values.cluster, imports=imported_modules()) as cluster:
        for game in games:
            cluster.check_game(game)
        yield cluster
