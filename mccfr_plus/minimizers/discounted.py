"""Discounted regret matching: R = (R + r) d, with d = t^alpha / (t^alpha + 1) where R + r is positive, else with beta.

The next strategy is proportional to [R]+. Reference: Brown, Sandholm 2019, "Solving imperfect-information games via
discounted regret minimization".
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.base import check_number
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import unlikely
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.infoset import REGRET, expected_value, play_in_proportion
from mccfr_plus.trees.needs import REGRETS
from mccfr_plus.trees.scratch import at

# Entries of the parameters.
ALPHA = 0
BETA = 1
AT = 2  # the iteration that the entries below belong to
POSITIVE = 3  # t^alpha / (t^alpha + 1)
NEGATIVE = 4
BEFORE_POSITIVE = 5  # sum of the logarithms of the factors of all earlier iterations
BEFORE_NEGATIVE = 6
AFTER_POSITIVE = 7  # the same with this iteration's
AFTER_NEGATIVE = 8
NUM_DISCOUNTED = 9

# Rows of the tables beside REGRET; used at first slots only.
SEEN_POSITIVE = 1  # AFTER_POSITIVE when the infoset was last touched
SEEN_NEGATIVE = 2

_SMALLEST_FACTOR = 1e-300  # keeps logarithms finite


@inline_kernel
def discounted(values, strategy, tables, first, last, iteration, parameters):
    """Discounted regret matching. See `Minimizer`.

    Regrets keep their signs between two visits, so that the discounts that an infoset missed are made up for when it
    is touched again, in O(touched): the factors are kept as sums of logarithms. `next_discount` has been called for the
    iteration.
    """
    positive, negative = parameters[POSITIVE], parameters[NEGATIVE]
    missed_positive, missed_negative = 1.0, 1.0
    seen_positive, seen_negative = tables[SEEN_POSITIVE, at(first)], tables[SEEN_NEGATIVE, at(first)]
    # Either sum may stand still: factors near 1 change nothing in it.
    if unlikely((seen_positive != parameters[BEFORE_POSITIVE]) | (seen_negative != parameters[BEFORE_NEGATIVE])):
        missed_positive = math.exp(parameters[BEFORE_POSITIVE] - seen_positive)
        missed_negative = math.exp(parameters[BEFORE_NEGATIVE] - seen_negative)
    tables[SEEN_POSITIVE, at(first)] = parameters[AFTER_POSITIVE]
    tables[SEEN_NEGATIVE, at(first)] = parameters[AFTER_NEGATIVE]
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        regret = tables[REGRET, at(slot)]  # below, one of each two products is 0: so there is nothing to branch on
        regret = max(regret, 0.0) * missed_positive + min(regret, 0.0) * missed_negative + (values[at(slot)] - value)
        kept = max(regret, 0.0) * positive
        tables[REGRET, at(slot)] = kept + min(regret, 0.0) * negative
        values[at(slot)] = kept
        total += kept
    play_in_proportion(values, strategy, first, last, total)
    return value


@inline_kernel
def prepare_discount(tree, strategy, tables, scratch, player, iteration, parameters):
    """Brings the discounts up to date with the iteration. `parameters` is modified in place."""
    if parameters[AT] != iteration:
        next_discount(parameters, iteration)


@kernel
def next_discount(parameters, iteration):
    """Moves the discounts on to an iteration, over any that updated nothing. `parameters` is modified in place."""
    while parameters[AT] < iteration:
        parameters[AT] += 1.0
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
    """Discounted regret matching, the rule of DCFR: regrets are discounted after each update (Brown, Sandholm 2019).

    R = (R + r) d, with d = t^alpha / (t^alpha + 1) where R + r is positive, else with beta. The next strategy is
    proportional to [R]+.

    The paper's third parameter, gamma, weights the average: `PowerAverage(gamma)`. Infosets that a sampled traversal
    misses get all missed discounts when they are next touched, exactly.

    Args:
        alpha: Exponent of the discount of positive regrets, t^alpha / (t^alpha + 1); infinity keeps them whole. Below
            1, regrets to which nothing is added vanish: with 0 after a thousand iterations, whose next one is uniform.
        beta: The same for negative regrets; minus infinity drops them.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.Discounted(alpha=1.5, beta=0.0))
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    alpha: float = 1.5
    beta: float = 0.0
    short_name: ClassVar[str] = "dcfr"
    num_tables: ClassVar[int] = 3
    provides: ClassVar[frozenset[str]] = frozenset({REGRETS})
    kernel: ClassVar[Any] = staticmethod(discounted)
    prepare: ClassVar[Any] = staticmethod(prepare_discount)

    def __post_init__(self) -> None:
        check_exponent("alpha", self.alpha, "alpha=1.5, beta=0")
        check_exponent("beta", self.beta, "alpha=1.5, beta=0")

    @property
    def default_average(self) -> str:  # type: ignore[override]
        """Linear CFR and LCFR+ have a linear average, DCFR one of weight t^2, DCFR+ of t^4."""
        if self in (linear(), linear_plus()):
            return "linear"
        return "power(gamma=4.0)" if self == discounted_plus() else "power"

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("brown2019solving", *(("xu2024minimizing",) if self == discounted_plus() else ()))

    def parameters(self) -> np.ndarray:
        parameters = np.zeros(NUM_DISCOUNTED)
        parameters[ALPHA] = self.alpha
        parameters[BETA] = self.beta
        return parameters

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        regrets = tables[REGRET, slots]
        missed_positive = parameters[AFTER_POSITIVE] - tables[SEEN_POSITIVE, slots.start]
        missed_negative = parameters[AFTER_NEGATIVE] - tables[SEEN_NEGATIVE, slots.start]
        return regrets * np.exp(np.where(regrets > 0, missed_positive, missed_negative))


def check_exponent(name: str, value: Any, of_paper: str) -> None:
    """Raises ConfigError unless an exponent of discounts is a number or +-infinity."""
    allowed = f"must be a number or +-inf; the paper uses {of_paper}"
    check_number(name, value, -math.inf, math.inf, allowed, inclusive=True)


def linear() -> Discounted:
    """Returns the rule of linear CFR: the special case alpha = beta = 1."""
    return Discounted(alpha=1.0, beta=1.0)


def linear_plus() -> Discounted:
    """Returns the rule of LCFR+: regrets weigh t, negative ones are dropped (alpha = 1, beta = minus infinity)."""
    return Discounted(alpha=1.0, beta=-math.inf)


def dcfr_pruning() -> Discounted:
    """Returns the paper's setting for runs with pruning, DCFR(3/2, 1/2, 2), whose negative regrets keep growing."""
    return Discounted(alpha=1.5, beta=0.5)


def discounted_plus() -> Discounted:
    """Returns the rule of DCFR+ (Xu et al. 2024, section 4): alpha = 1.5, and negative regrets are dropped.

    The paper discounts R before it adds r, R_t = [d R_{t-1} + r_t]+ with d = (t-1)^alpha / ((t-1)^alpha + 1). This
    class, as OpenSpiel, discounts what it has added: its R_t is the paper's times the next d, so that all strategies
    are the same.
    """
    return Discounted(alpha=1.5, beta=-math.inf)
