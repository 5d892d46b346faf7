"""What ESCHER is told."""

from __future__ import annotations

from dataclasses import dataclass, field

from mccfr_plus.neural.config import AdvantageConfig, TrainingConfig, check_choice, check_training, check_whole

NETWORK, EXACT = "network", "exact"
VALUES = (NETWORK, EXACT)

UNIFORM, BALANCED = "uniform", "balanced"
SAMPLINGS = (UNIFORM, BALANCED)


@dataclass(frozen=True, kw_only=True)
class ESCHERConfig(AdvantageConfig):
    """Settings of `ESCHER`. The defaults are for games with up to some thousands of information sets.

    Args:
        traversals: Histories sampled per player and iteration for regrets.
        values: ``"network"``: a network learns what histories are worth; ``"exact"``: computed by a pass over the tree.
        value_traversals: Histories sampled per player and turn for the network of values.
        value_training: Shape of that network, and how it is trained.
        sampling: From what own actions are drawn in all iterations: ``"uniform"``, or ``"balanced"``, the
            exploration-balanced strategy of Farina et al. 2020.
        **others: See `AdvantageConfig` and `TrainingConfig`.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.

    Reference: McAleer, Farina, Lanctot, Sandholm 2023, "ESCHER: Eschewing importance sampling in games by computing a
    history value function to estimate regret", section 4.

    Example:
        >>> from mccfr_plus.neural import ESCHERConfig
        >>> ESCHERConfig(values="exact").traversals
        4000
    """

    values: str = NETWORK
    value_traversals: int = 1000
    value_training: TrainingConfig = field(default_factory=TrainingConfig)
    sampling: str = UNIFORM

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("values", self.values, VALUES)
        check_whole("value_traversals", self.value_traversals)
        check_training("value_training", self.value_training)
        check_choice("sampling", self.sampling, SAMPLINGS)
