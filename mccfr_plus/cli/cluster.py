"""``--cluster`` of `solve` and `compare`. Ray is imported only with that flag."""

from __future__ import annotations

import argparse
import contextlib
import os
from typing import TYPE_CHECKING, Any

from mccfr_plus.cli import checkpoints, output
from mccfr_plus.cli.arguments import UsageError, refuse, seed_of, text, whole
from mccfr_plus.trees.game_tree import compile_game
from mccfr_plus.user_modules import imported_modules

if TYPE_CHECKING:
    from mccfr_plus.cluster.cluster import Cluster
    from mccfr_plus.cluster.solver import DistributedSolver
    from mccfr_plus.files.lock import CheckpointLock

LOCAL = "local"  # in place of an address: this process samples

_WORKERS, _NUM_BATCHES, _TRAVERSALS = 2, 8, 1000  # defaults
_COMPONENTS = ("estimator", "minimizer", "averaging", "alternating")


def add_arguments(group: Any) -> None:
    """Adds ``--cluster`` and ``--workers`` to a group of arguments of `mccfr-plus solve`."""
    meaning = (
        "Sample on a Ray cluster: ray, ray://HOST:PORT or HOST:PORT; local: with the same results in this process."
    )
    group.add_argument("--cluster", metavar="ADDRESS", type=text, help=meaning)
    meaning = f"Number of processes of the cluster that sample. Default: {_WORKERS}."
    group.add_argument("--workers", metavar="N", type=whole(1, 10_000), help=meaning)


def connected(arguments: argparse.Namespace, stack: contextlib.ExitStack) -> Cluster | str | None:
    """Returns the cluster of `mccfr-plus solve`, which `stack` disconnects; ``"local"``; or None without the flag.

    Raises:
        UsageError: If a flag does not go together with ``--cluster``.
        ConfigError: If Ray is not installed; ClusterError if there is no cluster there.
    """
    if arguments.cluster is None:
        return None
    why = f"does not go together with --cluster={arguments.cluster}: workers use a compiled tree"
    refuse(arguments, ("threads", "tree", "memory", "symmetry", "baseline"), why)
    if arguments.cluster == LOCAL:
        return LOCAL
    from mccfr_plus.cluster.cluster import Cluster

    cpus = max(arguments.workers or _WORKERS, os.cpu_count() or 1)
    return stack.enter_context(Cluster(arguments.cluster, imports=imported_modules(), cpus=cpus))


def new_solver(
    arguments: argparse.Namespace, given: dict[str, Any], cluster: Cluster | str, lock: CheckpointLock | None
) -> DistributedSolver:
    """Returns the solver of the command line, or the one of the checkpoint. The caller closes it.

    Args:
        given: The arguments of `SolverConfig.from_specs` that the command line gives.
        cluster: See `connected`.
        lock: The lock of the checkpoint to continue from, if there is one.
    """
    from mccfr_plus.cluster.solver import DistributedSolver
    from mccfr_plus.solver.config import SolverConfig
    from mccfr_plus.solver.saved_state import read_header

    seed, num_batches = None, _NUM_BATCHES
    if lock is None:
        seed, options = seed_of(arguments), {"batch": _NUM_BATCHES * _TRAVERSALS, **given}
    else:
        options, num_batches = checkpoints.arguments_to_resume(lock, given, arguments), read_header(lock)["num_batches"]
        seed = options.pop("seed")
    components = {name: options[name] for name in _COMPONENTS if name in options}
    traversals, rest = divmod(options["batch"], num_batches)
    if rest:
        raise UsageError(f"--batch={options['batch']}: with --cluster give a multiple of {num_batches}.")
    SolverConfig.from_specs(**components, batch=options["batch"])  # for its errors, before a long compilation
    tree = compile_game(arguments.game, progress=False if arguments.quiet else None)
    output.show_notes()
    solver = DistributedSolver(
        tree,
        **components,
        num_batches=num_batches,
        traversals=traversals,
        seed=seed,
        workers=arguments.workers or _WORKERS,
        cluster=cluster,
    )
    return solver if lock is None else solver.restore(lock)
