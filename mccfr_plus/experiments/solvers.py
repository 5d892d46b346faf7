"""Solvers of a comparison: ours, tabular and neural, OpenSpiel's with the same methods, and those of factories."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus import neural
from mccfr_plus.errors import ConfigError, GameError, MccfrPlusError
from mccfr_plus.evaluation.by_rules import evaluate_by_rules
from mccfr_plus.evaluation.exact import Evaluation, evaluate_strategy
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.experiments.algorithm import CPP, NEURAL, OURS, USER, Algorithm
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.solver.iterative import CHUNK_SECONDS, next_chunk
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.loading import load_game, without_places
from mccfr_plus.trees.needs import DRAWS


class OpenSpielSolver:
    """One of OpenSpiel's solvers, with the methods of `Solver` that a comparison needs.

    OpenSpiel's solvers do not count histories. Our solver of the same scheme runs beside it for as many iterations,
    outside of the measured time; `nodes_touched` is its number. OpenSpiel's exceptions become a GameError.
    """

    def __init__(self, game: GameTree | pyspiel.Game, algorithm: Algorithm, seed: int):
        self._game = game
        loaded = load_game(game)
        self._errors = functools.partial(_openspiel_errors, algorithm.text, loaded)
        with self._errors():
            self._solver = _theirs(algorithm.library, algorithm.name, loaded, seed)
        steps = ("run_iteration", "iteration", "evaluate_and_update_policy")  # the first one that it has
        self._step = next(getattr(self._solver, step) for step in steps if hasattr(self._solver, step))
        self._counter = _ours(game, algorithm, seed)
        self.iterations, self.seconds, self._chunk = 0, 0.0, 1
        is_same = DRAWS not in algorithm.config.estimator.provides  # all iterations cost the same
        self._nodes_each = self._counter.run(1).nodes_touched if is_same else None

    @property
    def nodes_touched(self) -> int:
        """Histories that our solver has touched after as many iterations."""
        if self._nodes_each is not None:
            return self._nodes_each * self.iterations
        if missing := self.iterations - self._counter.iterations:
            self._counter.run(missing)
        return self._counter.nodes_touched

    def run(self, iterations: int, *, callbacks: Sequence[Callable[[Any], bool | None]] = ()) -> None:
        """Runs further iterations, until a callback, called about five times a second, returns True."""
        end = self.iterations + iterations
        while self.iterations < end:
            chunk, begin = min(self._chunk, end - self.iterations), time.perf_counter()
            with self._errors():
                for _ in range(chunk):
                    self._step()
            spent = time.perf_counter() - begin
            self.seconds, self.iterations = self.seconds + spent, self.iterations + chunk
            self._chunk = next_chunk(chunk, spent, CHUNK_SECONDS)
            ended = [callback(self) for callback in callbacks]
            if any(ended):
                return

    def average_policy(self) -> TreePolicy | None:
        """Returns the average policy; None without a tree, where OpenSpiel's policy cannot be saved."""
        if not isinstance(self._game, GameTree):
            return None
        with self._errors():
            return TreePolicy(self._game, strategy_of(self._game, self._solver.average_policy()))

    def evaluate(self) -> Evaluation:
        """Returns the evaluation of the average policy."""
        with self._errors():
            policy = self._solver.average_policy()
            if isinstance(self._game, GameTree):
                return evaluate_strategy(self._game, strategy_of(self._game, policy))
            return evaluate_by_rules(self._game, policy, progress=False)


@contextlib.contextmanager
def _openspiel_errors(algorithm: str, game: pyspiel.Game) -> Iterator[None]:
    """Turns OpenSpiel's exceptions within the block into a GameError, such as those of a game in Python."""
    try:
        yield
    except MccfrPlusError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {without_places(str(error))}"
        raise GameError(f"{algorithm} fails on {game}: OpenSpiel raised {said}") from error


_NEEDED = ("run", "evaluate", "iterations", "nodes_touched", "seconds")  # of a factory's solver


def solver_of(game: GameTree | pyspiel.Game, algorithm: Algorithm, seed: int) -> Any:
    """Returns the solver of an algorithm, for a game's tree or a game that is traversed by its rules."""
    if not isinstance(game, GameTree) and algorithm.needs_compiled_tree:
        raise ConfigError(f"algorithm {algorithm.text!r} needs a compiled tree, and that of {game} does not fit.")
    if algorithm.library == NEURAL:
        return neural.new_solver(game, algorithm.config, seed=seed)
    if algorithm.library == USER and algorithm.factory is not None:
        solver = algorithm.factory(game, seed)
        if missing := [name for name in _NEEDED if not hasattr(solver, name)]:
            what = f"{algorithm.text} returned a {type(solver).__name__} without {missing[0]!r}"
            raise ConfigError(f"{what}: return a solver with {', '.join(_NEEDED)}, as `Solver` has them.")
        return solver
    return (_ours if algorithm.library == OURS else OpenSpielSolver)(game, algorithm, seed)


def _ours(game: GameTree | pyspiel.Game, algorithm: Algorithm, seed: int) -> Solver:
    """Returns our solver of an algorithm's components; symmetries are those of rules, not of trees."""
    config = algorithm.config
    if isinstance(game, GameTree):
        if not config.symmetry and config.tree in ("auto", "compiled"):
            return Solver.from_config(game, config, seed=seed)
        game = game.game
    tree = "rules" if config.tree in ("auto", "compiled") else config.tree
    return Solver.from_config(game, replace(config, tree=tree), seed=seed)


def _theirs(library: str, name: str, game: pyspiel.Game, seed: int) -> Any:
    """Returns a solver of OpenSpiel's."""
    if library == CPP:
        if name in ("external", "outcome"):
            kind = pyspiel.ExternalSamplingMCCFRSolver if name == "external" else pyspiel.OutcomeSamplingMCCFRSolver
            return kind(game, seed=seed)
        return (pyspiel.CFRSolver if name == "cfr" else pyspiel.CFRPlusSolver)(game)
    from open_spiel.python.algorithms import cfr, discounted_cfr, external_sampling_mccfr, outcome_sampling_mccfr

    np.random.seed(seed % 2**32)  # noqa: NPY002  (they draw from numpy's global generator)
    kinds = {
        "cfr": cfr.CFRSolver,
        "cfr+": cfr.CFRPlusSolver,
        "lcfr": discounted_cfr.LCFRSolver,
        "dcfr": discounted_cfr.DCFRSolver,
        "external": external_sampling_mccfr.ExternalSamplingSolver,
        "outcome": outcome_sampling_mccfr.OutcomeSamplingSolver,
    }
    return kinds[name](game)
