"""Smooth predictive regret matching+: cumulative regrets whose sum is at least 1, so that strategies change gradually.

With P the projection on { R >= 0, sum of R >= 1 } and r the regrets, scaled by eta: R = P(R + r), and the next strategy
is proportional to P(R + r).

Reference: Farina, Grand-Clement, Kroer, Lee, Luo 2023, "Regret matching+: (in)stability and fast convergence in games",
algorithm 2; Cai et al. 2025, "Last-iterate convergence properties of regret-matching algorithms in games", whose
restarts are not here, as they depend on all information sets together.
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

INSTANT = 1  # row of the tables: the regrets of this update, while cumulative ones take their place


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
        threshold, count = -math.inf, last - first + 1
        while True:
            kept, above = 0, 0.0
            for slot in range(first, last):
                if values[at(slot)] > threshold:
                    kept += 1
                    above += values[at(slot)]
            if kept == 0 or kept >= count:  # by rounding, what was left out may come back: then it is at the threshold
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
def smooth_predictive(values, strategy, tables, first, last, iteration, parameters):
    """Smooth predictive RM+ at one infoset. See `Minimizer`."""
    eta, value, total = parameters[0], expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        total += tables[REGRET, at(slot)]
    begin = 1.0 / (last - first) if total == 0.0 else 0.0  # the first R is the same for all actions
    for slot in range(first, last):
        instant = eta * (values[at(slot)] - value)
        tables[INSTANT, at(slot)] = instant
        values[at(slot)] = tables[REGRET, at(slot)] + begin + instant
    project(values, first, last)
    for slot in range(first, last):
        tables[REGRET, at(slot)] = values[at(slot)]
        values[at(slot)] += tables[INSTANT, at(slot)]
    total = project(values, first, last)
    play_in_proportion(values, strategy, first, last, total)
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
    is_local: ClassVar[bool] = True
    num_tables: ClassVar[int] = 2
    default_average: ClassVar[str] = "power"
    kernel: ClassVar[Any] = staticmethod(smooth_predictive)

    def __post_init__(self) -> None:
        if isinstance(self.eta, bool) or not isinstance(self.eta, int | float) or not 0 < self.eta < math.inf:
            raise ConfigError(f"eta={self.eta!r}: the step size must be a finite number above 0.")

    def parameters(self) -> np.ndarray:
        return np.array([float(self.eta)])
