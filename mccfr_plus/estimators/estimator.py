"""The contract of estimators: a frozen description, and a kernel that samples a gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.parameters import check_number
from mccfr_plus.trees.needs import (
    BASELINES,
    DRAWS,
    FIXED_VALUES,
    GRADIENTS,
    HISTORIES,
    NO_VALUES,
    ONE_PLAYER,
    PERFECT_RECALL,
)


class SamplingWeights(Enum):
    """Which array, with one entry per slot, a kernel gets as ``sampling_weights``."""

    NONE = "an empty array"
    SAMPLING = "the strategy that `Estimator.sampling_strategy` returns"
    AVERAGE = "the sums of the average strategy"
    REGRETS = "the minimizer's cumulative regrets"


@dataclass(frozen=True)
class Estimator:
    """Estimates a player's utility gradient over sequences, without bias.

    ``kernel(parameters, sampling_weights, tree, strategy, scratch, player)`` is a Numba function. For each leaf z that
    it reaches, it adds

        u_i(z) * (reach of the others) / (probability of sampling z)

    to ``scratch.gradient`` at the player's last slot before z. Its contract:

    1. Call `touch` at every infoset of the player that is entered, parents first, before adding anything at its slots.
    2. Write nothing else. All arguments may be read.
    3. Draw through `mccfr_plus.estimators.draws`, so that `check_estimator` can enumerate all outcomes.
    4. Expect several calls for one gradient (``batch``): the mean is taken.

    docs/tutorials/own-components.md has a complete example.

    Attributes:
        short_name: How messages call it.
        kernel: The kernel, as a ``staticmethod``, or a property where it depends on the parameters; every estimator has
            one.
        references: Keys of `mccfr_plus.citations`.
        gives: What it provides whatever its parameters, in words of `mccfr_plus.trees.needs`. With `OPPONENTS_DRAWN`
            its kernel calls `LIST_VISIT` at every opponent's infoset that it visits.
        visits_all_chance: Whether all chance outcomes are visited.
        visits_all_own: Whether all of the player's own actions can be visited in one traversal.
        samples_per_infoset: Whether one action is drawn per opponents' infoset and traversal, and not one per node.
        updates_all_players: Whether one traversal estimates all players' gradients; the kernel is called for player 0.
        needs_leaves: Whether the leaf tables of the tree are needed.
        sampling_weights: Which array the kernel gets as ``sampling_weights``.

    Examples:
        >>> import mccfr_plus
        >>> issubclass(mccfr_plus.ExternalSampling, mccfr_plus.Estimator)
        True
        >>> mccfr_plus.ExternalSampling().visits_all_own, mccfr_plus.OutcomeSampling().visits_all_own
        (True, False)
    """

    short_name: ClassVar[str] = "user-defined"
    kernel: ClassVar[Any] = None
    references: ClassVar[tuple[str, ...]] = ()
    visits_all_chance: ClassVar[bool] = False
    visits_all_own: ClassVar[bool] = True
    gives: ClassVar[frozenset[str]] = frozenset({DRAWS, GRADIENTS, NO_VALUES, FIXED_VALUES})
    samples_per_infoset: ClassVar[bool] = False
    updates_all_players: ClassVar[bool] = False
    needs_leaves: ClassVar[bool] = False
    sampling_weights: ClassVar[SamplingWeights] = SamplingWeights.NONE

    def kernel_with_baseline(self, expected: bool) -> Callable | None:
        """Returns a kernel that uses baselines, which are ``scratch.values``; None if there is none.

        Its parameters are `parameters` and, as the last one, the baselines' rate.

        Args:
            expected: Whether baselines move towards expected values, or towards sampled ones.
        """
        return None

    @property
    def kernel_by_rules(self) -> Callable | None:
        """The kernel for games that are traversed by rules: the usual one, unless it is another algorithm."""
        return self.kernel

    def parameters(self) -> np.ndarray:
        """Returns what the kernel gets as ``parameters``, float64."""
        return np.zeros(0)

    def sampling_strategy(self, tree: Any) -> Any:
        """Returns the strategy to sample from: ``[num_slots]`` float64 or a policy; positive at every slot.

        Args:
            tree: A tree all of whose infosets are known.
        """
        return tree.uniform_strategy()

    @property
    def needs(self) -> frozenset[str]:
        """What it needs of the tree and of other components.

        A user-defined kernel reads nodes itself; a strategy to sample from is a table over all information sets.
        """
        is_own = type(self).__module__.startswith("mccfr_plus.")
        is_whole = is_own and self.sampling_weights != SamplingWeights.SAMPLING
        return frozenset({PERFECT_RECALL} if is_whole else {PERFECT_RECALL, HISTORIES})

    @property
    def provides(self) -> frozenset[str]:
        """What it provides, by its class and by its parameters."""
        found = {ONE_PLAYER: not self.updates_all_players, BASELINES: self.kernel_with_baseline(True) is not None}
        return self.gives | {word for word, is_there in found.items() if is_there}


def check_exploration(epsilon: Any, paper: str) -> None:
    """Raises ConfigError unless an exploration is in (0, 1]."""
    allowed = "must be a number above 0 (or actions that are not played would never be tried) and at most 1; "
    check_number("epsilon", epsilon, 0, 1, allowed + paper)
