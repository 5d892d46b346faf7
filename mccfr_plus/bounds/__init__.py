"""Regret bounds, and the measured regret of a run.

`treeplex` has the sizes of a game in the theorems, `dilated` the bounds of FTRL and mirror descent, `regret` the bound
of an estimator and a minimizer, `measured` the exact regret, `nash_conv` the NashConv that follows from regrets.
"""

from mccfr_plus.bounds.dilated import dilated_bound, dilated_diameter, strong_convexity
from mccfr_plus.bounds.measured import measured_regret
from mccfr_plus.bounds.nash_conv import NashConvBound, nash_conv_bound
from mccfr_plus.bounds.regret import RegretBound, hedge_bound, regret_bound, why_no_bound
from mccfr_plus.bounds.treeplex import (
    action_sequences,
    largest_m_value,
    largest_payoff,
    log_pure_strategies,
    m_value,
    m_value_of,
    outcome_delta,
    plan_norm,
    root_square_m_value_of,
)

__all__ = [
    "NashConvBound",
    "RegretBound",
    "action_sequences",
    "dilated_bound",
    "dilated_diameter",
    "hedge_bound",
    "largest_m_value",
    "largest_payoff",
    "log_pure_strategies",
    "m_value",
    "m_value_of",
    "measured_regret",
    "nash_conv_bound",
    "outcome_delta",
    "plan_norm",
    "regret_bound",
    "root_square_m_value_of",
    "strong_convexity",
    "why_no_bound",
]
