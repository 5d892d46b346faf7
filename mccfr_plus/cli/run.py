"""A run of `mccfr-plus solve`, tabular or neural: its limits, its display on standard error, how good its result is."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from mccfr_plus.checkpoints.lock import CheckpointLock
from mccfr_plus.cli import output
from mccfr_plus.errors import CheckpointError, TrainingError
from mccfr_plus.evaluation import expected_values
from mccfr_plus.evaluation.quality import local_bound
from mccfr_plus.tree.game_tree import GameTree

DEFAULT_SECONDS = 10.0
DEFAULT_CHECKPOINT_INTERVAL = 60.0

_REDRAW_AFTER = 0.1  # seconds
_EVALUATION_SHARE = 0.1  # of the time, at most
_FIRST_LINE = 5.0  # seconds; without a terminal each next line comes when the run is twice as long


class Watch:
    """A callback of `Solver.run` that shows the progress of a run and measures its time.

    A subclass for other solvers defines `_line`, and `callbacks` if there are more.

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
        """Returns the callbacks of ``run``, by the names of its arguments."""
        return {"callback": self}

    def __call__(self, progress: Any) -> None:
        """Shows the progress of a run.

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
            may_evaluate = False
        if self._rewrites:
            if now < self._next_redraw:
                return
            if may_evaluate and now >= self._next_evaluation:
                self._evaluate(progress.solver)
            self._rewrite(self._line(progress, seconds))
            self._next_redraw = time.perf_counter() + _REDRAW_AFTER
        elif seconds >= self._next_line:
            self._next_line = 2 * seconds
            if may_evaluate:
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


class Ending(NamedTuple):
    """How a run has ended."""

    seconds: float  # without evaluations for the display; with the time before the checkpoint that it continues
    interrupted: bool  # by Ctrl-C
    failure: CheckpointError | TrainingError | None  # to be raised after the result so far is printed


def run_to_limits(solver: Any, values: Any, lock: CheckpointLock | None, watch: Watch) -> Ending:
    """Runs up to the limits of the command line, which include what was run before a checkpoint.

    Without a single iteration there is no result, and Ctrl-C and errors are raised.

    Args:
        solver: A `Solver` or a `NeuralSolver`.
        values: Parsed flags: the limits and ``checkpoint_interval``.
        lock: Of the checkpoint, if there is to be one.
        watch: The display.
    """
    iterations_before, seconds_before = solver.iterations, solver.seconds
    seconds, iterations, target = values.seconds, values.iterations, values.target_exploitability
    if seconds is None and iterations is None and target is None:
        seconds = DEFAULT_SECONDS
    if iterations_before and (
        (iterations is not None and iterations_before >= iterations)
        or (seconds is not None and seconds_before >= seconds)
        or (target is not None and solver.exploitability() <= target)
    ):
        return Ending(seconds_before, False, None)
    interrupted, failure = False, None
    try:
        solver.run(
            None if iterations is None else iterations - iterations_before,
            seconds=None if seconds is None else seconds - seconds_before,
            target_exploitability=target,
            checkpoint=lock,
            checkpoint_interval=values.checkpoint_interval or DEFAULT_CHECKPOINT_INTERVAL,
            **watch.callbacks(),
        )
    except KeyboardInterrupt:
        if not solver.iterations:
            raise
        interrupted = True
    except (CheckpointError, TrainingError) as error:
        if solver.iterations == (iterations_before if isinstance(error, CheckpointError) else 0):
            raise
        failure = error
    return Ending(seconds_before + watch.stop(), interrupted, failure)


def quality_of(solver: Any, values: Any) -> dict[str, Any]:
    """Returns values, NashConv, exploitability and its bound of the average policy; None for what is not known.

    Args:
        solver: A `Solver` or a `NeuralSolver`, after its run.
        values: Parsed flags: ``bound_seconds``, ``seed`` and ``quiet``.
    """
    unknown: dict[str, Any] = {"nash_conv": None, "exploitability": None, "exploitability_bound": None}
    tree = solver.tree
    if isinstance(tree, GameTree) and tree.perfect_recall:
        found = solver.evaluate()
        exact = {"nash_conv": found.nash_conv, "exploitability": found.exploitability}
        return {"values": found.values.tolist(), **unknown, **exact}
    if isinstance(tree, GameTree):
        return {"values": expected_values(tree, solver.average_policy()).tolist(), **unknown}
    game = solver.game if tree is None else tree.game
    bound = None
    if values.bound_seconds and (tree is None or tree.perfect_recall):
        progress = not values.quiet and sys.stderr.isatty()
        bound = local_bound(game, solver.average_policy(), values.bound_seconds, seed=values.seed, progress=progress)
    estimate = bound and {"exploitability_bound": bound.estimate._asdict()}
    return {"values": [None] * game.num_players(), **unknown, **(estimate or {})}


def quality_rows(solver: Any, result: dict[str, Any]) -> list[list[str]]:
    """Returns rows of the result's table for what `quality_of` has found."""
    if solver.tree is None or solver.tree.is_lazy:
        bound = result["exploitability_bound"]
        if bound is None:
            unknown = "n/a (no bound found in time; compare policies by mccfr-plus evaluate --against)"
            return [["exploitability", unknown]]
        low, high = output.number(bound["low"], 4), output.number(bound["high"], 4)
        interval = f"{100 * bound['confidence']:g} % interval {low} to {high}"
        return [["exploitability", f"at least {output.number(bound['value'], 4)} (local best response, {interval})"]]
    rows = [[f"value of player {i}", output.number(v)] for i, v in enumerate(result["values"])]
    if not solver.tree.perfect_recall:
        return [*rows, *([name, "n/a (imperfect recall)"] for name in ("nash_conv", "exploitability"))]
    unit = "in the game's payoffs"
    return [*rows, *([name, f"{output.number(result[name])} {unit}"] for name in ("nash_conv", "exploitability"))]
