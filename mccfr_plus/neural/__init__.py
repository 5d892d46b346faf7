"""Regret minimization with networks in place of tables. Needs the extra: ``pip install 'mccfr_plus[neural]'`` (torch).

    strategy table --sampling kernel--> samples --memory--> batches --training--> network --one forward pass--.
      [num_slots]     (the traversal of       (infoset,           (weighted                                         |
           ^          the estimators)    regrets)            targets)                                          |
           '--------------------------------- regret matching at all infosets ---------------------------------'

For a game whose tree is compiled the strategy stays a table, which one forward pass over all information sets fills
once per update: traversals read it at the speed of the tabular solvers, and the average strategy is exact.

`NFSP` learns otherwise, by imitating best responses, and has episodes played by tables that networks fill.

`config`, `features`, `sampling` and `memory` do without torch; the names that need it are imported when first asked
for, and say what to install if it is not there.

Example:
    >>> from mccfr_plus.neural import DeepCFR, DeepCFRConfig
    >>> solver = DeepCFR("kuhn_poker", DeepCFRConfig(traversals=200, hidden_layers=(32,)), seed=1)
    >>> solver.run(30).exploitability() < 0.1
    True
"""

from typing import TYPE_CHECKING, Any

from mccfr_plus.errors import TrainingError
from mccfr_plus.neural.batched.config import (
    BatchedDeepCFRConfig,
    BatchedDREAMConfig,
    BatchedESCHERConfig,
    BatchedNFSPConfig,
)
from mccfr_plus.neural.config import DeepCFRConfig, DREAMConfig, ESCHERConfig, TrainingConfig
from mccfr_plus.neural.history import Point
from mccfr_plus.neural.nfsp_config import NFSPConfig

if TYPE_CHECKING:
    from mccfr_plus.neural.batched.deep_cfr import BatchedDeepCFR
    from mccfr_plus.neural.batched.dream import BatchedDREAM
    from mccfr_plus.neural.batched.escher import BatchedESCHER
    from mccfr_plus.neural.batched.network_policy import NetworkPolicy
    from mccfr_plus.neural.batched.nfsp import BatchedNFSP
    from mccfr_plus.neural.deep_cfr import DeepCFR
    from mccfr_plus.neural.dream import DREAM
    from mccfr_plus.neural.escher import ESCHER
    from mccfr_plus.neural.nfsp import NFSP
    from mccfr_plus.neural.runner import NeuralProgress

_NEEDS_TORCH = {
    "DREAM": "mccfr_plus.neural.dream",
    "DeepCFR": "mccfr_plus.neural.deep_cfr",
    "ESCHER": "mccfr_plus.neural.escher",
    "BatchedDeepCFR": "mccfr_plus.neural.batched.deep_cfr",
    "BatchedNFSP": "mccfr_plus.neural.batched.nfsp",
    "BatchedDREAM": "mccfr_plus.neural.batched.dream",
    "BatchedESCHER": "mccfr_plus.neural.batched.escher",
    "NFSP": "mccfr_plus.neural.nfsp",
    "NetworkPolicy": "mccfr_plus.neural.batched.network_policy",
    "NeuralProgress": "mccfr_plus.neural.runner",
}

__all__ = [
    "DREAM",
    "ESCHER",
    "NFSP",
    "BatchedDREAM",
    "BatchedDREAMConfig",
    "BatchedDeepCFR",
    "BatchedDeepCFRConfig",
    "BatchedESCHER",
    "BatchedESCHERConfig",
    "BatchedNFSP",
    "BatchedNFSPConfig",
    "DREAMConfig",
    "DeepCFR",
    "DeepCFRConfig",
    "ESCHERConfig",
    "NFSPConfig",
    "NetworkPolicy",
    "NeuralProgress",
    "Point",
    "TrainingConfig",
    "TrainingError",
]


def __getattr__(name: str) -> Any:
    if name not in _NEEDS_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_NEEDS_TORCH[name]), name)
