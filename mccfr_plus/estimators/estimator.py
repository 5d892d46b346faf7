"""The contract of estimators, and the estimators built on `traversal` with different constants."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.control_variates import EXPECTED, controlled_traversal
from mccfr_plus.estimators.traversal import ALL_CHANCE, ALL_OPPONENTS, ALL_OWN, INCLUSION, WEIGH_ACTIONS, traversal
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.slots import Bindings, bind
from mccfr_plus.parameters import Component, number, switch
from mccfr_plus.trees.needs import (
    AVERAGE,
    BASELINES,
    DRAWS,
    FIXED_VALUES,
    GRADIENTS,
    HISTORIES,
    NO_VALUES,
    ONE_PLAYER,
    OPPONENTS_DRAWN,
    OWN_BY_CHANCE,
    PERFECT_RECALL,
    REGRETS,
)
from mccfr_plus.trees.scratch import at


class SamplingWeights(Enum):
    """Which array, with one entry per slot, a kernel gets as ``sampling_weights``."""

    NONE = "an empty array"
    SAMPLING = "the strategy that `Estimator.sampling_strategy` returns"
    AVERAGE = "the sums of the average strategy"
    REGRETS = "the minimizer's cumulative regrets"


@dataclass(frozen=True)
class Estimator(Component):
    """Estimates, without bias, the gradient of a player's utility with respect to the player's sequence-form strategy.

    ``kernel(parameters, sampling_weights, tree, strategy, scratch, player)`` is a Numba function. For each leaf z that
    it reaches, it adds

        u_i(z) * (reach of the others) / (probability of sampling z)

    to ``scratch.gradient`` at the player's last slot before z. The kernel's contract:

    1. Call `touch` at each of the player's infosets that the kernel enters, parents before children, and before adding
       to that infoset's slots.
    2. Apart from these calls and the additions to ``scratch.gradient``, do not modify the arguments; all of them may be
       read.
    3. Draw random numbers only through `mccfr_plus.estimators.traversal`, so that `check_estimator` can enumerate
       all outcomes.
    4. Expect several calls per gradient (``batch``); the solver averages their results.

    docs/tutorials/own-components.md has a complete example.

    Attributes:
        short_name: The estimator's name in messages.
        kernel: The kernel, as a ``staticmethod``, or as a property if the kernel depends on the parameters.
        references: Keys of `mccfr_plus.citations`.
        gives: The features, from `mccfr_plus.trees.needs`, that the estimator provides for all parameter values. With
            `OPPONENTS_DRAWN`, the kernel calls `LIST_VISIT` at every opponent infoset that it visits.
        visits_all_own: Whether all of the player's own actions can be visited in one traversal.
        sample_per_infoset: Whether one action is drawn per opponent infoset and traversal rather than per node.
        update_all_players: Whether one traversal estimates all players' gradients; the kernel's ``player`` argument is
            then 0.
        needs_leaves: Whether the kernel reads the leaf tables of the tree.
        sampling_weights: Which array the kernel receives as ``sampling_weights``.

    Examples:
        >>> mccfr_plus.ExternalSampling().visits_all_own, mccfr_plus.OutcomeSampling().visits_all_own
        (True, False)
    """

    short_name: ClassVar[str] = "user-defined"
    kernel: ClassVar[Any] = None
    references: ClassVar[tuple[str, ...]] = ()
    visits_all_own: ClassVar[bool] = True
    gives: ClassVar[frozenset[str]] = frozenset({DRAWS, GRADIENTS, NO_VALUES, FIXED_VALUES})
    sample_per_infoset = False  # without annotations, as subclasses have fields of these names
    update_all_players = False
    needs_leaves: ClassVar[bool] = False
    sampling_weights: ClassVar[SamplingWeights] = SamplingWeights.NONE

    def kernel_with_baseline(self, expected: bool) -> Callable | None:
        """Returns a kernel that uses the baselines in ``scratch.values``, or None if there is no such kernel.

        The kernel's parameters are `parameters` followed by the baselines' update rate. If `expected` is true, the
        baselines move toward expected values; otherwise, they move toward sampled values.
        """
        return None

    def kernel_for(self, *, by_rules: bool, tied: bool) -> Callable | None:
        """Returns the kernel for games that are traversed with compiled rules or have imperfect recall."""
        return self.kernel

    def parameters(self) -> np.ndarray:
        """Returns the kernel's float64 ``parameters``."""
        return np.zeros(0)

    def sampling_strategy(self, tree: Any) -> Any:
        """Returns the strategy to sample from, positive at every slot: a ``[num_slots]`` float64 array or a policy.

        All infosets of `tree` are known.
        """
        return tree.uniform_strategy()

    @property
    def needs(self) -> frozenset[str]:
        """What the estimator needs from the tree and from other components.

        A user-defined kernel reads nodes directly; a sampling strategy is a table over all information sets.
        """
        is_own = type(self).__module__.startswith("mccfr_plus.")
        is_whole = is_own and self.sampling_weights != SamplingWeights.SAMPLING
        recall = set() if is_own else {PERFECT_RECALL}
        return frozenset(recall if is_whole else recall | {HISTORIES})

    @functools.cached_property
    def provides(self) -> frozenset[str]:
        """What the estimator provides, by its class and by its parameters."""
        found = {ONE_PLAYER: not self.update_all_players, BASELINES: self.kernel_with_baseline(True) is not None}
        return self.gives | {word for word, is_there in found.items() if is_there}


