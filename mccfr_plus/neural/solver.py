"""The base class of all neural solvers: runs with atomic iterations, policies, checkpoints."""

from __future__ import annotations

import abc
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.checkpoints.writer import CheckpointWriter
from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.exact import Evaluation, evaluate, evaluate_strategy
from mccfr_plus.evaluation.kernels import normalize
from mccfr_plus.neural import checkpoint as checkpoints
from mccfr_plus.neural.backend import device_of, torch_threads
from mccfr_plus.neural.network import Features, Modules, NetworkFactory, OptimizerFactory
from mccfr_plus.neural.store import prepare_kernels
from mccfr_plus.neural.tree_env import TreeEnv
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.solver.schedule import EvaluationClock, check_limits
from mccfr_plus.solver.tree_choice import tree_to_evaluate
from mccfr_plus.tree.game_tree import GameTree

GameOrTree: TypeAlias = pyspiel.Game | str | GameTree
Seed: TypeAlias = int | np.random.Generator | None


class HistoryEntry(NamedTuple):
    """One evaluation of the average policy."""

    iteration: int
    seconds: float  # of all iterations so far, without evaluations
    nodes: int  # histories visited so far
    exploitability: float  # NashConv / number of players, in the game's payoffs


@dataclass(frozen=True)
class NeuralProgress:
    """The state of a run, for callbacks."""

    solver: Any
    iterations: int  # of the solver, earlier runs included
    nodes_touched: int  # likewise
    seconds: float  # of this run
    losses: tuple[float | None, ...]  # see `NeuralSolver.losses`
    evaluation: Evaluation | None  # of the average policy, if it was evaluated since the last call
    phase: str | None = None  # of the current iteration, such as "training 0"; None between iterations


