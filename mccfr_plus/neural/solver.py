"""The base class of neural solvers: atomic iterations, policies, checkpoints; and callbacks that log their runs."""

import abc
import csv
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.exact import Evaluation, evaluate
from mccfr_plus.neural import checkpoint as checkpoints
from mccfr_plus.neural.memory import Store, draw_numbers
from mccfr_plus.neural.network import Learner, Modules, device_of, summary_writer, torch_threads
from mccfr_plus.neural.representation import new_representation
from mccfr_plus.parameters import Seed
from mccfr_plus.solver.iterative import IterativeSolver, Progress
from mccfr_plus.trees.game_tree import GameTree, given_tree

GameOrTree: TypeAlias = pyspiel.Game | str | GameTree


class NeuralSolver(IterativeSolver):
    """A solver with networks; see `DeepCFR` for the arguments. A subclass defines `_build` and `_advance`.

    What changes in an iteration is a *part*: an array; a `Store`; a `Learner`; or an object with named ``parts()``.
    """

    _checkpoints: ClassVar[Any] = checkpoints
    iterations_at_once = 1
    config_class: ClassVar[Any]
    references: ClassVar[tuple[str, ...]] = ()  # keys of `citations.BIBLIOGRAPHY`
    _build: Any  # makes memories and networks, given the seed
    _advance: Any  # runs an iteration, counted from 1
    _players: Sequence[Any]  # parts with `losses`
    _kept: dict[str, Any]  # further parts

    def __init__(
        self,
        game: GameOrTree,
        config: Any = None,
        *,
        representation: Any = None,
        seed: Seed = None,
        network: Any = None,
        optimizer: Any = None,
        device: str | None = "cpu",
    ):
        super().__init__(seed)
        name = type(self).__name__
        if config is not None and not isinstance(config, self.config_class):
            raise ConfigError(f"config={config!r}: give a {self.config_class.__name__}, or None for the defaults.")
        self.modules = Modules(network, optimizer, device_of(device))
        self._iterations = np.zeros(1, np.int64)
        self.representation: Any = new_representation(game, representation, name)
        self.config: Any = (config or self.config_class()).resolved(self.representation.kind)
        self.representation.attach(name)
        self.game, self.tree = self.representation.game, self.representation.tree
        self._tree_to_evaluate = given_tree(game)
        with torch_threads(self.config.threads):
            self._build(seed)

    def _prepare(self) -> None:
        draw_numbers(np.zeros(0, np.int64), np.zeros(1, np.uint64))
        self.representation.prepare()

    def _run_iterations(self, count: int) -> None:
        for _ in range(count):
            self.iteration()

    def iteration(self) -> None:
        """Runs one iteration. If an error is raised, such as a divergence, the solver is as it was before."""
        parts = self._parts().values()
        before = [part.copy() if isinstance(part, np.ndarray) else part.begin() for part in parts]
        try:
            with torch_threads(self.config.threads):
                self._advance(self.iterations + 1)
            self._iterations[0] += 1
        except BaseException:
            for part, kept in zip(parts, before, strict=True):
                if isinstance(part, np.ndarray):
                    part[...] = kept
                else:
                    part.rollback()
            raise

    @property
    def nodes_touched(self) -> int:
        return int(self.representation.nodes[0])

    @property
    def iterations(self) -> int:
        return int(self._iterations[0])

    @property
    def losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss over the steps of the last training; None if nothing was trained."""
        return tuple(sum(own.losses) / len(own.losses) if own.losses else None for own in self._players)

    def average_policy(self) -> Any:
        return self.representation.average_policy(self)

    @abc.abstractmethod
    def current_policy(self) -> Any:
        """Returns a copy of the policy that the next iteration plays."""

    def evaluate(self) -> Evaluation:
        """Returns values, NashConv and exploitability of the average policy on the compiled game.

        A game that is too large raises a BudgetError; see `mccfr_plus.evaluation` for bounds and estimates.
        """
        return evaluate(self.whole_tree(), self.average_policy())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.game)!r}, {self.config!r})"

    @classmethod
    def from_checkpoint(cls, path: str | os.PathLike, game: GameOrTree | None = None, **options: Any) -> Self:
        """Returns the solver of a checkpoint. Other files raise a CheckpointError.

        ``game`` is the game or its compiled tree, by default the game named in the file. ``options`` are ``network``
        and ``optimizer``, as passed to the first solver, and ``device``.
        """
        header = checkpoints.read_header(path, cls.__name__)
        config = cls.config_class().changed(header["config"])
        options = {"representation": header["representation"], "seed": header["seed"]} | options
        return cls(header["game"] if game is None else game, config, **options).restore(path)

    def _parts(self) -> dict[str, Any]:
        """Returns all arrays, stores and learners that change in an iteration, by name."""
        players = {f"player{player}": own for player, own in enumerate(self._players)}
        return _flat({"iterations": self._iterations, "sampling": self.representation} | self._kept | players)

    def memory_sizes(self) -> dict[str, int]:
        """Returns how many rows the memories have, by name."""
        return {name: len(part) for name, part in self._parts().items() if isinstance(part, Store)}

    def state(self, sizes: Mapping[str, int] | None = None) -> dict[str, np.ndarray]:
        """Returns the state between iterations, with memories of `sizes`, or as they are."""
        state: dict[str, np.ndarray] = {}
        for name, part in self._parts().items():
            if isinstance(part, np.ndarray):
                state[name] = part
                continue
            rows = part.state(sizes[name]) if sizes and isinstance(part, Store) else part.state()
            state |= {f"{name}/{column}": array for column, array in rows.items()}
        return state

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        """Takes over the learners of a state; its other arrays are those of `state`, already filled."""
        for name, part in self._parts().items():
            if isinstance(part, Learner):
                part.load({key[len(name) + 1 :]: array for key, array in state.items() if key.startswith(f"{name}/")})


def _flat(parts: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, part in parts.items():
        is_leaf = isinstance(part, np.ndarray | Store | Learner)
        found |= {name: part} if is_leaf else {f"{name}/{key}": each for key, each in _flat(part.parts()).items()}
    return found


def _scalars_of(progress: Progress) -> dict[str, float | None]:
    found = None if progress.evaluation is None else progress.evaluation.exploitability
    known = {"nodes_touched": progress.nodes_touched, "seconds": progress.seconds, "exploitability": found}
    return known | {f"loss/player{player}": loss for player, loss in enumerate(progress.solver.losses)}


class CSVLogger:
    """Appends a row to a CSV file after each iteration: iterations, nodes_touched, seconds, exploitability, losses."""

    def __init__(self, path: str | os.PathLike):
        self.path = path

    def __call__(self, progress: Progress) -> None:
        row = {"iterations": progress.iterations, **_scalars_of(progress)}
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            if not file.tell():
                writer.writerow(row)
            writer.writerow(row.values())


class TensorBoardLogger:
    """Writes the numbers of `CSVLogger` for TensorBoard after each iteration: ``tensorboard --logdir DIRECTORY``."""

    def __init__(self, directory: str | os.PathLike):
        self._writer = summary_writer(os.fspath(directory))

    def __call__(self, progress: Progress) -> None:
        for name, value in _scalars_of(progress).items():
            if value is not None:
                self._writer.add_scalar(name, value, progress.iterations)
        self._writer.flush()
