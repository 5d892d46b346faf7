"""Runs of all solvers, tabular and neural, with limits, evaluations and their history, and checkpoints.

A run calls hooks with a `Progress` after each chunk of iterations: evaluations, checkpoints, the progress bar and
callbacks. It ends if one returns True; ``due_in()`` of a hook says in how many seconds it should be called again.
"""

import abc
import contextlib
import logging
import math
import os
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from tqdm.auto import tqdm

from mccfr_plus.display import AXES, MEASURE_LABELS, data_frame, draw_line, finish_axes, html_table, require_library
from mccfr_plus.errors import BudgetError, ConfigError, MccfrPlusError, shortened
from mccfr_plus.evaluation.exact import Evaluation
from mccfr_plus.files.checkpoint import CheckpointWriter
from mccfr_plus.parameters import LARGEST, Seed, as_python, check_number, check_whole
from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.needs import HISTORIES

logger = logging.getLogger("mccfr_plus")

CHUNK_SECONDS = 0.2  # a kernel runs about this long between progress reports, Ctrl-C and callbacks
_SHOWN = 20  # evaluations in a notebook: the last ones
_FIRST_EVALUATION = 0.05  # seconds; later ones come when a run is 10% longer, so that they cost a bounded share
_EVALUATION_SHARE = 0.1


@dataclass
class Progress:
    """The state of a run, passed to its callbacks after each chunk of iterations.

    `iterations` and `nodes_touched` include the solver's earlier runs; `seconds` does not. `is_last` says whether a
    limit has been reached. `evaluation` is the evaluation of the average policy if one was made since the callbacks
    were last called, and None otherwise.

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


@dataclass(repr=False, eq=False)
class History:
    """The evaluations made by ``run``, in chronological order."""

    _rows: list[tuple[int, int, float, float]] = field(default_factory=list)
    seconds_evaluating: float = 0.0  # not counted in the seconds of later evaluations

    def kept(self) -> dict[str, Any]:
        return {"rows": self._rows, "seconds_evaluating": self.seconds_evaluating}

    def add(self, iterations: int, nodes: int, seconds: float, exploitability: float) -> None:
        """Adds an evaluation after so many seconds of all runs, evaluations included."""
        self._rows.append((iterations, nodes, seconds - self.seconds_evaluating, exploitability))

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
        """Seconds of the solver's runs, without these evaluations, ``[n]`` float64."""
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
        """Returns the columns by name."""
        return {name: getattr(self, name) for name in ("iterations", "nodes", "seconds", "exploitability")}

    def to_dataframe(self) -> Any:
        """Returns a pandas data frame with a row per evaluation; ConfigError if pandas is not installed."""
        return data_frame(self.columns())

    def plot(self, x: str, axes: Any, label: str, title: str) -> Any:
        """See `IterativeSolver.plot`."""
        if x not in AXES:
            raise ConfigError(f"x={x!r}: give one of {', '.join(AXES)}.")
        if not len(self):
            raise ConfigError("there are no measurements yet: call run(..., evaluate_every=SECONDS).")
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
        rows = [[f"{row[0]:,}", f"{row[1]:,}", f"{row[2]:.3g}", f"{row[3]:.4g}"] for row in self._rows[-_SHOWN:]]
        return f"<b>{self!r}</b>{html_table(list(self.columns()), rows, numbers_from=0)}"


class Evaluations:
    """A hook that evaluates the average policy, for about a tenth of the time, and at the end.

    `every` is in seconds; 0: after every chunk; None: by itself. The run ends at an exploitability of `target`.
    """

    def __init__(self, history: History, every: float | None, target: float | None):
        self._history, self._every, self._target = history, every, target
        self._spent = 0.0  # on the last evaluation
        self._due = time.perf_counter() + (_FIRST_EVALUATION if every is None else every)

    def due_in(self) -> float:
        return math.inf if self._every == 0 else max(self._due - time.perf_counter(), 0.0)

    def __call__(self, progress: Progress) -> bool:
        self._history.seconds_evaluating += self._spent  # the run has gone on
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
    first: int  # iterations of the solver at the beginning

    def __call__(self, progress: Progress) -> None:
        if progress.evaluation is not None:
            self.set_postfix(exploitability=f"{progress.evaluation.exploitability:.3g}", refresh=False)
        self.update(progress.iterations - self.first - self.n)


