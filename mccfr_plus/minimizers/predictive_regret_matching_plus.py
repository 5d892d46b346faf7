"""Predictive regret matching+, where the prediction is the last value vector.

Reference: Farina, Kroer, Sandholm 2021, "Faster game solving via predictive Blackwell approachability", algorithm 4,
where alpha = 0. Meng et al. 2026, "Faster game solving via asymmetry of step
sizes", equation 4: SAPCFR+ has alpha = 2.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.base import LARGEST, check_number
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.infoset import REGRET, expected_value, play_in_proportion
from mccfr_plus.trees.scratch import at


@inline_kernel
def predictive_plus(values, strategy, tables, first, last, iteration, parameters):
    """Predictive RM+. See `Minimizer`."""
    value, total, weight = expected_value(values, strategy, first, last), 0.0, parameters[0]
    for slot in range(first, last):
        instant = values[at(slot)] - value
        tables[REGRET, at(slot)] = max(tables[REGRET, at(slot)] + instant, 0.0)
        values[at(slot)] = max(tables[REGRET, at(slot)] + weight * instant, 0.0)
        total += values[at(slot)]
    play_in_proportion(values, strategy, first, last, total)
    return value


@dataclass(frozen=True)
class PredictiveRegretMatchingPlus(Minimizer):
    """Predictive regret matching+ (Farina, Kroer, Sandholm 2021, algorithm 4), the rule of PCFR+.

    With r the regrets of this iteration and R the cumulative ones: R = [R + r]+, and the next strategy is proportional
    to [R + r / (1 + alpha)]+: the last regrets predict the next ones.

    Args:
        alpha: How much less the prediction counts than regrets do, finite and at least 0.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.PredictiveRegretMatchingPlus())
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    alpha: float = 0.0
    short_name: ClassVar[str] = "prm+"
    default_average: ClassVar[str] = "power"
    kernel: ClassVar[Any] = staticmethod(predictive_plus)

    def __post_init__(self) -> None:
        allowed = "must be a finite number, at least 0; SAPCFR+ has alpha=2"
        check_number("alpha", self.alpha, 0, LARGEST, allowed, inclusive=True)

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("farina2021faster", *(("meng2026faster",) if self.alpha else ()))

    def parameters(self) -> np.ndarray:
        return np.array([1.0 / (1.0 + self.alpha)])


def simple_asymmetric() -> PredictiveRegretMatchingPlus:
    """Returns the rule of SAPCFR+ (Meng et al. 2026): the prediction counts a third, alpha = 2."""
    return PredictiveRegretMatchingPlus(alpha=2.0)
