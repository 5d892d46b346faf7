"""Algorithms of comparisons, ours, neural, OpenSpiel's, and of factories, and their solvers."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus import neural
from mccfr_plus.errors import ConfigError, GameError, MccfrPlusError, did_you_mean
from mccfr_plus.estimators import Full
from mccfr_plus.evaluation.by_rules import evaluate_by_rules
from mccfr_plus.evaluation.exact import Evaluation, evaluate_strategy
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.solver.config import ESTIMATORS, SolverConfig
from mccfr_plus.solver.iterative import CHUNK_SECONDS, next_chunk
from mccfr_plus.solver.solver import Solver
from mccfr_plus.specs import Spec, parse_spec
from mccfr_plus.trees.game_tree import GameTree, given_tree
from mccfr_plus.trees.loading import load_game, without_places
from mccfr_plus.trees.needs import DRAWS

OURS, NEURAL, CPP, PYTHON, USER = "mccfr_plus", "neural", "openspiel", "openspiel_python", "user"

# Names of estimator and minimizer together.
NAMED = {
    "cfr": ("full", "rm"),
    "cfr+": ("full", "rm+"),
    "lcfr": ("full", "linear"),
    "dcfr": ("full", "dcfr"),
    "pcfr+": ("full", "prm+"),
}

# OpenSpiel's solvers, and our estimator and minimizer that visit as many histories per iteration.
_SAMPLED = {"external": ("external", "rm"), "outcome": ("outcome", "rm")}
OPENSPIEL = {
    CPP: {name: NAMED[name] for name in ("cfr", "cfr+")} | _SAMPLED,
    PYTHON: {name: NAMED[name] for name in ("cfr", "cfr+", "lcfr", "dcfr")} | _SAMPLED,
}

# The name `escher` alone is the estimator's.
_NEURAL = {name if name not in ESTIMATORS else f"{NEURAL}:{name}": name for name in neural.ALGORITHMS}
KNOWN = (*ESTIMATORS, *NAMED, *_NEURAL, *(f"{library}:{name}" for library in OPENSPIEL for name in OPENSPIEL[library]))

_OPTIONS = ("averaging", "alternating", "baseline", "batch", "symmetry", "threads")


@dataclass(frozen=True)
class Algorithm:
    text: str  # its definition, as the comparison's file keeps it
    library: str  # one of `OURS`, `NEURAL`, `CPP`, `PYTHON`, `USER`
    name: str = ""  # of OpenSpiel's or the neural solver
    config: Any = None  # of our solver, which for OpenSpiel's visits as many histories; settings of a neural solver
    factory: Callable[[Any, int], Any] | None = None  # of a game and a seed; of `USER` only

    @property
    def is_random(self) -> bool:
        """Whether the result depends on the seed."""
        if self.library in (NEURAL, USER):
            return True
        return DRAWS in self.config.estimator.provides or self.config.averaging.method in ("stochastic", "sampled")

    @property
    def evaluation_cost(self) -> float:
        """Cost of an exact evaluation per history and player, in visits of this algorithm (benchmarks/speed.py)."""
        # It reads about as much as an iteration of vanilla CFR; traversals take much longer per visit.
        return 2.0 if self.library == OURS and self.config.estimator == Full() else 0.3


def algorithm_of(given: Any) -> Algorithm:
    """Returns the algorithm of a spec, a config, a solver or a factory; see `mccfr_plus.experiments.compare`."""
    if isinstance(given, Solver):
        given = given.config
    if isinstance(given, SolverConfig):
        return Algorithm(repr(given), OURS, config=given)
    if callable(given):
        return Algorithm(f"factory {name_of(given)}", USER, factory=given)
    if not isinstance(given, str):
        raise ConfigError(f"algorithm {given!r}: give a name, a Solver, a SolverConfig or a factory.")
    text = given.strip()
    try:
        return Algorithm(text, *_parsed(text))
    except (ConfigError, SyntaxError) as error:
        raise ConfigError(f"algorithm {text!r}: {error}") from None


def name_of(given: Any) -> str:
    """Returns what an algorithm is called where the caller gives no name."""
    if isinstance(given, Solver | SolverConfig):
        return str(given.config if isinstance(given, Solver) else given)
    return given.strip() if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)


def _parsed(text: str) -> tuple[str, str, Any]:
    """Returns library, name and config; see `Algorithm`."""
    full_name, parameters = parse_spec(text)
    library, _, name = full_name.rpartition(":")
    if full_name in _NEURAL or (library == NEURAL and name in neural.ALGORITHMS):
        return NEURAL, name, neural.settings_of(Spec(name, parameters))
    if name in OPENSPIEL.get(library, {}):
        if parameters:
            raise ConfigError("OpenSpiel's solvers always run with their defaults: leave out the parameters.")
        return library, name, SolverConfig.from_specs(*OPENSPIEL[library][name])
    options = {key: parameters.pop(key) for key in ("minimizer", *_OPTIONS) if key in parameters}
    if full_name in NAMED:
        if wrong := [key for key in (*parameters, *options) if key not in _OPTIONS]:
            raise ConfigError(f"unknown parameter {wrong[0]!r}. The parameters are {', '.join(_OPTIONS)}.")
        estimator, options["minimizer"] = NAMED[full_name]
    elif full_name in ESTIMATORS:
        estimator = f"{full_name}({', '.join(f'{key}={value}' for key, value in parameters.items())})"
    else:
        hint = did_you_mean(full_name, KNOWN)
        raise ConfigError(f"unknown name {full_name!r}.{hint} Give one of {', '.join(KNOWN)}.")
    return OURS, "", SolverConfig.from_specs(estimator, **options)


# --- solvers ---


class OpenSpielSolver:
    """One of OpenSpiel's solvers, with the methods of `Solver` that a comparison needs.

    OpenSpiel's solvers do not count histories. Our solver of the same scheme runs beside it for as many iterations,
    outside of the measured time; `nodes_touched` is its number.
    """

    def __init__(self, game: GameTree | pyspiel.Game, algorithm: Algorithm, seed: int):
        self._game, self._tree = load_game(game), given_tree(game)
        self._errors = functools.partial(_openspiel_errors, algorithm.text, self._game)
        with self._errors():
            self._solver = _theirs(algorithm.library, algorithm.name, self._game, seed)
        steps = ("run_iteration", "iteration", "evaluate_and_update_policy")  # the first one that it has
        self._step = next(getattr(self._solver, step) for step in steps if hasattr(self._solver, step))
        self._counter = _ours(game, algorithm, seed)
        self.iterations, self.seconds, self._chunk = 0, 0.0, 1

    @property
    def nodes_touched(self) -> int:
        """Histories that our solver has touched after as many iterations."""
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
        if self._tree is None:
            return None
        with self._errors():
            return TreePolicy(self._tree, strategy_of(self._tree, self._solver.average_policy()))

    def evaluate(self) -> Evaluation:
        with self._errors():
            policy = self._solver.average_policy()
            if self._tree is None:
                return evaluate_by_rules(self._game, policy, progress=False)
            return evaluate_strategy(self._tree, strategy_of(self._tree, policy))


@contextlib.contextmanager
def _openspiel_errors(algorithm: str, game: pyspiel.Game) -> Iterator[None]:
    """Turns exceptions within the block, such as those of a game in Python, into a GameError."""
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
    # OpenSpiel's full solvers visit all histories before their first iteration, and nothing interrupts them.
    visits_all = algorithm.library in OPENSPIEL and DRAWS not in algorithm.config.estimator.provides
    if given_tree(game) is None and (algorithm.library == NEURAL or visits_all):
        raise ConfigError(
            f"algorithm {algorithm.text!r} needs a compiled tree, but the tree of {game} does not fit into memory."
        )
    if algorithm.library == NEURAL:
        return neural.new_solver(game, algorithm.config, seed=seed)
    if algorithm.library == USER and algorithm.factory is not None:
        solver = algorithm.factory(game, seed)
        if missing := [name for name in _NEEDED if not hasattr(solver, name)]:
            what = f"{algorithm.text} returned a {type(solver).__name__} without {missing[0]!r}"
            raise ConfigError(f"{what}: return a solver that, like `Solver`, has {', '.join(_NEEDED)}.")
        return solver
    return (_ours if algorithm.library == OURS else OpenSpielSolver)(game, algorithm, seed)


def _ours(game: GameTree | pyspiel.Game, algorithm: Algorithm, seed: int) -> Solver:
    """Returns our solver of an algorithm's components; symmetries are those of rules, not of trees."""
    config, takes_tree = algorithm.config, algorithm.config.tree in ("auto", "compiled")
    if takes_tree and not config.symmetry and given_tree(game) is not None:
        return Solver.from_config(game, config, seed=seed)
    return Solver.from_config(load_game(game), replace(config, tree="rules") if takes_tree else config, seed=seed)


def _theirs(library: str, name: str, game: pyspiel.Game, seed: int) -> Any:
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
