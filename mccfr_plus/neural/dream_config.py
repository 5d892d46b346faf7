"""What DREAM is told."""

from __future__ import annotations

from dataclasses import dataclass, field

from mccfr_plus.neural.config import (
    AdvantageConfig,
    TrainingConfig,
    check_flag,
    check_positive,
    check_share,
    check_training,
)


@dataclass(frozen=True, kw_only=True)
class DREAMConfig(AdvantageConfig):
    """Settings of `DREAM`. The defaults are for games with up to some thousands of information sets.

    Args:
        traversals: Histories sampled per player and iteration.
        epsilon: How often an own action is drawn uniformly instead of from the strategy, in (0, 1].
        baseline: Whether values of actions are learned and used as baselines; without them this is outcome sampling
            with networks for regrets.
        baseline_training: Shape of the network of these values, and how it is trained.
        weight_clip: The largest weight of a sample, in units of the smallest possible one; larger ones are cut down to
            it, which biases regrets. None: never.
        **others: See `AdvantageConfig` and `TrainingConfig`.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.

    Reference: Steinberger, Lerer, Brown 2020, "DREAM: Deep regret minimization with advantage baselines and model-free
    learning", section 4.

    Example:
        >>> from mccfr_plus.neural import DREAMConfig
        >>> DREAMConfig(traversals=900).epsilon
        0.5
    """

    epsilon: float = 0.5
    baseline: bool = True
    baseline_training: TrainingConfig = field(default_factory=TrainingConfig)
    weight_clip: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("epsilon", self.epsilon)
        check_flag("baseline", self.baseline)
        check_training("baseline_training", self.baseline_training)
        if self.weight_clip is not None:
            check_positive("weight_clip", self.weight_clip)
