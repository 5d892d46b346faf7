"""Means, variances, quantiles and the text of an estimate."""

import math

import numpy as np
import pytest

from mccfr_plus.evaluation import Estimate
from mccfr_plus.evaluation.estimates import Running, best_look, confidence_of_look, mean_estimate, student_t


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
    estimate = mean_estimate(running, "estimate", confidence, 0.0)
    assert estimate.half_width == pytest.approx(quantile * math.sqrt(running.variance_of_mean), rel=2e-4)
    assert estimate.low + estimate.high == pytest.approx(2 * running.mean)


def test_mean_and_variance():
    numbers = [1e6 + x for x in (3.0, 1.0, 4.0, 1.0, 5.0)]
    running = Running()
    for number in numbers:
        running.add(number)
    assert running.mean == pytest.approx(np.mean(numbers), rel=1e-14)
    assert running.variance == pytest.approx(np.var(numbers, ddof=1), rel=1e-9)
    assert running.variance_of_mean == pytest.approx(np.var(numbers, ddof=1) / 5, rel=1e-9)


def test_intervals_of_few_normal_numbers_cover_as_often_as_they_say():
    rng = np.random.default_rng(1)
    covered, trials = 0, 4000
    for _ in range(trials):
        running = Running()
        for number in rng.normal(size=4):
            running.add(number)
        estimate = mean_estimate(running, "estimate", 0.9, 0.0)
        covered += estimate.low <= 0 <= estimate.high
    assert abs(covered / trials - 0.9) < 5 * math.sqrt(0.9 * 0.1 / trials)


def test_the_best_of_many_looks_is_a_lower_bound_as_often_as_it_says():
    """All looks are at means of 0, the worst case: 12 looks of 30 numbers each, the last one of them known as last."""
    rng, confidence, num_looks, trials = np.random.default_rng(1), 0.8, 12, 4000
    numbers = rng.standard_normal((trials, num_looks, 30))
    means, errors = numbers.mean(axis=2), numbers.std(axis=2, ddof=1) / np.sqrt(30)
    names = [*range(1, num_looks), None]
    shares = np.array([confidence_of_look(confidence, name) for name in names])
    lows = means - errors * np.array([student_t((1 + share) / 2, 29) for share in shares])
    best = [
        best_look([Estimate(m, low, m, "lower bound", 0.5, 30, 1.0) for m, low in zip(*rows, strict=True)], confidence)
        for rows in zip(means.tolist(), lows.tolist(), strict=True)
    ]
    assert {(look.confidence, look.seconds) for look in best} == {(confidence, float(num_looks))}
    assert [look.low for look in best] == lows.max(axis=1).tolist()
    wrong, allowed = sum(look.low > 0 for look in best), (1 - confidence) / 2 * trials
    assert wrong < allowed + 4 * np.sqrt(allowed)
    plain = means - errors * student_t((1 + confidence) / 2, 29)  # what sharing the confidence is for
    assert (plain.max(axis=1) > 0).sum() > 3 * allowed
