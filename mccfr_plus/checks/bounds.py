"""Regret bounds of the built-in rules at one information state: functions of (rounds, actions, range of values).

| rule | R_T at most | from |
|---|---|---|
| RM, RM+ | L sqrt(n T) | Hart, Mas-Colell 2000; Tammelin et al. 2015, theorem 1 |
| predictive RM, RM+ | 2 sqrt(2) L sqrt(n T) | Farina et al. 2021: sqrt(2 sum of |r_t - m_t|^2) |
| Hedge, FTRL, OMD | log(n) / eta_T + (L^2 / 8) sum of eta_t | Cesa-Bianchi, Lugosi 2006, theorem 2.3 |
| optimistic forms | log(n) / eta_T + L^2 sum of eta_t | Rakhlin, Sridharan 2013: predictions are off by L at most |

The prediction m_t is the last r, so that |r_t - m_t| <= 2 L sqrt(n). Discounted rules have bounds on weighted regrets;
for them the growth of regret is checked instead, and for OMD with a step size that changes.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mccfr_plus.minimizers import (
    FTRL,
    OMD,
    Hedge,
    Minimizer,
    PredictiveRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)

Bound: TypeAlias = Callable[[int, int, float], float]


def bound_of(minimizer: Minimizer) -> Bound | None:
    """Returns the minimizer's ``regret_bound``, the bound of the table above, or None if neither exists."""
    own = getattr(minimizer, "regret_bound", None)
    if own is not None:
        return own
    if type(minimizer) in (RegretMatching, RegretMatchingPlus):
        return lambda rounds, actions, width: width * math.sqrt(actions * rounds)
    if type(minimizer) in (PredictiveRegretMatching, PredictiveRegretMatchingPlus):
        return lambda rounds, actions, width: width * math.sqrt(8 * actions * rounds)
    if not isinstance(minimizer, Hedge | FTRL | OMD) or type(minimizer) not in (Hedge, FTRL, OMD):
        return None  # unknown, as for subclasses with kernels that differ
    eta, decay, factor = minimizer.eta, getattr(minimizer, "decay", 0.0), 1.0 if minimizer.optimistic else 1 / 8
    if decay and not isinstance(minimizer, Hedge):
        return None

    def bound(rounds: int, actions: int, width: float) -> float:
        steps = eta * np.arange(1.0, rounds + 1) ** -decay
        return math.log(actions) / steps[-1] + factor * width**2 * float(steps.sum())

    return bound
