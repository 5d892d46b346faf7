"""What a neural solver is told: frozen, and checked when it is built."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mccfr_plus.errors import ConfigError

AGGREGATED, RESERVOIR = "aggregated", "reservoir"
MEMORIES = (AGGREGATED, RESERVOIR)

LINEAR, UNIFORM = "linear", "uniform"
WEIGHTINGS = (LINEAR, UNIFORM)

ARGMAX = "argmax"
FALLBACKS = (ARGMAX, UNIFORM)

CFR, DCFR_PLUS, PDCFR_PLUS = "cfr", "dcfr+", "pdcfr+"
MINIMIZERS = (CFR, DCFR_PLUS, PDCFR_PLUS)
# Exponents (alpha of the discount of regrets, gamma of the average's weights) of Xu et al. 2024.
EXPONENTS = {DCFR_PLUS: (1.5, 4.0), PDCFR_PLUS: (2.3, 5.0)}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What all configs can: become plain values, and come back."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields in JSON's types; `from_dict` makes the same config of them."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
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


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Settings):
    """Shape of a network, and how it is trained.

    Args:
        hidden_layers: Widths of the hidden layers; ``()`` for a linear model.
        layer_norm: Whether the last hidden layer is normalized before the output, as in Brown et al. 2019, section 5.1.
        skip: Whether hidden layers of equal width are joined by skip connections, as there.
        learning_rate: Of Adam.
        batch_size: Samples (with aggregated memory: information sets) per training step. While the memory holds no more
            than this, every step takes all of it.
        train_steps: Steps of Adam per network and iteration.
        warm_start: Whether training goes on from the last iteration's network and moments, or from fresh ones.
        gradient_clip: The largest norm of a gradient; larger ones are scaled down to it. None: never.

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
        check_layers("hidden_layers", self.hidden_layers)
        object.__setattr__(self, "hidden_layers", tuple(int(width) for width in self.hidden_layers))
        for name in ("batch_size", "train_steps"):
            check_whole(name, getattr(self, name))
        check_positive("learning_rate", self.learning_rate)
        if self.gradient_clip is not None:
            check_positive("gradient_clip", self.gradient_clip)
        for name in ("layer_norm", "skip", "warm_start"):
            check_flag(name, getattr(self, name))
        if self.layer_norm and not self.hidden_layers:
            raise ConfigError("layer_norm=True normalizes the last hidden layer, and hidden_layers=() has none.")


@dataclass(frozen=True, kw_only=True)
class AdvantageConfig(TrainingConfig):
    """What solvers share that learn a network of advantages (regrets) per player.

    Args:
        traversals: Traversals per player and iteration.
        memory: ``"aggregated"``: the weighted mean of all samples ever drawn at an information set, which loses
            nothing and does not expand, for games that can be enumerated; ``"reservoir"``: a uniform sample of all
            samples, as in the papers.
        memory_capacity: Samples per player that a reservoir keeps.
        weighting: ``"linear"``: iteration t has weight t in the loss and in the average policy (linear CFR);
            ``"uniform"``: all have the same.
        fallback: What is played where no advantage is positive: ``"argmax"``, the action of the largest one, or
            ``"uniform"``, as in tabular CFR.
        scale_targets: Whether networks learn advantages in units of half the player's payoff range, so that games for
            chips in thousands train like those for one.
        threads: How many threads torch may use. At these sizes more than one gains little, and only one promises the
            same bits after a resume.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.
    """

    traversals: int = 4000
    memory: str = AGGREGATED
    memory_capacity: int = 1_000_000
    weighting: str = LINEAR
    fallback: str = ARGMAX
    scale_targets: bool = True
    threads: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("traversals", "memory_capacity", "threads"):
            check_whole(name, getattr(self, name))
        check_flag("scale_targets", self.scale_targets)
        check_choice("memory", self.memory, MEMORIES)
        check_choice("weighting", self.weighting, WEIGHTINGS)
        check_choice("fallback", self.fallback, FALLBACKS)
        if self.memory == RESERVOIR and self.memory_capacity < self.batch_size:
            raise ConfigError(
                f"memory_capacity={self.memory_capacity} is smaller than batch_size={self.batch_size}: a batch could "
                "never be filled. Give a larger memory or a smaller batch."
            )