@dataclass(frozen=True)
class TraversalSampling(Estimator):
    """An estimator that samples by `traversal`, or with baselines by `controlled_traversal`, with the same bindings."""

    bindings: ClassVar[Bindings] = {}  # by default one child is drawn, but all own actions are visited
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte")
    gives: ClassVar[frozenset[str]] = Estimator.gives | {OPPONENTS_DRAWN}

    @property
    def kernel(self) -> Callable:  # type: ignore[override]
        """The kernel for these parameters."""
        return bind(traversal, self.bindings, partial=True)

    def kernel_with_baseline(self, expected: bool) -> Callable | None:
        return bind(controlled_traversal, {**self.bindings, EXPECTED: expected}, partial=True)


@dataclass(frozen=True)
class ChanceSampling(TraversalSampling):
    """Chance sampling: draws one outcome per chance node and visits all actions (Lanctot et al. 2009, section 3).

    Every chance node has its own draw (Gibson et al. 2012, section 2): Leduc poker's board is drawn separately for each
    sequence of bets. In Lanctot et al., all histories in a block (a set of terminal histories that are sampled
    together) share one sequence of chance outcomes. Both variants are unbiased.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", mccfr_plus.ChanceSampling(), seed=1).run(200).exploitability() < 0.4
        True
    """

    short_name: ClassVar[str] = "chance"
    bindings: ClassVar[Bindings] = {ALL_OPPONENTS: True}
    gives: ClassVar[frozenset[str]] = Estimator.gives | {OWN_BY_CHANCE}


@dataclass(frozen=True)
class OpponentsSampled(TraversalSampling):
    """Draws opponents' actions on-policy; per infoset, on matrix games, as in Grigoriadis and Khachiyan 1995."""

    sample_per_infoset: bool = switch(False)


@dataclass(frozen=True)
class OpponentSampling(OpponentsSampled):
    """Opponent sampling: draws actions only at opponents' nodes (Farina et al. 2020, section 4.1).

    Args:
        sample_per_infoset: See `ExternalSampling`.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", mccfr_plus.OpponentSampling(), seed=1).run(200).exploitability() < 0.4
        True
    """

    short_name: ClassVar[str] = "opponent"
    references: ClassVar[tuple[str, ...]] = (*TraversalSampling.references, "farina2020stochastic")
    bindings: ClassVar[Bindings] = {ALL_CHANCE: True}


@inline_kernel
def inclusion_by_regret(parameters, regrets, slot, total):
    """Returns the first parameter where the cumulative regret is below the second one, else 1."""
    return parameters[0] if regrets[at(slot)] < parameters[1] else 1.0


