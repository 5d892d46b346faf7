"""What batched solvers are told beyond what those on a compiled tree are."""

from __future__ import annotations

from dataclasses import dataclass, field

from mccfr_plus.errors import ConfigError
from mccfr_plus.neural.config import RESERVOIR, DeepCFRConfig, TrainingConfig, check_training, check_whole
from mccfr_plus.neural.dream_config import DREAMConfig
from mccfr_plus.neural.escher_config import NETWORK, ESCHERConfig
from mccfr_plus.neural.nfsp_config import NFSPConfig


@dataclass(frozen=True, kw_only=True)
class _Lockstep(TrainingConfig):
    """What both have.

    Args:
        walks_at_once: How many histories are followed side by side.
        policy_training: Shape of the networks of the average policy, and how they are trained, from fresh parameters,
            whenever that policy is asked for.
        policy_capacity: Strategies per player that the reservoir for it keeps.
    """

    hidden_layers: tuple[int, ...] = (128, 128)
    train_steps: int = 200
    memory: str = RESERVOIR
    traversals: int = 2000
    walks_at_once: int = 1000
    policy_training: TrainingConfig = field(default_factory=lambda: TrainingConfig(train_steps=1000))
    policy_capacity: int = 1_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("walks_at_once", self.walks_at_once)
        check_training("policy_training", self.policy_training)
        check_whole("policy_capacity", self.policy_capacity)
        if self.memory != RESERVOIR:
            raise ConfigError(f"memory={self.memory!r}: where a game is not enumerated there is only 'reservoir'.")


@dataclass(frozen=True, kw_only=True)
class BatchedDeepCFRConfig(_Lockstep, DeepCFRConfig):
    """Settings of `BatchedDeepCFR`: those of `DeepCFRConfig`, and

    Args:
        walks_at_once: How many traversals are made side by side.
        most_points: The largest number of histories at one depth of these traversals: what bounds memory.
        policy_training: Shape of the networks of the average policy, and how they are trained, from fresh parameters,
            whenever that policy is asked for.
        policy_capacity: Strategies per player that the reservoir for it keeps.
        **others: See `DeepCFRConfig`; ``memory`` is ``"reservoir"``.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.
    """

    traversals: int = 500
    walks_at_once: int = 100
    most_points: int = 1_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("most_points", self.most_points)


@dataclass(frozen=True, kw_only=True)
class BatchedDREAMConfig(_Lockstep, DREAMConfig):
    """Settings of `BatchedDREAM`: those of `DREAMConfig`, and

    Args:
        walks_at_once: How many histories are followed side by side.
        policy_training: Shape of the networks of the average policy, and how they are trained, from fresh parameters,
            whenever that policy is asked for.
        policy_capacity: Strategies per player that the reservoir for it keeps.
        **others: See `DREAMConfig`; ``memory`` is ``"reservoir"``.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.
    """

    baseline_training: TrainingConfig = field(default_factory=lambda: TrainingConfig(train_steps=200))


@dataclass(frozen=True, kw_only=True)
class BatchedESCHERConfig(_Lockstep, ESCHERConfig):
    """Settings of `BatchedESCHER`: those of `ESCHERConfig`, and

    Args:
        walks_at_once: How many histories are followed side by side.
        policy_training: Shape of the networks of the average policy, and how they are trained, from fresh parameters,
            whenever that policy is asked for.
        policy_capacity: Strategies per player that the reservoir for it keeps.
        **others: See `ESCHERConfig`; ``memory`` is ``"reservoir"``, ``values`` ``"network"``, ``sampling``
            ``"uniform"``.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.
    """

    value_training: TrainingConfig = field(default_factory=lambda: TrainingConfig(train_steps=200))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values != NETWORK or self.sampling != "uniform":
            raise ConfigError(
                f"values={self.values!r}, sampling={self.sampling!r}: those need a tree; where a game is not "
                "enumerated there are only values='network' and sampling='uniform'."
            )


@dataclass(frozen=True, kw_only=True)
class BatchedNFSPConfig(NFSPConfig):
    """Settings of `BatchedNFSP`: those of `NFSPConfig`, and

    Args:
        walks_at_once: How many episodes are played side by side, between which nothing is learned.
        **others: See `NFSPConfig`; ``refresh_every`` means nothing, as networks are asked at every state.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.
    """

    episodes: int = 1000
    walks_at_once: int = 500
    learn_every: int = 128
    decision_capacity: int = 1_000_000
    epsilon_decay: int = 1_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("walks_at_once", self.walks_at_once)
