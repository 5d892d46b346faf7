"""Regret bounds, and the measured regret of a run.

`treeplex` has the sizes of a game in the theorems, `dilated` the bounds of FTRL and mirror descent, `regret` the bound
of an estimator and a minimizer, `measured` the exact regret.
"""

from mccfr_plus.bounds.measured import measured_regret
from mccfr_plus.bounds.regret import RegretBound, regret_bound, why_no_bound

__all__ = ["RegretBound", "measured_regret", "regret_bound", "why_no_bound"]
