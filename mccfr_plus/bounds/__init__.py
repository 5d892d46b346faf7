"""Regret bounds, and the measured regret of a run."""

from mccfr_plus.bounds.regret import RegretBound, measured_regret, regret_bound, why_no_bound

__all__ = ["RegretBound", "measured_regret", "regret_bound", "why_no_bound"]
