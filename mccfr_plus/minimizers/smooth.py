"""Smooth predictive regret matching+: cumulative regrets whose sum is at least 1, so that strategies change gradually.

The restarts of Cai et al. 2025 are not here, as they depend on all information sets together.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.minimizers.base import REGRET, Minimizer, expected_value
from mccfr_plus.parameters import LARGEST, check_number
from mccfr_plus.trees.scratch import at

_ALMOST_ONE = 1.0 - 1e-14  # sums that are 1 but for rounding need no projection


@inline_kernel
def project_two(one, other):
    """Returns P, of `SmoothPredictive`, of two values. Without branches, which would be mispredicted."""
    lift = max(0.5 - 0.5 * (one + other), 0.0)
    return max(max(one, min(one + lift, 1.0)), 0.0), max(max(other, min(other + lift, 1.0)), 0.0)


@inline_kernel
def threshold_of(values, first, last, total, count):
    """Returns what P takes from values before it cuts them at 0: 0 if their positive parts sum to 1 or more.

    Otherwise the values less the threshold, cut at 0, are on the simplex. It is found by Newton's method from 0 on: the
    first step leads to it or below it, and the others leave out what is below the threshold, as in Michelot 1986.
    `count` of the values are positive, and these sum to `total`.
    """
    threshold = min((total - 1.0) / count, 0.0)  # minus infinity if there are none
    if threshold < 0.0 and count < last - first:  # if all are positive, none is cut
        for _ in range(first, last + 1):  # by rounding, what was left out may come back: then it is at the threshold
            kept, above = 0.0, 0.0
            for slot in range(first, last):
                value = values[at(slot)]
                kept += 1.0 if value > threshold else 0.0
                above += value if value > threshold else 0.0
            if kept == count or kept == 0.0:
                break
            threshold, count = (above - 1.0) / kept, kept
    return threshold


@inline_kernel
def smooth_predictive(values, strategy, tables, first, last, iteration, parameters):
    """Smooth predictive RM+ at one infoset. See `Minimizer`. The tables have R less the uniform strategy."""
    eta, value, share = parameters[0], expected_value(values, strategy, first, last), 1.0 / (last - first)
    regrets, total, predicted, count = tables[REGRET], 0.0, 0.0, 0.0
    for slot in range(first, last):
        instant = eta * (values[at(slot)] - value)
        moved = regrets[at(slot)] + share + instant
        values[at(slot)] = moved
        regret = max(moved, 0.0)
        total += regret
        predicted += max(regret + instant, 0.0)
        count += 1.0 if moved > 0.0 else 0.0
    if min(total, predicted) >= _ALMOST_ONE:  # as most often: nothing is lifted
        scale = 1.0 / predicted
        for slot in range(first, last):
            regret, instant = max(values[at(slot)], 0.0), values[at(slot)] - (regrets[at(slot)] + share)
            regrets[at(slot)] = regret - share
            strategy[at(slot)] = max(regret + instant, 0.0) * scale
        return value
    if last - first == 2:
        second = first + 1
        regret, rest = project_two(values[at(first)], values[at(second)])
        instant = values[at(first)] - (regrets[at(first)] + share)
        other = values[at(second)] - (regrets[at(second)] + share)
        regrets[at(first)], regrets[at(second)] = regret - share, rest - share
        regret, rest = project_two(regret + instant, rest + other)
        scale = 1.0 / (regret + rest)
        strategy[at(first)], strategy[at(second)] = regret * scale, rest * scale
        return value
    threshold = threshold_of(values, first, last, total, count)
    total, count = 0.0, 0.0
    for slot in range(first, last):
        regret, instant = max(values[at(slot)] - threshold, 0.0), values[at(slot)] - (regrets[at(slot)] + share)
        regrets[at(slot)] = regret - share
        regret += instant
        values[at(slot)] = regret
        count += 1.0 if regret > 0.0 else 0.0
        total += max(regret, 0.0)
    threshold = threshold_of(values, first, last, total, count)
    scale = 1.0 if threshold < 0.0 else 1.0 / total
    for slot in range(first, last):
        strategy[at(slot)] = max(values[at(slot)] - threshold, 0.0) * scale
    return value


@dataclass(frozen=True)
class SmoothPredictive(Minimizer):
    """Smooth predictive regret matching+ (Farina et al. 2023, algorithm 2).

    With r the regrets of this iteration and P the projection on what is at least 0 and sums to at least 1: R = P(R +
    eta r), and the next strategy is proportional to P(R + eta r).

    Args:
        eta: What regrets are multiplied by, in 1 / payoff, above 0.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.SmoothPredictive())
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    eta: float = 1.0
    short_name: ClassVar[str] = "smooth_prm+"
    references: ClassVar[tuple[str, ...]] = ("farina2023regret", "cai2025last")
    default_average: ClassVar[str] = "power"
    kernel: ClassVar[Any] = staticmethod(smooth_predictive)

    def __post_init__(self) -> None:
        check_number("eta", self.eta, 0, LARGEST, "the step size must be a finite number above 0")

    def parameters(self) -> np.ndarray:
        return np.array([float(self.eta)])

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        return tables[REGRET, slots] + 1.0 / (slots.stop - slots.start)