@dataclass(frozen=True)
class ExternalSampling(OpponentsSampled):
    """External sampling: samples the actions of chance and opponents, and visits all of the player's own actions.

    Reference: Lanctot et al. 2009, eq. 11.

    Args:
        sample_per_infoset: Whether to draw an action once per opponent infoset and traversal, as in Lanctot et al.
            2009, rather than once per node, as in OpenSpiel.
        prune_below: The player's actions whose cumulative regret is below this number, in units of payoff, are visited
            only with probability `prune_probability` and are weighted by its inverse. At most 0; needs a minimizer that
            keeps negative regrets. Default: no pruning.
        prune_probability: Probability of visiting a pruned action, in (0, 1].

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", mccfr_plus.ExternalSampling(sample_per_infoset=True), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    prune_below: float | None = number(None, most=0, note="actions that are played must not be left out")
    prune_probability: float = number(0.05, above=0, most=1, note="at 0 a pruned action would never come back")
    short_name: ClassVar[str] = "external"

    @property
    def bindings(self) -> Bindings:  # type: ignore[override]
        """What fills slots of `traversal`."""
        return {} if self.prune_below is None else {ALL_OWN: False, INCLUSION: inclusion_by_regret}

    @property
    def needs(self) -> frozenset[str]:
        return super().needs | (set() if self.prune_below is None else {REGRETS})

    def parameters(self) -> np.ndarray:
        return np.array([] if self.prune_below is None else [self.prune_probability, self.prune_below], float)

    @property
    def sampling_weights(self) -> SamplingWeights:  # type: ignore[override]
        """Which array the kernel gets as ``sampling_weights``."""
        return SamplingWeights.NONE if self.prune_below is None else SamplingWeights.REGRETS

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return (*TraversalSampling.references, *(() if self.prune_below is None else ("brown2015regret",)))


@inline_kernel
def sum_of_averages(average, first, count):
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
    """External sampling that visits only a random subset of the updating player's actions (Gibson et al. 2012).

    Each of the player's actions is visited independently with probability

        rho(I, a) = max(epsilon, (beta + tau s(I, a)) / (beta + sum_b s(I, b))),   at most 1,

    where s are the sums from which the average strategy is computed. Sampled values are divided by rho. The average
    must be one that keeps such sums. With more than two players, a stochastic average needs a second traversal.

    The defaults are those of the paper's experiments. With the default average, the sums are larger than those in line
    9 of algorithm 1 by a factor of 1 / c(I), where c(I) is the sum of chance's reach probabilities over the histories
    of I. Hence, beta at I corresponds to beta * c(I) in the paper, for example to beta / 6 in Bluff(1, 1).
    ``averaging="stochastic"`` computes the paper's sums.

    Args:
        epsilon: Smallest probability of a visit, in (0, 1].
        tau: A number of at least 1. Actions whose average probability is at least 1 / tau are always visited.
        beta: A number of at least 0. While the sums of the average are below this number, most actions are visited.
        sample_per_infoset: See `ExternalSampling`.

    Examples:
        >>> estimator = mccfr_plus.AverageStrategySampling(epsilon=0.05, tau=100.0, beta=1e3)
        >>> mccfr_plus.Solver("kuhn_poker", estimator, seed=1).run(200).exploitability() < 0.4
        True
    """

    epsilon: float = number(0.05, above=0, most=1, note="at 0, actions that are not played would never be tried")
    tau: float = number(1000.0, least=1, most=1e300)
    beta: float = number(1e6, least=0, most=1e300)
    short_name: ClassVar[str] = "average_strategy"
    references: ClassVar[tuple[str, ...]] = (*TraversalSampling.references, "gibson2012efficient")
    bindings: ClassVar[Bindings] = {ALL_OWN: False, INCLUSION: inclusion_by_average, WEIGH_ACTIONS: sum_of_averages}
    sampling_weights: ClassVar[SamplingWeights] = SamplingWeights.AVERAGE

    def parameters(self) -> np.ndarray:
        return np.array([self.epsilon, self.tau, self.beta], float)

    @property
    def needs(self) -> frozenset[str]:
        return super().needs | {AVERAGE}
