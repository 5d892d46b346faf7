"""What all neural solvers share: runs whose iterations are done as a whole or not at all, policies, checkpoints."""

from __future__ import annotations

import abc
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyspiel
from tqdm import tqdm

from mccfr_plus.checkpoints.writer import CheckpointWriter
from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.exact import Evaluation, evaluate_strategy
from mccfr_plus.evaluation.kernels import normalize
from mccfr_plus.neural import checkpoint as checkpoints
from mccfr_plus.neural.backend import torch_threads
from mccfr_plus.neural.buffer import Buffer
from mccfr_plus.neural.history import Point
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.solver.schedule import EvaluationClock, check_limits
from mccfr_plus.tree.game_tree import GameTree


@dataclass(frozen=True)
class NeuralProgress:
    """What a callback of `run` is told after every iteration, and ``on_phase`` within them."""

    solver: Any
    iterations: int  # of the solver, earlier runs included
    nodes_touched: int  # likewise
    seconds: float  # of this run
    losses: tuple[float | None, ...]  # per player: mean loss of the last training; None if nothing was trained
    evaluation: Evaluation | None  # of the average policy, if it was evaluated since the last call
    phase: str | None = None  # what has begun of the iteration under way, such as "training 0"; None between iterations


class NeuralSolver(abc.ABC):
    """A solver on a compiled tree whose strategy table is filled by networks.

    A subclass gives `_advance`, `_arrays`, `_memories`, `_prepare`, and fills ``_strategy`` and ``_average``.

    Args:
        tree: The game.
        config: A frozen dataclass with ``as_dict`` and ``threads``.
        seed: An integer for a repeatable run, a numpy generator, or None.
    """

    config_class: ClassVar[type]
    num_batches: int | None = None  # into how many batches sampling is divided; None: it is not
    device: str = "cpu"  # where networks are trained, as torch calls it

    def __init__(self, tree: GameTree, config: Any, seed: int | np.random.Generator | None):
        self.tree = tree
        self.game = tree.game
        self.config = config
        self._strategy = tree.uniform_strategy()  # [num_slots] what the next iteration plays
        self._average = np.zeros(tree.num_slots + tree.num_players)
        self._start(seed)

    def _start(self, seed: int | np.random.Generator | None) -> None:
        """Sets what is the same for all solvers, with or without a tree."""
        self.seed = int(seed) if isinstance(seed, int | np.integer) else None
        self.history: list[Point] = []
        self._iterations = np.zeros(1, np.int64)
        self._seconds = 0.0
        self._before: dict[str, np.ndarray] | None = None  # while an iteration is under way: what it began with
        self._watch: Callable[[str], None] | None = None  # is told phases

    # --- what a subclass gives ---

    @abc.abstractmethod
    def _advance(self, iteration: int) -> None:
        """Runs an iteration, counted from 1."""

    @abc.abstractmethod
    def _arrays(self) -> dict[str, np.ndarray]:
        """Returns the subclass's arrays that carry from one iteration to the next, without memories: views."""

    @abc.abstractmethod
    def _memories(self) -> Mapping[str, Buffer]:
        """Returns the memories by name."""

    @abc.abstractmethod
    def _prepare(self) -> None:
        """Compiles what is to be compiled."""

    @property
    @abc.abstractmethod
    def nodes_touched(self) -> int:
        """Histories visited so far."""

    @property
    @abc.abstractmethod
    def losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss over the steps of the last training; None if nothing was trained."""

    # --- running ---

    def run(
        self,
        iterations: int | None = None,
        *,
        seconds: float | None = None,
        target_exploitability: float | None = None,
        callback: Callable[[NeuralProgress], bool | None] | None = None,
        evaluate_every: float | None = None,
        on_phase: Callable[[NeuralProgress], None] | None = None,
        progress: bool = False,
        checkpoint: str | os.PathLike | None = None,
        checkpoint_interval: float = 60.0,
    ) -> Self:
        """Runs until one of the limits given is reached.

        An iteration counts as a whole or not at all: if it is cut short by Ctrl-C, or training diverges, the solver is
        as it was before it, and can be saved or run on.

        Args:
            iterations: How many iterations to run, at least 1.
            seconds: For how long, in seconds; compiling the kernels does not count. An iteration that has begun ends.
            target_exploitability: Run until the average policy's exploitability (NashConv / players) is at most this. It is
                evaluated now and then, at a bounded share of the run's time.
            callback: Called after every iteration with a `NeuralProgress`; the run ends early if it returns True.
            evaluate_every: Evaluate the average policy about this often, in seconds; 0: after every iteration. Each
                evaluation, also those for `target_exploitability`, is an entry of `history`.
            on_phase: Called with a `NeuralProgress` when a phase of an iteration begins; it must only look at that.
            progress: Whether to show a progress bar, with the phase.
            checkpoint: A file for the solver's state, from which `load` and `restore` go on. It is written between
                iterations now and then, and at the end, also if a diverging network, another exception or Ctrl-C ends
                the run. While it runs, no other run can write the file. If a write within the run fails, that is
                logged, and tried again later.
            checkpoint_interval: How often, in seconds; less often where writing would take more than a tenth of the run.

        Returns:
            The solver itself.

        Raises:
            ConfigError: If there is no limit, or one that is not positive.
            TrainingError: If a network diverges: which one, and when.
            CheckpointError: Before the run if the checkpoint cannot be written, is in use by another run, or is of
                another algorithm, game or config, or of more iterations; after it if the last one could not be written.
        """
        check_limits(iterations, seconds, target_exploitability, evaluate_every)
        bar = tqdm(total=iterations, unit=" iterations", disable=not progress, leave=False)
        with CheckpointWriter(self, checkpoint, checkpoint_interval, checkpoints) as checkpoint_writer, bar:
            try:
                self._run_iterations(
                    iterations,
                    seconds,
                    target_exploitability,
                    callback,
                    evaluate_every,
                    on_phase,
                    bar,
                    checkpoint_writer,
                )
            finally:
                self._watch = None
        return self

    def _run_iterations(
        self,
        iterations: int | None,
        seconds: float | None,
        target_exploitability: float | None,
        callback: Callable[[NeuralProgress], bool | None] | None,
        evaluate_every: float | None,
        on_phase: Callable[[NeuralProgress], None] | None,
        bar: tqdm,
        checkpoint_writer: CheckpointWriter,
    ) -> None:
        self._prepare()
        target = None if iterations is None else self.iterations + iterations
        clock = EvaluationClock(target_exploitability is not None or evaluate_every is not None, evaluate_every)
        begin = time.perf_counter()

        def progress_now(evaluation: Evaluation | None = None, phase: str | None = None) -> NeuralProgress:
            spent = time.perf_counter() - begin
            return NeuralProgress(self, self.iterations, self.nodes_touched, spent, self.losses, evaluation, phase)

        def watch(phase: str) -> None:
            bar.set_description(phase)
            if on_phase is not None:
                on_phase(progress_now(phase=phase))

        self._watch = watch
        while True:
            self.iteration()
            now = time.perf_counter()
            done = (target is not None and self.iterations >= target) or (
                seconds is not None and now - begin >= seconds
            )
            evaluation = clock.maybe_evaluate(self, now, done)
            if evaluation is not None:
                point = Point(self.iterations, self._seconds, self.nodes_touched, evaluation.exploitability)
                self.history.append(point)
                done = done or (
                    target_exploitability is not None and evaluation.exploitability <= target_exploitability
                )
                bar.set_postfix(exploitability=f"{evaluation.exploitability:.3g}", refresh=False)
            bar.update()
            if callback is not None:
                done = bool(callback(progress_now(evaluation))) or done
            if done:
                return
            checkpoint_writer.maybe_write()

    def _begin_phase(self, phase: str) -> None:
        """Tells whoever watches the run what of an iteration begins; a subclass calls it, in a few words."""
        if self._watch is not None:
            self._watch(phase)

    def iteration(self) -> None:
        """Runs one iteration, or none if it raises an error: then everything is as before.

        Raises:
            TrainingError: If a network diverges.
        """
        begin = time.perf_counter()
        before = {name: array.copy() for name, array in self._own_arrays().items()}
        for memory in self._memories().values():
            memory.begin()
        self._before = before
        try:
            with torch_threads(self.config.threads):
                self._advance(self.iterations + 1)
            self._iterations[0] += 1
            self._before = None  # Ctrl-C before this line undoes the iteration, and after it does not
        except BaseException:
            try:
                self._roll_back()
            except KeyboardInterrupt:  # an impatient second one: without this, half an iteration would be saved
                self._roll_back()
                raise
            raise
        self._seconds += time.perf_counter() - begin

    def _roll_back(self) -> None:
        """Puts back what the iteration under way began with; may be called again if it was cut short."""
        if self._before is None:
            return
        for name, array in self._own_arrays().items():
            array[...] = self._before[name]
        for memory in self._memories().values():
            memory.rollback()
        self._before = None

    # --- asking ---

    @property
    def iterations(self) -> int:
        """Iterations run so far."""
        return int(self._iterations[0])

    @property
    def seconds(self) -> float:
        """How long iterations took so far, in seconds; evaluations and callbacks are not counted."""
        return self._seconds

    def average_strategy(self) -> np.ndarray:
        """Returns the average strategy, ``[num_slots]`` float64; uniform where nothing has come yet."""
        strategy = np.empty(self.tree.num_slots)
        normalize(self._average, self.tree.arrays.infosets, strategy)
        return strategy

    def current_strategy(self) -> np.ndarray:
        """Returns the strategy that the next iteration will play, ``[num_slots]`` float64."""
        return self._strategy.copy()

    def average_policy(self) -> TreePolicy:
        """Returns the average policy, which is what converges to an equilibrium. It owns its numbers."""
        return TreePolicy(self.tree, self.average_strategy())

    def current_policy(self) -> TreePolicy:
        """Returns the policy that the next iteration will play. It owns its numbers."""
        return TreePolicy(self.tree, self._strategy)

    def evaluate(self) -> Evaluation:
        """Returns values, NashConv and exploitability of the average policy."""
        return evaluate_strategy(self.tree, self.average_strategy())

    def nash_conv(self) -> float:
        """Returns the average policy's NashConv."""
        return self.evaluate().nash_conv

    def exploitability(self) -> float:
        """Returns the average policy's exploitability, NashConv / number of players."""
        return self.evaluate().exploitability

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.game)!r}, {self.config!r})"

    # --- checkpoints ---

    def save(self, path: str | os.PathLike) -> None:
        """Writes all of the solver's state to a file, in one piece or not at all; a checkpoint there is replaced.

        Args:
            path: The file. It holds networks, moments, memories, sums and random generators, so that a loaded solver
                goes on bit for bit (on one thread and with the same versions). There is no pickle in it.

        Raises:
            CheckpointError: If the file cannot be written, or something else than a checkpoint stands there.
        """
        checkpoints.save(self, path)

    def restore(self, path: str | os.PathLike) -> Self:
        """Takes over the state of a checkpoint, whatever was run before.

        Args:
            path: A checkpoint of the same algorithm, game and config.

        Returns:
            The solver itself.

        Raises:
            CheckpointError: If the file is no checkpoint or damaged, or of another algorithm, game or config; then
                the solver is as before.
        """
        header = checkpoints.restore(self, path)
        self.seed, self._seconds = header["seed"], header["seconds"]
        self.history = [Point(*point) for point in header["history"]]
        return self

    @classmethod
    def load(cls, path: str | os.PathLike, game: pyspiel.Game | str | GameTree | None = None) -> Self:
        """Returns a solver as it was when a checkpoint was written.

        Args:
            path: The checkpoint.
            game: Its game, or the tree if it is compiled already; None: the game that the file names.

        Raises:
            CheckpointError: If the file is no checkpoint or damaged, or of another algorithm or game.
            GameError: If the game cannot be loaded or compiled.
        """
        header = checkpoints.read_header(path, cls.__name__)
        config = checkpoints.config_of(path, header, cls.config_class)
        solver = cls(header["game"] if game is None else game, config, seed=header["seed"])  # type: ignore[arg-type]
        return solver.restore(path)

    def _own_arrays(self) -> dict[str, np.ndarray]:
        """Returns all arrays that carry from one iteration to the next but for memories: views."""
        return {"iterations": self._iterations} | self._arrays()

    def state(self) -> dict[str, np.ndarray]:
        """Returns all arrays that carry from one iteration to the next, by name: views, as long as nothing runs."""
        state = self._own_arrays()
        for name, memory in self._memories().items():
            state |= {f"{name}/{part}": array for part, array in memory.state().items()}
        return state

    def memory_sizes(self) -> dict[str, int]:
        """Returns how many entries each memory has."""
        return {name: len(memory) for name, memory in self._memories().items()}

    def resize_memories(self, sizes: dict[str, int]) -> None:
        """Makes `state` return arrays for memories of other sizes, to be filled."""
        for name, memory in self._memories().items():
            memory.resize(sizes[name])


def config_or_default(config: Any, kind: type) -> Any:
    """Returns the config, or the default one for None.

    Raises:
        ConfigError: If it is something else.
    """
    if config is None:
        return kind()
    if not isinstance(config, kind):
        raise ConfigError(f"config={config!r}: give a {kind.__name__}, or None for its defaults.")
    return config
