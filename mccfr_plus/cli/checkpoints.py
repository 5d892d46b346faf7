"""``--checkpoint`` and ``--resume`` of `mccfr-plus solve`: the lock, and that a run is continued as it was begun."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Any

from mccfr_plus.checkpoints import file as checkpoint_file
from mccfr_plus.checkpoints.lock import CheckpointLock
from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.components import arguments_of
from mccfr_plus.errors import CheckpointError
from mccfr_plus.solver import saved_state
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.tree.game import load_game

_COMPONENTS = ("estimator", "minimizer", "averaging", "baseline")


def lock_of(values: Any) -> CheckpointLock | None:
    """Returns the lock of the command line's checkpoint, None without one. The caller releases it.

    Raises:
        UsageError: If flags do not go together.
        CheckpointError: If there is nothing to resume, a file would be overwritten, or another run has the lock.
    """
    if values.checkpoint is None:
        for flag in ("resume", "checkpoint_interval"):
            if values[flag].value:
                raise UsageError(f"--{flag} is about a checkpoint: give its file by --checkpoint=FILE too.")
        return None
    path = Path(values.checkpoint)
    if values.policy_out is not None and os.path.realpath(values.policy_out) == os.path.realpath(path):
        raise UsageError(f"--policy_out and --checkpoint are both {path}: give two files.")
    if values.resume and not path.exists():
        raise CheckpointError(f"there is no checkpoint {path} to resume: leave --resume out for a new run.")
    lock = CheckpointLock(path)
    if not values.resume and path.exists():
        lock.release()
        raise CheckpointError(
            f"{path} holds a checkpoint: add --resume to continue its run. For a new run delete it, or give another "
            "name; it is not overwritten."
        )
    return lock


def config_to_resume(lock: CheckpointLock, game: str, values: Any) -> tuple[SolverConfig, int | None]:
    """Returns config and seed of the checkpoint to continue from.

    Raises:
        CheckpointError: If it is damaged, or the command line names another game, other components or another seed.
        GameError: If the game of the command line cannot be loaded.
    """
    header = saved_state.read_header(lock)
    if header["num_batches"] is not None and values.cluster is None:
        raise CheckpointError(f"{lock} is of a run with --cluster: give --cluster=ray, or local, too.")
    kept = saved_state.arguments_of(lock, header)
    seed = kept.pop("seed")
    given = arguments_of(values)
    if given.get("tree") == "auto":
        del given["tree"]
    config, wanted = SolverConfig.from_specs(**kept), SolverConfig.from_specs(**{**kept, **given})
    pairs: dict[str, tuple[Any, Any]] = {"game": (header["game"], str(load_game(game)))}
    for name in set(given) - {"memory"}:
        pairs[name] = (getattr(config, name), getattr(wanted, name))
        if name in _COMPONENTS:
            pairs[name] = (saved_state.describe(pairs[name][0], name), saved_state.describe(pairs[name][1], name))
    if values.seed is not None:
        pairs["seed"] = (seed, values.seed)
    if values["num_batches"].present:
        pairs["num_batches"] = (header["num_batches"], values.num_batches)
    require_equal(
        lock, {name: (saved_state.shown(kept), saved_state.shown(given)) for name, (kept, given) in pairs.items()}
    )
    return dataclasses.replace(config, memory=values.memory), seed


def require_equal(lock: CheckpointLock, pairs: dict[str, tuple[str, str]]) -> None:
    """Raises CheckpointError if the command line contradicts the checkpoint of the run to continue.

    Args:
        lock: Of the checkpoint.
        pairs: What the checkpoint has and what the command line has, by name, as texts.
    """
    for name, (kept, given) in pairs.items():
        if kept != given:
            raise CheckpointError(
                f"{lock} is of a run with {name}={kept}, and the command line says {name}={given}: leave that out, or "
                "start a new run with another --checkpoint."
            )


def print_what_is_kept(lock: CheckpointLock, interrupted: bool) -> None:
    """Prints to standard error which iteration the checkpoint of a run that ended early is of, if there is one.

    Args:
        lock: Of the checkpoint.
        interrupted: Whether Ctrl-C ended the run, so that it can be continued.
    """
    if lock.path.exists():
        kept = f"{lock} is of iteration {checkpoint_file.read_header(lock)['iterations']:,}"
        print(f"interrupted: {kept}; add --resume to go on" if interrupted else f"kept: {kept}", file=sys.stderr)
