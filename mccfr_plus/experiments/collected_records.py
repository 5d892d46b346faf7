"""The ledger of a run on a cluster: what a worker hands in at the desk, over the network."""

from __future__ import annotations

import contextlib
import tempfile
import time
from pathlib import Path
from typing import Any

from mccfr_plus.cluster.connection import ray_module
from mccfr_plus.errors import CheckpointError
from mccfr_plus.experiments.record import Point
from mccfr_plus.experiments.result_collector import CHECKPOINT, END, HEADER, POINT, POLICY, Begun
from mccfr_plus.experiments.run_records import Ledger
from mccfr_plus.experiments.runner import Runner
from mccfr_plus.policies.files import save_policy
from mccfr_plus.policies.tree_policy import TreePolicy

_TELL_SECONDS = 0.5


class DeskLedger(Ledger):
    """Hands in all that a run finds, and waits until it is there: whatever happens to this process then, it is kept.

    Args:
        desk: The handle of the `Desk`.
        number: The run's.
        begun: What the desk has answered to `begin`.
    """

    def __init__(self, desk: Any, number: int, begun: Begun):
        self.points, self.ended = begun.points, begun.ended
        self._ray = ray_module()
        self._desk, self._number, self._begun = desk, number, begun
        self._goes_on = begun.is_wanted
        self._answer: Any = None
        self._told = 0.0

    def open(self, header: dict[str, Any]) -> None:
        """Hands in the record's first line."""
        self._hand_in(HEADER, header)

    def restore(self, runner: Runner) -> None:
        if self._begun.checkpoint is None:
            return
        with self._file("checkpoint") as path:
            path.write_bytes(self._ray.get(self._begun.checkpoint))
            with contextlib.suppress(CheckpointError):  # damaged, or of another version: the run begins anew
                runner.restore(path)

    def save(self, runner: Runner) -> None:
        with self._file("checkpoint") as path:
            runner.save(path)
            if path.exists():  # not every solver has checkpoints
                self._hand_in(CHECKPOINT, path.read_bytes())

    def add(self, point: Point) -> None:
        self._hand_in(POINT, point)
        self.points.append(point)

    def publish(self, policy: TreePolicy) -> None:
        with self._file("policy.npz") as path:
            save_policy(policy, path)
            self._hand_in(POLICY, path.read_bytes())

    def end(self, **what: Any) -> None:
        self._hand_in(END, what)
        self.ended = what

    def tell(self, progress: float) -> None:
        """Tells how far the run is, now and then, without waiting."""
        if self._answer is not None and self._ray.wait([self._answer], timeout=0)[0]:
            self._goes_on = self._ray.get(self._answer) and self._goes_on
            self._answer = None
        if self._answer is None and time.monotonic() - self._told > _TELL_SECONDS:
            self._told = time.monotonic()
            self._answer = self._desk.tell.remote(self._number, self._begun.attempt, min(progress, 1.0))

    def stop(self) -> bool:
        """Returns whether the desk has said that the run shall end."""
        return not self._goes_on

    def _hand_in(self, kind: str, value: Any) -> None:
        answer = self._desk.hand_in.remote(self._number, self._begun.attempt, kind, value)
        self._goes_on = self._ray.get(answer) and self._goes_on

    @staticmethod
    @contextlib.contextmanager
    def _file(name: str) -> Any:
        with tempfile.TemporaryDirectory(prefix="mccfr_plus_") as folder:
            yield Path(folder) / name