class NeuralSolver(abc.ABC):
    """A solver with networks, in an environment: a compiled tree, or many histories at once.

    A subclass defines `_build` and `_advance`.

    See `DeepCFR` for the arguments.
    """

    config_class: ClassVar[type]
    environment: ClassVar[Any] = TreeEnv
    _players: Sequence[Any]  # with their `state`, `memories` and `losses`
    _kept: dict[str, np.ndarray]  # what else changes in an iteration
    num_batches: int | None = None  # into how many batches sampling is divided; None: it is not

    def __init__(
        self,
        game: GameOrTree,
        config: Any = None,
        seed: Seed = None,
        *,
        network: NetworkFactory | None = None,
        optimizer: OptimizerFactory | None = None,
        device: str | None = "cpu",
        features: Features | None = None,
    ):
        self.config = config_or_default(config, self.config_class)
        self._modules = Modules(network, optimizer, device_of(device), features)
        self.device = str(self._modules.device)  # where networks are trained, as torch calls it
        self.seed = int(seed) if isinstance(seed, int | np.integer) else None
        self.history: list[HistoryEntry] = []
        self._iterations = np.zeros(1, np.int64)
        self._seconds = 0.0
        self._before: dict[str, np.ndarray] | None = None  # arrays at the start of the current iteration
        self._phase_callback: Callable[[str], None] | None = None
        self._env = self.environment(game, type(self).__name__)
        self.game, self.tree = self._env.game, self._env.tree
        self._tree_to_evaluate: GameTree | None = None
        with torch_threads(self.config.threads):
            self._build(seed)

    # --- defined by subclasses ---

    @abc.abstractmethod
    def _build(self, seed: Seed) -> None:
        """Makes samplers, memories and networks."""

    @abc.abstractmethod
    def _advance(self, iteration: int) -> None:
        """Runs an iteration, counted from 1."""

    # --- running ---

    def _prepare(self) -> None:
        """Compiles the kernels."""
        prepare_kernels()
        self._env.prepare()

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
        """Runs until one of the given limits is reached.

        Iterations are atomic: if Ctrl-C or a diverging network ends one, the solver returns to the state before it, and
        can be saved or run again.

        Args:
            iterations: How many iterations to run, at least 1.
            seconds: For how long, in seconds, without the compilation of kernels. The current iteration is completed.
            target_exploitability: Run until the average policy's exploitability (NashConv / players) is at most this.
                Evaluations take a bounded share of the run's time.
            callback: Called after every iteration with a `NeuralProgress`; the run ends early if it returns True.
            evaluate_every: Seconds between evaluations of the average policy; 0: after every iteration. Each
                evaluation, also those for `target_exploitability`, is an entry of `history`.
            on_phase: Called with a `NeuralProgress` when a phase of an iteration begins; it must not modify the solver.
            progress: Whether to show a progress bar, with the phase.
            checkpoint: A file for the solver's state, which `load` and `restore` read. It is written between
                iterations and at the end, also if an exception or Ctrl-C ends the run. While it runs, no other run can
                write the file. A write that fails within the run is logged and tried again later.
            checkpoint_interval: Seconds between two writes; more where writing would take over a tenth of the run.

        Returns:
            The solver itself.

        Raises:
            ConfigError: If there is no limit, or one that is not positive.
            TrainingError: If a network diverges: which one, and when.
            BudgetError: If it is to be evaluated, and the game is too large to be compiled.
            CheckpointError: Before the run if the checkpoint cannot be written, is in use by another run, or is of
                another algorithm, game or config, or of more iterations; after it if the last one could not be written.
        """
        check_limits(iterations, seconds, target_exploitability, evaluate_every)
        is_evaluated = target_exploitability is not None or evaluate_every is not None
        if is_evaluated:
            self.whole_tree()  # an error before the run
        bar = tqdm(total=iterations, unit=" iterations", disable=not progress, leave=False)
        with CheckpointWriter(self, checkpoint, checkpoint_interval, checkpoints) as writer, bar:
            self._prepare()
            last = math.inf if iterations is None else self.iterations + iterations
            clock = EvaluationClock(is_evaluated, evaluate_every)
            begin = time.perf_counter()

            def progress_now(evaluation: Evaluation | None = None, phase: str | None = None) -> NeuralProgress:
                spent = time.perf_counter() - begin
                return NeuralProgress(self, self.iterations, self.nodes_touched, spent, self.losses, evaluation, phase)

            def show_phase(phase: str) -> None:
                bar.set_description(phase)
                if on_phase is not None:
                    on_phase(progress_now(phase=phase))

            self._phase_callback = show_phase
            try:
                while True:
                    self.iteration()
                    now = time.perf_counter()
                    done = self.iterations >= last or (seconds is not None and now - begin >= seconds)
                    evaluation = clock.maybe_evaluate(self, now, done)
                    if evaluation is not None:
                        found = evaluation.exploitability
                        self.history.append(HistoryEntry(self.iterations, self._seconds, self.nodes_touched, found))
                        done = done or (target_exploitability is not None and found <= target_exploitability)
                        bar.set_postfix(exploitability=f"{found:.3g}", refresh=False)
                    bar.update()
                    if callback is not None:
                        done = bool(callback(progress_now(evaluation))) or done
                    if done:
                        return self
                    writer.maybe_write()
            finally:
                self._phase_callback = None

    def _begin_phase(self, phase: str) -> None:
        """Reports the phase of the current iteration, in a few words."""
        if self._phase_callback is not None:
            self._phase_callback(phase)

    def iteration(self) -> None:
        """Runs one iteration. If it raises an error, the solver returns to the state before it.

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
            self._before = None  # Ctrl-C undoes the iteration up to this line
        except BaseException:
            try:
                self._roll_back()
            except KeyboardInterrupt:  # a second one: without this, half an iteration could be saved
                self._roll_back()
                raise
            raise
        self._seconds += time.perf_counter() - begin

    def _roll_back(self) -> None:
        """Restores the state before the current iteration; may be called again if it was interrupted."""
        if self._before is None:
            return
        for name, array in self._own_arrays().items():
            array[...] = self._before[name]
        for memory in self._memories().values():
            memory.rollback()
        self._before = None

    # --- results ---

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return self._env.nodes_touched

    @property
    def iterations(self) -> int:
        """Iterations run so far."""
        return int(self._iterations[0])

    @property
    def seconds(self) -> float:
        """Seconds that iterations took so far, without evaluations and callbacks."""
        return self._seconds

    @property
    def losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss over the steps of the last training; None if nothing was trained."""
        return mean_losses(own.losses for own in self._players)

    def average_strategy(self) -> np.ndarray:
        """Returns the average strategy, ``[num_slots]`` float64; uniform where its reach is still 0."""
        strategy = np.empty(self.tree.num_slots)
        normalize(self._env.average, self.tree.arrays.infosets, strategy)
        return strategy

    def current_strategy(self) -> np.ndarray:
        """Returns the strategy of the next iteration, ``[num_slots]`` float64."""
        return self._env.strategy.copy()

    def average_policy(self) -> TreePolicy:
        """Returns a copy of the average policy, which converges to an equilibrium."""
        return TreePolicy(self.tree, self.average_strategy())

    def current_policy(self) -> TreePolicy:
        """Returns a copy of the policy of the next iteration."""
        return TreePolicy(self.tree, self._env.strategy)

    def evaluate(self) -> Evaluation:
        """Returns values, NashConv and exploitability of the average policy.

        A batched solver compiles the game for it, once.

        Raises:
            BudgetError: If it is too large for that; see `mccfr_plus.evaluation` for bounds and estimates.
        """
        if self.tree is None:
            return evaluate(self.whole_tree(), self.average_policy())
        return evaluate_strategy(self.tree, self.average_strategy())

    def whole_tree(self, max_nodes: int | None = None) -> GameTree:
        """Returns the tree that policies are evaluated on; a batched solver compiles it once.

        Args:
            max_nodes: The most histories to compile; None: see `compile_game`.

        Raises:
            BudgetError: If the game is too large.
        """
        if self.tree is not None:
            return self.tree
        if self._tree_to_evaluate is None:
            self._tree_to_evaluate = tree_to_evaluate(self.game, max_nodes)
        return self._tree_to_evaluate

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
        """Writes the solver's state to a file by an atomic write; an older checkpoint is replaced.

        Args:
            path: The file. It holds networks, moments, memories, sums and random generators, without pickle. A loaded
                solver continues bitwise identically on one thread with the same versions.

        Raises:
            CheckpointError: If the file cannot be written, or is not a checkpoint.
        """
        checkpoints.save(self, path)

    def restore(self, path: str | os.PathLike) -> Self:
        """Sets the solver's state to that of a checkpoint.

        Args:
            path: A checkpoint of the same algorithm, game and config.

        Returns:
            The solver itself.

        Raises:
            CheckpointError: If the file is no checkpoint or damaged, or of another algorithm, game or config; then
                the solver is unchanged.
        """
        header = checkpoints.restore(self, path)
        self.seed, self._seconds = header["seed"], header["seconds"]
        self.history = [HistoryEntry(*entry) for entry in header["history"]]
        return self

    @classmethod
    def load(cls, path: str | os.PathLike, game: GameOrTree | None = None, **options: Any) -> Self:
        """Returns the solver of a checkpoint.

        Args:
            path: The checkpoint.
            game: Its game or compiled tree; None: the game that the file names.
            **options: ``network``, ``optimizer`` and ``features`` as they were, ``device``, and others of the class.

        Raises:
            CheckpointError: If the file is no checkpoint or damaged, or of another algorithm or game.
            GameError: If the game cannot be loaded or compiled.
        """
        header = checkpoints.read_header(path, cls.__name__)
        config = checkpoints.config_of(path, header, cls.config_class)
        if header.get("num_batches") is not None:
            options["num_batches"] = header["num_batches"]
        solver = cls(header["game"] if game is None else game, config, seed=header["seed"], **options)
        return solver.restore(path)

    def _own_arrays(self) -> dict[str, np.ndarray]:
        """Returns the state between iterations, without memories: views, by name."""
        arrays = {"iterations": self._iterations} | self._env.state() | self._kept
        for player, own in enumerate(self._players):
            arrays |= {f"player{player}/{name}": array for name, array in own.state().items()}
        return arrays

    def _memories(self) -> dict[str, Any]:
        """Returns the memories by name."""
        memories = self._env.memories()
        for player, own in enumerate(self._players):
            memories |= {f"player{player}/{name}": memory for name, memory in own.memories().items()}
        return memories

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between iterations: views, by name, that are valid until the next one."""
        state = self._own_arrays()
        for name, memory in self._memories().items():
            state |= {f"{name}/{key}": array for key, array in memory.state().items()}
        return state


def config_or_default(config: Any, kind: type) -> Any:
    """Returns the config, or the default one for None. Raises ConfigError if it is of another type."""
    if config is None:
        return kind()
    if not isinstance(config, kind):
        raise ConfigError(f"config={config!r}: give a {kind.__name__}, or None for its defaults.")
    return config


def mean_losses(losses: Iterable[list[float]]) -> tuple[float | None, ...]:
    """Returns the mean of each list; None for an empty one."""
    return tuple(sum(each) / len(each) if each else None for each in losses)
