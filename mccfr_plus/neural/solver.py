"""The base class of all neural solvers: runs with atomic iterations, policies, checkpoints."""

from __future__ import annotations

import abc
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.exact import Evaluation, evaluate
from mccfr_plus.neural import checkpoint as checkpoints
from mccfr_plus.neural.backend import device_of, torch_threads
from mccfr_plus.neural.env import TreeEnv
from mccfr_plus.neural.memory import Store, named, prepare_kernels
from mccfr_plus.neural.network import Features, Modules, NetworkFactory, OptimizerFactory
from mccfr_plus.solver.iterative import IterativeSolver
from mccfr_plus.trees.game_tree import GameTree

GameOrTree: TypeAlias = pyspiel.Game | str | GameTree
Seed: TypeAlias = int | np.random.Generator | None


class NeuralSolver(IterativeSolver):
    """A solver with networks, in an environment: a compiled tree, or many histories at once.

    A subclass defines `_build` and `_advance`. See `DeepCFR` for the arguments.
    """

    _checkpoints: ClassVar[Any] = checkpoints
    _most_iterations_at_once = 1
    config_class: ClassVar[Any]
    references: ClassVar[tuple[str, ...]] = ()  # keys of `citations.BIBLIOGRAPHY`
    environment: Any = TreeEnv  # makes the environment of the game and of the name in error messages
    _players: Sequence[Any]  # with their `state` and `losses`
    _kept: dict[str, Any]  # what else changes in an iteration; see `named`
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
        super().__init__(seed)
        if config is not None and not isinstance(config, self.config_class):
            raise ConfigError(f"config={config!r}: give a {self.config_class.__name__}, or None for its defaults.")
        self.config: Any = config or self.config_class()
        modules = Modules(network, optimizer, device_of(device), features)
        self.device = str(modules.device)  # where networks are trained, as torch calls it
        self._iterations = np.zeros(1, np.int64)
        self._env = self.environment(game, type(self).__name__)
        self._env.modules = modules
        if isinstance(game, GameTree):
            self._tree_to_evaluate = game
        with torch_threads(self.config.threads):
            self._build(seed)

    @abc.abstractmethod
    def _build(self, seed: Seed) -> None:
        """Makes samplers, memories and networks."""

    @abc.abstractmethod
    def _advance(self, iteration: int) -> None:
        """Runs an iteration, counted from 1."""

    # --- running ---

    def _prepare(self) -> None:
        prepare_kernels()
        self._env.prepare()

    def _run_iterations(self, count: int) -> None:
        for _ in range(count):
            self.iteration()

    def iteration(self) -> None:
        """Runs one iteration. If that raises an error, as where a network diverges, all is as before it."""
        before = {name: array.copy() for name, array in self._changing(np.ndarray).items()}
        for memory in self._changing(Store).values():
            memory.begin()
        try:
            with torch_threads(self.config.threads):
                self._advance(self.iterations + 1)
            self._iterations[0] += 1
        except BaseException:
            try:
                self._roll_back(before)
            except KeyboardInterrupt:  # a second one: without this, half an iteration could be saved
                self._roll_back(before)
                raise
            raise

    def _roll_back(self, before: dict[str, np.ndarray]) -> None:
        """Restores the arrays and stores before the current iteration; may be called again if it was interrupted."""
        for name, array in self._changing(np.ndarray).items():
            array[...] = before[name]
        for memory in self._changing(Store).values():
            memory.rollback()

    # --- results ---

    @property
    def game(self) -> pyspiel.Game:
        return self._env.game

    @property
    def tree(self) -> Any:
        """The game's `GameTree`; None for a batched solver."""
        return self._env.tree

    @property
    def nodes_touched(self) -> int:
        return int(self._env.nodes[0])

    @property
    def iterations(self) -> int:
        return int(self._iterations[0])

    @property
    def losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss over the steps of the last training; None if nothing was trained."""
        return mean_losses(own.losses for own in self._players)

    def average_policy(self) -> Any:
        return self._env.average_policy(self)

    @abc.abstractmethod
    def current_policy(self) -> Any:
        """Returns a copy of the policy of the next iteration."""

    def average_strategy(self) -> np.ndarray:
        """Returns the average strategy on a compiled tree, ``[num_slots]`` float64; uniform without reach."""
        return self.average_policy().strategy()

    def current_strategy(self) -> np.ndarray:
        """Returns the strategy of the next iteration on a compiled tree, ``[num_slots]`` float64."""
        return self.current_policy().strategy()

    def evaluate(self) -> Evaluation:
        """Returns values, NashConv and exploitability of the average policy.

        A batched solver compiles the game for it, once. One that is too large for that is a BudgetError; see
        `mccfr_plus.evaluation` for bounds and estimates.
        """
        return evaluate(self.whole_tree(), self.average_policy())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.game)!r}, {self.config!r})"

    # --- checkpoints ---

    @classmethod
    def from_checkpoint(cls, path: str | os.PathLike, game: GameOrTree | None = None, **options: Any) -> Self:
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
        if header["num_batches"] is not None:
            options["num_batches"] = header["num_batches"]
        solver = cls(header["game"] if game is None else game, config, seed=header["seed"], **options)
        return solver.restore(path)

    def _changing(self, kind: type) -> dict[str, Any]:
        """Returns all arrays, or all stores, that change in an iteration, by name."""
        players = {f"player{player}": own for player, own in enumerate(self._players)}
        parts = named({"iterations": self._iterations} | self._env.state() | self._kept | players)
        return {name: part for name, part in parts.items() if isinstance(part, kind)}

    def memory_sizes(self) -> dict[str, int]:
        """Returns how many rows the memories have, by name."""
        return {name: len(store) for name, store in self._changing(Store).items()}

    def state(self, sizes: Mapping[str, int] | None = None) -> dict[str, np.ndarray]:
        """Returns the state between iterations: views, by name, that are valid until the next one.

        Args:
            sizes: Of the memories, as they are in a checkpoint that is to be read; None: the present ones.
        """
        state = self._changing(np.ndarray)
        for name, store in self._changing(Store).items():
            rows = store.state(None if sizes is None else sizes[name])
            state |= {f"{name}/{column}": array for column, array in rows.items()}
        return state


def mean_losses(losses: Iterable[list[float]]) -> tuple[float | None, ...]:
    """Returns the mean of each list; None for an empty one."""
    return tuple(sum(each) / len(each) if each else None for each in losses)
