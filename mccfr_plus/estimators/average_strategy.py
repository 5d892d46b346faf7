"""Average strategy sampling: external sampling that visits a subset of own actions, by the average strategy.

Reference: Gibson, Burch, Lanctot, Szafron 2012, algorithm 1.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.base import OpponentsSampled, SamplingWeights, check_exploration, check_number
from mccfr_plus.estimators.traversal import ALL_OWN, INCLUSION, WEIGH_ACTIONS
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.trees.needs import AVERAGE
from mccfr_plus.trees.scratch import at


@inline_kernel
def sum_of_averages(average, first, count):
    """Returns the sum of an infoset's entries of the average strategy's sums."""
    total = 0.0
    for slot in range(first, first + count):
        total += average[at(slot)]
    return total


@inline_kernel
def inclusion_by_average(parameters, average, slot, total):
    """Returns max(epsilon, (beta + tau s(I, a)) / (beta + sum_b s(I, b))), at most 1; 1 where the denominator is 0."""
    epsilon, tau, beta = parameters[0], parameters[1], parameters[2]
    if beta + total <= 0.0:
        return 1.0
    return min(1.0, max(epsilon, (beta + tau * average[at(slot)]) / (beta + total)))


@dataclass(frozen=True)
class AverageStrategySampling(OpponentsSampled):
    """External sampling that visits a subset of own actions, chosen by the average strategy (Gibson et al. 2012).

    Each own action is visited, independently of the others, with probability

        rho(I, a) = max(epsilon, (beta + tau s(I, a)) / (beta + sum_b s(I, b))),   at most 1,

    where s are the sums of the average strategy. Its sampled value is divided by rho. The average must keep sums. With
    more than two players, a stochastic average needs a second traversal.

    Differs from it in line 9, with the default average: algorithm 1 adds x(I, a) / q to s where a traversal visits an
    opponent's infoset. In expectation that is reach * x(I, a) * c(I), c(I) the sum of chance's reach over the histories
    of I. The lazy average adds reach * x(I, a): average and ratios of sums are the same, sums are 1 / c(I) times as
    large. So beta here acts at I as beta * c(I) does in the paper: in Bluff(1, 1), where c(I) = 1 / 6, as a sixth.
    ``averaging="stochastic"`` forms the paper's sums.

    Reference: Gibson, Burch, Lanctot, Szafron 2012, algorithm 1, whose defaults these are.

    Args:
        epsilon: Smallest probability of a visit, in (0, 1].
        tau: Actions of an average probability of at least 1 / tau are always visited; at least 1.
        beta: While sums are below this, most actions are visited; at least 0.
        sample_per_infoset: One draw per opponents' infoset and traversal, not per node.

    Examples:
        >>> import mccfr_plus
        >>> estimator = mccfr_plus.AverageStrategySampling(epsilon=0.05, tau=100.0, beta=1e3)
        >>> solver = mccfr_plus.Solver("kuhn_poker", estimator, seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    epsilon: float = 0.05
    tau: float = 1000.0
    beta: float = 1e6
    sample_per_infoset: bool = False
    short_name: ClassVar[str] = "average_strategy"
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte", "gibson2012efficient")
    switches: ClassVar[dict[Any, Any]] = {
        ALL_OWN: False, INCLUSION: inclusion_by_average, WEIGH_ACTIONS: sum_of_averages,
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        check_exploration(self.epsilon, "the paper uses 0.05")
        allowed = "must be a finite number, at least 1; the paper uses 1000"
        check_number("tau", self.tau, 1, 1e300, allowed, inclusive=True)
        allowed = "must be a finite number >= 0; the paper uses 1e6"
        check_number("beta", self.beta, 0, 1e300, allowed, inclusive=True)

    def parameters(self) -> np.ndarray:
        return np.array([float(self.epsilon), float(self.tau), float(self.beta)])

    @property
    def needs(self) -> frozenset[str]:
        return super().needs | {AVERAGE}

    @property
    def sampling_weights(self) -> SamplingWeights:
        return SamplingWeights.AVERAGE
