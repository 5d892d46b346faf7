"""Estimates of numbers that do not fit a float: logarithms, with confidence intervals."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

CONFIDENCE = 0.95
_RESAMPLES = 1_000
_LARGEST = 300.0  # log10 of the largest number that is returned as a float
_MOST_SPREAD = 1.3  # standard deviation of log10 up to which an upper limit is given: a factor of 20


class Interval(NamedTuple):
    """An estimate and the limits of its 95 % confidence interval, as logarithms to base 10.

    Attributes:
        log10: Of the estimate; minus infinity for 0.
        low: Log10 of the lower limit; equal to `log10`, like `high`, if the number is exact.
        high: Log10 of the upper limit; infinite if none can be given.
    """

    log10: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """The estimate, at most 1e300."""
        return number_of(self.log10)

    @property
    def is_exact(self) -> bool:
        """Whether the number is a count."""
        return self.low == self.high

    def times(self, factor: float) -> "Interval":
        """Returns the interval of a multiple."""
        return Interval(*(log + math.log10(factor) for log in self))

    def __str__(self) -> str:
        limits = "" if self.is_exact else f" ({as_text(self.low)} to {as_text(self.high)})"
        return as_text(self.log10) + limits


def interval_of(logs: ArrayLike, *, is_exact: bool = False) -> Interval:
    """Returns the mean of independent unbiased estimates, given by their log10, and its percentile bootstrap interval.

    A single estimate has no upper limit; its lower limit is from Markov's inequality, P(estimate >= a mu) <= 1 / a.
    `is_exact`: whether they are equal to the number that they estimate.
    """
    estimates, tail = np.asarray(logs), (1 - CONFIDENCE) / 2
    mean = float(log_sum(estimates)) - math.log10(len(estimates))
    if is_exact or mean == -math.inf:
        return Interval(mean, mean, mean)
    if len(estimates) == 1:
        return Interval(mean, mean + math.log10(tail), math.inf)
    draws = np.random.default_rng(0).integers(len(estimates), size=(_RESAMPLES, len(estimates)))
    means = log_sum(estimates[draws]) - math.log10(len(estimates))
    low, high = np.quantile(means, (tail, 1 - tail), method="nearest")  # which does not add infinities
    is_certain = np.std(estimates[np.isfinite(estimates)]) <= _MOST_SPREAD
    return Interval(mean, min(float(low), mean), max(float(high), mean) if is_certain else math.inf)


def log_sum(logs: ArrayLike) -> np.ndarray:
    """Returns log10 of the sum along the last axis of numbers given by their log10."""
    factor = math.log(10.0)
    return np.logaddexp.reduce(np.asarray(logs) * factor, axis=-1) / factor


def number_of(log10: float) -> float:
    """Returns the number of a logarithm, at most 1e300."""
    return 10.0 ** min(log10, _LARGEST)


def as_text(log10: float) -> str:
    """Returns a power of ten as people write it: ``"12 million"``, ``"10^47"``."""
    if log10 == math.inf:
        return "unknown"
    for digits, word in ((12, ""), (9, " billion"), (6, " million")):
        if log10 >= digits:
            return f"10^{log10:.{0 if log10 >= 100 else 1}f}" if not word else f"{10 ** (log10 - digits):.3g}{word}"
    return f"{10**log10:,.0f}" if log10 >= 2 else f"{float(f'{10**log10:.3g}'):g}"
