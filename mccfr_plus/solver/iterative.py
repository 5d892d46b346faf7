"""What all solvers have in common, tabular and neural: runs with limits, evaluations, checkpoints.

A run calls hooks after each chunk of iterations: evaluations, checkpoints, the progress bar and the user's callbacks.
A hook is called with a `Progress` and ends the run by returning True. One with ``due_in()`` says in how many seconds it
would like to be called again.
"""

import abc
import contextlib
import logging
import math
import os
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from tqdm.auto import tqdm

from mccfr_plus.errors import BudgetError, ConfigError
from mccfr_plus.evaluation.exact import Evaluation
from mccfr_plus.files.checkpoint import CheckpointWriter
from mccfr_plus.kernels.random_numbers import Seed, as_python
from mccfr_plus.parameters import LARGEST, check_number, check_whole
from mccfr_plus.solver.history import Evaluations, History
from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.needs import HISTORIES

logger = logging.getLogger("mccfr_plus")

CHUNK_SECONDS = 0.2  # a kernel runs about this long between progress reports, Ctrl-C and callbacks


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


class ProgressBar(tqdm):
    """Shows iterations, the last exploitability, and phases of an iteration."""

    first: int  # iterations of the solver at the beginning

    def __call__(self, progress: Progress) -> None:
        if progress.evaluation is not None:
            self.set_postfix(exploitability=f"{progress.evaluation.exploitability:.3g}", refresh=False)
        self.update(progress.iterations - self.first - self.n)


