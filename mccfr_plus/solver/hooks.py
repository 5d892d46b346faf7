"""What a run calls after each chunk of iterations: evaluations and the progress bar. `files.writer` has checkpoints.

A hook is called with a `Progress` and ends the run by returning True. One with ``due_in()`` says in how many seconds it
would like to be called again.
"""

import math
import time
from dataclasses import dataclass
from typing import Any

from tqdm.auto import tqdm

from mccfr_plus.evaluation.exact import Evaluation
from mccfr_plus.solver.history import History

_FIRST_EVALUATION = 0.05  # seconds; later ones come when a run is 10 % longer, so that they cost a bounded share
_EVALUATION_SHARE = 0.1


@dataclass
class Progress:
    """What ``run`` passes to its callbacks after each chunk of iterations.

    Attributes:
        solver: The solver that runs.
        iterations: Iterations of the solver, earlier runs included.
        nodes_touched: Histories touched, earlier runs included.
        seconds: Seconds of this run.
        is_last: Whether the run ends here, as a limit is reached.
        evaluation: Evaluation of the average policy, if there was one since the last call; else None.
        phase: Of the current iteration of a neural solver, such as "training 0"; None between iterations.

    Examples:
        >>> import mccfr_plus
        >>> def enough(progress):
        ...     return progress.iterations >= 100
        >>> mccfr_plus.Solver("kuhn_poker", seed=1).run(10**9, callbacks=[enough]).iterations < 10**9
        True
    """

    solver: Any
    iterations: int
    nodes_touched: int
    seconds: float
    is_last: bool = False
    evaluation: Evaluation | None = None
    phase: str | None = None


class Evaluations:
    """Evaluates the average policy, seldom enough that it costs about a tenth of the run, and at the end.

    Args:
        history: Gets what was found.
        every: About how often, in seconds; 0: after every chunk; None: by itself.
        target: The run ends when the exploitability is at most this; None: it does not.
    """

    def __init__(self, history: History, every: float | None, target: float | None):
        self._history, self._every, self._target = history, every, target
        self._spent = 0.0  # on the last evaluation
        self._due = time.perf_counter() + (_FIRST_EVALUATION if every is None else every)

    def due_in(self) -> float:
        return math.inf if self._every == 0 else max(self._due - time.perf_counter(), 0.0)

    def __call__(self, progress: Progress) -> bool:
        self._history.exclude(self._spent)  # the run has gone on
        self._spent, begin, solver = 0.0, time.perf_counter(), progress.solver
        if solver.unfinished is not None or (begin < self._due and not progress.is_last):
            return False
        progress.evaluation = solver.evaluate()
        end = time.perf_counter()
        self._spent = end - begin
        pause = max(self._spent / _EVALUATION_SHARE, _FIRST_EVALUATION if self._every is None else self._every)
        self._due = end if self._every == 0 else end + pause
        found = progress.evaluation.exploitability
        self._history.add(progress.iterations, progress.nodes_touched, solver.seconds, found)
        return self._target is not None and found <= self._target


class ProgressBar(tqdm):
    """Shows iterations, the last exploitability, and phases of an iteration."""

    first: int  # iterations of the solver at the beginning
    begin: float  # of the run

    @classmethod
    def of(cls, solver: Any, iterations: int | None, is_shown: bool) -> "ProgressBar":
        """Returns the bar of a run that begins."""
        unit = {"unit": " iterations", "unit_scale": solver.iterations_at_once > 1}
        bar = cls(total=iterations, disable=not is_shown, leave=False, **unit)
        bar.first, bar.begin = solver.iterations, time.perf_counter()
        return bar

    @property
    def seconds(self) -> float:
        """Seconds since the run has begun."""
        return time.perf_counter() - self.begin

    def __call__(self, progress: Progress) -> None:
        if progress.evaluation is not None:
            self.set_postfix(exploitability=f"{progress.evaluation.exploitability:.3g}", refresh=False)
        self.update(progress.iterations - self.first - self.n)
