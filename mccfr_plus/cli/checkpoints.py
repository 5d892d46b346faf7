"""``--checkpoint`` and ``--resume`` of `mccfr-plus solve`: the lock, and that a run is continued as it was begun."""

import dataclasses
import os
from pathlib import Path
from typing import Any

from mccfr_plus.checkpoints import file as checkpoint_file
from mccfr_plus.checkpoints.lock import CheckpointLock
from mccfr_plus.cli.command import UsageError
from mccfr_plus.errors import CheckpointError
from mccfr_plus.neural import ALGORITHMS
from mccfr_plus.solver import saved_state
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.tree.game import load_game

TABULAR = "tabular"
DISTRIBUTED = "Distributed"  # prefix of the classes that sample on a cluster


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
    found = [each for each, kind in known.items() if name == kind or (kind and name == DISTRIBUTED + kind)]
    if not found:
        raise CheckpointError(
            f"{lock} is of a run of {name}, which is none of --algorithm={', '.join(ALGORITHMS)}: load it in Python."
        )
    if values["algorithm"].present:
        _require_equal(lock, "algorithm", found[0], values.algorithm)
    if (header.get("num_batches") is None) != (values.cluster is None):
        advice = "leave out --cluster" if values.cluster else "give --cluster=ray, or local, too"
        raise CheckpointError(f"{lock} is of a run with{'out' if values.cluster else ''} --cluster: {advice}.")
    return found[0]


def config_to_resume(
    lock: CheckpointLock, game: str, given: dict[str, Any], values: Any
) -> tuple[SolverConfig, int | None]:
    """Returns config and seed of a tabular solver's checkpoint to continue from.

    Args:
        lock: Of the checkpoint.
        game: The game of the command line.
        given: The arguments of `SolverConfig.from_specs` that it gives.
        values: Its parsed flags.

    Raises:
        CheckpointError: If it is damaged, or the command line names another game, other components or another seed.
        GameError: If the game of the command line cannot be loaded.
    """
    header = saved_state.read_header(lock)
    kept = saved_state.arguments_of(lock, header)
    seed = kept.pop("seed")
    given = {name: value for name, value in given.items() if (name, value) != ("tree", "auto")}
    config, wanted = SolverConfig.from_specs(**kept), SolverConfig.from_specs(**{**kept, **given})
    pairs: dict[str, tuple[Any, Any]] = {}
    for name in set(given) - {"memory", "rules"}:
        both = getattr(config, name), getattr(wanted, name)
        if name in ("estimator", "minimizer", "averaging", "baseline"):
            both = saved_state.describe(both[0], name), saved_state.describe(both[1], name)
        pairs[name] = both
    require_same_run(lock, header, game, values, pairs)
    return dataclasses.replace(config, memory=values.memory, rules=wanted.rules), seed


def require_same_run(
    lock: CheckpointLock, header: dict[str, Any], game: str, values: Any, pairs: dict[str, tuple[Any, Any]]
) -> None:
    """Raises CheckpointError if the command line contradicts the checkpoint of the run to continue.

    Args:
        lock: Of the checkpoint.
        game: The game of the command line.
        values: Parsed flags: ``seed`` and ``num_batches``.
        pairs: What the checkpoint has and what the command line has, by name.
    """
    _require_equal(lock, "game", header["game"], str(load_game(game)))
    for name in ("seed", "num_batches"):
        if values[name].value is not None:
            _require_equal(lock, name, header[name], values[name].value)
    for name, (kept, given) in pairs.items():
        _require_equal(lock, name, saved_state.shown(kept), saved_state.shown(given))


def _require_equal(lock: CheckpointLock, name: str, kept: Any, given: Any) -> None:
    if kept != given:
        if name == "game":
            kept, given = repr(kept), repr(given)
        raise CheckpointError(
            f"{lock} is of a run with {name}={kept}, and the command line says {name}={given}: leave that out, or "
            "start a new run with another --checkpoint."
        )
