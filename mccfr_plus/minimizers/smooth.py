"""Smooth regret matching+: cumulative regrets whose sum is at least 1, so that strategies change gradually.

With P the projection on { R >= 0, sum of R >= 1 } and r(x) the regrets of the strategy x, scaled by eta:

    smooth predictive:  R = P(R + r(x_t)), the next strategy is proportional to P(R + r(x_t));
    extragradient:      odd iterations play in proportion to R, even ones to H = P(R + r(x_{t-1})), and then
                        R = P(R + r(x_t)).

Reference: Farina, Grand-Clement, Kroer, Lee, Luo 2023, "Regret matching+: (in)stability and fast convergence in games",
algorithms 2 and 4; Cai et al. 2025, "Last-iterate convergence properties of regret-matching algorithms in games",
whose restarts are not here, as they depend on all information sets together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.scratch import at
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.infoset import REGRET, expected_value, play_in_proportion


@inline_kernel
def project(values, first, last):
    """Replaces values by the nearest ones that are at least 0 and sum to at least 1; returns their sum. In place.

    If their positive parts sum to less than 1, the nearest ones are on the simplex: values - threshold, cut at 0. The
    threshold is found as in Michelot 1986, by leaving out what is below it until nothing is.
    """
    total = 0.0
    for slot in range(first, last):
        total += max(values[at(slot)], 0.0)
    threshold = 0.0
    if total < 1.0:
        threshold, count = -math.inf, 0
        while True:
            kept, above = 0, 0.0
            for slot in range(first, last):
                if values[at(slot)] > threshold:
                    kept += 1
                    above += values[at(slot)]
            if kept == count:
                break
            threshold, count = (above - 1.0) / kept, kept
        total = 0.0
    if threshold != 0.0:
        for slot in range(first, last):
            total += max(values[at(slot)] - threshold, 0.0)
    for slot in range(first, last):
        values[at(slot)] = max(values[at(slot)] - threshold, 0.0)
    return total


@inline_kernel
def add_regrets(values, strategy, tables, first, last, eta):
    """Replaces values by R + eta r, and remembers a first R that sums to 1; returns the infoset's value. In place."""
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        total += tables[REGRET, at(slot)]
    begin = 1.0 / (last - first) if total == 0.0 else 0.0
    for slot in range(first, last):
        tables[REGRET, at(slot)] += begin
        values[at(slot)] = tables[REGRET, at(slot)] + eta * (values[at(slot)] - value)
    return value


@inline_kernel
def smooth_predictive(values, strategy, tables, first, last, iteration, parameters):
    """Smooth predictive RM+ at one infoset. See `Minimizer`."""
    eta = parameters[0]
    for slot in range(first, last):
        tables[LAST, at(slot)] = values[at(slot)]
    value = add_regrets(values, strategy, tables, first, last, eta)
    project(values, first, last)
    for slot in range(first, last):
        tables[REGRET, at(slot)] = values[at(slot)]
        values[at(slot)] += eta * (tables[LAST, at(slot)] - value)
    total = project(values, first, last)
    play_in_proportion(values, strategy, first, last, total)
    return value


@inline_kernel
def extragradient(values, strategy, tables, first, last, iteration, parameters):
    """Extragradient RM+ at one infoset. See `Minimizer`."""
    value = add_regrets(values, strategy, tables, first, last, parameters[0])
    total = project(values, first, last)
    if iteration % 2 == 0:
        for slot in range(first, last):
            tables[REGRET, at(slot)] = values[at(slot)]
    play_in_proportion(values, strategy, first, last, total)
    return value


LAST = 1  # row of the tables of `smooth_predictive`: the values of this update, while regrets take their place


@dataclass(frozen=True)
class _Smooth(Minimizer):
    """What both forms share.

    Args:
        eta: What regrets are multiplied by, in 1 / payoff, above 0. The sum of cumulative regrets is at least 1.
    """

    eta: float = 1.0
    references: ClassVar[tuple[str, ...]] = ("farina2023regret", "cai2025last")
    is_local: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.eta, bool) or not isinstance(self.eta, int | float) or not 0 < self.eta < math.inf:
            raise ConfigError(f"eta={self.eta!r}: the step size must be a finite number above 0.")

    def parameters(self) -> np.ndarray:
        return np.array([float(self.eta)])


@dataclass(frozen=True)
class SmoothPredictive(_Smooth):
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

    short_name: ClassVar[str] = "smooth_prm+"
    num_tables: ClassVar[int] = 2
    default_average: ClassVar[str] = "power"
    kernel: ClassVar[Any] = staticmethod(smooth_predictive)


@dataclass(frozen=True)
class Extragradient(_Smooth):
    """Extragradient regret matching+ (Farina et al. 2023, algorithm 4; Cai et al. 2025): two iterations a step.

    The first looks ahead, the second moves. The paper updates players at the same time (``alternating=False``), and its
    last strategy converges on matrix games. Needs exact gradients: estimator ``full``.

    Args:
        eta: What regrets are multiplied by, in 1 / payoff, above 0.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.Extragradient(), alternating=False)
        >>> solver.run(1000).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "extragradient_rm+"
    needs_full_gradients: ClassVar[bool] = True
    kernel: ClassVar[Any] = staticmethod(extragradient)
