"""Means over seeds with 95 % intervals, and the verdicts that follow from them."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mccfr_plus.display import mean_band
from mccfr_plus.experiments.curves import Curve

REPRODUCED, SMALLER_SCALE = "reproduced", "reproduced at smaller scale"
NOT_REPRODUCED, NOT_TRIED = "not reproduced", "not tried"
VERDICTS = (REPRODUCED, SMALLER_SCALE, NOT_REPRODUCED, NOT_TRIED)

AHEAD, BEHIND, TIE = "ahead", "behind", "intervals overlap"


class Mean(NamedTuple):
    """A mean over seeds and its 95 % interval; of one seed, or where nothing is drawn, the mean alone."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} ({self.low:.4g} .. {self.high:.4g})" if self.low < self.high else f"{self.mean:.4g}"


def mean_of(values: np.ndarray) -> Mean:
    """Returns the mean of ``[seeds]`` with Student's interval."""
    low, high = mean_band(np.asarray(values)[:, None])
    return Mean(float(np.mean(values)), float(low[0]), float(high[0]))


def end_of(curve: Curve, measure: str = "nash_conv", at: float | None = None, unit: str = "nodes") -> Mean:
    """Returns what a curve has reached at its end, or before (see `values_at`)."""
    return mean_of(curve.y(measure)[:, -1] if at is None else values_at(curve, at, measure, unit))


def values_at(curve: Curve, at: float, measure: str = "nash_conv", unit: str = "nodes") -> np.ndarray:
    """Returns ``[seeds]`` after so many histories, or CPU seconds, on a line between points on logarithmic axes."""
    x, y = np.log(np.maximum(curve.x(unit), 1e-300)), np.log(np.maximum(curve.y(measure), 1e-300))
    return np.exp([np.interp(math.log(at), x, run) for run in y])


def order(first: Mean, second: Mean) -> str:
    """Returns whether the first is ahead, which is lower, by disjoint intervals."""
    return AHEAD if first.high < second.low else BEHIND if first.low > second.high else TIE


def verdict(holds: bool, is_full_scale: bool) -> str:
    """Returns the verdict on a claim that was tried."""
    return (REPRODUCED if is_full_scale else SMALLER_SCALE) if holds else NOT_REPRODUCED


def nodes_below(curve: Curve, level: float) -> float:
    """Returns after how many histories the mean over seeds falls below a level; infinity if it never does.

    On a line between points on logarithmic axes; the first point if it is below.
    """
    x, mean = curve.x("nodes"), curve.mean("nash_conv")
    below = np.flatnonzero(mean < level)
    if not len(below):
        return math.inf
    at = below[0]
    if at == 0:
        return float(x[0])
    share = math.log(mean[at - 1] / level) / math.log(mean[at - 1] / mean[at])
    return float(x[at - 1] * (x[at] / x[at - 1]) ** share)


def common_end(curves: Iterable[Curve], unit: str = "nodes") -> float:
    """Returns after how many histories, or CPU seconds, the shortest of some curves ends."""
    return min(float(curve.x(unit)[-1]) for curve in curves)
