"""The contract of estimators: a frozen description, and a kernel that samples a gradient, such as `traversal`."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.control_variates import EXPECTED, controlled_traversal
from mccfr_plus.estimators.traversal import traversal
from mccfr_plus.kernels.random_numbers import as_python
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.needs import (
    BASELINES,
    DRAWS,
    FIXED_VALUES,
    GRADIENTS,
    HISTORIES,
    NO_VALUES,
    ONE_PLAYER,
    OPPONENTS_DRAWN,
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
        gives: What it provides whatever its parameters, in words of `mccfr_plus.trees.needs`.
        visits_all_chance: Whether all chance outcomes are visited.
        visits_all_own: Whether all of the player's own actions can be visited in one traversal.

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

    @property
    def sampling_weights(self) -> SamplingWeights:
        """Which array the kernel gets as ``sampling_weights``."""
        return SamplingWeights.NONE

    def sampling_strategy(self, tree: Any) -> Any:
        """Returns the strategy to sample from: ``[num_slots]`` float64 or a policy; positive at every slot.

        Args:
            tree: A `GameTree`; with rules, unless `needs_nodes`, a tree all of whose infosets are known.
        """
        return tree.uniform_strategy()

    def stochastic_average(self, num_players: int) -> str:
        """Returns the name of the stochastic average that is right for this number of players.

        One of ``"exact"``, ``"touched"``, ``"visits"`` and ``"own_traversal"``; see `mccfr_plus.averages`.
        """
        return "own_traversal"

    @property
    def samples_per_infoset(self) -> bool:
        """Whether one action is drawn per opponents' infoset and traversal, and not one per node."""
        return False

    @property
    def updates_all_players(self) -> bool:
        """Whether one traversal estimates all players' gradients; the kernel is called for player 0."""
        return False

    @property
    def needs_leaves(self) -> bool:
        """Whether the leaf tables of the tree are needed."""
        return False

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
        found = {
            OPPONENTS_DRAWN: self.stochastic_average(2) == "visits",
            ONE_PLAYER: not self.updates_all_players,
            BASELINES: self.kernel_with_baseline(True) is not None,
        }
        return self.gives | {word for word, is_there in found.items() if is_there}


@dataclass(frozen=True)
class TraversalSampling(Estimator):
    """An estimator that visits all own actions, or a subset, by `traversal`; subclasses choose its switches."""

    switches: ClassVar[dict[Any, Any]] = {}

    @property
    def kernel(self) -> Callable:  # type: ignore[override]
        """The kernel for these parameters."""
        return bind(traversal, self.switches, partial=True)

    def kernel_with_baseline(self, expected: bool) -> Callable:
        return bind(controlled_traversal, {**self.switches, EXPECTED: expected}, partial=True)


@dataclass(frozen=True)
class OpponentsSampled(TraversalSampling):
    """An estimator that draws opponents' actions on-policy.

    Args:
        sample_per_infoset: Draw one action per opponents' infoset and traversal, as Lanctot et al. 2009 define it, and
            not one per node. On a matrix game an iteration then takes one opponent's action for all own actions: the
            sublinear method of Grigoriadis and Khachiyan 1995.
    """

    sample_per_infoset: bool = False

    def __post_init__(self) -> None:
        check_switch("sample_per_infoset", self.sample_per_infoset)

    def stochastic_average(self, num_players: int) -> str:
        return "visits" if num_players == 2 else "own_traversal"

    @property
    def samples_per_infoset(self) -> bool:
        return self.sample_per_infoset


LARGEST = sys.float_info.max  # limit of what may be any finite number


def check_number(name: str, value: Any, above: float, most: float, allowed: str, *, inclusive: bool = False) -> Any:
    """Returns a value as a number of Python. Raises ConfigError unless it is one within limits.

    Args:
        allowed: What the message says is allowed.
        inclusive: Whether the lower limit is allowed, too.
    """
    number = as_python(value)
    is_number = not isinstance(number, bool) and isinstance(number, int | float)
    if not is_number or not (above <= number <= most if inclusive else above < number <= most):
        raise ConfigError(f"{name}={value!r}: {allowed}.")
    return number


def check_exploration(epsilon: Any, paper: str) -> None:
    """Raises ConfigError unless an exploration is in (0, 1]."""
    allowed = "must be a number above 0 (or actions that are not played would never be tried) and at most 1; "
    check_number("epsilon", epsilon, 0, 1, allowed + paper)


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raises ConfigError unless a value is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ConfigError(f"{name}={value!r}: must be a whole number, at least {least}.")


def check_switch(name: str, value: Any) -> None:
    """Raises ConfigError unless a value is True or False."""
    if not isinstance(as_python(value), bool):
        raise ConfigError(f"{name}={value!r}: must be True or False.")