class IterativeSolver(abc.ABC):
    """A solver that runs iterations up to a limit. A subclass defines what an iteration is.

    For `seed`, `seconds`, `cpu_seconds` and `history` see `Solver`.
    """

    _checkpoints: ClassVar[Any]  # the module that writes and reads them, see `CheckpointWriter`
    iterations_at_once: ClassVar[int] = 1 << 40  # at most, between two callbacks
    game: Any  # a pyspiel.Game
    tree: Any  # a `Tree`, or None
    iterations: Any  # run so far
    nodes_touched: Any  # histories visited so far
    stopped: Any = None  # why the last run has ended before its limit
    unfinished: Any = None  # what must be done before the first iteration and is not

    def __init__(self, seed: Seed):
        self.seed = int(seed) if isinstance(seed, int | np.integer) else None
        self._label = type(self).__name__  # in plots
        self.seconds = self.cpu_seconds = 0.0
        self.history = History()
        self._tree_to_evaluate: GameTree | None = None
        self._on_phase: Callable[[str], None] | None = None

    @abc.abstractmethod
    def average_policy(self) -> Any:
        """Returns a copy of the average policy, which approximates an equilibrium."""

    @abc.abstractmethod
    def evaluate(self) -> Evaluation:
        """Returns the values, NashConv and exploitability of the average policy."""

    @abc.abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """Returns all arrays that persist between iterations, by name, as views or copies."""

    @abc.abstractmethod
    def _prepare(self) -> None: ...

    @abc.abstractmethod
    def _run_iterations(self, count: int) -> None:
        """Runs iterations, or fewer where `_ended_after` ends them or `stopped` is set."""

    def _check_evaluation(self) -> None:
        """Raises an error if the average policy cannot be evaluated exactly."""
        self.whole_tree()

    def _ended_after(self, seconds: float) -> contextlib.AbstractContextManager:
        """Ends what runs inside after a time, also within an iteration, if the solver can."""
        return contextlib.nullcontext()

    # --- running ---

    def run(
        self,
        iterations: int | None = None,
        *,
        seconds: float | None = None,
        target_exploitability: float | None = None,
        callbacks: Sequence[Callable[[Progress], bool | None]] = (),
        evaluate_every: float | None = None,
        progress: bool = False,
        checkpoint: str | os.PathLike | None = None,
        checkpoint_interval: float = 60.0,
    ) -> Self:
        """Runs until one of the given limits is reached, and returns the solver itself.

        Ctrl-C, or an error such as one raised by the game, stops the run between two iterations, and nothing is lost.
        If Ctrl-C or a diverging network ends an iteration of a neural solver, the iteration is undone.

        Args:
            iterations: Number of iterations, at least 1.
            seconds: Time of the run, without compiling kernels. With ``tree="rules"`` it includes preparing the first
                iteration, which starts again in the next run if time ran out. Neural solvers finish an iteration.
            target_exploitability: Run until the average policy's exploitability (NashConv / players) is at most this
                value. The policy is evaluated at intervals, for a bounded share of the run's time.
            callbacks: Functions that are called with a `Progress` after every chunk of about 0.2 seconds, or every
                iteration of a neural solver, and at the end; the run ends early if one of them returns True.
            evaluate_every: Seconds between evaluations, for `history` and the callbacks; 0 evaluates after every chunk.
            progress: Whether to show a progress bar, which also shows the phases of a neural solver's iteration.
            checkpoint: A file for the solver's state, for `from_checkpoint` and `restore`. It is written at intervals
                (failures are logged) and at the end, also after an exception or Ctrl-C. No other run can write to it.
            checkpoint_interval: Seconds between these writes; more if writing would take over a tenth of the run.

        Raises:
            ConfigError: If no limit is given, or a limit is not positive.
            GameError: If `target_exploitability` or `evaluate_every` is given for a game with imperfect recall;
                BudgetError if the game is too large to evaluate, or memory does not suffice for the first iteration.
            TrainingError: If a network diverges; the message says which one, and when.
            CheckpointError: Before the run if the checkpoint cannot be written, is in use by another run, or belongs to
                another game, other components or more iterations; after the run if the last write failed.
        """
        iterations, seconds, evaluate_every = map(as_python, (iterations, seconds, evaluate_every))
        _check_limits(iterations, seconds, target_exploitability, evaluate_every, checkpoint_interval)
        hooks: list[Any] = []
        if target_exploitability is not None or evaluate_every is not None:
            self._check_evaluation()
            hooks.append(Evaluations(self.history, evaluate_every, target_exploitability))
        with contextlib.ExitStack() as stack:
            if checkpoint is not None:
                writer = CheckpointWriter(self, checkpoint, checkpoint_interval, self._checkpoints)
                stack.enter_context(writer)
            self._prepare()
            unit = {"unit": " iterations", "unit_scale": self.iterations_at_once > 1}
            bar = stack.enter_context(ProgressBar(total=iterations, disable=not progress, leave=False, **unit))
            bar.first, self._on_phase = self.iterations, bar.set_description
            stack.callback(setattr, self, "_on_phase", None)
            hooks += [bar, *callbacks, *([] if checkpoint is None else [writer])]
            chunks = self._chunks(iterations, seconds, [hook for hook in hooks if hasattr(hook, "due_in")])
            stack.enter_context(contextlib.closing(chunks))
            try:
                for chunk in chunks:
                    ended = [hook(chunk) for hook in hooks]
                    if any(ended):
                        break
            except MccfrPlusError as error:
                if self.iterations:
                    kept = f"The average policy after {self.iterations:,} iterations is kept."
                    error.args = (shortened(f"{str(error).rstrip('.')}. {kept}", 400),)
                raise
        return self

    def _chunks(self, iterations: int | None, seconds: float | None, timed: list) -> Generator[Progress, None, None]:
        """Runs chunks of iterations, each until one of the `timed` hooks is due, and yields after each."""
        before, cpu_seconds = self.iterations, self.cpu_seconds - time.process_time()
        target = math.inf if iterations is None else before + iterations
        limit = math.inf if seconds is None else seconds
        seconds_before, begin, count, is_last = self.seconds, time.perf_counter(), 1, False
        with self._ended_after(limit):
            while not is_last:
                chunk_begin = time.perf_counter()
                self._run_iterations(int(min(count, target - self.iterations)))
                now = time.perf_counter()
                self.seconds, self.cpu_seconds = seconds_before + now - begin, cpu_seconds + time.process_time()
                if self.stopped is not None:
                    if not self.iterations:
                        advice = "The iterations of estimator='outcome' are the shortest."
                        raise BudgetError(f"no iteration was completed: {self.stopped} {advice}")
                    logger.warning("stopped after %s iterations: %s", f"{self.iterations:,}", self.stopped)
                is_last = self.iterations >= target or now - begin >= limit or self.stopped is not None
                yield Progress(self, self.iterations, self.nodes_touched, now - begin, is_last)
                left = max(limit - (time.perf_counter() - begin), 0.0)
                wanted = min(CHUNK_SECONDS, left, *(hook.due_in() for hook in timed))
                count = min(next_chunk(count, now - chunk_begin, wanted), self.iterations_at_once)
        if self.iterations == before:
            when, why = ("before", self.unfinished) if self.unfinished else ("within", "its gradients take longer")
            which = f"iteration {before + 1:,}" if before else "the first iteration"
            logger.warning("ended %s %s (%s): allow more time.", when, which, why)

    def _begin_phase(self, phase: str) -> None:
        """Shows the phase of the current iteration on the progress bar."""
        if self._on_phase is not None:
            self._on_phase(phase)

    # --- results ---

    def plot(self, x: str = "iterations", axes: Any = None, label: str | None = None) -> Any:
        """Draws the exploitability measured by `run` on matplotlib axes, by default new axes, and returns the axes.

        `x` is iterations, nodes or seconds; the default label names the components, or the algorithm.

        Raises:
            ConfigError: If nothing was measured, `x` is none of these, or matplotlib is missing.
        """
        return self.history.plot(x, axes, label or self._label, str(self.game))

    def whole_tree(self, max_nodes: int | None = None) -> GameTree:
        """Returns the solver's compiled tree, or compiles the game, once, with at most `max_nodes` histories."""
        if self.tree is not None and HISTORIES in self.tree.provides:
            return self.tree
        if self._tree_to_evaluate is None:
            try:
                self._tree_to_evaluate = compile_game(self.game, max_nodes=max_nodes)
            except BudgetError as error:
                advice = "Instead, limit iterations or seconds, and see mccfr_plus.evaluation for bounds."
                raise BudgetError(f"the exact exploitability needs the whole tree: {error} {advice}") from None
        return self._tree_to_evaluate

    def nash_conv(self) -> float:
        """Returns the average policy's NashConv."""
        return self.evaluate().nash_conv

    def exploitability(self) -> float:
        """Returns the average policy's exploitability, NashConv / number of players."""
        return self.evaluate().exploitability

    # --- checkpoints ---

    def save_checkpoint(self, path: str | os.PathLike) -> None:
        """Writes the solver's state to a file, completely or not at all. An existing file must be a checkpoint.

        A restored solver continues bitwise identically (with networks, on one thread and with the same versions). The
        file names the game and the components, without a compiled tree. CheckpointError if writing fails.

        Examples:
            >>> import mccfr_plus, tempfile
            >>> solver = mccfr_plus.Solver("kuhn_poker", seed=1).run(100)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     solver.save_checkpoint(folder + "/kuhn.checkpoint")
            ...     copy = mccfr_plus.Solver.from_checkpoint(folder + "/kuhn.checkpoint")
            >>> copy.iterations, copy.run(100).nash_conv() == solver.run(100).nash_conv()
            (100, True)
        """
        self._checkpoints.save(self, path)

    def restore(self, path: str | os.PathLike) -> Self:
        """Takes over the state of a checkpoint, also with user-defined components, and returns the solver itself.

        Raises:
            CheckpointError: If the file is not a checkpoint, is damaged, or belongs to another game, other components
                or other options. The solver is then unchanged.
        """
        header = self._checkpoints.restore(self, path)
        self.seed, self.seconds = header["seed"], header["seconds"]
        kept = header["history"]
        self.history = History([tuple(row) for row in kept["rows"]], kept["seconds_evaluating"])
        return self

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_tree_to_evaluate": None}


def next_chunk(chunk: int, seconds: float, wanted: float) -> int:
    """Returns how many iterations take about the wanted time, given what the last chunk took."""
    return max(1, int(min(chunk * wanted / max(seconds, 1e-7), chunk * 8, 1 << 40)))


def _check_limits(iterations: Any, seconds: Any, target: Any, evaluate_every: Any, checkpoint_interval: Any) -> None:
    if iterations is None and seconds is None and target is None:
        raise ConfigError("give a limit: run(iterations), run(seconds=...) or run(target_exploitability=...).")
    if iterations is not None:
        check_whole("iterations", iterations)
    for name, value in (("seconds", seconds), ("target_exploitability", target)):
        if value is not None:
            check_number(name, value, 0, LARGEST, "must be a positive number")
    check_number("checkpoint_interval", checkpoint_interval, 0, LARGEST, "must be a positive number of seconds")
    if evaluate_every is not None:
        check_number("evaluate_every", evaluate_every, 0, math.inf, "must be a number of seconds", inclusive=True)
