"""``--checkpoint`` and ``--resume`` of `mccfr-plus solve`: the lock, and that a run is continued as it was begun."""

import os
from pathlib import Path
from typing import Any

from mccfr_plus.cli.command import UsageError
from mccfr_plus.errors import CheckpointError
from mccfr_plus.files import file as checkpoint_file
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.neural import ALGORITHMS
from mccfr_plus.solver import saved_state

TABULAR = "tabular"


def lock_of(values: Any) -> CheckpointLock:
    """Returns the lock of the command line's checkpoint. The caller releases it.

    Raises:
        UsageError: If it or its lock is the file of the policy, too.
        CheckpointError: If there is nothing to resume, a file would be overwritten, or another run has the lock.
    """
    path = Path(values.checkpoint)
    if values.policy_out is not None:
        policy, own = os.path.realpath(values.policy_out), os.path.realpath(path)
        if policy == own:
            raise UsageError(f"--policy_out and --checkpoint are both {path}: give two files.")
        if policy == f"{own}.lock":
            raise UsageError(f"--policy_out={values.policy_out} is the lock of --checkpoint={path}: give another name.")
    if values.resume and not os.path.exists(path):
        raise CheckpointError(f"there is no checkpoint {path} to resume: leave --resume out for a new run.")
    lock = CheckpointLock(path)
    if not values.resume and os.path.exists(path):
        lock.release()
        raise CheckpointError(
            f"{path} holds a checkpoint: add --resume to continue its run. For a new run delete it, or give another "
            "name; it is not overwritten."
        )
    return lock


def algorithm_in(lock: CheckpointLock, values: Any) -> str:
    """Returns the algorithm of the checkpoint to continue from.

    Raises:
        CheckpointError: If the command line names another one, it is unknown, or only one of both is on a cluster.
    """
    header = checkpoint_file.read_header(lock)
    name = header.get("algorithm")
    known = {TABULAR: None, **ALGORITHMS}
    found = [each for each, kind in known.items() if name == kind]
    if not found:
        raise CheckpointError(
            f"{lock} is of a run of {name}, which is none of --algorithm={', '.join(ALGORITHMS)}: load it in Python."
        )
    if values["algorithm"].present and values.algorithm != found[0]:
        raise _contradiction(lock, "algorithm", found[0], values.algorithm)
    if (header.get("num_batches") is None) != (values.cluster is None):
        advice = "leave out --cluster" if values.cluster else "give --cluster=ray, or local, too"
        raise CheckpointError(f"{lock} is of a run with{'out' if values.cluster else ''} --cluster: {advice}.")
    return found[0]


def arguments_to_resume(lock: CheckpointLock, given: dict[str, Any], values: Any) -> dict[str, Any]:
    """Returns the arguments of `Solver` to continue from a checkpoint with, whose ``restore`` compares them with it.

    Args:
        lock: Of the checkpoint.
        given: The arguments of `SolverConfig.from_specs` that the command line gives.
        values: Its parsed flags.

    Raises:
        CheckpointError: If it is damaged, or the command line gives another seed.
    """
    header = saved_state.read_header(lock)
    require_seed(lock, header, values)
    own = {name: value for name, value in given.items() if (name, value) != ("tree", "auto")}
    return saved_state.arguments_of(lock, header) | own


def require_seed(lock: CheckpointLock, header: dict[str, Any], values: Any) -> None:
    """Raises CheckpointError if the command line gives another seed than a checkpoint has."""
    if values.seed not in (None, header["seed"]):
        raise _contradiction(lock, "seed", header["seed"], values.seed)


def _contradiction(lock: CheckpointLock, name: str, kept: Any, given: Any) -> CheckpointError:
    return CheckpointError(
        f"{lock} is of a run with {name}={kept}, and the command line says {name}={given}: leave that out, or "
        "start a new run with another --checkpoint."
    )
