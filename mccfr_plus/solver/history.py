"""Evaluations of a solver's average policy while it runs: when they are made, and what they have found."""

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mccfr_plus.display import AXES, MEASURE_LABELS, data_frame, draw_line, finish_axes, html_table, require_library
from mccfr_plus.errors import ConfigError
from mccfr_plus.files.json_files import number

_SHOWN = 20  # rows in a notebook: the last ones
_FIRST_EVALUATION = 0.05  # seconds; later ones come when a run is 10 % longer, so that they cost a bounded share
_EVALUATION_SHARE = 0.1


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 4 and all(type(each) in (int, float) for each in row)


ENTRY = {"rows": [_is_row], "seconds_evaluating": number}  # of a checkpoint's header; see `History.kept`


@dataclass(repr=False, eq=False)
class History:
    """What ``run`` has measured, in the order of time: a row per evaluation.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full").run(2000, evaluate_every=0)
        >>> history = solver.history
        >>> bool(history.iterations[-1] == 2000 and history.exploitability[-1] < history.exploitability[0])
        True
    """

    _rows: list[tuple[int, int, float, float]] = field(default_factory=list)
    _seconds_evaluating: float = 0.0

    @classmethod
    def of(cls, kept: dict[str, Any]) -> "History":
        """Returns the history that a checkpoint's header holds as `kept`."""
        return cls([tuple(row) for row in kept["rows"]], kept["seconds_evaluating"])

    def kept(self) -> dict[str, Any]:
        """Returns it in JSON's types."""
        return {"rows": self._rows, "seconds_evaluating": self._seconds_evaluating}

    def add(self, iterations: int, nodes: int, seconds: float, exploitability: float) -> None:
        """Adds an evaluation; the seconds are those of all runs, with the evaluations that `exclude` was told of."""
        self._rows.append((iterations, nodes, seconds - self._seconds_evaluating, exploitability))

    def exclude(self, seconds: float) -> None:
        """Leaves the time of an evaluation out of the seconds of later ones."""
        self._seconds_evaluating += seconds

    @property
    def iterations(self) -> np.ndarray:
        """Iterations of the solver, ``[n]`` int64."""
        return self._column(0, np.int64)

    @property
    def nodes(self) -> np.ndarray:
        """Histories visited, ``[n]`` int64."""
        return self._column(1, np.int64)

    @property
    def seconds(self) -> np.ndarray:
        """Seconds of its runs, without these evaluations, ``[n]`` float64."""
        return self._column(2, np.float64)

    @property
    def exploitability(self) -> np.ndarray:
        """Exploitability of the average policy (NashConv / players), ``[n]`` float64."""
        return self._column(3, np.float64)

    def _column(self, number: int, dtype: type) -> np.ndarray:
        return np.array([row[number] for row in self._rows], dtype)

    def __len__(self) -> int:
        return len(self._rows)

    def columns(self) -> dict[str, np.ndarray]:
        """Returns all columns by name."""
        return {name: getattr(self, name) for name in ("iterations", "nodes", "seconds", "exploitability")}

    def to_dataframe(self) -> Any:
        """Returns a pandas data frame with a row per evaluation.

        Raises:
            ConfigError: If pandas is not installed.
        """
        return data_frame(self.columns())

    def plot(self, x: str, axes: Any, label: str, title: str) -> Any:
        """Draws the exploitability, and returns the axes; see `IterativeSolver.plot`."""
        if x not in AXES:
            raise ConfigError(f"x={x!r}: give one of {', '.join(AXES)}.")
        if not len(self):
            raise ConfigError("nothing was measured yet: give run(..., evaluate_every=SECONDS).")
        require_library("matplotlib")
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots(layout="constrained")[1]
        draw_line(axes, self.columns()[x].astype(float), self.exploitability[None], len(axes.get_lines()), label)
        finish_axes(axes, title, AXES[x], MEASURE_LABELS["exploitability"])
        return axes

    def __repr__(self) -> str:
        return f"History({len(self)} evaluations)"

    def _repr_html_(self) -> str:
        columns = self.columns()
        rows = [[f"{row[0]:,}", f"{row[1]:,}", f"{row[2]:.3g}", f"{row[3]:.4g}"] for row in self._rows[-_SHOWN:]]
        return f"<b>{self!r}</b>{html_table(list(columns), rows, numbers_from=0)}"


class Evaluations:
    """A hook of a run that evaluates the average policy, seldom enough to cost about a tenth of it, and at the end.

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

    def __call__(self, progress: Any) -> bool:
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
