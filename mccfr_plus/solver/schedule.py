"""Chunk sizes of a run, the schedule of its evaluations, and its limits."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from mccfr_plus.errors import ConfigError, check_whole
from mccfr_plus.evaluation.exact import Evaluation

CHUNK_SECONDS = 0.2  # a kernel runs about this long between progress reports, Ctrl-C and callbacks
_FIRST_EVALUATION = 0.05  # seconds; later ones come when a run is 10 % longer, so that they cost a bounded share
_EVALUATION_SHARE = 0.1


class EvaluationClock:
    """Decides when a run is due for an evaluation: seldom enough that evaluations cost about a tenth of the run.

    Args:
        wanted: Whether there are any.
        every: About how often, in seconds; 0: always; None: by itself.
    """

    def __init__(self, wanted: bool, every: float | None):
        self._wanted = wanted
        self._every = every
        self._due = time.perf_counter() + (_FIRST_EVALUATION if every is None else every)

    def due_in(self) -> float:
        """Returns in how many seconds the next evaluation is due."""
        bounds_chunks = self._wanted and self._every != 0
        return max(self._due - time.perf_counter(), 0.0) if bounds_chunks else math.inf

    def maybe_evaluate(self, solver: Any, now: float, at_end: bool) -> Evaluation | None:
        """Returns an evaluation of the solver's average policy if it is due, or if the run is at its end."""
        if not self._wanted or (now < self._due and not at_end):
            return None
        evaluation = solver.evaluate()
        end = time.perf_counter()
        pause = (end - now) / _EVALUATION_SHARE
        if self._every == 0:
            self._due = end
        else:
            self._due = end + max(pause, _FIRST_EVALUATION if self._every is None else self._every)
        return evaluation


def next_chunk(chunk: int, seconds: float, wanted: float) -> int:
    """Returns how many iterations take about the wanted time, given what the last chunk took."""
    estimate = chunk * wanted / max(seconds, 1e-7)
    return max(1, int(min(estimate, chunk * 8, 1 << 40)))


def check_limits(
    iterations: int | None, seconds: float | None, target_exploitability: float | None, evaluate_every: float | None
) -> None:
    """Raises ConfigError if a run has no limit, or one that makes no sense; see `IterativeSolver.run`."""
    if iterations is None and seconds is None and target_exploitability is None:
        raise ConfigError(
            "give a limit: run(iterations), run(seconds=...) or run(target_exploitability=exploitability)."
        )
    if iterations is not None:
        check_whole("iterations", iterations)
    for name, value in (("seconds", seconds), ("target_exploitability", target_exploitability)):
        if value is not None and not (isinstance(value, int | float | np.number) and 0 < value < math.inf):
            raise ConfigError(f"{name}={value!r}: must be a positive number.")
    if evaluate_every is not None and not (isinstance(evaluate_every, int | float) and evaluate_every >= 0):
        raise ConfigError(f"evaluate_every={evaluate_every!r}: must be a number of seconds, 0 or more.")
