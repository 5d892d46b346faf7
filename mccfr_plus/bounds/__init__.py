"""What theory promises about regret, and what a run's regret really was.

`treeplex` has the sizes of a game that the theorems speak of, `exploration` those of outcome sampling, `dilated` the
bounds of FTRL and mirror descent, `regret` picks the bound of a pair of parts, `measured` measures regret, and
`equilibrium` says what regret has to do with the NashConv of the average strategy.
"""

from mccfr_plus.bounds.dilated import dilated_bound, dilated_diameter, strong_convexity
from mccfr_plus.bounds.equilibrium import NashConvClaim, nash_conv_claim
from mccfr_plus.bounds.exploration import balanced_deviation, largest_payoff, outcome_delta
from mccfr_plus.bounds.measured import measured_regret
from mccfr_plus.bounds.regret import RegretBound, hedge_bound, regret_bound, sampling_deviation, why_no_bound
from mccfr_plus.bounds.treeplex import (
    action_sequences,
    largest_m_value,
    log_pure_strategies,
    m_value,
    m_value_of,
    plan_norm,
)

__all__ = [
    "NashConvClaim",
    "RegretBound",
    "action_sequences",
    "balanced_deviation",
    "dilated_bound",
    "dilated_diameter",
    "hedge_bound",
    "largest_m_value",
    "largest_payoff",
    "log_pure_strategies",
    "m_value",
    "m_value_of",
    "measured_regret",
    "nash_conv_claim",
    "outcome_delta",
    "plan_norm",
    "regret_bound",
    "sampling_deviation",
    "strong_convexity",
    "why_no_bound",
]
