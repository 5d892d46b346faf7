"""Comparisons: games x algorithms x seeds on this machine or a cluster, with records, curves and pictures.

algorithms ─▶ comparison (with its runs) ─▶ runs (loop and records) ─▶ run_all ─▶ curves ─▶ result (`compare`) ─▶ report
"""

from mccfr_plus.experiments.curves import Curve, Interval
from mccfr_plus.experiments.result import Result, compare

__all__ = ["Curve", "Interval", "Result", "compare"]
