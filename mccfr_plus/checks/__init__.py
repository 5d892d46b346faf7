"""Checks for parts of your own: whether an estimator is unbiased, a minimizer minimizes, an
average averages, the rules of a game are consistent.

Each goes through everything on small games where that can be done, compares with what theory says otherwise, raises
`CheckError` at the first thing that is wrong, and returns a `Report`. The package's own parts pass through the same
checks by way of one table, ``tests/checks/test_own_parts.py``.
"""

from mccfr_plus.checks.average import check_average
from mccfr_plus.checks.estimator import check_estimator
from mccfr_plus.checks.minimizer import check_minimizer
from mccfr_plus.checks.report import Line, Report
from mccfr_plus.checks.rules import check_game

__all__ = ["Line", "Report", "check_average", "check_estimator", "check_game", "check_minimizer"]
