"""Asymmetric predictive regret matching+: the prediction counts less where it was wrong.

R = [R + r]+, and the next strategy is proportional to [R + r / (1 + alpha)]+, with at each infoset

    alpha = min(largest, sqrt(sum of |r_t - r_{t-1}|^2 / sum of |R_t - R_{t-1}|^2)),      r_0 = 0,  R_0 = 0.

Reference: Meng, Yang, Zhang, Ge, Gao 2026, "Faster game solving via asymmetry of step sizes", equations 4 and 10. With
alpha = 2 throughout it is their simple form: `PredictiveRegretMatchingPlus(alpha=2.0)`.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.base import LARGEST, check_number
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.infoset import REGRET, expected_value, play_in_proportion
from mccfr_plus.trees.scratch import at

# Rows of the tables beside REGRET.
LAST = 1  # the regrets of the last visit
SUMS = 2  # of |r_t - r_{t-1}|^2 at the first slot, of |R_t - R_{t-1}|^2 at the second


@inline_kernel
def update(values, strategy, tables, first, last, parameters):
    """Updates the infoset and returns its value: what `asymmetric` does for any number of actions."""
    value, total, error, change = expected_value(values, strategy, first, last), 0.0, 0.0, 0.0
    for slot in range(first, last):
        instant, before = values[at(slot)] - value, tables[REGRET, at(slot)]
        miss, moved = instant - tables[LAST, at(slot)], max(instant, -before)
        error += miss * miss
        change += moved * moved
        tables[REGRET, at(slot)] = before + moved
        tables[LAST, at(slot)] = instant
    error += tables[SUMS, at(first)]
    change += tables[SUMS, at(first + 1)]
    tables[SUMS, at(first)] = error
    tables[SUMS, at(first + 1)] = change
    # Shares are R + r / (1 + alpha) times (1 + alpha) and this sum: one root and no quotient.
    most = change + min(math.sqrt(error * change), parameters[0] * change)
    for slot in range(first, last):
        share = max(tables[REGRET, at(slot)] * most + tables[LAST, at(slot)] * change, 0.0)
        values[at(slot)] = share
        total += share
    play_in_proportion(values, strategy, first, last, total)
    return value


@inline_kernel
def asymmetric(values, strategy, tables, first, last, iteration, parameters):
    """APCFR+ at one infoset. See `Minimizer`."""
    if last - first == 3:  # with a constant there are no loops: they take a tenth of an iteration on Leduc
        return update(values, strategy, tables, first, first + 3, parameters)
    return update(values, strategy, tables, first, last, parameters)


@dataclass(frozen=True)
class AsymmetricPredictive(Minimizer):
    """Asymmetric predictive regret matching+, the rule of APCFR+ (Meng et al. 2026, equations 4 and 10).

    With r the regrets of this iteration and R the cumulative ones: R = [R + r]+, and the next strategy is proportional
    to [R + r / (1 + alpha)]+. alpha grows with how wrong the predictions of this information set have been.

    Args:
        largest: The largest alpha, finite and at least 0; 0 is predictive regret matching+.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.AsymmetricPredictive())
        >>> solver.run(100).exploitability() < 0.01
        True
    """

    largest: float = 5.0
    short_name: ClassVar[str] = "apcfr+"
    num_tables: ClassVar[int] = 3
    references: ClassVar[tuple[str, ...]] = ("meng2026faster",)
    default_average: ClassVar[str] = "power"
    kernel: ClassVar[Any] = staticmethod(asymmetric)

    def __post_init__(self) -> None:
        allowed = "must be a finite number, at least 0; the paper uses largest=5"
        check_number("largest", self.largest, 0, LARGEST, allowed, inclusive=True)

    def parameters(self) -> np.ndarray:
        return np.array([float(self.largest)])
