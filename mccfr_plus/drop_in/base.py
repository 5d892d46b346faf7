"""The base class of all drop-in solvers: the methods of OpenSpiel's solvers on top of `Solver`'s."""

import os
import re
from typing import Any, ClassVar

import pyspiel

from mccfr_plus.errors import CheckpointError, ConfigError, MccfrPlusError
from mccfr_plus.parameters import Seed as Seed
from mccfr_plus.parameters import check_whole
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.solver import Solver

_COMPONENT = re.compile(r"(?:estimator|minimizer|averaging)='([^']*)'")
_ADVISED = {"outcome": "OutcomeSamplingSolver", "external": "ExternalSamplingSolver"}

_is_private = re.compile("_[^_]").match
_INSTEAD = (
    "the compiled iteration does not use it. Make a new solver with other arguments, call set_strategy, load a "
    "checkpoint, or write a Minimizer or an Estimator (docs/tutorials/own-components.md)."
)


def _frozen(policy: Any) -> Any:
    """Returns the policy; writing to its array, if it has one, is an error, as that would not change the solver."""
    if isinstance(policy, TreePolicy):
        policy.action_probability_array.flags.writeable = False
    return policy


class DropInSolver(Solver):
    """A `Solver` with the method names of OpenSpiel's Python and C++ solvers.

    Subclasses take one argument more than OpenSpiel's classes, ``seed``: an integer for a repeatable run, a numpy
    generator, or None for a random seed. They also have the methods of `Solver`, of which `run` is the fastest way to
    iterate.

    Policies, and OpenSpiel's private tables (``_infostates``, ``_info_state_nodes``), are snapshots that later
    iterations do not change; a change that would have no effect raises a ConfigError. A pickled solver continues
    bitwise identically. Games too large to compile are expanded where sampled traversals visit them; the average policy
    is uniform elsewhere. docs/how-to/drop-in.md lists all differences from OpenSpiel's classes.
    """

    _openspiel: ClassVar[type] = object  # the class that this one replaces
    _methods: ClassVar[frozenset[str]] = frozenset()  # its private ones
    _components: ClassVar[tuple[type, ...]]  # of the checkpoints that the class may load
    _fixed: ClassVar[dict[str, Any]] = {}  # other settings of these, by name

    def _set_iteration(self, number: int) -> None:
        check_whole("_iteration", number, 0)
        self._engine.scratches[0].counts[0]["iteration"] = number

    # Attributes of OpenSpiel's classes, made when they are read.
    _iteration = property(lambda solver: solver.iterations, _set_iteration)
    _game = property(lambda solver: solver.game)
    _num_players = property(lambda solver: solver.game.num_players())
    _average_policy = property(lambda solver: _frozen(Solver.average_policy(solver)))
    _current_policy = property(
        lambda solver: _frozen(Solver.current_policy(solver)), lambda solver, policy: solver.set_strategy(policy)
    )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._methods = frozenset(filter(_is_private, dir(cls._openspiel)))
        for name in cls._methods:
            if hasattr(cls, name):
                raise ConfigError(f"{cls.__name__} overrides {name}, but {_INSTEAD}")

    def __setattr__(self, name: str, value: Any) -> None:
        own = getattr(type(self), name, None)
        if name in self._methods or (isinstance(own, property) and own.fset is None):
            raise ConfigError(f"{type(self).__name__}.{name} cannot be set: {_INSTEAD}")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name) or not _is_private(name):
            return object.__getattribute__(self, name)  # raises what a property has raised
        raise AttributeError(
            f"{type(self).__name__} has no attribute {name}: docs/how-to/drop-in.md lists its attributes."
        )

    def _begin(self, *arguments: Any) -> None:
        try:
            super()._begin(*arguments)
        except MccfrPlusError as error:  # in the words of who wrote neither a component's name nor its value
            error.args = (_COMPONENT.sub(lambda part: _ADVISED.get(part[1], type(self).__name__), str(error)),)
            raise

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
                f"{path} is from a run of {config}, not of {cls.__name__}: load it with Solver.from_checkpoint."
            )
