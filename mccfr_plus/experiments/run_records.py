"""Where a run keeps what it has come to, and finds what it had come to before it was ended: its files, or far away."""

from __future__ import annotations

import abc
from typing import Any

from mccfr_plus.checkpoints.atomic_write import atomic_write
from mccfr_plus.errors import CheckpointError, RecordError
from mccfr_plus.experiments.record import Point, Record
from mccfr_plus.experiments.run import Run
from mccfr_plus.experiments.runner import Runner
from mccfr_plus.policies.files import save_policy
from mccfr_plus.policies.tree_policy import TreePolicy


class Ledger(abc.ABC):
    """The points, the checkpoint and the policy of one run.

    Attributes:
        points: Those recorded so far, also before the run was ended and begun again.
        ended: What was written when the run had ended; None: it has not.
    """

    points: list[Point]
    ended: dict[str, Any] | None

    @abc.abstractmethod
    def restore(self, runner: Runner) -> None:
        """Takes a runner to the last checkpoint; one that cannot be read is as good as none."""

    @abc.abstractmethod
    def save(self, runner: Runner) -> None:
        """Keeps a checkpoint in place of the last one."""

    @abc.abstractmethod
    def add(self, point: Point) -> None:
        """Keeps a point."""

    @abc.abstractmethod
    def publish(self, policy: TreePolicy) -> None:
        """Keeps the final policy, of a run that names a file for it."""

    @abc.abstractmethod
    def end(self, **what: Any) -> None:
        """Keeps that the run has ended, and how. No checkpoint is needed any more."""


class FileLedger(Ledger):
    """The files that a run names.

    Args:
        run: What is run.
        header: Its record's first line; see `Run.header`.

    Raises:
        RecordError: If the record cannot be written, or is of something else.
    """

    def __init__(self, run: Run, header: dict[str, Any]):
        self._run = run
        self._record = Record(run.record, header)

    @property
    def points(self) -> list[Point]:  # type: ignore[override]
        """The points in the record."""
        return self._record.points

    @property
    def ended(self) -> dict[str, Any] | None:  # type: ignore[override]
        """The record's last line, if the run has ended."""
        return self._record.ended

    def restore(self, runner: Runner) -> None:
        checkpoint = self._run.checkpoint
        if checkpoint.exists():
            try:
                runner.restore(checkpoint)
            except CheckpointError:
                checkpoint.unlink()  # of another version of the package, or damaged: the run begins anew

    def save(self, runner: Runner) -> None:
        runner.save(self._run.checkpoint)

    def add(self, point: Point) -> None:
        self._record.add(point)

    def publish(self, policy: TreePolicy) -> None:
        if self._run.policy is not None:
            save_policy(policy, self._run.policy)

    def end(self, **what: Any) -> None:
        self._record.end(**what)
        self._run.checkpoint.unlink(missing_ok=True)

    # --- from a run elsewhere, whose files come as bytes ---

    def save_bytes(self, checkpoint: bytes) -> None:
        """Keeps the checkpoint of a run elsewhere."""
        with atomic_write(self._run.checkpoint, RecordError) as file:
            file.write(checkpoint)

    def publish_bytes(self, policy: bytes) -> None:
        """Keeps the policy of a run elsewhere."""
        if self._run.policy is not None:
            with atomic_write(self._run.policy, RecordError) as file:
                file.write(policy)
