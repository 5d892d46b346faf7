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
from typing import TYPE_CHECKING, Any

from mccfr_plus.errors import TrainingError
from mccfr_plus.neural.config import (
    ALGORITHMS,
    AdvantageConfig,
    DeepCFRConfig,
    DREAMConfig,
    ESCHERConfig,
    NFSPConfig,
    Settings,
    TrainingConfig,
    from_checkpoint,
    new_solver,
    settings_of,
)

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
