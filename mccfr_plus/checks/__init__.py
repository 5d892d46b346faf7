"""Checks of user-defined components: whether an estimator is unbiased, a minimizer minimizes regret, an average is the
average of what was played, and the rules of a game are consistent.

Each check enumerates small games where that is possible, and compares with theory otherwise. It raises `CheckError` at
the first fault, and returns a `Report`. The built-in components pass the same checks:
``tests/checks/test_built_in_components.py``.
"""

from mccfr_plus.checks.average import check_average
from mccfr_plus.checks.estimator import check_estimator
from mccfr_plus.checks.minimizer import check_minimizer
from mccfr_plus.checks.report import Line, Report
from mccfr_plus.checks.rules import check_game

__all__ = ["Line", "Report", "check_average", "check_estimator", "check_game", "check_minimizer"]
