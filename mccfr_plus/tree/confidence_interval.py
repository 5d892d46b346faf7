"""Estimates of positive numbers of any size, with confidence intervals from few independent runs of heavy tails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

_LARGEST = 300.0  # log10 of what is handed out as a float
_ROUNDING = 1e-9  # of logarithms
_LOG10 = math.log(10.0)
_MAX_SPREAD = 3.0  # standard deviation of logarithms up to which an upper limit is given: a factor of 20


class Interval(NamedTuple):
    """An estimate and the limits of its confidence interval, as logarithms to base 10.

    Attributes:
        log10: Of the estimate; minus infinity for none.
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
        """Whether it is a count."""
        return self.high - self.low < _ROUNDING or self.low == self.high

    def __str__(self) -> str:
        if self.is_exact:
            return as_text(self.log10)
        return f"{as_text(self.log10)} ({as_text(self.low)} to {as_text(self.high)})"


def exactly(log: float) -> Interval:
    """Returns a number that is known, from its logarithm to base e."""
    return Interval(*([float(log) / _LOG10] * 3))


def interval_of(logs: Sequence[float], confidence: float, *, least: float = -math.inf) -> Interval:
    """Returns the mean of independent estimates and an interval for what they estimate.

    The mean is unbiased if they are. The interval is Cox's for the mean of a log-normal distribution, with Student's t
    as in Olsson: with y the logarithms of n estimates and s^2 their variance,

        mean(y) + s^2 / 2 +- t sqrt(s^2 / n + s^4 / (2 (n - 1))).

    Markov's inequality, P(mean >= a mu) <= 1 / a, gives another lower limit, mean x (1 - confidence) / 2, which needs
    nothing but unbiased estimates; the higher one is taken. Nothing of the kind gives an upper limit: where it would
    hang on estimates being log-normal far beyond what was seen, there is none.

    Args:
        logs: Logarithms to base e of the estimates, at least one.
        confidence: Between 0 and 1.
        least: Logarithm of a number that the truth is known to reach.

    Reference: Olsson 2005, "Confidence intervals for the mean of a log-normal distribution", section 3.2.
    """
    y = np.asarray(logs, float)
    count, top = len(y), float(np.max(logs))
    if top == -math.inf:
        return exactly(top)  # nobody met one
    mean = top + math.log(float(np.exp(y - top).mean()))
    low, high = mean + math.log((1 - confidence) / 2), math.inf
    if count > 1 and np.isfinite(y).all():
        variance = float(y.var(ddof=1))
        centre = float(y.mean()) + variance / 2
        width = math.sqrt(variance / count + variance**2 / (2 * (count - 1)))
        reach = student_t((1 + confidence) / 2, count - 1) * width
        low = max(low, centre - reach)
        if variance <= _MAX_SPREAD**2:
            high = centre + reach
    mean = max(mean, least)
    return Interval(mean / _LOG10, max(min(low, mean), least) / _LOG10, max(high, mean) / _LOG10)


def student_t(probability: float, freedom: int) -> float:
    """Returns a quantile of Student's t distribution.

    Args:
        probability: Above 0.5 and below 1.
        freedom: Degrees of freedom, at least 1.

    Reference: exact for 1 and 2; else Abramowitz, Stegun 1964, formula 26.7.5, whose error is below 1 % at 97.5 %.
    """
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    if freedom == 2:
        return (2 * probability - 1) * math.sqrt(2 / (4 * probability * (1 - probability)))
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))


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
