"""``--checkpoint`` and ``--resume`` of `mccfr-plus solve`: the lock, and the arguments that continue a run."""

import argparse
import os
from pathlib import Path
from typing import Any

from mccfr_plus.cli.arguments import UsageError
from mccfr_plus.errors import CheckpointError
from mccfr_plus.files import checkpoint as checkpoint_file
from mccfr_plus.files.checkpoint import CheckpointLock
from mccfr_plus.solver import saved_state


def lock_of(arguments: argparse.Namespace) -> CheckpointLock:
    """Returns the lock of the command line's checkpoint, where nothing is overwritten. The caller releases it."""
    path, policy = Path(arguments.checkpoint), arguments.policy_out
    own = os.path.realpath(path)
    if policy is not None and os.path.realpath(policy) in (own, f"{own}.lock"):
        raise UsageError(f"--policy_out={policy} is the checkpoint or its lock: give another name.")
    if arguments.resume and not os.path.exists(path):
        raise CheckpointError(f"there is no checkpoint {path} to resume: leave --resume out for a new run.")
    lock = CheckpointLock(path)
    if not arguments.resume and os.path.exists(path):
        lock.release()
        raise CheckpointError(
            f"{path} holds a checkpoint: add --resume to continue its run. For a new run delete it, or give another "
            "name; it is not overwritten."
        )
    return lock


def is_neural(lock: CheckpointLock) -> bool:
    """Returns whether a checkpoint is of a solver with neural networks."""
    return "algorithm" in checkpoint_file.read_header(lock)


def arguments_to_resume(lock: CheckpointLock, given: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the arguments of `Solver` to continue from a checkpoint with, whose ``restore`` compares them with it.

    `given` are those that the command line gives.
    """
    header = saved_state.read_header(lock)
    require_seed(lock, header["seed"], arguments)
    if (header["num_batches"] is None) != (arguments.cluster is None):
        advice = "leave out --cluster" if arguments.cluster else "give --cluster=ray, or local"
        raise CheckpointError(f"{lock} is of a run with{'out' if arguments.cluster else ''} --cluster: {advice}.")
    own = {name: value for name, value in given.items() if (name, value) != ("tree", "auto")}
    return saved_state.arguments_of(lock, header) | own


def require_seed(lock: CheckpointLock, seed: int | None, arguments: argparse.Namespace) -> None:
    """Raises CheckpointError if the command line gives another seed than a checkpoint has."""
    if arguments.seed not in (None, seed):
        raise CheckpointError(
            f"{lock} is of a run with seed={seed}, and the command line gives --seed={arguments.seed}: leave that out, "
            "or start a new run with another --checkpoint."
        )
