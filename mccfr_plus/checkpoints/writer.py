"""Keeps the checkpoint of a solver up to date while it runs."""

from __future__ import annotations

import logging
import math
import os
import time
from typing import Any, Protocol

import numpy as np

from mccfr_plus.checkpoints.file import check_writable
from mccfr_plus.checkpoints.lock import Claim
from mccfr_plus.errors import CheckpointError, ConfigError
from mccfr_plus.solver import saved_state as checkpoint

logger = logging.getLogger("mccfr_plus")

_SHARE = 0.1  # of the run's time that writing may take


class Checkpoints(Protocol):
    """How a kind of solver is written and read: the module `checkpoint`, or another that has these."""

    def save(self, solver: Any, path: str | os.PathLike) -> None:
        """Writes a solver's state."""

    def arrays_of(self, solver: Any) -> dict[str, np.ndarray]:
        """Returns the arrays that are written."""

    def header_of_run(self, path: str | os.PathLike, solver: Any) -> dict[str, Any]:
        """Returns the header of a checkpoint; an error if it is not of the solver's run."""


class CheckpointWriter:
    """Writes a solver's checkpoint when it is due, and at the end of a ``with`` block, whatever ends it.

    A write that fails within the run is a logged warning, and is tried again when the next one is due; one that fails
    at the end is an error, unless another error ends the block.

    Args:
        solver: The solver.
        path: The file, or a `Claim` on it that the caller holds; None: nothing is written.
        every: Seconds between two writes; more where they would take over a tenth of the time.
        checkpoints: How the solver is written and read.

    Raises:
        ConfigError: If `every` is no positive number.
        CheckpointError: If the file cannot be written, is in use, or holds what the solver does not continue.
    """

    def __init__(
        self, solver: Any, path: str | os.PathLike | None, every: float, checkpoints: Checkpoints = checkpoint
    ):
        is_number = isinstance(every, int | float | np.number) and not isinstance(every, bool)
        if not is_number or not 0 < every < math.inf:
            raise ConfigError(f"checkpoint_interval={every!r}: must be a positive number of seconds.")
        self._solver, self._every, self._path = solver, float(every), path
        self._checkpoints = checkpoints
        self._claim: Claim | None = None
        self._written = 0  # iterations in the file
        self._told_slow = False
        if path is not None:
            claim = path if isinstance(path, Claim) else Claim(path)
            try:
                self._written = self._iterations_in_file(claim)
                check_writable(claim, sum(array.nbytes for array in checkpoints.arrays_of(solver).values()))
            except BaseException:
                if claim is not path:
                    claim.release()
                raise
            self._claim = claim
        self._due = time.perf_counter() + self._every

    def due_in(self) -> float:
        """Returns in how many seconds the next write is due."""
        return math.inf if self._claim is None else max(self._due - time.perf_counter(), 0.0)

    def maybe_write(self) -> None:
        """Writes the checkpoint if it is due."""
        if self._claim is None or time.perf_counter() < self._due:
            return
        begin = time.perf_counter()
        failure = None
        try:
            self._write()
        except CheckpointError as error:
            failure = error
        end = time.perf_counter()
        pause = max(self._every, (end - begin) * (1 / _SHARE - 1))
        self._due = end + pause
        if failure is not None:
            kept = f"the last good one is of iteration {self._written:,}" if self._written else "there is none yet"
            logger.warning(
                "no checkpoint of iteration %s: %s The run goes on; %s. The next try is in %.0f seconds.",
                f"{self._solver.iterations:,}",
                failure,
                kept,
                pause,
            )
        elif pause > self._every and not self._told_slow:
            self._told_slow = True
            logger.warning(
                "writing %s takes %.1f seconds: it comes every %.0f seconds instead of every %g, so as not to take "
                "more than a tenth of the run.",
                os.fspath(self._claim),
                end - begin,
                pause,
                self._every,
            )

    def __enter__(self) -> CheckpointWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._claim is None:
            return
        try:
            if self._solver.iterations != self._written:
                self._write()
        except CheckpointError as error:
            if kind is None:
                raise
            logger.warning("no last checkpoint: %s", error)
        finally:
            if self._claim is not self._path:
                self._claim.release()

    def _write(self) -> None:
        assert self._claim is not None
        self._checkpoints.save(self._solver, self._claim)
        self._written = self._solver.iterations

    def _iterations_in_file(self, claim: Claim) -> int:
        if not claim.path.exists():
            return 0
        header = self._checkpoints.header_of_run(claim.path, self._solver)
        if header["iterations"] > self._solver.iterations:
            raise CheckpointError(
                f"{claim.path} holds iteration {header['iterations']:,}, and the solver is at "
                f"{self._solver.iterations:,}: it would be overwritten. Go on from it with restore, delete it, "
                "or give another name."
            )
        return header["iterations"]
