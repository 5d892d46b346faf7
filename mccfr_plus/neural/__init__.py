"""Neural solvers: Deep CFR, DREAM, ESCHER and NFSP. They need torch: ``pip install 'mccfr_plus[neural]'``.

Configs and `settings_of` work without torch. Names that need it are imported on first use.

Examples:
    >>> from mccfr_plus.neural import DeepCFR, DeepCFRConfig
    >>> solver = DeepCFR("kuhn_poker", DeepCFRConfig(traversals=200, hidden_layers=(32,)), seed=1)
    >>> solver.run(30).exploitability() < 0.1
    True
"""

# ruff: noqa: F401 - the names are public
import importlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from mccfr_plus.errors import BudgetError, CheckpointError, ConfigError, TrainingError
from mccfr_plus.neural.config import (
    ALGORITHMS,
    AdvantageConfig,
    DeepCFRConfig,
    DREAMConfig,
    ESCHERConfig,
    NFSPConfig,
    TrainingConfig,
    check_representation,
)
from mccfr_plus.specs import Spec, parse_spec

if TYPE_CHECKING:
    from mccfr_plus.neural.algorithms import DREAM, ESCHER, AdvantageSolver, DeepCFR
    from mccfr_plus.neural.network_policy import NetworkPolicy
    from mccfr_plus.neural.nfsp import NFSP
    from mccfr_plus.neural.paths import Paths, corrected_regrets, plain_regrets
    from mccfr_plus.neural.representation import BatchedRepresentation, Representation, TreeRepresentation
    from mccfr_plus.neural.solver import CSVLogger, TensorBoardLogger

_MODULE_OF = {
    "algorithms": ("DREAM", "ESCHER", "AdvantageSolver", "DeepCFR"),
    "network_policy": ("NetworkPolicy",),
    "nfsp": ("NFSP",),
    "paths": ("Paths", "corrected_regrets", "plain_regrets"),
    "representation": ("BatchedRepresentation", "Representation", "TreeRepresentation"),
    "solver": ("CSVLogger", "TensorBoardLogger"),
}
_LAZY = {name: module for module, names in _MODULE_OF.items() for name in names}
__all__ = [
    *("ALGORITHMS", "Settings", "TrainingError", "from_checkpoint", "new_solver", "settings_of"),
    *(name for name in tuple(globals()) if name.endswith("Config")),
    *_LAZY,
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Settings(NamedTuple):
    """A neural algorithm and its settings."""

    name: str  # a key of `ALGORITHMS`
    config: Any
    representation: str | None  # "tree" or "batched"; None: a tree if the game can be compiled


def settings_of(spec: str | Spec | Settings) -> Settings:
    """Returns the settings of a spec. Raises ConfigError if the spec is malformed or has unknown names or values.

    Settings of a nested config are written as ``baseline_training.train_steps=5``.

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
    config = globals()[f"{ALGORITHMS[spec.name]}Config"]().changed(parameters)
    if representation is not None:
        config.resolved(representation)  # for its errors
    return Settings(spec.name, config, representation)


def new_solver(game: Any, spec: str | Spec | Settings, *, seed: Any = None, **limits: Any) -> Any:
    """Returns the solver of a spec; see `settings_of`, and `DeepCFR` for the other arguments and errors.

    ``limits`` are keyword arguments of `compile_game`. Raises BudgetError if memory does not suffice.
    """
    from mccfr_plus.neural.representation import new_representation

    name, config, wanted = settings_of(spec)
    kind = __getattr__(ALGORITHMS[name])
    representation = new_representation(game, wanted, kind.__name__, **limits)
    try:
        return kind(game, config, representation=representation, seed=seed)
    except BudgetError:
        raise
    except (MemoryError, RuntimeError) as error:  # torch raises the latter
        reason = str(error).splitlines()[0]
        raise BudgetError(f"not enough memory for the networks of {name} ({reason}): use smaller networks.") from None


def from_checkpoint(path: str | os.PathLike, game: Any = None) -> Any:
    """Returns the solver of a checkpoint of one of `ALGORITHMS`; see `NeuralSolver.from_checkpoint`."""
    from mccfr_plus.neural.checkpoint import read_header

    name = read_header(path)["algorithm"]
    if name not in ALGORITHMS.values():
        raise CheckpointError(f"{path} is from a user-defined algorithm: load it with {name}.from_checkpoint.")
    return __getattr__(name).from_checkpoint(path, game)
