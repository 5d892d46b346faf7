"""The progress of a run on standard error: one line that is rewritten on a terminal, else lines now and then."""

import math
import shutil
import sys
import time
from typing import Any

from mccfr_plus.cli import output

_REDRAW_AFTER = 0.1  # seconds
_EVALUATION_SHARE = 0.1  # of the time, at most
_FIRST_LINE = 5.0  # seconds; without a terminal each next line comes when the run is twice as long


class Watch:
    """A callback of ``run`` that shows the progress of a run and measures its time.

    Args:
        quiet: Whether nothing is shown.
        first: Iterations before the run.
        iterations: Iterations of the run; None: no limit.
        seconds: Seconds of the run; None: no limit.
    """

    def __init__(self, quiet: bool, first: int = 0, iterations: int | None = None, seconds: float | None = None):
        self._begin, self._started = time.perf_counter(), False
        self._first, self._iterations = first, math.inf if iterations is None else iterations
        self._seconds = math.inf if seconds is None else seconds
        self._seconds_evaluating = self._next_evaluation = 0.0
        self._exploitability: float | None = None
        self._rewrites = not quiet and sys.stderr.isatty()
        # By the clock on a terminal, else in seconds of the run.
        self._next_line = float("inf") if quiet else 0.0 if self._rewrites else _FIRST_LINE

    def __call__(self, progress: Any) -> None:
        """Shows a `Progress` of the run."""
        now = time.perf_counter()
        if not self._started:
            self._begin, self._started = now - progress.seconds, True  # compiling the kernels came before
        seconds = progress.seconds - self._seconds_evaluating
        if progress.evaluation is not None:
            self._exploitability = progress.evaluation.exploitability
        if (now if self._rewrites else seconds) < self._next_line:
            return
        # Within an iteration the average is incomplete.
        if progress.evaluation is None and progress.phase is None and now >= self._next_evaluation:
            self._evaluate(progress.solver)
        line = self._line(progress, seconds)
        if self._rewrites:
            self._rewrite(line)
            self._next_line = time.perf_counter() + _REDRAW_AFTER
        else:
            print(line, file=sys.stderr)
            self._next_line = 2 * seconds

    def stop(self) -> float:
        """Clears the line and returns how many seconds the run took, without evaluations for the display."""
        seconds = time.perf_counter() - self._begin - self._seconds_evaluating
        if self._rewrites:
            self._rewrite("")
        return seconds

    def _rewrite(self, line: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{line[:width].ljust(width)}\r", end="", file=sys.stderr, flush=True)

    def _evaluate(self, solver: Any) -> None:
        if solver.tree is None or solver.tree.is_lazy or not solver.tree.perfect_recall:
            return
        begin = time.perf_counter()
        self._exploitability = solver.exploitability()
        end = time.perf_counter()
        self._seconds_evaluating += end - begin
        self._next_evaluation = end + (end - begin) / _EVALUATION_SHARE

    def _line(self, progress: Any, seconds: float) -> str:
        """Returns a line that fits a terminal of 80 columns, with two players."""
        tree, iterations = progress.solver.tree, progress.iterations
        found = f"exploitability {output.number(self._exploitability, 3):<8}"
        if tree is not None and tree.is_lazy:
            found = f"{output.short(tree.num_infosets):>5} information sets"
        nodes = f"{output.short(progress.nodes_touched):>5} nodes"
        done = iterations - self._first
        end = min(self._seconds, self._iterations * seconds / done if done else math.inf)
        when = f"{seconds:.1f} s" + ("" if math.isinf(end) else f", {max(end - seconds, 0.0):.0f} s left")
        losses = getattr(progress.solver, "losses", None)
        if losses is None:
            pace = f"{output.short(done / seconds)}/s"
            return f"{when}  {found}  it. {output.short(iterations):>5}, {pace:>7}  {nodes}"
        phase = f"{output.count(iterations)} done"
        if progress.phase is not None:
            phase = f"{output.count(iterations + 1)}: {progress.phase}"
        found = nodes if tree is None and self._exploitability is None else found
        return f"{when}  {found}  it. {phase}  loss {' '.join(output.number(loss, 2) for loss in losses)}"
