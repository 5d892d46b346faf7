"""The built-in regret matchers: names and parameters. What they do is in `regret_matching`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.minimizers import regret_matching as kernels
from mccfr_plus.minimizers.base import Minimizer, Rule


@dataclass(frozen=True)
class RegretMatching(Minimizer):
    """Regret matching (Hart, Mas-Colell 2000), the rule of CFR and of MCCFR."""

    rule: ClassVar[Rule] = Rule.REGRET_MATCHING
    short_name: ClassVar[str] = "rm"
    references: ClassVar[tuple[str, ...]] = ("hart2000simple",)

    @property
    def keeps_regrets(self) -> bool:
        return True


@dataclass(frozen=True)
class RegretMatchingPlus(Minimizer):
    """Regret matching with regrets cut at 0 (Tammelin et al. 2015), the rule of CFR+."""

    rule: ClassVar[Rule] = Rule.REGRET_MATCHING_PLUS
    short_name: ClassVar[str] = "rm+"
    references: ClassVar[tuple[str, ...]] = ("tammelin2014solving", "tammelin2015solving")


@dataclass(frozen=True)
class Discounted(Minimizer):
    """Discounted regret matching (Brown, Sandholm 2019), the rule of DCFR; discounts come after iteration t's update.

    The paper's third parameter, gamma, weights the average: `PowerAverage(gamma)`. Infosets that a sampled traversal
    misses are discounted when they are next touched, exactly.

    Args:
        alpha: Exponent of the discount of positive regrets, t^alpha / (t^alpha + 1); infinity keeps them whole.
        beta: The same for negative regrets; minus infinity forgets them, from the second iteration on.
    """

    alpha: float = 1.5
    beta: float = 0.0
    rule: ClassVar[Rule] = Rule.DISCOUNTED
    short_name: ClassVar[str] = "dcfr"
    num_tables: ClassVar[int] = 3
    references: ClassVar[tuple[str, ...]] = ("brown2019solving",)

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
                raise ConfigError(f"{name}={value!r}: must be a number or +-inf; the paper uses alpha=1.5, beta=0.")

    def parameters(self) -> np.ndarray:
        parameters = np.zeros(kernels.NUM_DISCOUNTED)
        parameters[0] = float(self.rule)
        parameters[kernels.ALPHA] = self.alpha
        parameters[kernels.BETA] = self.beta
        return parameters

    @property
    def keeps_regrets(self) -> bool:
        return True

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        regrets = tables[kernels.REGRET, slots]
        missed_positive = parameters[kernels.AFTER_POSITIVE] - tables[kernels.SEEN_POSITIVE, slots.start]
        missed_negative = parameters[kernels.AFTER_NEGATIVE] - tables[kernels.SEEN_NEGATIVE, slots.start]
        return regrets * np.exp(np.where(regrets > 0, missed_positive, missed_negative))


def linear() -> Discounted:
    """Returns the rule of linear CFR: the special case alpha = beta = 1."""
    return Discounted(alpha=1.0, beta=1.0)


def linear_plus() -> Discounted:
    """Returns the rule of LCFR+: regrets weigh t, negative ones are forgotten (alpha = 1, beta = minus infinity)."""
    return Discounted(alpha=1.0, beta=-math.inf)


def dcfr_pruning() -> Discounted:
    """Returns the paper's setting for runs with pruning, DCFR(3/2, 1/2, 2), whose negative regrets keep lazy."""
    return Discounted(alpha=1.5, beta=0.5)


@dataclass(frozen=True)
class PredictiveRegretMatching(Minimizer):
    """Predictive regret matching (Farina, Kroer, Sandholm 2021, algorithm 3)."""

    rule: ClassVar[Rule] = Rule.PREDICTIVE
    short_name: ClassVar[str] = "prm"
    references: ClassVar[tuple[str, ...]] = ("farina2021faster",)

    @property
    def keeps_regrets(self) -> bool:
        return True


@dataclass(frozen=True)
class PredictiveRegretMatchingPlus(Minimizer):
    """Predictive regret matching+ (Farina, Kroer, Sandholm 2021, algorithm 4), the rule of PCFR+."""

    rule: ClassVar[Rule] = Rule.PREDICTIVE_PLUS
    short_name: ClassVar[str] = "prm+"
    references: ClassVar[tuple[str, ...]] = ("farina2021faster",)
