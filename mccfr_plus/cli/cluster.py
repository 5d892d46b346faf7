"""``--cluster`` of `solve` and `compare`. Ray is imported only with that flag."""

from __future__ import annotations

import argparse
import contextlib
import os
from typing import TYPE_CHECKING, Any

from mccfr_plus.cli import checkpoints, output
from mccfr_plus.cli.arguments import UsageError, refuse, seed_of
from mccfr_plus.trees.game_tree import compile_game
from mccfr_plus.user_modules import imported_modules

if TYPE_CHECKING:
    from mccfr_plus.cluster.cluster import Cluster
    from mccfr_plus.cluster.solver import DistributedSolver
    from mccfr_plus.files.lock import CheckpointLock

LOCAL = "local"  # in place of an address: this process samples

WORKERS = 2  # default

_NUM_BATCHES, _TRAVERSALS = 8, 1000
_COMPONENTS = ("estimator", "minimizer", "averaging", "alternating")


def connected(arguments: argparse.Namespace, stack: contextlib.ExitStack) -> Cluster | str:
    """Returns the cluster of `mccfr-plus solve`, which `stack` disconnects, or ``"local"``."""
    why = f"does not go together with --cluster={arguments.cluster}: workers use a compiled tree"
    refuse(arguments, ("threads", "tree", "memory", "symmetry", "baseline"), why)
    if arguments.cluster == LOCAL:
        return LOCAL
    from mccfr_plus.cluster.cluster import Cluster

    cpus = max(arguments.workers or WORKERS, os.cpu_count() or 1)
    return stack.enter_context(Cluster(arguments.cluster, imports=imported_modules(), cpus=cpus))


def new_solver(
    arguments: argparse.Namespace, given: dict[str, Any], cluster: Cluster | str, lock: CheckpointLock | None
) -> DistributedSolver:
    """Returns the solver of the command line, or of the checkpoint to continue from. The caller closes it."""
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
    plan = {"num_batches": num_batches, "traversals": traversals, "workers": arguments.workers or WORKERS}
    solver = DistributedSolver(tree, **components, **plan, seed=seed, cluster=cluster)
    return solver if lock is None else solver.restore(lock)
