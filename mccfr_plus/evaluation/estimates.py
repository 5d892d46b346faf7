"""Estimates with confidence intervals, and the statistics behind them."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from mccfr_plus.parameters import LARGEST, check_number

Kind: TypeAlias = Literal["exact", "lower bound", "upper bound", "estimate"]

MIN_SAMPLES = 4  # for an interval


class Estimate(NamedTuple):
    """A number from sampling, with a confidence interval for its mean.

    The mean of a "lower bound" is at most the quantity: rely on `low`. That of an "upper bound" is at least the
    quantity: rely on `high`.

    Attributes:
        value: The mean.
        low: Lower end of the interval.
        high: Upper end of the interval.
        kind: ``"exact"``, ``"estimate"``, ``"lower bound"`` or ``"upper bound"``.
        confidence: Confidence of the interval, between 0 and 1.
        samples: Number of independent games, or repetitions, that were averaged.
        seconds: Seconds by the clock.

    Examples:
        >>> from mccfr_plus.evaluation import Estimate
        >>> print(Estimate(0.25, 0.2, 0.3, "lower bound", 0.95, 1000, 1.5))
        lower bound 0.25 (95% interval 0.2 to 0.3, 1000 samples, 1.5 s)
    """

    value: float
    low: float
    high: float
    kind: Kind
    confidence: float
    samples: int
    seconds: float

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        return (
            f"{self.kind} {self.value:.6g} ({100 * self.confidence:g}% interval {self.low:.6g} to {self.high:.6g}, "
            f"{self.samples} samples, {self.seconds:.1f} s)"
        )


class Running:
    """Mean and variance of a stream of numbers (Welford 1962)."""

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0

    def add(self, number: float) -> None:
        """Adds a number."""
        self.count += 1
        distance = number - self.mean
        self.mean += distance / self.count
        self._squares += distance * (number - self.mean)

    @property
    def variance_of_mean(self) -> float:
        """The squared standard error of `mean`; infinite for fewer than two numbers."""
        return self._squares / (self.count - 1) / self.count if self.count > 1 else math.inf


def student_t(probability: float, freedom: float) -> float:
    """Returns a quantile of Student's t distribution with this many degrees of freedom."""
    from scipy.special import stdtrit  # here, as importing it takes 0.1 s

    return float(stdtrit(freedom, probability))


def mean_estimate(running: Running, kind: Kind, confidence: float, seconds: float) -> Estimate:
    """Returns the estimate for the mean of at least `MIN_SAMPLES` numbers, by Student's t distribution."""
    half_width = math.sqrt(running.variance_of_mean) * student_t((1 + confidence) / 2, running.count - 1)
    low, high = running.mean - half_width, running.mean + half_width
    return Estimate(running.mean, low, high, kind, confidence, running.count, seconds)


def sum_of(estimates: Sequence[Estimate], weights: Sequence[float], offset: float, kind: Kind) -> Estimate:
    """Returns the estimate for a weighted sum of independent estimates of one confidence, plus a constant.

    Reference: Zou, Donner 2008, "Construction of confidence limits about effect measures: a general approach".
    """
    value = offset + math.fsum(w * term.value for w, term in zip(weights, estimates, strict=True))
    half_width = math.sqrt(math.fsum((w * term.half_width) ** 2 for w, term in zip(weights, estimates, strict=True)))
    samples = sum(term.samples for term in estimates)
    seconds = math.fsum(term.seconds for term in estimates)
    return Estimate(value, value - half_width, value + half_width, kind, estimates[0].confidence, samples, seconds)


def require_confidence(confidence: float) -> float:
    """Returns a confidence as Python's number. Raises ConfigError unless it lies between 0.5 and 1."""
    allowed = "give a number from 0.5 to below 1, such as 0.95"
    return check_number("confidence", confidence, 0.5, math.nextafter(1.0, 0.0), allowed, inclusive=True)


def require_seconds(seconds: float | None, *, optional: bool = True) -> Any:
    """Returns seconds as Python's number. Raises ConfigError unless it is above 0, or None if that is allowed."""
    if seconds is None and optional:
        return None
    return check_number("seconds", seconds, 0, LARGEST, f"give a positive number{', or None' * optional}")
