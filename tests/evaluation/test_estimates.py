"""Means, variances, quantiles and the text of an estimate."""

import math

import numpy as np
import pytest

from mccfr_plus.evaluation.play import Running


@pytest.mark.parametrize(
    ("confidence", "degrees", "quantile"),
    [  # from the usual printed table
        (0.95, 3, 3.182), (0.95, 4, 2.776), (0.95, 7, 2.365), (0.95, 30, 2.042), (0.9, 5, 2.015), (0.99, 30, 2.750),
    ],
)  # fmt: skip
def test_intervals_have_the_width_of_students_t(confidence, degrees, quantile):
    running = Running()
    for number in range(degrees + 1):
        running.add(number)
    estimate = running.estimate("estimate", confidence, 0.0)
    assert estimate.half_width == pytest.approx(quantile * math.sqrt(running.variance_of_mean), rel=2e-4)
    assert estimate.low + estimate.high == pytest.approx(2 * running.mean)


def test_mean_and_variance():
    numbers = [1e6 + x for x in (3.0, 1.0, 4.0, 1.0, 5.0)]
    running = Running()
    for number in numbers:
        running.add(number)
    assert running.mean == pytest.approx(np.mean(numbers), rel=1e-14)
    assert running.variance_of_mean == pytest.approx(np.var(numbers, ddof=1) / 5, rel=1e-9)
