"""The base class of all drop-in solvers: the methods of OpenSpiel's solvers on top of `Solver`'s."""

import functools
import os
import re
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyspiel

from mccfr_plus.errors import CheckpointError, ConfigError, MccfrPlusError
from mccfr_plus.parameters import check_whole
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.solver import Solver

Seed: TypeAlias = int | np.random.Generator | None


_COMPONENT = re.compile(r"(?:estimator|minimizer|averaging)='([^']*)'")


class Attribute:
    """An attribute of OpenSpiel's classes, made when it is read.

    Args:
        read: Returns its value.
        write: The setter, or the reason that the error gives if the attribute is read-only.
    """

    def __init__(self, read: Callable[[Any], Any], write: Callable[[Any, Any], Any] | str = "make a new solver"):
        self._read, self._write = read, write

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, solver: Any, owner: type | None = None) -> Any:
        return self if solver is None else self._read(solver)

    def __set__(self, solver: Any, value: Any) -> None:
        if isinstance(self._write, str):
            raise ConfigError(f"{type(solver).__name__}.{self._name} cannot be set: {self._write}.")
        self._write(solver, value)


def _frozen(policy: Any) -> Any:
    """Returns the policy; writing to its array, if it has one, is an error, as that would not change the solver."""
    if isinstance(policy, TreePolicy):
        policy.action_probability_array.flags.writeable = False
    return policy


@functools.cache
def _methods(cls: type) -> list[str]:
    """Returns the private methods of the OpenSpiel class that a class replaces."""
    replaced = getattr(cls, "_openspiel", object)
    return [name for name in dir(replaced) if name.startswith("_") and not name.startswith("__")]


class DropInSolver(Solver):
    """A `Solver` with the method names of OpenSpiel's Python and C++ solvers.

    Subclasses take one argument more than OpenSpiel's classes, ``seed``: an integer for a repeatable run, a numpy
    generator, or None for entropy. They also have the methods of `Solver`; `run` is the fastest.

    They differ from OpenSpiel's classes:

    * policies and the private tables of OpenSpiel's classes (``_infostates``, ``_info_state_nodes``) are snapshots:
      later iterations do not change them; assigning a table sets regrets, sums of the average, and the strategy;
    * methods that OpenSpiel's iteration calls, such as ``_regret_matching``, cannot be overridden;
    * numpy's global random state is neither read nor changed;
    * a pickled solver continues bitwise identically;
    * simultaneous games are accepted, through OpenSpiel's own conversion to turn-based ones;
    * of games too large to compile, sampled traversals expand what they visit; the average is uniform elsewhere,
      and C++ policies, which are tables of texts, cannot be made of it.
    """

    _openspiel: ClassVar[type]  # the class that this one replaces
    _components: ClassVar[tuple[type, ...]]  # of the checkpoints that the class may load
    _fixed: ClassVar[dict[str, Any]] = {}  # other settings of these, by name

    _game = Attribute(lambda solver: solver.game)
    _num_players = Attribute(lambda solver: solver.game.num_players())
    _average_policy = Attribute(
        lambda solver: _frozen(Solver.average_policy(solver)), "set the table that it is made of, or load a checkpoint"
    )
    _current_policy = Attribute(lambda solver: _frozen(Solver.current_policy(solver)), Solver.set_strategy)
    _iteration = Attribute(lambda solver: solver.iterations, lambda solver, number: solver._set_iterations(number))

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in _methods(cls):
            if hasattr(cls, name):
                raise ConfigError(
                    f"{cls.__name__} overrides {name}, which the compiled iteration does not call: write a Minimizer "
                    "or an Estimator instead (docs/tutorials/own-components.md), or set_strategy between iterations."
                )

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _methods(type(self)):
            raise ConfigError(f"{type(self).__name__}.{name} cannot be set: the compiled iteration does not use it.")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):
            return object.__getattribute__(self, name)  # raises what the attribute or a property has raised
        is_private = name.startswith("_") and not name.startswith("__")
        hint = ": docs/how-to/drop-in.md lists OpenSpiel's private attributes that are there" if is_private else ""
        raise AttributeError(f"{type(self).__name__} has no attribute {name}{hint}.")

    def _begin(self, *arguments: Any) -> None:
        try:
            super()._begin(*arguments)
        except MccfrPlusError as error:  # in the words of who wrote neither a component's name nor its value
            own = {"outcome": "OutcomeSamplingSolver", "external": "ExternalSamplingSolver"}
            said = _COMPONENT.sub(lambda part: own.get(part[1], type(self).__name__), str(error))
            error.args = (said,)
            raise

    def _set_iterations(self, number: int) -> None:
        check_whole("_iteration", number, 0)
        self._engine.scratches[0].counts[0]["iteration"] = number

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
