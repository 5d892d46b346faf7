"""Settings of the neural solvers: frozen dataclasses, checked when they are built."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from mccfr_plus.errors import ConfigError, check_whole
from mccfr_plus.solver.config import check_threads

AGGREGATED, RESERVOIR = "aggregated", "reservoir"
LINEAR, UNIFORM = "linear", "uniform"
ARGMAX = "argmax"
NETWORK, EXACT = "network", "exact"
BALANCED = "balanced"

CFR, DCFR_PLUS, PDCFR_PLUS = "cfr", "dcfr+", "pdcfr+"
# Exponents (alpha of the discount of regrets, gamma of the average's weights) of Xu et al. 2024.
EXPONENTS = {DCFR_PLUS: (1.5, 4.0), PDCFR_PLUS: (2.3, 5.0)}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of all configs: conversion to plain values and back, and checks of fields."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields in JSON's types; `from_dict` makes the same config of them."""
        fields = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return {name: _plain(value) for name, value in fields.items()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """Returns the config of `as_dict`.

        Raises:
            TypeError: If there is no such field.
            ConfigError: If a value is out of range.
        """
        nested = {name: TrainingConfig(**value) for name, value in fields.items() if isinstance(value, dict)}
        return cls(**(fields | nested))

    def _check(self, check: Callable[[str, Any], None], *names: str) -> None:
        """Applies a check to fields; None passes where it is the default."""
        defaults = {each.name: each.default for each in dataclasses.fields(self)}
        for name in names:
            value = getattr(self, name)
            if value is not None or defaults[name] is not None:
                check(name, value)

    def _check_choice(self, name: str, *allowed: str) -> None:
        if getattr(self, name) not in allowed:
            raise ConfigError(f"{name}={getattr(self, name)!r}: give one of {', '.join(allowed)}.")

    def _check_layers(self, widths: Any) -> None:
        """Checks ``hidden_layers``, and makes it a tuple."""
        if not isinstance(widths, tuple | list):
            raise ConfigError(
                f"hidden_layers={widths!r}: give a tuple of widths, such as (128, 128), or () for a linear model."
            )
        for width in widths:
            check_whole("a width in hidden_layers", width)
        object.__setattr__(self, "hidden_layers", tuple(int(width) for width in widths))


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
    learning_rate: float = 1e-3
    batch_size: int = 1024
    train_steps: int = 40
    warm_start: bool = True
    gradient_clip: float | None = None

    def __post_init__(self) -> None:
        self._check_layers(self.hidden_layers)
        self._check(check_whole, "batch_size", "train_steps")
        self._check(check_positive, "learning_rate", "gradient_clip")
        self._check(check_flag, "layer_norm", "skip", "warm_start")
        if self.layer_norm and not self.hidden_layers:
            raise ConfigError("layer_norm=True normalizes the last hidden layer, and hidden_layers=() has none.")


@dataclass(frozen=True, kw_only=True)
class AdvantageConfig(TrainingConfig):
    """Common settings of the solvers that learn a network of advantages (regrets) per player.

    Args:
        traversals: Traversals per player and iteration.
        memory: ``"aggregated"``: the weighted mean of all samples of each information set, for games that can be
            enumerated; it loses no sample and has a fixed size. ``"reservoir"``: a uniform sample of all samples, as in
            the papers.
        memory_capacity: The largest number of samples per player in a reservoir.
        weighting: ``"linear"``: iteration t has weight t in the loss and in the average policy (linear CFR);
            ``"uniform"``: all iterations have the same weight.
        minimizer: ``"cfr"``: networks learn mean regrets, weighted by `weighting`. ``"dcfr+"``, ``"pdcfr+"``: they
            learn discounted regrets that are cut off at 0, the latter with prediction, and the average policy weighs
            iteration t by t^gamma; see `Discounted`. Both ignore `weighting`, and need
            aggregated memory where there is a tree.
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
    memory: str = AGGREGATED
    memory_capacity: int = 1_000_000
    weighting: str = LINEAR
    minimizer: str = CFR
    alpha: float | None = None
    gamma: float | None = None
    fallback: str = ARGMAX
    scale_targets: bool = True
    threads: int = 1
    keeps_sums: ClassVar[bool] = True  # whether discounted regrets are sums per information set

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(check_whole, "traversals", "memory_capacity")
        check_threads(self.threads)
        self._check(check_flag, "scale_targets")
        self._check_choice("memory", AGGREGATED, RESERVOIR)
        self._check_choice("weighting", LINEAR, UNIFORM)
        self._check_choice("fallback", ARGMAX, UNIFORM)
        self._check_choice("minimizer", CFR, DCFR_PLUS, PDCFR_PLUS)
        self._check(check_positive, "alpha", "gamma")
        if self.minimizer == CFR:
            for name in ("alpha", "gamma"):
                if getattr(self, name) is not None:
                    raise ConfigError(f"{name}={getattr(self, name)!r} is of dcfr+ and pdcfr+: give one as minimizer.")
        elif self.keeps_sums and self.memory != AGGREGATED:
            raise ConfigError(
                f"minimizer={self.minimizer!r} keeps sums of regrets, not samples: it needs memory='aggregated', not "
                f"{self.memory!r}."
            )
        if self.memory == RESERVOIR and self.memory_capacity < self.batch_size:
            raise ConfigError(
                f"memory_capacity={self.memory_capacity} is smaller than batch_size={self.batch_size}: a batch could "
                "never be filled. Give a larger memory or a smaller batch."
            )

    @property
    def exponents(self) -> tuple[float, float]:
        """Alpha and gamma."""
        alpha, gamma = EXPONENTS.get(self.minimizer, (1.0, 1.0 if self.weighting == LINEAR else 0.0))
        return (alpha if self.alpha is None else self.alpha, gamma if self.gamma is None else self.gamma)

    def discount(self, iteration: int) -> float:
        """Returns the factor of the regrets of the first `iteration` iterations in the next one."""
        power = float(iteration) ** self.exponents[0]
        return power / (power + 1.0) if iteration > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class DeepCFRConfig(AdvantageConfig):
    """Settings of `DeepCFR`. The defaults are for games with up to some thousands of information sets.

    Args:
        traversals: Traversals per player and iteration. Each gives one sample per own information set that it visits.

    The other settings are those of `AdvantageConfig` and `TrainingConfig`.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.

    Reference: Brown, Lerer, Gross, Sandholm 2019, "Deep counterfactual regret minimization", algorithms 1 and 2; there
    networks are trained from fresh parameters, ``warm_start=False``, on a reservoir.

    Examples:
        >>> from mccfr_plus.neural import DeepCFRConfig
        >>> DeepCFRConfig(traversals=375, memory="reservoir").hidden_layers
        (128, 128)
    """


@dataclass(frozen=True, kw_only=True)
class DREAMConfig(AdvantageConfig):
    """Settings of `DREAM`. The defaults are for games with up to some thousands of information sets.

    Args:
        traversals: Trajectories per player and iteration.
        epsilon: Probability of drawing an own action uniformly instead of from the strategy, in (0, 1].
        baseline: Whether action values are learned as baselines; without them this is outcome sampling with networks
            for regrets.
        baseline_training: Shape and training of the network of action values.
        weight_clip: The largest weight of a sample, in units of the smallest possible one; larger ones are reduced to
            it, which biases regrets. None: no limit.

    The other settings are those of `AdvantageConfig` and `TrainingConfig`.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.

    Reference: Steinberger, Lerer, Brown 2020, "DREAM: Deep regret minimization with advantage baselines and model-free
    learning", section 4.

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
        self._check(check_positive, "epsilon", "weight_clip")
        if self.epsilon > 1:
            raise ConfigError(f"epsilon={self.epsilon!r}: must be above 0 and at most 1.")
        self._check(check_flag, "baseline")
        self._check(check_training, "baseline_training")


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

    The other settings are those of `AdvantageConfig` and `TrainingConfig`.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.

    Reference: McAleer, Farina, Lanctot, Sandholm 2023, "ESCHER: Eschewing importance sampling in games by computing a
    history value function to estimate regret", section 4.

    Examples:
        >>> from mccfr_plus.neural import ESCHERConfig
        >>> ESCHERConfig(values="exact").traversals
        4000
    """

    values: str = NETWORK
    value_traversals: int = 1000
    value_exploration: float = 1.0
    value_training: TrainingConfig = field(default_factory=TrainingConfig)
    sampling: str = UNIFORM

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("values", NETWORK, EXACT)
        self._check(check_whole, "value_traversals")
        self._check(check_probability, "value_exploration")
        self._check(check_training, "value_training")
        self._check_choice("sampling", UNIFORM, BALANCED)


def check_training(name: str, value: Any) -> None:
    """Raises ConfigError if a value is not a `TrainingConfig`."""
    if not isinstance(value, TrainingConfig):
        raise ConfigError(f"{name}={value!r}: give a TrainingConfig.")


def check_flag(name: str, value: Any) -> None:
    """Raises ConfigError if a value is neither True nor False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name}={value!r}: must be True or False.")


def check_positive(name: str, value: Any) -> None:
    """Raises ConfigError if a value is not a positive finite number."""
    if not _is_number(value) or not 0 < value < math.inf:
        raise ConfigError(f"{name}={value!r}: must be a positive number.")


def check_probability(name: str, value: Any) -> None:
    """Raises ConfigError if a value is not a probability."""
    if not _is_number(value) or not 0.0 <= value <= 1.0:
        raise ConfigError(f"{name}={value!r}: must be a probability, from 0 to 1.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Returns the value of a field in JSON's types."""
    if isinstance(value, Settings):
        return value.as_dict()
    return list(value) if isinstance(value, tuple) else value
