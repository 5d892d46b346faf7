"""Algorithms by name, with their configs and representations, and their solvers. Only the latter need torch."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from mccfr_plus.errors import BudgetError, CheckpointError, ConfigError
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.config import ALGORITHMS, check_representation
from mccfr_plus.specs import Spec, parse_spec


class Settings(NamedTuple):
    """A neural algorithm and its settings."""

    name: str  # a key of `ALGORITHMS`
    config: Any
    representation: str | None  # "tree" or "batched"; None: a tree if the game can be compiled


def settings_of(spec: str | Spec | Settings) -> Settings:
    """Returns the settings of a spec; one that is malformed or has unknown names or values is a ConfigError.

    Settings of a config within the config are written ``baseline_training.train_steps=5``.

    Examples:
        >>> from mccfr_plus.neural import settings_of
        >>> name, config, representation = settings_of("dream(traversals=200, representation=batched)")
        >>> name, config.traversals, representation
        ('dream', 200, 'batched')
    """
    if isinstance(spec, Settings):
        return spec
    if isinstance(spec, str):
        try:
            spec = parse_spec(spec)
        except SyntaxError as error:
            raise ConfigError(f"algorithm {spec!r}: {error}.") from None
    if spec.name not in ALGORITHMS:
        raise ConfigError(f"unknown neural algorithm {spec.name!r}: give one of {', '.join(ALGORITHMS)}.")
    parameters = dict(spec.parameters)
    representation = parameters.pop("representation", None)
    check_representation(representation)
    config = getattr(configs, f"{ALGORITHMS[spec.name]}Config")().changed(parameters)
    if representation is not None:
        config.resolved(representation)  # for its errors
    return Settings(spec.name, config, representation)


def new_solver(game: Any, spec: str | Spec | Settings, *, seed: Any = None, **limits: Any) -> Any:
    """Returns the solver of a spec; see `settings_of`, and `DeepCFR` for the other arguments and errors.

    ``limits`` are keyword arguments of `compile_game`. Too little memory is a BudgetError.
    """
    from mccfr_plus.neural.tree_representation import new_representation

    name, config, wanted = settings_of(spec)
    kind = _class_of(ALGORITHMS[name])
    representation = new_representation(game, wanted, kind.__name__, **limits)
    try:
        return kind(game, config, representation=representation, seed=seed)
    except BudgetError:
        raise
    except (MemoryError, RuntimeError) as error:  # torch raises the latter
        reason = str(error).splitlines()[0]
        raise BudgetError(f"out of memory for the networks of {name} ({reason}): give smaller ones.") from None


def from_checkpoint(path: str | os.PathLike, game: Any = None) -> Any:
    """Returns the solver of a checkpoint of one of `ALGORITHMS`; see `NeuralSolver.from_checkpoint`."""
    from mccfr_plus.neural.checkpoint import read_header

    name = read_header(path)["algorithm"]
    if name not in ALGORITHMS.values():
        raise CheckpointError(f"{path} is of a user-defined algorithm: load it with {name}.from_checkpoint.")
    return _class_of(name).from_checkpoint(path, game)


def _class_of(name: str) -> Any:
    from mccfr_plus.neural import algorithms, nfsp

    return getattr(algorithms, name, None) or nfsp.NFSP
