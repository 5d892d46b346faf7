"""A run of `mccfr-plus solve` up to its limits, of whatever solver."""

from __future__ import annotations

from typing import Any, NamedTuple

from mccfr_plus.checkpoints.lock import CheckpointLock
from mccfr_plus.cli import checkpoint_flags
from mccfr_plus.cli.live import Watch
from mccfr_plus.errors import CheckpointError, TrainingError

DEFAULT_SECONDS = 10.0


class Ending(NamedTuple):
    """How a run has ended."""

    seconds: float  # it took, without what was there for the display alone; that of earlier parts included
    interrupted: bool  # by Ctrl-C
    failure: CheckpointError | TrainingError | None  # what to raise when the result so far has been given


def run_to_limits(solver: Any, values: Any, claim: CheckpointLock | None, watch: Watch) -> Ending:
    """Runs up to the limits of the command line, which count what a checkpoint says was run before.

    Without a single iteration there is no result, and Ctrl-C and errors go on.

    Args:
        solver: A `Solver` or a `NeuralSolver`.
        values: Parsed flags: the limits and ``every``.
        claim: On the checkpoint, if there is to be one.
        watch: What shows how the run gets on.
    """
    iterations_before, seconds_before = solver.iterations, solver.seconds
    seconds, iterations = values.seconds, values.iterations
    if seconds is None and iterations is None and values.target_exploitability is None:
        seconds = DEFAULT_SECONDS
    if iterations_before and _is_done(solver, iterations, seconds, values.target_exploitability):
        return Ending(seconds_before, False, None)
    interrupted = False
    failure: CheckpointError | TrainingError | None = None
    try:
        solver.run(
            None if iterations is None else iterations - iterations_before,
            seconds=None if seconds is None else seconds - seconds_before,
            target_exploitability=values.target_exploitability,
            checkpoint=claim,
            checkpoint_interval=values.checkpoint_interval or checkpoint_flags.DEFAULT_EVERY,
            **watch.callbacks(),
        )
    except KeyboardInterrupt:
        if not solver.iterations:
            raise
        interrupted = True
    except CheckpointError as error:
        if solver.iterations == iterations_before:
            raise
        failure = error
    except TrainingError as error:
        if not solver.iterations:
            raise
        failure = error
    return Ending(seconds_before + watch.stop(), interrupted, failure)


def _is_done(solver: Any, iterations: int | None, seconds: float | None, target_exploitability: float | None) -> bool:
    """Returns whether a resumed run has reached one of its limits already."""
    return (
        (iterations is not None and solver.iterations >= iterations)
        or (seconds is not None and solver.seconds >= seconds)
        or (target_exploitability is not None and solver.exploitability() <= target_exploitability)
    )
