"""Estimators that sample by `traversal`, each with its row of one table of switches."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mccfr_plus.estimators.base import Estimator, SamplingWeights, check_exploration
from mccfr_plus.estimators.control_variates import EXPECTED, controlled_traversal
from mccfr_plus.estimators.traversal import (
    ALL_CHANCE,
    ALL_OPPONENTS,
    ALL_OWN,
    INCLUSION,
    ONE_OWN,
    PRUNE,
    WEIGH_ACTIONS,
    traversal,
)
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.slots import Bindings, bind
from mccfr_plus.parameters import check_number, check_switch
from mccfr_plus.trees.needs import AVERAGE, OPPONENTS_DRAWN, OWN_BY_CHANCE, REGRETS
from mccfr_plus.trees.scratch import at


@inline_kernel
def inclusion_by_regret(parameters, regrets, slot, total):
    """Returns the first parameter where the cumulative regret is below the second one, else 1."""
    return parameters[0] if regrets[at(slot)] < parameters[1] else 1.0


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


# By default one outcome is drawn at chance nodes, one action at opponents' nodes, and all own actions are visited.
SWITCHES: dict[str, Bindings] = {
    "full": {ALL_CHANCE: True, ALL_OPPONENTS: True},
    "full, pruning": {ALL_CHANCE: True, ALL_OPPONENTS: True, PRUNE: True},
    "chance": {ALL_OPPONENTS: True},
    "opponent": {ALL_CHANCE: True},
    "external": {},
    "external, pruning": {ALL_OWN: False, INCLUSION: inclusion_by_regret},
    "average strategy": {ALL_OWN: False, INCLUSION: inclusion_by_average, WEIGH_ACTIONS: sum_of_averages},
    "outcome": {ONE_OWN: True},
}


@dataclass(frozen=True)
class TraversalSampling(Estimator):
    """An estimator that samples by `traversal`, or with baselines by `controlled_traversal`, with the same switches."""

    switches: ClassVar[Bindings] = {}
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte")
    gives: ClassVar[frozenset[str]] = Estimator.gives | {OPPONENTS_DRAWN}

    @property
    def kernel(self) -> Callable:  # type: ignore[override]
        """The kernel for these parameters."""
        return bind(traversal, self.switches, partial=True)

    def kernel_with_baseline(self, expected: bool) -> Callable | None:
        return bind(controlled_traversal, {**self.switches, EXPECTED: expected}, partial=True)


@dataclass(frozen=True)
class ChanceSampling(TraversalSampling):
    """Chance sampling: one outcome at chance nodes, everything else visited (Lanctot et al. 2009, section 3).

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", mccfr_plus.ChanceSampling(), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    short_name: ClassVar[str] = "chance"
    switches: ClassVar[Bindings] = SWITCHES["chance"]
    gives: ClassVar[frozenset[str]] = Estimator.gives | {OWN_BY_CHANCE}


@dataclass(frozen=True)
class OpponentsSampled(TraversalSampling):
    """An estimator that draws opponents' actions on-policy.

    On a matrix game with `sample_per_infoset` an iteration takes one opponent's action for all own actions: the
    sublinear method of Grigoriadis and Khachiyan 1995.
    """

    sample_per_infoset: bool = False

    def __post_init__(self) -> None:
        check_switch("sample_per_infoset", self.sample_per_infoset)

    @property
    def samples_per_infoset(self) -> bool:  # type: ignore[override]
        """Whether one action is drawn per opponents' infoset and traversal."""
        return self.sample_per_infoset


@dataclass(frozen=True)
class OpponentSampling(OpponentsSampled):
    """Opponent sampling: one action at opponents' nodes, everything else visited (Farina et al. 2020, section 4.1).

    Args:
        sample_per_infoset: See `ExternalSampling`.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", mccfr_plus.OpponentSampling(), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    short_name: ClassVar[str] = "opponent"
    references: ClassVar[tuple[str, ...]] = (*TraversalSampling.references, "farina2020stochastic")
    switches: ClassVar[Bindings] = SWITCHES["opponent"]
    visits_all_chance: ClassVar[bool] = True


@dataclass(frozen=True)
class ExternalSampling(OpponentsSampled):
    """External sampling: one draw at chance and opponents' nodes, all own actions (Lanctot et al. 2009, section 3.2).

    Args:
        sample_per_infoset: One draw per opponents' infoset and traversal, as the paper defines it, not per node, as
            OpenSpiel does it.
        prune_below: Own actions whose cumulative regret is below this number, in the game's payoffs, are visited with
            probability `prune_probability` only, and are then weighted by its inverse; None: all are always visited.
            Needs a minimizer that keeps negative regrets.
        prune_probability: Probability of visiting a pruned action, in (0, 1].

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", mccfr_plus.ExternalSampling(sample_per_infoset=True), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    prune_below: float | None = None
    prune_probability: float = 0.05
    short_name: ClassVar[str] = "external"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prune_below is not None:
            allowed = "must be a negative number, or actions that are played would be left out, or None"
            check_number("prune_below", self.prune_below, -math.inf, 0, allowed, inclusive=True)
        allowed = "must be a number above 0 (or a pruned action would never come back) and at most 1"
        check_number("prune_probability", self.prune_probability, 0, 1, allowed)

    @property
    def switches(self) -> Bindings:  # type: ignore[override]
        """What fills slots of `traversal`."""
        return SWITCHES["external" if self.prune_below is None else "external, pruning"]

    @property
    def needs(self) -> frozenset[str]:
        return super().needs | (set() if self.prune_below is None else {REGRETS})

    def parameters(self) -> np.ndarray:
        if self.prune_below is None:
            return np.zeros(0)
        return np.array([float(self.prune_probability), float(self.prune_below)])

    @property
    def sampling_weights(self) -> SamplingWeights:  # type: ignore[override]
        """Which array the kernel gets as ``sampling_weights``."""
        return SamplingWeights.NONE if self.prune_below is None else SamplingWeights.REGRETS

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return (*TraversalSampling.references, *(() if self.prune_below is None else ("brown2015regret",)))


@dataclass(frozen=True)
class AverageStrategySampling(OpponentsSampled):
    """External sampling that visits a subset of own actions, chosen by the average strategy (Gibson et al. 2012).

    Each own action is visited, independently of the others, with probability

        rho(I, a) = max(epsilon, (beta + tau s(I, a)) / (beta + sum_b s(I, b))),   at most 1,

    where s are the sums of the average strategy. Its sampled value is divided by rho. The average must keep sums. With
    more than two players, a stochastic average needs a second traversal.

    Differs from algorithm 1, whose defaults these are, in line 9, with the default average: its sums are 1 / c(I) times
    as large, c(I) the sum of chance's reach over the histories of I. So beta here acts at I as beta * c(I) does in the
    paper: in Bluff(1, 1), where c(I) = 1 / 6, as a sixth. ``averaging="stochastic"`` forms the paper's sums.

    Args:
        epsilon: Smallest probability of a visit, in (0, 1].
        tau: Actions of an average probability of at least 1 / tau are always visited; at least 1.
        beta: While sums are below this, most actions are visited; at least 0.
        sample_per_infoset: See `ExternalSampling`.

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
    short_name: ClassVar[str] = "average_strategy"
    references: ClassVar[tuple[str, ...]] = (*TraversalSampling.references, "gibson2012efficient")
    switches: ClassVar[Bindings] = SWITCHES["average strategy"]
    sampling_weights: ClassVar[SamplingWeights] = SamplingWeights.AVERAGE

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