@dataclass(frozen=True, kw_only=True)
class DeepCFRConfig(AdvantageConfig):
    """Settings of `DeepCFR`. The defaults are for games with up to some thousands of information sets.

    Args:
        traversals: Traversals per player and iteration, each of which gives one sample per own information set on its way.
        minimizer: ``"cfr"``: networks learn mean regrets, weighted by `weighting`. ``"dcfr+"``, ``"pdcfr+"``: they
            learn regrets that are discounted and cut off at 0, with prediction in the latter, and the average policy
            weighs iteration t by t^gamma; see `Discounted`. Those need aggregated memory, and do without `weighting`.
        alpha: Exponent of the discount; None: 1.5 with dcfr+, 2.3 with pdcfr+.
        gamma: Exponent of the average's weights; None: 4 with dcfr+, 5 with pdcfr+.
        **others: See `AdvantageConfig` and `TrainingConfig`.

    Raises:
        ConfigError: If a value is out of range, or two of them do not go together.

    Reference: Brown, Lerer, Gross, Sandholm 2019, "Deep counterfactual regret minimization", algorithms 1 and 2; there
    networks are trained from fresh parameters, ``warm_start=False``, on a reservoir.

    Example:
        >>> from mccfr_plus.neural import DeepCFRConfig
        >>> DeepCFRConfig(traversals=375, memory="reservoir").hidden_layers
        (128, 128)
    """

    minimizer: str = CFR
    alpha: float | None = None
    gamma: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("minimizer", self.minimizer, MINIMIZERS)
        for name in ("alpha", "gamma"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
                if self.minimizer == CFR:
                    raise ConfigError(f"{name}={getattr(self, name)!r} is of dcfr+ and pdcfr+: give one as minimizer.")
        if self.minimizer != CFR and self.memory != AGGREGATED:
            raise ConfigError(
                f"minimizer={self.minimizer!r} keeps sums of regrets, not samples: it needs memory='aggregated', not "
                f"{self.memory!r}."
            )

    @property
    def exponents(self) -> tuple[float, float]:
        """Alpha and gamma."""
        alpha, gamma = EXPONENTS.get(self.minimizer, (1.0, 1.0 if self.weighting == LINEAR else 0.0))
        return (alpha if self.alpha is None else self.alpha, gamma if self.gamma is None else self.gamma)


def check_share(name: str, value: Any) -> None:
    """Raises ConfigError if a value is no number above 0 and at most 1."""
    check_positive(name, value)
    if value > 1:
        raise ConfigError(f"{name}={value!r}: must be above 0 and at most 1.")


def check_training(name: str, value: Any) -> None:
    """Raises ConfigError if a value is no config of a network."""
    if not isinstance(value, TrainingConfig):
        raise ConfigError(f"{name}={value!r}: give a TrainingConfig.")


def check_flag(name: str, value: Any) -> None:
    """Raises ConfigError if a value is neither True nor False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name}={value!r}: must be True or False.")


def _plain(value: Any) -> Any:
    """Returns a value of a field in JSON's types."""
    if isinstance(value, Settings):
        return value.as_dict()
    return list(value) if isinstance(value, tuple) else value


def check_whole(name: str, value: Any) -> None:
    """Raises ConfigError if a value is no whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ConfigError(f"{name}={value!r}: must be a whole number, at least 1.")


def check_positive(name: str, value: Any) -> None:
    """Raises ConfigError if a value is no positive finite number."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:
        raise ConfigError(f"{name}={value!r}: must be a positive number.")


def check_layers(name: str, value: Any) -> None:
    """Raises ConfigError if a value is no sequence of widths."""
    if not isinstance(value, tuple | list):
        raise ConfigError(f"{name}={value!r}: give a tuple of widths, such as (128, 128), or () for a linear model.")
    for width in value:
        check_whole(f"a width in {name}", width)


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Raises ConfigError if a value is none of those allowed."""
    if value not in allowed:
        raise ConfigError(f"{name}={value!r}: give one of {', '.join(allowed)}.")
