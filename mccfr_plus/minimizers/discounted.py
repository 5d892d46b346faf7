"""Discounted regret matching, with fixed or scheduled exponents, and with predictions: one kernel with two switches."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import unlikely
from mccfr_plus.kernels.slots import Constant, bind
from mccfr_plus.minimizers.minimizer import CUTS, PREDICTS, REGRET, Minimizer, expected_value, play_in_proportion
from mccfr_plus.parameters import number, whole
from mccfr_plus.trees.needs import DIFFERENCES, REGRETS
from mccfr_plus.trees.scratch import at

# Entries of the parameters.
ALPHA, BETA = 0, 1
AT = 2  # the iteration that the entries below belong to
POSITIVE, NEGATIVE = 3, 4  # t^alpha / (t^alpha + 1), and with beta
BEFORE_POSITIVE, BEFORE_NEGATIVE = 5, 6  # sums of the logarithms of the factors of all earlier iterations
AFTER_POSITIVE, AFTER_NEGATIVE = 7, 8  # the same with this iteration's
ITERATIONS = 9  # of a schedule

# Rows of the tables beside REGRET: AFTER_... when the infoset was last touched; used at first slots only.
SEEN_POSITIVE, SEEN_NEGATIVE = 1, 2

SCHEDULED = Constant("SCHEDULED", False, "Whether exponents follow the schedule of HS-DCFR.")

_SMALLEST_FACTOR = 1e-300  # keeps logarithms finite


@inline_kernel
def discounted(values, strategy, tables, first, last, iteration, parameters):
    """Updates an infoset. See `Minimizer`; with `CUTS` there is no row SEEN_NEGATIVE.

    Regrets keep their signs between two visits, so that missed discounts, sums of logarithms, are made up for now.
    """
    positive, negative = parameters[POSITIVE], parameters[NEGATIVE]
    missed_positive, missed_negative = 1.0, 1.0
    is_behind = tables[SEEN_POSITIVE, at(first)] != parameters[BEFORE_POSITIVE]
    if not CUTS():  # either sum may stand still: factors near 1 change nothing in it
        is_behind |= tables[SEEN_NEGATIVE, at(first)] != parameters[BEFORE_NEGATIVE]
    if unlikely(is_behind):
        missed_positive = math.exp(parameters[BEFORE_POSITIVE] - tables[SEEN_POSITIVE, at(first)])
        if not CUTS():
            missed_negative = math.exp(parameters[BEFORE_NEGATIVE] - tables[SEEN_NEGATIVE, at(first)])
    tables[SEEN_POSITIVE, at(first)] = parameters[AFTER_POSITIVE]
    if not CUTS():
        tables[SEEN_NEGATIVE, at(first)] = parameters[AFTER_NEGATIVE]
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        instant, regret = values[at(slot)] - value, tables[REGRET, at(slot)]
        if CUTS():
            kept = max(regret * missed_positive + instant, 0.0) * positive
            tables[REGRET, at(slot)] = kept
        else:  # one of each two products is 0: so there is nothing to branch on
            regret = max(regret, 0.0) * missed_positive + min(regret, 0.0) * missed_negative + instant
            kept = max(regret, 0.0) * positive
            tables[REGRET, at(slot)] = kept + min(regret, 0.0) * negative
        share = max(kept + instant, 0.0) if PREDICTS() else kept
        values[at(slot)] = share
        total += share
    play_in_proportion(values, strategy, first, last, total)
    return value


@inline_kernel
def prepare_discount(tree, strategy, tables, scratch, player, iteration, parameters):
    """Moves the discounts on to an iteration, over any that updated nothing. `parameters` is modified in place."""
    while parameters[AT] < iteration:
        parameters[AT] += 1.0
        if SCHEDULED():
            share = min(parameters[AT] / parameters[ITERATIONS], 1.0)
            parameters[ALPHA] = 1.0 + 3.0 * share
            parameters[BETA] = -1.0 - 2.0 * share
        parameters[BEFORE_POSITIVE] = parameters[AFTER_POSITIVE]
        parameters[BEFORE_NEGATIVE] = parameters[AFTER_NEGATIVE]
        parameters[POSITIVE] = _factor(parameters[AT], parameters[ALPHA])
        parameters[NEGATIVE] = _factor(parameters[AT], parameters[BETA])
        parameters[AFTER_POSITIVE] += math.log(parameters[POSITIVE])
        parameters[AFTER_NEGATIVE] += math.log(parameters[NEGATIVE])


@inline_kernel
def _factor(iteration, exponent):
    """Returns t^exponent / (t^exponent + 1); its limits 1 and 0, above 0 so that it has a logarithm, at +-infinity."""
    if math.isinf(exponent):
        return 1.0 if exponent > 0.0 else _SMALLEST_FACTOR
    return max(1.0 / (1.0 + iteration**-exponent), _SMALLEST_FACTOR)


@dataclass(frozen=True)
class Discounted(Minimizer):
    """Discounted regret matching, the rule of DCFR: regrets are discounted after each update (Brown and Sandholm 2019).

    After iteration t with regrets r, the cumulative regrets R become (R + r) d, with d = t^alpha / (t^alpha + 1) where
    R + r is positive, and d = t^beta / (t^beta + 1) elsewhere. The next strategy is proportional to [R]+.

    The paper's gamma, the exponent of the average's weights, is set with `PowerAverage(gamma)`. At infosets that
    sampled traversals have missed, the exact product of all missed discounts is applied at the next visit.

    Args:
        alpha: Exponent for positive regrets; with infinity, they are not discounted. With alpha < 1, positive regrets
            that receive no additions eventually underflow to 0; with alpha = 0, this takes about a thousand iterations.
            When no positive regret is left, the next strategy is uniform.
        beta: Exponent for negative regrets; minus infinity drops them.

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.Discounted(alpha=1.5, beta=0.0))
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    alpha: float = number(1.5, most=math.inf)
    beta: float = number(0.0, most=math.inf)
    short_name: ClassVar[str] = "dcfr"
    num_tables: ClassVar[int] = 3
    provides: ClassVar[frozenset[str]] = frozenset({REGRETS, DIFFERENCES})
    kernel: ClassVar[Any] = staticmethod(discounted)
    prepare: ClassVar[Any] = staticmethod(prepare_discount)

    @property
    def default_average(self) -> str:  # type: ignore[override]
        """The papers' average: linear for linear CFR and LCFR+, t^2 for DCFR, t^4 for DCFR+."""
        if self in (linear(), linear_plus()):
            return "linear"
        return "power(gamma=4.0)" if self == discounted_plus() else "power"

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("brown2019solving", *(("xu2024minimizing",) if self == discounted_plus() else ()))

    def parameters(self) -> np.ndarray:
        return np.append([self.alpha, self.beta], np.zeros(AFTER_NEGATIVE - BETA))

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        regrets = tables[REGRET, slots]
        missed_positive = parameters[AFTER_POSITIVE] - tables[SEEN_POSITIVE, slots.start]
        missed_negative = parameters[AFTER_NEGATIVE] - tables[SEEN_NEGATIVE, slots.start]
        return regrets * np.exp(np.where(regrets > 0, missed_positive, missed_negative))


