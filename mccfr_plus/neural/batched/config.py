"""Settings of the batched solvers, in addition to those of the solvers on compiled trees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from mccfr_plus.neural.config import (
    AdvantageConfig,
    DeepCFRConfig,
    DREAMConfig,
    ESCHERConfig,
    TrainingConfig,
)
from mccfr_plus.neural.nfsp_config import NFSPConfig


@dataclass(frozen=True, kw_only=True)
class BatchedConfig(AdvantageConfig):
    """Common settings of `BatchedDeepCFR`, `BatchedDREAM`, `BatchedESCHER` and other `BatchedSolver`s.

    Args:
        policy_training: Shape and training of the networks of the average policy. They are trained from fresh
            parameters when that policy is requested.
        policy_capacity: The largest number of strategies per player in the reservoir of the average policy.
        memory: ``"reservoir"``.
        minimizer: With ``"dcfr+"`` and ``"pdcfr+"`` a network learns, from an iteration's samples alone, its own
            discounted outputs before, cut off at 0, plus the sampled regrets; see `Bootstrapped`.

    The other settings are those of `AdvantageConfig` and `TrainingConfig`.
    """

    memory: Literal["reservoir"] = "reservoir"
    parallel_traversals: int = 1000
    policy_training: TrainingConfig = field(default_factory=lambda: TrainingConfig(train_steps=1000))
    policy_capacity: int = 1_000_000
    keeps_sums: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class BatchedDeepCFRConfig(BatchedConfig, DeepCFRConfig):
    """Settings of `BatchedDeepCFR`: see `BatchedConfig` and `DeepCFRConfig`."""

    traversals: int = 500
    parallel_traversals: int = 100


@dataclass(frozen=True, kw_only=True)
class BatchedDREAMConfig(BatchedConfig, DREAMConfig):
    """Settings of `BatchedDREAM`: see `BatchedConfig` and `DREAMConfig`."""


@dataclass(frozen=True, kw_only=True)
class BatchedESCHERConfig(BatchedConfig, ESCHERConfig):
    """Settings of `BatchedESCHER`: see `BatchedConfig` and `ESCHERConfig`.

    ``values`` is ``"network"`` and ``sampling`` ``"uniform"``.
    """

    values: Literal["network"] = "network"
    value_traversals: int = 4000
    sampling: Literal["uniform"] = "uniform"


@dataclass(frozen=True, kw_only=True)
class BatchedNFSPConfig(NFSPConfig):
    """Settings of `BatchedNFSP`: see `NFSPConfig`."""

    episodes: int = 1000
    parallel_episodes: int = 500
    learn_every: int = 128
    decision_capacity: int = 1_000_000
    epsilon_decay: int = 1_000_000
