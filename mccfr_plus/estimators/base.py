"""What an estimator is: a frozen description, and a kernel that samples a gradient."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.tree.game_tree import GameTree


class Scheme(IntEnum):
    """The number by which the built-in kernel tells the schemes apart; 0 is a kernel of somebody else's."""

    CUSTOM = 0
    FULL = 1
    FULL_TRAVERSAL = 2
    CHANCE = 3
    OPPONENT = 4
    EXTERNAL = 5
    AVERAGE_STRATEGY = 6
    OUTCOME = 7
    SHARED_OUTCOME = 8
    ESCHER = 9


class AverageMethod(IntEnum):
    """How the average strategy is added up; see `mccfr_plus.averages.averaging.accumulate`."""

    EXACT = 0  # all own sequences, by their own reach
    TOUCHED = 1  # the own infosets that were touched, by their own reach
    VISITS = 2  # the infosets that the traversal visited on-policy
    OWN_TRAVERSAL = 3  # a traversal of its own (any number of players)
    LAZY = 4  # exactly, at touched infosets for all iterations since they were last touched
    OPTIMISTIC = 5  # the same, as if own reach had stayed what it is now
    NONE = 6  # nothing is added up
    CUSTOM = 7  # a kernel of somebody else's


class SamplingWeights(IntEnum):
    """Which array, with one entry per slot, a kernel gets as ``sampling_weights``."""

    NONE = 0  # an empty one
    SAMPLING = 1  # what `Estimator.sampling_strategy` returns
    AVERAGE = 2  # the sums of the average strategy
    REGRETS = 3  # the minimizer's cumulative regrets


@dataclass(frozen=True)
class Estimator(abc.ABC):
    """Estimates a player's utility gradient over sequences, without bias.

    The contract of the kernel ``kernel(parameters, sampling_weights, tree, strategy, scratch, player)``, all of it in Numba: add
    u_i(z) * (reach of the others) / (probability of sampling z) to ``scratch.gradient`` at the player's last slot
    before leaf z; call `touch` at every infoset of the player that the traversal enters, parents first, before adding
    anything at its slots. It may read anything, knows no minimizer, and writes nothing else. It may be called several
    times for one gradient, whose mean is then taken (``batch``). Draw through `mccfr_plus.estimators.draws`, so that
    `check_estimator` can go through all outcomes.
    """

    scheme: ClassVar[Scheme] = Scheme.CUSTOM
    short_name: ClassVar[str]
    references: ClassVar[tuple[str, ...]] = ()  # keys of `mccfr_plus.citations`

    @property
    def kernel(self) -> Callable | None:
        """The kernel of an estimator that is not built in; None for the built-in ones."""
        return None

    def parameters(self) -> np.ndarray:
        """Returns what the kernel gets as ``parameters``, float64; entry 0 is the scheme's number."""
        return np.array([float(self.scheme)])

    @property
    def sampling_weights(self) -> SamplingWeights:
        """Which array the kernel gets as ``sampling_weights``."""
        return SamplingWeights.NONE

    def sampling_strategy(self, tree: GameTree) -> Any:
        """Returns the strategy for `SamplingWeights.SAMPLING`: ``[num_slots]`` float64 or a policy; positive at every slot."""
        return tree.uniform_strategy()

    def average(self, num_players: int) -> AverageMethod:
        """Returns how stochastic averaging must be done so that it is right for this number of players."""
        return AverageMethod.OWN_TRAVERSAL

    @property
    def samples(self) -> bool:
        """Whether two gradients under the same strategies can differ."""
        return True

    @property
    def visits_all_chance(self) -> bool:
        """Whether all chance outcomes are visited."""
        return False

    @property
    def visits_all_own(self) -> bool:
        """Whether all of the player's own actions can be visited in one traversal."""
        return True

    @property
    def samples_per_infoset(self) -> bool:
        """Whether one action is drawn per opponents' infoset and traversal, and not one per node."""
        return False

    @property
    def updates_all_players(self) -> bool:
        """Whether one traversal estimates all players' gradients; it is called for player 0."""
        return False

    @property
    def is_unbiased(self) -> bool:
        """Whether the mean of what the kernel adds is the gradient.

        If not, the regrets that follow from it are right up to a factor per infoset that never changes, which regret
        matching and its relatives do not see.
        """
        return True

    @property
    def keeps_values(self) -> bool:
        """Whether the scheme has a table of what every history is worth, in the place of baselines."""
        return False

    @property
    def needs_leaves(self) -> bool:
        """Whether the leaf tables of the tree are needed."""
        return False

    @property
    def needs_whole_tree(self) -> bool:
        """Whether the scheme cannot traversal a tree that is not complete.

        A kernel of your own reads nodes itself, and would have to call `mccfr_plus.tree.expansion.expand` where it finds one
        that is not there yet. A sampling strategy is a table over all infosets.
        """
        return self.kernel is not None or self.sampling_weights == SamplingWeights.SAMPLING

    @property
    def needs_perfect_recall(self) -> bool:
        """Whether the scheme is wrong on games where players forget."""
        return True
