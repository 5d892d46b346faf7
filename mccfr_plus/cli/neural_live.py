"""What `mccfr-plus solve` shows on standard error while networks learn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mccfr_plus.cli import output
from mccfr_plus.cli.live import Watch


class NeuralWatch(Watch):
    """Callbacks of `NeuralSolver.run` that show where a run is, also within an iteration, and keep its time.

    Args:
        quiet: Whether to show nothing.
        iterations: How many will be run, if that is a limit.
        seconds: How long it will run, if that is one.
    """

    def __init__(self, quiet: bool, iterations: int | None, seconds: float | None):
        super().__init__(quiet)
        self._iterations, self._limit = iterations, seconds
        self._done = 0  # iterations of this run
        self._seconds_of_done = 0.0

    def callbacks(self) -> dict[str, Callable]:
        return {"callback": self, "on_phase": self._within}

    def __call__(self, progress: Any) -> None:
        self._done += 1
        self._seconds_of_done = progress.seconds
        super().__call__(progress)

    def _within(self, progress: Any) -> None:
        self._show(progress, may_evaluate=False)  # the average is in the making

    def _left(self, seconds: float) -> float | None:
        """Returns how many seconds are left if iterations go on taking what they took; None if nobody knows."""
        left = [math.inf if self._limit is None else self._limit - seconds]
        if self._iterations is not None and self._done:
            left.append(self._iterations * self._seconds_of_done / self._done - seconds)
        return None if min(left) == math.inf else max(min(left), 0.0)

    def _line(self, progress: Any, seconds: float) -> str:
        left = self._left(seconds)
        until_end = "" if left is None else f", {left:.0f} s left"
        losses = " ".join(output.number(loss, 2) for loss in progress.losses)
        iteration = f"{output.count(progress.iterations)} done"
        if progress.phase is not None:
            iteration = f"{output.count(progress.iterations + 1)}: {progress.phase}"
        found = f"exploitability {output.number(self._exploitability, 3)}"
        if progress.solver.tree is None:
            found = f"{output.short(progress.nodes_touched)} nodes"
        return (  # fits a terminal of 80 columns, with two players
            f"{seconds:.1f} s{until_end}  {found}  it. {iteration}  loss {losses}"
        )
