"""What `mccfr-plus solve` shows on standard error while it runs."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Any

from mccfr_plus.cli import output

_REDRAW_AFTER = 0.1  # seconds
_EVALUATION_SHARE = 0.1  # of the time, at most
_FIRST_LINE = 5.0  # seconds; without a terminal each next line comes when the run is twice as long


class Watch:
    """A callback of `Solver.run` that shows where a run is and keeps its time.

    A subclass for other solvers gives `_line`, and `callbacks` if there are more.

    Args:
        quiet: Whether to show nothing.
    """

    def __init__(self, quiet: bool):
        self._begin = time.perf_counter()
        self._seconds_evaluating = 0.0
        self._next_evaluation = 0.0
        self._next_redraw = 0.0
        self._exploitability: float | None = None
        self._rewrites = not quiet and sys.stderr.isatty()
        self._next_line = float("inf") if quiet else _FIRST_LINE
        self._started = False

    def callbacks(self) -> dict[str, Callable]:
        """Returns what ``run`` is to call, by the names of its arguments."""
        return {"callback": self}

    def __call__(self, progress: Any) -> None:
        """Shows how a run gets on.

        Args:
            progress: A `Progress`.
        """
        self._show(progress, may_evaluate=True)

    def _show(self, progress: Any, may_evaluate: bool) -> None:
        now = time.perf_counter()
        if not self._started:
            self._begin = now - progress.seconds  # compiling the kernels came before
            self._started = True
        seconds = progress.seconds - self._seconds_evaluating
        if progress.evaluation is not None:
            self._exploitability = progress.evaluation.exploitability
        if self._rewrites:
            if now < self._next_redraw:
                return
            if may_evaluate and now >= self._next_evaluation and progress.evaluation is None:
                self._evaluate(progress.solver)
            self._rewrite(self._line(progress, seconds))
            self._next_redraw = time.perf_counter() + _REDRAW_AFTER
        elif seconds >= self._next_line:
            self._next_line = 2 * seconds
            if may_evaluate and progress.evaluation is None:
                self._evaluate(progress.solver)
            print(self._line(progress, seconds), file=sys.stderr)

    def stop(self) -> float:
        """Clears the line and returns how many seconds the run took, without evaluations for the display."""
        seconds = time.perf_counter() - self._begin - self._seconds_evaluating
        if self._rewrites:
            self._rewrite("")
        return seconds

    def _rewrite(self, line: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r{line[:width].ljust(width)}\r")
        sys.stderr.flush()

    def _evaluate(self, solver: Any) -> None:
        if solver.tree is None or solver.tree.is_lazy or not solver.tree.perfect_recall:
            return
        begin = time.perf_counter()
        self._exploitability = solver.exploitability()
        end = time.perf_counter()
        self._seconds_evaluating += end - begin
        self._next_evaluation = end + (end - begin) / _EVALUATION_SHARE

    def _line(self, progress: Any, seconds: float) -> str:
        tree = progress.solver.tree
        if tree.is_lazy:
            found = f"{output.short(tree.num_infosets):>5} information sets"
        else:
            found = f"exploitability {output.number(self._exploitability, 3):<8}"
        return (  # fits a terminal of 80 columns
            f"{seconds:6.1f} s  {found}  "
            f"{output.short(progress.iterations):>5} iterations  {output.short(progress.iterations / seconds):>5}/s  "
            f"{output.short(progress.nodes_touched):>5} nodes"
        )
