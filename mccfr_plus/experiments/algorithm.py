"""Algorithms of comparisons: specs such as ``external(minimizer=rm+)``, configs, solvers as templates, factories."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mccfr_plus import neural
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import Full
from mccfr_plus.experiments.evaluation_points import FULL_COST, TRAVERSAL_COST
from mccfr_plus.solver.config import ESTIMATORS, SolverConfig
from mccfr_plus.solver.solver import Solver
from mccfr_plus.specs import Spec, parse_spec
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

# The estimator `escher` comes before the neural algorithm, which is `neural:escher`.
_NEURAL = {name if name not in ESTIMATORS else f"{NEURAL}:{name}": name for name in neural.ALGORITHMS}
KNOWN = (*ESTIMATORS, *NAMED, *_NEURAL, *(f"{library}:{name}" for library in OPENSPIEL for name in OPENSPIEL[library]))

_OPTIONS = ("alternating", "baseline", "batch", "symmetry", "threads")
_COMPONENTS = ("minimizer", "averaging")


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of a comparison."""

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
    def needs_compiled_tree(self) -> bool:
        """Whether it cannot begin on a game whose tree does not fit; our components say so themselves.

        OpenSpiel's full traversals visit every history before their first iteration, in C++ that nothing interrupts.
        """
        return self.library == NEURAL or (self.library in OPENSPIEL and DRAWS not in self.config.estimator.provides)

    @property
    def evaluation_cost(self) -> float:
        """Cost of an exact evaluation per history and player, in visits of this algorithm."""
        return FULL_COST if self.library == OURS and self.config.estimator == Full() else TRAVERSAL_COST


def algorithm_of(given: Any) -> Algorithm:
    """Returns the algorithm of a spec, a config, a solver or a factory; see `mccfr_plus.experiments.compare`."""
    if isinstance(given, Solver):
        given = given.config
    if isinstance(given, SolverConfig):
        return Algorithm(repr(given), OURS, config=given)
    if callable(given):
        return Algorithm(f"factory {name_of(given)}", USER, factory=given)
    if not isinstance(given, str):
        raise ConfigError(f"algorithm {given!r}: give a spec, a Solver, a SolverConfig or a factory.")
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
            raise ConfigError("OpenSpiel's solvers run with their defaults, without parameters.")
        return library, name, SolverConfig.from_specs(*OPENSPIEL[library][name])
    options = {key: parameters.pop(key) for key in (*_COMPONENTS, *_OPTIONS) if key in parameters}
    if full_name in NAMED:
        wrong = [key for key in (*parameters, *options) if key not in ("averaging", *_OPTIONS)]
        if wrong:
            raise ConfigError(f"unknown parameter {wrong[0]!r}. Give some of averaging, {', '.join(_OPTIONS)}.")
        estimator, options["minimizer"] = NAMED[full_name]
    elif full_name in ESTIMATORS:
        estimator = f"{full_name}({', '.join(f'{key}={value}' for key, value in parameters.items())})"
    else:
        near = difflib.get_close_matches(full_name, KNOWN, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"unknown name {full_name!r}.{hint} Known are {', '.join(KNOWN)}.")
    return OURS, "", SolverConfig.from_specs(estimator, **options)
