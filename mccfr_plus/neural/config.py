"""Settings of Deep CFR, DREAM and ESCHER."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from mccfr_plus.errors import ConfigError
from mccfr_plus.neural.settings import Probability, Settings, Threads

CFR, DCFR_PLUS, PDCFR_PLUS = "cfr", "dcfr+", "pdcfr+"
# Exponents (alpha of the discount of regrets, gamma of the average's weights) of Xu et al. 2024.
EXPONENTS = {DCFR_PLUS: (1.5, 4.0), PDCFR_PLUS: (2.3, 5.0)}


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Settings):
    """Shape of a network, and how it is trained.

    Args:
        hidden_layers: Widths of the hidden layers; ``()`` for a linear model.
        layer_norm: Whether the last hidden layer is normalized, as in Brown et al. 2019, section 5.1.
        skip: Whether hidden layers of equal width have skip connections, as there.
        learning_rate: Step size of Adam.
        batch_size: Samples (with aggregated memory: information sets) per training step. If the memory holds no more,
            each step takes all of them.
        train_steps: Steps of Adam per network and iteration.
        warm_start: Whether training continues with the last iteration's network and moments, or with fresh ones.
        gradient_clip: The largest norm of a gradient; larger ones are scaled down to it. None: no limit.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.
    """

    hidden_layers: tuple[int, ...] = (128, 128)
    layer_norm: bool = False
    skip: bool = False
    learning_rate: float = 2e-3
    batch_size: int = 1024
    train_steps: int = 40
    warm_start: bool = True
    gradient_clip: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layer_norm and not self.hidden_layers:
            raise ConfigError("layer_norm=True normalizes the last hidden layer, and hidden_layers=() has none.")


@dataclass(frozen=True, kw_only=True)
class AdvantageConfig(TrainingConfig):
    """Common settings of the solvers that learn a network of advantages (regrets) per player.

    Args:
        traversals: Traversals per player and iteration.
        parallel_traversals: How many traversals are run in parallel.
        memory: ``"aggregated"``: the weighted mean of all samples of each information set, for games that can be
            enumerated; it loses no sample and has a fixed size. ``"reservoir"``: a uniform sample of all samples, as in
            the papers.
        memory_capacity: The largest number of samples per player in a reservoir.
        weighting: ``"linear"``: iteration t has weight t in the loss and in the average policy (linear CFR);
            ``"uniform"``: all iterations have the same weight.
        minimizer: ``"cfr"``: networks learn mean regrets, weighted by `weighting`. ``"dcfr+"``, ``"pdcfr+"``: they
            learn discounted regrets that are cut off at 0, the latter with prediction, and the average policy weighs
            iteration t by t^gamma. Both ignore `weighting`, and need aggregated memory where there is a tree.
        alpha: Exponent of the discount; None: 1.5 with dcfr+, 2.3 with pdcfr+.
        gamma: Exponent of the average's weights; None: 4 with dcfr+, 5 with pdcfr+.
        fallback: The strategy where no advantage is positive: ``"argmax"``, the action of the largest one, or
            ``"uniform"``, as in tabular CFR.
        scale_targets: Whether the unit of advantages is half the player's payoff range, so that training does not
            depend on the unit of payoffs.
        threads: The number of threads of torch. At these sizes more than one gains little, and resumed runs are bitwise
            identical with one only.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.
    """

    traversals: int = 4000
    parallel_traversals: int = 4000
    memory: Literal["aggregated", "reservoir"] = "aggregated"
    memory_capacity: int = 1_000_000
    weighting: Literal["linear", "uniform"] = "linear"
    minimizer: Literal["cfr", "dcfr+", "pdcfr+"] = "cfr"
    alpha: float | None = None
    gamma: float | None = None
    fallback: Literal["argmax", "uniform"] = "argmax"
    scale_targets: bool = True
    threads: Threads = 1
    keeps_sums: ClassVar[bool] = True  # whether discounted regrets are sums per information set

    @property
    def references(self) -> tuple[str, ...]:
        return () if self.minimizer == CFR else ("xu2025deep",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.minimizer == CFR:
            for name in ("alpha", "gamma"):
                if getattr(self, name) is not None:
                    raise ConfigError(f"{name}={getattr(self, name)!r} is of dcfr+ and pdcfr+: give one as minimizer.")
        elif self.keeps_sums and self.memory != "aggregated":
            raise ConfigError(
                f"minimizer={self.minimizer!r} keeps sums of regrets, not samples: it needs memory='aggregated', not "
                f"{self.memory!r}."
            )
        if self.memory == "reservoir" and self.memory_capacity < self.batch_size:
            raise ConfigError(
                f"memory_capacity={self.memory_capacity} is smaller than batch_size={self.batch_size}: a batch could "
                "never be filled. Give a larger memory or a smaller batch."
            )

    @property
    def exponents(self) -> tuple[float, float]:
        """Alpha and gamma."""
        alpha, gamma = EXPONENTS.get(self.minimizer, (1.0, 1.0 if self.weighting == "linear" else 0.0))
        return (alpha if self.alpha is None else self.alpha, gamma if self.gamma is None else self.gamma)

    def discount(self, iteration: int) -> float:
        """Returns the factor of the regrets of the first `iteration` iterations in the next one."""
        if self.minimizer == CFR:
            return (iteration / (iteration + 1.0)) ** self.exponents[1]
        power = float(iteration) ** self.exponents[0]
        return power / (power + 1.0) if iteration > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class DeepCFRConfig(AdvantageConfig):
    """Settings of `DeepCFR`. The defaults are for games with up to some thousands of information sets.

    Args:
        traversals: Traversals per player and iteration. Each gives one sample per own information set that it visits.
        max_parallel_histories: The largest number of histories at one depth of the parallel traversals; it bounds
            memory.

    The other settings are those of `AdvantageConfig` and `TrainingConfig`, with their errors.

    In the paper networks are trained from fresh parameters, ``warm_start=False``, on a reservoir.

    Examples:
        >>> from mccfr_plus.neural import DeepCFRConfig
        >>> DeepCFRConfig(traversals=375, memory="reservoir").hidden_layers
        (128, 128)
    """

    max_parallel_histories: int = 1_000_000


@dataclass(frozen=True, kw_only=True)
class DREAMConfig(AdvantageConfig):
    """Settings of `DREAM`. The defaults are for games with up to some thousands of information sets.

    Args:
        traversals: Trajectories per player and iteration.
        epsilon: Probability of drawing an own action uniformly instead of from the strategy, in (0, 1].
        baseline: Whether action values are learned as baselines; without them this is outcome sampling with networks
            for regrets.
        baseline_training: Shape and training of the network of action values.
        weight_clip: The largest weight of a sample, which is 1 where own actions are drawn uniformly; larger ones are
            reduced to it, which biases regrets. None: no limit.

    The other settings are those of `AdvantageConfig` and `TrainingConfig`, with their errors.

    Examples:
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
        if self.epsilon > 1:
            raise ConfigError(f"epsilon={self.epsilon!r}: must be above 0 and at most 1.")


@dataclass(frozen=True, kw_only=True)
class ESCHERConfig(AdvantageConfig):
    """Settings of `ESCHER`. The defaults are for games with up to some thousands of information sets.

    Args:
        traversals: Trajectories per player and iteration, for regrets.
        values: ``"network"``: a network learns values of histories; ``"exact"``: a pass over the tree computes them.
        value_traversals: Trajectories per player and update, for the network of values.
        value_exploration: Probability with which one player in turn draws an own action of these trajectories from
            `sampling`'s strategy instead of the current one.
        value_training: Shape and training of that network.
        sampling: The strategy that draws own actions in all iterations: ``"uniform"``, or ``"balanced"``, the
            exploration-balanced strategy of Farina et al. 2020.

    The other settings are those of `AdvantageConfig` and `TrainingConfig`, with their errors.

    Examples:
        >>> from mccfr_plus.neural import ESCHERConfig
        >>> ESCHERConfig(values="exact").traversals
        4000
    """

    values: Literal["network", "exact"] = "network"
    value_traversals: int = 1000
    value_exploration: Probability = 1.0
    value_training: TrainingConfig = field(default_factory=TrainingConfig)
    sampling: Literal["uniform", "balanced"] = "uniform"


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
    learning_rate: float = 1e-3
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
