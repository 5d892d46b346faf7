"""Limits of z-scores: one false alarm in a million runs of a whole check, however many numbers it compares."""

from mccfr_plus.evaluation.estimates import student_t

FALSE_ALARM = 1e-6


def z_limit(comparisons: int, freedom: float = float("inf")) -> float:
    """Returns Bonferroni's limit on the absolute values of this many z-scores, or of Student's t-scores."""
    return -student_t(FALSE_ALARM / (2 * max(comparisons, 1)), freedom)
