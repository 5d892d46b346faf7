"""Limits of z-scores: one false alarm in a million runs of a whole check, however many numbers it compares."""

from __future__ import annotations

from statistics import NormalDist

FALSE_ALARM = 1e-6


def z_limit(comparisons: int) -> float:
    """Returns Bonferroni's limit on the absolute values of this many z-scores."""
    return -NormalDist().inv_cdf(FALSE_ALARM / (2 * max(comparisons, 1)))


def t_limit(comparisons: int, freedom: int) -> float:
    """Returns the limit of `z_limit` for Student's t, by the first terms of its expansion around the normal quantile.

    Reference: Abramowitz, Stegun 1964, 26.7.5.

    Args:
        comparisons: How many scores are compared.
        freedom: Degrees of freedom, 50 or more for two digits.
    """
    z = z_limit(comparisons)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
