"""Neural solvers: Deep CFR, DREAM, ESCHER and NFSP. They need torch: ``pip install 'mccfr_plus[neural]'``.

Many histories are sampled in parallel. A memory of their regrets yields weighted targets, from which a network learns.
For a game with a compiled tree the strategy stays a table. One forward pass over all information sets fills it once per
update, and the average strategy is exact. The batched solvers are the same algorithms in another environment, for games
of any size.

Configs and samplers work without torch. Names that need it are imported on first use.

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
    BatchedConfig,
    BatchedDeepCFRConfig,
    BatchedDREAMConfig,
    BatchedESCHERConfig,
    BatchedNFSPConfig,
    DeepCFRConfig,
    DREAMConfig,
    ESCHERConfig,
    NFSPConfig,
    TrainingConfig,
)

if TYPE_CHECKING:
    from mccfr_plus.neural.algorithms import (
        DREAM,
        ESCHER,
        BatchedDeepCFR,
        BatchedDREAM,
        BatchedESCHER,
        BatchedSolver,
        DeepCFR,
    )
    from mccfr_plus.neural.network_policy import NetworkPolicy
    from mccfr_plus.neural.nfsp import NFSP, BatchedNFSP
    from mccfr_plus.neural.sampling.paths import Paths, corrected_regrets, plain_regrets

# Short names of the classes; each has a config of that name and "Config".
_ON_TREES = {"deep_cfr": "DeepCFR", "dream": "DREAM", "escher": "ESCHER", "nfsp": "NFSP"}
ALGORITHMS = _ON_TREES | {f"batched_{name}": f"Batched{kind}" for name, kind in _ON_TREES.items()}
WITHOUT_TREE = tuple(name for name in ALGORITHMS if name.startswith("batched_"))

_SOLVERS = (*ALGORITHMS.values(), "BatchedSolver", "NetworkPolicy", "Paths", "corrected_regrets", "plain_regrets")
__all__ = ["TrainingError", *(name for name in tuple(globals()) if name.endswith("Config")), *_SOLVERS]


def default_config(algorithm: str) -> Any:
    """Returns the default config of one of `ALGORITHMS`."""
    return globals()[f"{ALGORITHMS[algorithm]}Config"]()


def __getattr__(name: str) -> Any:
    for module in ("algorithms", "nfsp", "network_policy") if name in _SOLVERS else ():  # which import all others
        found = vars(importlib.import_module(f"{__name__}.{module}"))
        if name in found:
            return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
