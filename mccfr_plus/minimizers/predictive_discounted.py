"""Predictive discounted regret matching+: R_t = [d R_{t-1} + r_t]+ with d = (t-1)^alpha / ((t-1)^alpha + 1).

The next strategy is proportional to [d' R_t + r_t]+, d' being the d of the next iteration. The table holds d' R_t: to
discount before the next regrets are added is to discount after these.

Reference: Xu, Li, Liu, Fu, Fu, Xing, Cheng 2024, "Minimizing weighted counterfactual regret with optimistic online
mirror descent", section 4. The prediction is the last regret.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import unlikely
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.discounted import (
    AFTER_POSITIVE,
    ALPHA,
    BEFORE_POSITIVE,
    NUM_DISCOUNTED,
    POSITIVE,
    SEEN_POSITIVE,
    check_exponent,
    prepare_discount,
)
from mccfr_plus.minimizers.infoset import REGRET, expected_value, play_in_proportion
from mccfr_plus.trees.scratch import at


@inline_kernel
def predictive_discounted(values, strategy, tables, first, last, iteration, parameters):
    """PDCFR+ at one infoset. See `Minimizer`; discounts that it missed are made up for as in `discounted`."""
    positive, missed = parameters[POSITIVE], 1.0
    if unlikely(tables[SEEN_POSITIVE, at(first)] != parameters[BEFORE_POSITIVE]):
        missed = math.exp(parameters[BEFORE_POSITIVE] - tables[SEEN_POSITIVE, at(first)])
    tables[SEEN_POSITIVE, at(first)] = parameters[AFTER_POSITIVE]
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        instant = values[at(slot)] - value
        regret = max(tables[REGRET, at(slot)] * missed + instant, 0.0) * positive
        tables[REGRET, at(slot)] = regret
        values[at(slot)] = max(regret + instant, 0.0)
        total += values[at(slot)]
    play_in_proportion(values, strategy, first, last, total)
    return value


@dataclass(frozen=True)
class PredictiveDiscounted(Minimizer):
    """Predictive discounted regret matching+, the rule of PDCFR+ (Xu et al. 2024, section 4).

    With r the regrets of iteration t and R the cumulative ones: R = [d R + r]+ with
    d = (t-1)^alpha / ((t-1)^alpha + 1), and the next strategy is proportional to [d' R + r]+ with the next iteration's
    d'. The average has weights t^5.

    Args:
        alpha: Exponent of the discount; infinity keeps regrets whole, which is predictive regret matching+.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.PredictiveDiscounted())
        >>> solver.run(100).exploitability() < 0.01
        True
    """

    alpha: float = 2.3
    short_name: ClassVar[str] = "pdcfr+"
    num_tables: ClassVar[int] = 2
    references: ClassVar[tuple[str, ...]] = ("xu2024minimizing",)
    default_average: ClassVar[str] = "power(gamma=5.0)"
    kernel: ClassVar[Any] = staticmethod(predictive_discounted)
    prepare: ClassVar[Any] = staticmethod(prepare_discount)

    def __post_init__(self) -> None:
        check_exponent("alpha", self.alpha, "alpha=2.3")

    def parameters(self) -> np.ndarray:
        parameters = np.zeros(NUM_DISCOUNTED)
        parameters[ALPHA] = self.alpha
        return parameters

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        missed = parameters[AFTER_POSITIVE] - tables[SEEN_POSITIVE, slots.start]
        return tables[REGRET, slots] * np.exp(missed)
