"""The base class of all drop-in solvers: the methods of OpenSpiel's solvers on top of `Solver`'s."""

import os
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyspiel

from mccfr_plus.errors import CheckpointError
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.solver import Solver

Seed: TypeAlias = int | np.random.Generator | None


class DropInSolver(Solver):
    """A `Solver` with the method names of OpenSpiel's Python and C++ solvers.

    Subclasses take one argument more than OpenSpiel's classes, ``seed``: an integer for a repeatable run, a numpy
    generator, or None for entropy. They also have the methods of `Solver`; `run` is the fastest.

    They differ from OpenSpiel's classes:

    * policies are snapshots: later iterations do not change them;
    * numpy's global random state is neither read nor changed;
    * a pickled solver continues bitwise identically;
    * simultaneous games are accepted, through OpenSpiel's own conversion to turn-based ones;
    * of games too large to compile, sampled traversals expand what they visit; the average is uniform elsewhere,
      and C++ policies, which are tables of texts, cannot be made of it.
    """

    _components: ClassVar[tuple[type, ...]]  # of the checkpoints that the class may load
    _fixed: ClassVar[dict[str, Any]] = {}  # other settings of these, by name

    # Aliases, not wrappers: a call costs as much as one of `iteration`.
    run_iteration = Solver.iteration
    evaluate_and_update_policy = Solver.iteration

    def tabular_average_policy(self) -> pyspiel.TabularPolicy:
        """Returns a copy of the average policy as a C++ policy."""
        return Solver.average_policy(self).to_pyspiel()

    def tabular_current_policy(self) -> pyspiel.TabularPolicy:
        """Returns a copy of the next iteration's policy as a C++ policy."""
        return Solver.current_policy(self).to_pyspiel()

    @classmethod
    def _check_loaded(cls, path: str | os.PathLike, config: SolverConfig) -> None:
        is_own = isinstance(config.estimator, cls._components) and isinstance(config.minimizer, cls._components)
        if not is_own or any(getattr(config, name) != value for name, value in cls._fixed.items()):
            raise CheckpointError(
                f"{path} is of a run of {config}, not of {cls.__name__}: load it with Solver.from_checkpoint."
            )