class IterativeSolver(abc.ABC):
    """A solver that runs iterations up to a limit. A subclass defines what an iteration is.

    Attributes:
        game: The `pyspiel.Game`.
        tree: The game's tree; None if there is none.
        iterations: Iterations run so far.
        nodes_touched: Histories visited so far.
        stopped: Why the last run has ended before its limit, and what would help; None if it has not.
        unfinished: What must be done before the first iteration and is not; None if there is nothing.
        seed, seconds, cpu_seconds, history: See `Solver`.
    """

    _checkpoints: ClassVar[Any]  # the module that writes and reads them, see `CheckpointWriter`
    iterations_at_once: ClassVar[int] = 1 << 40  # at most, between two callbacks
    game: Any
    tree: Any
    iterations: Any
    nodes_touched: Any
    stopped: Any = None
    unfinished: Any = None

    def __init__(self, seed: Seed):
        self.seed = int(seed) if isinstance(seed, int | np.integer) else None
        self.seconds = self.cpu_seconds = 0.0
        self.history = History()
        self._tree_to_evaluate: GameTree | None = None
        self._on_phase: Callable[[str], None] | None = None

    @abc.abstractmethod
    def average_policy(self) -> Any:
        """Returns a copy of the average policy, which is what converges to an equilibrium."""

    @abc.abstractmethod
    def evaluate(self) -> Evaluation:
        """Returns values, NashConv and exploitability of the average policy."""

    @abc.abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """Returns all arrays that carry from one iteration to the next, by name: views or copies."""

    @abc.abstractmethod
    def _prepare(self) -> None:
        """Compiles the kernels."""

    @abc.abstractmethod
    def _run_iterations(self, count: int) -> None:
        """Runs iterations, or fewer where `_ended_after` or `stopped` ends them."""

    def _check_evaluation(self) -> None:
        """Raises an error if the average policy cannot be evaluated exactly."""
        self.whole_tree().require_perfect_recall("an exploitability")

    def _ended_after(self, seconds: float) -> contextlib.AbstractContextManager:
        """Ends what runs inside after a time, also in the middle of an iteration, if the solver can do that."""
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
        on_phase: Callable[[Progress], None] | None = None,
        progress: bool = False,
        checkpoint: str | os.PathLike | None = None,
        checkpoint_interval: float = 60.0,
    ) -> Self:
        """Runs until one of the limits given is reached; Ctrl-C stops between two iterations, nothing is lost.

        Iterations of neural solvers are atomic: if Ctrl-C or a diverging network ends one, the solver returns to the
        state before it, and can be saved or run again.

        Args:
            iterations: How many iterations to run, at least 1.
            seconds: For how long, in seconds. Compiling the kernels does not count; with ``tree="rules"``, what comes
                before the first iteration does, and begins anew in the next run if there was too little time for it.
                A neural solver completes the current iteration.
            target_exploitability: Run until the average policy's exploitability (NashConv / players) is at most this.
                It is evaluated now and then, at a bounded share of the run's time.
            callbacks: Called after every chunk of about 0.2 seconds, or every iteration of a neural solver, and at the
                end, with a `Progress`; the run ends early if one returns True.
            evaluate_every: Evaluate the average policy about this often, in seconds, for `history` and the callbacks;
                0: after every chunk.
            on_phase: Called with a `Progress` when a phase of an iteration begins, which those of neural solvers have;
                it must not modify the solver.
            progress: Whether to show a progress bar.
            checkpoint: A file for the solver's state, from which `from_checkpoint` and `restore` go on. It is written
                now and then, and at the end, also if an exception or Ctrl-C ends the run. While it runs, no other run
                can write the file. If a write within the run fails, that is logged, and tried again later.
            checkpoint_interval: How often, in seconds; less often where writing would take more than a tenth of the
                run.

        Returns:
            The solver itself.

        Raises:
            ConfigError: If there is no limit, or one that is not positive.
            GameError: If `target_exploitability` or `evaluate_every` is given for a game with imperfect recall;
                BudgetError if it is too large to be evaluated, or memory does not suffice for the first iteration.
            TrainingError: If a network diverges: which one, and when.
            CheckpointError: Before the run if the checkpoint cannot be written, is in use by another run, or is of
                another game, other components or more iterations; after it if the last one could not be written.
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
            bar.first, begin = self.iterations, time.perf_counter()

            def show_phase(phase: str) -> None:
                bar.set_description(phase)
                if on_phase is not None:
                    seconds = time.perf_counter() - begin
                    on_phase(Progress(self, self.iterations, self.nodes_touched, seconds, phase=phase))

            self._on_phase = show_phase
            stack.callback(setattr, self, "_on_phase", None)
            hooks += [bar, *callbacks, *([] if checkpoint is None else [writer])]
            chunks = self._chunks(iterations, seconds, [hook for hook in hooks if hasattr(hook, "due_in")])
            stack.enter_context(contextlib.closing(chunks))
            for chunk in chunks:
                ended = [hook(chunk) for hook in hooks]
                if any(ended):
                    break
        return self

    def _chunks(
        self, iterations: int | None, seconds: float | None, timed: Sequence[Any]
    ) -> Generator[Progress, None, None]:
        """Runs chunks of iterations, each until a hook is due, and yields after each; `timed` hooks have ``due_in``."""
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
                    self._report_stop(self.stopped)
                is_last = self.iterations >= target or now - begin >= limit or self.stopped is not None
                yield Progress(self, self.iterations, self.nodes_touched, now - begin, is_last)
                left = max(limit - (time.perf_counter() - begin), 0.0)
                wanted = min(CHUNK_SECONDS, left, *(hook.due_in() for hook in timed))
                count = min(next_chunk(count, now - chunk_begin, wanted), self.iterations_at_once)
        if self.iterations == before:
            why = self.unfinished or "its gradients take longer than the limit"
            when = "before" if self.unfinished else "within"
            which = f"iteration {before + 1:,}" if before else "the first iteration"
            logger.warning("ended %s %s (%s): give more time.", when, which, why)

    def _report_stop(self, reason: str) -> None:
        if not self.iterations:
            raise BudgetError(
                f"not even the first iteration could be run: {reason} An iteration of estimator='outcome' is the "
                "shortest."
            )
        logger.warning("stopped after %s iterations: %s", f"{self.iterations:,}", reason)

    def _begin_phase(self, phase: str) -> None:
        """Reports the phase of the current iteration, in a few words."""
        if self._on_phase is not None:
            self._on_phase(phase)

    # --- results ---

    def plot(self, x: str = "iterations", axes: Any = None, label: str | None = None) -> Any:
        """Draws the exploitability that `run` has measured, and returns the axes.

        Args:
            x: What the horizontal axis shows: iterations, nodes or seconds.
            axes: Of matplotlib, to draw on; None: new ones.
            label: In the legend; None: the components, or the algorithm.

        Raises:
            ConfigError: If nothing was measured, `x` is something else, or matplotlib is missing.
        """
        return self.history.plot(x, axes, label or self._label, str(self.game))

    @property
    def _label(self) -> str:
        return type(self).__name__

    def whole_tree(self, max_nodes: int | None = None) -> GameTree:
        """Returns the tree that policies are evaluated on; it is compiled once where the solver has another or none.

        Args:
            max_nodes: The most histories to compile; None: see `compile_game`.

        Raises:
            BudgetError: If the game is too large.
        """
        if self.tree is not None and HISTORIES in self.tree.provides:
            return self.tree
        if self._tree_to_evaluate is None:
            try:
                self._tree_to_evaluate = compile_game(self.game, max_nodes=max_nodes, estimate_margin=1.0)
            except BudgetError as error:
                raise BudgetError(
                    f"an exact exploitability needs the whole tree: {error} Without it, give a number of iterations or "
                    "seconds as limit, and see mccfr_plus.evaluation for bounds."
                ) from None
        return self._tree_to_evaluate

    def nash_conv(self) -> float:
        """Returns the average policy's NashConv."""
        return self.evaluate().nash_conv

    def exploitability(self) -> float:
        """Returns the average policy's exploitability, NashConv / number of players."""
        return self.evaluate().exploitability

    # --- checkpoints ---

    def save_checkpoint(self, path: str | os.PathLike) -> None:
        """Writes all of the solver's state to a file, in one piece or not at all; a checkpoint there is replaced.

        Args:
            path: The file. It holds what carries from one iteration to the next, random numbers included, so that a
                restored solver goes on bitwise identically (with networks: on one thread, with the same versions); and
                what it belongs to. The tree is not in it.

        Raises:
            CheckpointError: If the file cannot be written, or something else than a checkpoint stands there.

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
        """Takes over the state of a checkpoint, whatever was run before; also with user-defined components.

        Args:
            path: A checkpoint of a solver with the same game, components and options.

        Returns:
            The solver itself.

        Raises:
            CheckpointError: If the file is no checkpoint or damaged, or of another game, other components or other
                options; the solver is as before then.
        """
        header = self._checkpoints.restore(self, path)
        self.seed, self.seconds = header["seed"], header["seconds"]
        self.history = History.of(header["history"])
        return self

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_tree_to_evaluate": None}


def next_chunk(chunk: int, seconds: float, wanted: float) -> int:
    """Returns how many iterations take about the wanted time, given what the last chunk took."""
    estimate = chunk * wanted / max(seconds, 1e-7)
    return max(1, int(min(estimate, chunk * 8, 1 << 40)))


def _check_limits(
    iterations: int | None,
    seconds: float | None,
    target_exploitability: float | None,
    evaluate_every: float | None,
    checkpoint_interval: float,
) -> None:
    """Raises ConfigError if a run has no limit, or one that makes no sense; see `IterativeSolver.run`."""
    if iterations is None and seconds is None and target_exploitability is None:
        raise ConfigError(
            "give a limit: run(iterations), run(seconds=...) or run(target_exploitability=exploitability)."
        )
    if iterations is not None:
        check_whole("iterations", iterations)
    for name, value in (("seconds", seconds), ("target_exploitability", target_exploitability)):
        if value is not None:
            check_number(name, value, 0, LARGEST, "must be a positive number")
    check_number("checkpoint_interval", checkpoint_interval, 0, LARGEST, "must be a positive number of seconds")
    if evaluate_every is not None:
        allowed = "must be a number of seconds, 0 or more"
        check_number("evaluate_every", evaluate_every, 0, math.inf, allowed, inclusive=True)