def linear() -> Discounted:
    """Returns the rule of linear CFR: the special case alpha = beta = 1."""
    return Discounted(alpha=1.0, beta=1.0)


def linear_plus() -> Discounted:
    """Returns the rule of LCFR+: regrets weigh t, and negative ones are dropped (alpha = 1, beta = minus infinity)."""
    return Discounted(alpha=1.0, beta=-math.inf)


def dcfr_pruning() -> Discounted:
    """Returns the paper's setting for runs with pruning, DCFR(3/2, 1/2, 2), whose negative regrets keep growing."""
    return Discounted(alpha=1.5, beta=0.5)


def discounted_plus() -> Discounted:
    """Returns the rule of DCFR+ (Xu et al. 2024, section 4): alpha = 1.5, and negative regrets are dropped.

    The paper discounts before it adds, R_t = [d_{t-1} R_{t-1} + r_t]+. Like OpenSpiel, this class discounts the sum:
    its R_t is the paper's R_t times d_t, so all strategies are the same.
    """
    return Discounted(alpha=1.5, beta=-math.inf)


@dataclass(frozen=True)
class ScheduledDiscounted(Discounted):
    """Discounted regret matching on a schedule, the rule of HS-DCFR (Zhang, McAleer and Sandholm 2026, eqs. 2 to 4).

    Until iteration n, alpha_t = 1 + 3 t / n and beta_t = -1 - 2 t / n; thereafter, both are constant. The default
    average is `ScheduledAverage` with the same n.

    Args:
        iterations: The planned number of iterations n, at least 1.

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.ScheduledDiscounted(iterations=100))
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    alpha: float = field(default=1.0, init=False, repr=False)
    beta: float = field(default=-1.0, init=False, repr=False)
    iterations: int = whole(1000)
    short_name: ClassVar[str] = "hs_dcfr"
    prepare: ClassVar[Any] = staticmethod(bind(prepare_discount, {SCHEDULED: True}))

    @property
    def default_average(self) -> str:  # type: ignore[override]
        """The scheduled average of the rule's paper."""
        return f"schedule(iterations={self.iterations})"

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("zhang2026faster", "brown2019solving")

    def parameters(self) -> np.ndarray:
        return np.append(super().parameters(), float(self.iterations))


@dataclass(frozen=True)
class PredictiveDiscounted(Discounted):
    """Predictive discounted regret matching+, the rule of PDCFR+ (Xu et al. 2024, section 4).

    Let r be the regrets of iteration t and R the cumulative regrets. Then R becomes [d R + r]+ with d = (t-1)^alpha /
    ((t-1)^alpha + 1), and the next strategy is proportional to [d' R + r]+, where d' is the value of d in the next
    iteration. In the average, iteration t has weight t^5.

    Args:
        alpha: Exponent of the discount; infinity means no discount, which gives predictive regret matching+.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.PredictiveDiscounted()).run(100).exploitability() < 0.01
        True
    """

    alpha: float = number(2.3, most=math.inf)
    beta: float = field(default=0.0, init=False, repr=False)  # no regret is negative
    short_name: ClassVar[str] = "pdcfr+"
    num_tables: ClassVar[int] = 2
    references: ClassVar[tuple[str, ...]] = ("xu2024minimizing",)
    provides: ClassVar[frozenset[str]] = frozenset({DIFFERENCES})
    default_average: ClassVar[str] = "power(gamma=5.0)"
    kernel: ClassVar[Any] = staticmethod(bind(discounted, {CUTS: True, PREDICTS: True}))

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        return tables[REGRET, slots] * np.exp(parameters[AFTER_POSITIVE] - tables[SEEN_POSITIVE, slots.start])
