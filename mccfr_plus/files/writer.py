"""Writes checkpoints of a solver while it runs."""

import contextlib
import logging
import os
import time
from typing import Any, Self

from mccfr_plus.errors import CheckpointError
from mccfr_plus.files.lock import CheckpointLock

logger = logging.getLogger("mccfr_plus")

_MAX_SHARE = 0.1  # of the run's time that writing may take


class CheckpointWriter:
    """Writes a solver's checkpoint at intervals, and at the end of a ``with`` block, also after an error.

    A write that fails within the run is logged and tried again later. One that fails at the end is an error, unless
    another error ends the block.

    Args:
        path: The file, or a `CheckpointLock` that the caller holds.
        interval: Seconds between two writes; more if writing takes over a tenth of the time.
        checkpoints: A module with ``save(solver, path)`` and ``header_of_run(path, solver)``.

    Raises:
        CheckpointError: If the file cannot be written, is in use, or holds another run or a later iteration.
    """

    def __init__(self, solver: Any, path: str | os.PathLike, interval: float, checkpoints: Any):
        self._solver, self._interval, self._checkpoints = solver, float(interval), checkpoints
        with contextlib.ExitStack() as stack:
            self._lock = path if isinstance(path, CheckpointLock) else stack.enter_context(CheckpointLock(path))
            self._written = self._iterations_in_file()
            self._own_lock = stack.pop_all()  # released at the end of the block
        self._due = time.perf_counter() + self._interval

    def due_in(self) -> float:
        """Returns in how many seconds the next write is due."""
        return max(self._due - time.perf_counter(), 0.0)

    def __call__(self, progress: Any) -> None:
        """Writes the checkpoint if it is due; the last one is written at the end of the block."""
        begin = time.perf_counter()
        if begin < self._due or progress.is_last:
            return
        try:
            self._write()
        except CheckpointError as error:
            logger.warning(
                f"no checkpoint of iteration {self._solver.iterations:,}: {error} The run goes on; the last good one "
                f"is of iteration {self._written:,}."
            )
        end = time.perf_counter()
        self._due = end + max(self._interval, (end - begin) * (1 / _MAX_SHARE - 1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._own_lock:
            try:
                if self._solver.iterations != self._written:
                    self._write()
            except CheckpointError as error:
                if kind is None:
                    raise
                logger.warning("no last checkpoint: %s", error)

    def _write(self) -> None:
        self._checkpoints.save(self._solver, self._lock)
        self._written = self._solver.iterations

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
