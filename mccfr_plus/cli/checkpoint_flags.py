"""``--checkpoint``, ``--checkpoint_interval`` and ``--resume`` of `mccfr-plus solve`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from absl import flags

from mccfr_plus.checkpoints import file as checkpoint_file
from mccfr_plus.checkpoints.lock import CheckpointLock
from mccfr_plus.cli.choice import Specs
from mccfr_plus.cli.command import UsageError
from mccfr_plus.cli.flag_kinds import Duration, Text, define_switch
from mccfr_plus.errors import CheckpointError
from mccfr_plus.estimators import Baseline
from mccfr_plus.solver import registry as parts
from mccfr_plus.solver.saved_state import describe, read_header, shown
from mccfr_plus.tree.game import load_game

DEFAULT_EVERY = 60.0


def define(values: flags.FlagValues) -> None:
    """Defines the flags."""
    meaning = "Keep the state of the run there, so that --resume can go on after a kill."
    flags.DEFINE(Text("FILE"), "checkpoint", None, meaning, values)
    meaning = "How often the checkpoint is written, as in 90s, 5m or 2h. Default: 60s."
    flags.DEFINE(Duration(), "checkpoint_interval", None, meaning, values)
    define_switch(values, "resume", False, "Go on from --checkpoint. Limits are those of the whole run.")


def claim_of(values: Any) -> CheckpointLock | None:
    """Returns the claim on the checkpoint of the command line, None without one. The caller gives it back.

    Raises:
        UsageError: If flags do not go together.
        CheckpointError: If there is nothing to resume, something that would be overwritten, or another run at work.
    """
    if values.checkpoint is None:
        for flag, given in (
            ("--resume", values.resume),
            ("--checkpoint_interval", values.checkpoint_interval is not None),
        ):
            if given:
                raise UsageError(f"{flag} is about a checkpoint: give its file by --checkpoint=FILE too.")
        return None
    path = Path(values.checkpoint)
    if values.policy_out is not None and os.path.realpath(values.policy_out) == os.path.realpath(path):
        raise UsageError(f"--policy_out and --checkpoint are both {path}: give two files.")
    if values.resume and not path.exists():
        raise CheckpointError(f"there is no checkpoint {path} to resume: leave --resume out for a new run.")
    claim = CheckpointLock(path)
    if not values.resume and path.exists():
        claim.release()
        raise CheckpointError(
            f"{path} holds a checkpoint: add --resume to go on with its run. For a new run delete it, or give another "
            "name; it is not overwritten."
        )
    return claim


def header_to_resume(claim: CheckpointLock, game: str, values: Any, baseline: Baseline | None) -> dict[str, Any]:
    """Returns the header of the checkpoint to go on from.

    Raises:
        CheckpointError: If it is damaged, or the command line names another game, other parts or another seed.
        GameError: If the game of the command line cannot be loaded.
    """
    header = read_header(claim)
    if header["num_batches"] is not None and values.cluster is None:
        raise CheckpointError(f"{claim.path} is of a run with --cluster: give --cluster=ray, or local, too.")
    given: dict[str, Any] = {"game": str(load_game(game))}
    if values.estimator is not None:
        given["estimator"] = describe(parts.estimator_of(values.estimator), "estimator")
    if values.minimizer is not None:
        given["minimizer"] = describe(parts.minimizer_of(values.minimizer), "minimizer")
    if values.averaging is not None:
        any_minimizer = parts.minimizer_of("rm")  # which only matters where no average is named
        given["averaging"] = describe(parts.average_of(values.averaging, any_minimizer), "averaging")
    if values["baseline"].present or values.baseline_rate is not None:
        given["baseline"] = describe(baseline, "baseline")
    if values["batch"].present:
        given["batch"] = values.batch
    if values.alternating is not None:
        given["alternating"] = values.alternating
    if values.seed is not None:
        given["seed"] = values.seed
    for name in ("num_batches", "threads", "keys"):
        if values[name].present:
            given[name] = values[name].value
    if values["thread_mode"].present:
        given["thread_mode"] = values.thread_mode if header["threads"] > 1 else None
    if values["tree"].present and values.tree != "auto":
        header["tree"] = "compiled" if header["sizes"] is None else "lazy"
        given["tree"] = values.tree
    for name, value in given.items():
        complain_if_different(claim, name, shown(header[name]), shown(value))
    return header


def complain_if_different(claim: CheckpointLock, name: str, kept: str, given: str) -> None:
    """Raises CheckpointError if the command line says something else about a run than its checkpoint.

    Args:
        claim: On the checkpoint.
        name: Of what it is about.
        kept: What the checkpoint has, as it is shown.
        given: What the command line has, likewise.
    """
    if kept != given:
        raise CheckpointError(
            f"{claim.path} is of a run with {name}={kept}, and the command line says {name}={given}: leave that out, "
            "or start a new run with another --checkpoint."
        )


def specs_of(header: dict[str, Any]) -> Specs:
    """Returns the parts of a checkpoint as the command line would name them."""
    return Specs(*(header[name]["spec"] for name in ("estimator", "minimizer", "averaging")))


def print_what_is_kept(claim: CheckpointLock, interrupted: bool) -> None:
    """Says on standard error what iteration the checkpoint of a run that ended early is of, if there is one.

    Args:
        claim: On the checkpoint.
        interrupted: Whether it was Ctrl-C that ended the run, so that it can go on.
    """
    if claim.path.exists():
        kept = f"{claim.path} is of iteration {checkpoint_file.read_header(claim)['iterations']:,}"
        print(f"interrupted: {kept}; add --resume to go on" if interrupted else f"kept: {kept}", file=sys.stderr)
