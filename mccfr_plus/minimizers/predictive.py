"""Predictive regret matching+ with predictions that are tamer: asymmetric and smooth."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.minimizers.minimizer import REGRET, Minimizer, expected_value, play_in_proportion
from mccfr_plus.parameters import number
from mccfr_plus.trees.needs import DIFFERENCES
from mccfr_plus.trees.scratch import at

_ALMOST_ONE = 1.0 - 1e-14  # sums that are 1 but for rounding need no projection

# Rows of the tables of `asymmetric` beside REGRET.
LAST = 1  # the regrets of the last visit
SUMS = 2  # of |r_t - r_{t-1}|^2 at the first slot, of |R_t - R_{t-1}|^2 at the second


@inline_kernel
def _asymmetric(values, strategy, tables, first, last, parameters):
    """Does what `asymmetric` does, for any number of actions."""
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
    if last - first == 3:  # a constant unrolls the loops, a tenth of an iteration in Leduc poker
        return _asymmetric(values, strategy, tables, first, first + 3, parameters)
    return _asymmetric(values, strategy, tables, first, last, parameters)


@dataclass(frozen=True)
class AsymmetricPredictive(Minimizer):
    """Asymmetric predictive regret matching+, the rule of APCFR+ (Meng et al. 2026, equations 4 and 10).

    Let r be the regrets of this iteration and R the cumulative regrets. Then R becomes [R + r]+, and the next strategy
    is proportional to [R + r / (1 + alpha)]+ with this new R. Here, alpha grows with the past prediction errors of the
    information set:

        alpha = min(largest, sqrt(sum of |r_t - r_{t-1}|^2 / sum of |R_t - R_{t-1}|^2)),      r_0 = 0,  R_0 = 0.

    Args:
        largest: The largest alpha, finite and at least 0; 0 gives predictive regret matching+.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.AsymmetricPredictive()).run(100).exploitability() < 0.01
        True
    """

    largest: float = number(5.0, least=0)
    short_name: ClassVar[str] = "apcfr+"
    provides: ClassVar[frozenset[str]] = frozenset({DIFFERENCES})
    num_tables: ClassVar[int] = 3
    references: ClassVar[tuple[str, ...]] = ("meng2026faster",)
    default_average: ClassVar[str] = "power"
    kernel: ClassVar[Any] = staticmethod(asymmetric)

    def parameters(self) -> np.ndarray:
        return np.array([self.largest], float)


@inline_kernel
def project_two(one, other):
    """Returns P, of `SmoothPredictive`, of two values. Without branches, which would be mispredicted."""
    lift = max(0.5 - 0.5 * (one + other), 0.0)
    return max(max(one, min(one + lift, 1.0)), 0.0), max(max(other, min(other + lift, 1.0)), 0.0)


@inline_kernel
def lift_threshold(values, first, last, total, count):
    """Returns what P takes from values before it cuts them at 0: 0 if their positive parts sum to 1 or more.

    Found by Newton's method: the first step leads to the threshold or below it, and the others leave out what is below
    (Michelot 1986). `count` of the values are positive, and these sum to `total`.
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
    threshold = lift_threshold(values, first, last, total, count)
    total, count = 0.0, 0.0
    for slot in range(first, last):
        regret, instant = max(values[at(slot)] - threshold, 0.0), values[at(slot)] - (regrets[at(slot)] + share)
        regrets[at(slot)] = regret - share
        regret += instant
        values[at(slot)] = regret
        count += 1.0 if regret > 0.0 else 0.0
        total += max(regret, 0.0)
    threshold = lift_threshold(values, first, last, total, count)
    scale = 1.0 if threshold < 0.0 else 1.0 / total
    for slot in range(first, last):
        strategy[at(slot)] = max(values[at(slot)] - threshold, 0.0) * scale
    return value


@dataclass(frozen=True)
class SmoothPredictive(Minimizer):
    """Smooth predictive regret matching+ (Farina et al. 2023, algorithm 2).

    Let R be the cumulative regrets, r the regrets of this iteration, and P the projection onto the set of nonnegative
    vectors that sum to at least 1. Then R becomes P(R + eta r), and the next strategy is proportional to P(R + eta r)
    with this new R. Hence, the cumulative regrets sum to at least 1, and strategies change gradually. The
    restarts of Cai et al. 2025, which depend on all information sets together, are not implemented.

    Args:
        eta: Factor by which the regrets are multiplied, in units of 1 / payoff, above 0.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.SmoothPredictive()).run(100).exploitability() < 0.05
        True
    """

    eta: float = number(1.0, above=0)
    short_name: ClassVar[str] = "smooth_prm+"
    references: ClassVar[tuple[str, ...]] = ("farina2023regret", "cai2025last")
    default_average: ClassVar[str] = "power"
    kernel: ClassVar[Any] = staticmethod(smooth_predictive)

    def parameters(self) -> np.ndarray:
        return np.array([self.eta], float)

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        return tables[REGRET, slots] + 1.0 / (slots.stop - slots.start)
