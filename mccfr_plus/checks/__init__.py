"""Checks of user-defined components: each raises `CheckError` at the first fault, and returns a `Report`."""

from mccfr_plus.checks.average import check_average
from mccfr_plus.checks.estimator import check_estimator
from mccfr_plus.checks.minimizer import check_minimizer
from mccfr_plus.checks.report import CheckLine, Report
from mccfr_plus.checks.rules import check_game

__all__ = ["CheckLine", "Report", "check_average", "check_estimator", "check_game", "check_minimizer"]
