"""Writes checkpoints of a solver while it runs."""

import logging
import os
import time
from typing import Any, Protocol, Self

import numpy as np

from mccfr_plus.errors import CheckpointError
from mccfr_plus.files.file import check_writable
from mccfr_plus.files.lock import CheckpointLock

logger = logging.getLogger("mccfr_plus")

_MAX_SHARE = 0.1  # of the run's time that writing may take


class Checkpoints(Protocol):
    """How a kind of solver is written and read: a module with these functions."""

    def save(self, solver: Any, path: str | os.PathLike) -> None:
        """Writes a solver's state."""

    def arrays_of(self, solver: Any) -> dict[str, np.ndarray]:
        """Returns the arrays that are written."""

    def header_of_run(self, path: str | os.PathLike, solver: Any) -> dict[str, Any]:
        """Returns the header of a checkpoint; an error if it is not of the solver's run."""


class CheckpointWriter:
    """Writes a solver's checkpoint at intervals, and at the end of a ``with`` block, also after an error.

    A write that fails within the run is logged and tried again later. One that fails at the end is an error, unless
    another error ends the block.

    Args:
        path: The file, or a `CheckpointLock` that the caller holds.
        interval: Seconds between two writes; more if writing takes over a tenth of the time.
        checkpoints: How the solver is written and read.

    Raises:
        CheckpointError: If the file cannot be written, is in use, or holds another run or a later iteration.
    """

    def __init__(self, solver: Any, path: str | os.PathLike, interval: float, checkpoints: Checkpoints):
        self._solver, self._interval, self._path = solver, float(interval), path
        self._checkpoints = checkpoints
        self._warned_of_slow_writes = False
        self._lock = path if isinstance(path, CheckpointLock) else CheckpointLock(path)
        try:
            self._written = self._iterations_in_file()
            check_writable(self._lock, sum(array.nbytes for array in checkpoints.arrays_of(solver).values()))
        except BaseException:
            self._release()
            raise
        self._due = time.perf_counter() + self._interval

    def due_in(self) -> float:
        """Returns in how many seconds the next write is due."""
        return max(self._due - time.perf_counter(), 0.0)

    def maybe_write(self) -> None:
        """Writes the checkpoint if it is due."""
        if time.perf_counter() < self._due:
            return
        begin = time.perf_counter()
        failure = None
        try:
            self._write()
        except CheckpointError as error:
            failure = error
        seconds = time.perf_counter() - begin
        pause = max(self._interval, seconds * (1 / _MAX_SHARE - 1))
        self._due = begin + seconds + pause
        if failure is not None:
            last = f"the last good one is of iteration {self._written:,}" if self._written else "there is none yet"
            logger.warning(
                f"no checkpoint of iteration {self._solver.iterations:,}: {failure} The run goes on; {last}. The next "
                f"try is in {_shown(pause)} seconds."
            )
        elif pause > self._interval and not self._warned_of_slow_writes:
            self._warned_of_slow_writes = True
            logger.warning(
                f"writing {self._lock} takes {_shown(seconds)} seconds: it is written every {_shown(pause)} seconds "
                f"instead of every {self._interval:g}, so as not to take more than a tenth of the run."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if self._solver.iterations != self._written:
                self._write()
        except CheckpointError as error:
            if kind is None:
                raise
            logger.warning("no last checkpoint: %s", error)
        finally:
            self._release()

    def _write(self) -> None:
        self._checkpoints.save(self._solver, self._lock)
        self._written = self._solver.iterations

    def _release(self) -> None:
        if self._lock is not self._path:
            self._lock.release()

    def _iterations_in_file(self) -> int:
        path = self._lock.path
        if not path.exists():
            return 0
        iterations = self._checkpoints.header_of_run(path, self._solver)["iterations"]
        if iterations > self._solver.iterations:
            raise CheckpointError(
                f"{path} holds iteration {iterations:,}, and the solver is at {self._solver.iterations:,}: it "
                "would be overwritten. Go on from it with restore, delete it, or give another name."
            )
        return iterations


def _shown(seconds: float) -> str:
    """Returns seconds with two digits that say something, or whole."""
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"
