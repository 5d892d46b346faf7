"""Something that is run and looked at: a solver of ours, or one of OpenSpiel's, behind the same few methods."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.exact import Evaluation, evaluate_strategy
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.experiments.algorithm import CPP, OURS, Algorithm
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.solver.schedule import CHUNK_SECONDS, next_chunk
from mccfr_plus.solver.solver import Solver
from mccfr_plus.tree.game_tree import GameTree

Stop = Callable[[], bool]  # asked about five times a second; True ends the run


class Runner(abc.ABC):
    """One algorithm on one game with one seed."""

    seconds: float = 0.0  # spent in `run`, by the clock

    def __init__(self, tree: GameTree):
        self.tree = tree

    @property
    @abc.abstractmethod
    def iterations(self) -> int:
        """Iterations run so far."""

    @property
    @abc.abstractmethod
    def nodes(self) -> int:
        """Histories touched so far."""

    @abc.abstractmethod
    def run(self, iterations: int, stop: Stop) -> None:
        """Runs further iterations, fewer if `stop` says so."""

    @abc.abstractmethod
    def strategy(self) -> np.ndarray:
        """Returns the average strategy, ``[num_slots]``."""

    def evaluate(self) -> Evaluation:
        """Returns the evaluation of the average policy."""
        return evaluate_strategy(self.tree, self.strategy())

    def policy(self) -> TreePolicy:
        """Returns the average policy."""
        return TreePolicy(self.tree, self.strategy())

    def save(self, path: Path) -> None:  # noqa: B027  (not every solver can)
        """Writes a checkpoint, if there are any of such a solver."""

    def restore(self, path: Path) -> None:  # noqa: B027
        """Takes over what `save` has written."""


class OurRunner(Runner):
    """A `Solver`."""

    def __init__(self, tree: GameTree, algorithm: Algorithm, seed: int):
        super().__init__(tree)
        self.solver = Solver.from_config(tree, algorithm.config, seed=seed)

    @property
    def iterations(self) -> int:
        return self.solver.iterations

    @property
    def nodes(self) -> int:
        return self.solver.nodes_touched

    @property
    def seconds(self) -> float:  # type: ignore[override]
        """Seconds spent in `run`, those before a checkpoint included."""
        return self.solver.seconds

    def run(self, iterations: int, stop: Stop) -> None:
        self.solver.run(iterations, callback=lambda _: stop())

    def strategy(self) -> np.ndarray:
        return self.solver.average_strategy()

    def evaluate(self) -> Evaluation:
        return self.solver.evaluate()

    def save(self, path: Path) -> None:
        self.solver.save_checkpoint(path)

    def restore(self, path: Path) -> None:
        self.solver.restore(path)


class OpenSpielRunner(Runner):
    """One of OpenSpiel's solvers.

    They do not count histories. A solver of ours with the same scheme runs beside it, for as many iterations, and
    outside of the time: `nodes` is what that one has touched.
    """

    def __init__(self, tree: GameTree, algorithm: Algorithm, seed: int):
        super().__init__(tree)
        factory = _cpp if algorithm.library == CPP else _python
        self._solver, self._step = factory(algorithm.name, tree.game, seed)
        self._counter = Solver.from_config(tree, algorithm.config, seed=seed)
        self._iterations, self._chunk = 0, 1
        self._nodes_each: int | None = None
        if not algorithm.config.estimator.samples:  # all iterations cost the same
            self._nodes_each = self._counter.run(1).nodes_touched

    @property
    def iterations(self) -> int:
        return self._iterations

    @property
    def nodes(self) -> int:
        if self._nodes_each is not None:
            return self._nodes_each * self._iterations
        missing = self._iterations - self._counter.iterations
        return (self._counter.run(missing) if missing else self._counter).nodes_touched

    def run(self, iterations: int, stop: Stop) -> None:
        end = self._iterations + iterations
        while self._iterations < end:
            chunk, begin = min(self._chunk, end - self._iterations), time.perf_counter()
            for _ in range(chunk):
                self._step()
            spent = time.perf_counter() - begin
            self.seconds += spent
            self._iterations += chunk
            self._chunk = next_chunk(chunk, spent, CHUNK_SECONDS)
            if stop():
                return

    def strategy(self) -> np.ndarray:
        return strategy_of(self.tree, self._solver.average_policy())


def runner_of(tree: GameTree, algorithm: Algorithm, seed: int) -> Runner:
    """Returns what runs an algorithm.

    Raises:
        GameError: If the algorithm cannot play the game.
    """
    kind = OurRunner if algorithm.library == OURS else OpenSpielRunner
    return kind(tree, algorithm, seed)


def _cpp(name: str, game: pyspiel.Game, seed: int) -> tuple[Any, Callable[[], object]]:
    """Returns a C++ solver and what runs an iteration of it."""
    if name in ("cfr", "cfr+"):
        solver = pyspiel.CFRSolver(game) if name == "cfr" else pyspiel.CFRPlusSolver(game)
        return solver, solver.evaluate_and_update_policy
    if name == "external":
        solver = pyspiel.ExternalSamplingMCCFRSolver(game, seed)
    else:
        solver = pyspiel.OutcomeSamplingMCCFRSolver(game, seed=seed)
    return solver, solver.run_iteration


def _python(name: str, game: pyspiel.Game, seed: int) -> tuple[Any, Callable[[], object]]:
    """Returns a Python solver of OpenSpiel's and what runs an iteration of it."""
    from open_spiel.python.algorithms import cfr, discounted_cfr, external_sampling_mccfr, outcome_sampling_mccfr

    np.random.seed(seed % 2**32)  # noqa: NPY002  (they draw from numpy's global generator)
    full = {
        "cfr": cfr.CFRSolver,
        "cfr+": cfr.CFRPlusSolver,
        "lcfr": discounted_cfr.LCFRSolver,
        "dcfr": discounted_cfr.DCFRSolver,
    }
    if name in full:
        solver = full[name](game)
        return solver, solver.evaluate_and_update_policy
    if name == "external":
        solver = external_sampling_mccfr.ExternalSamplingSolver(game)
    elif name == "outcome":
        solver = outcome_sampling_mccfr.OutcomeSamplingSolver(game)
    else:
        raise ConfigError(f"OpenSpiel has no {name!r} in Python.")
    return solver, solver.iteration
