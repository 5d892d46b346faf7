"""What an estimator is: a frozen description, and a kernel that samples a gradient."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

import numpy as np


class Scheme(IntEnum):
    """The number by which the built-in kernel tells the schemes apart; 0 is a kernel of somebody else's."""

    CUSTOM = 0
    FULL = 1
    CHANCE = 2
    OPPONENT = 3
    EXTERNAL = 4
    OUTCOME = 5


class Average(IntEnum):
    """Where the average strategy is updated; see `mccfr_plus.averaging.accumulate`."""

    EXACT = 0  # all own sequences, by their own reach
    TOUCHED = 1  # the own infosets that the walk touched, by their own reach
    VISITS = 2  # the opponents' infosets that the walk visited on-policy (two players)
    OWN_WALK = 3  # a walk of its own (any number of players)


@dataclass(frozen=True)
class Estimator(abc.ABC):
    """Estimates a player's utility gradient over sequences, without bias.

    The contract of the kernel ``kernel(parameters, tree, strategy, workspace, player)``, all of it in Numba: call
    `begin_walk`; add u_i(z) * (reach of the others) / (probability of sampling z) to ``workspace.gradient`` at the
    player's last slot before leaf z; call `touch` at every infoset of the player that the walk enters, parents
    first. It may read anything, knows no minimizer, and writes nothing else.
    """

    scheme: ClassVar[Scheme] = Scheme.CUSTOM
    short_name: ClassVar[str]

    @property
    def kernel(self) -> Callable | None:
        """The kernel of an estimator that is not built in; None for the built-in ones."""
        return None

    def parameters(self) -> np.ndarray:
        """Returns what the kernel gets as ``parameters``, float64; entry 0 is the scheme's number."""
        return np.array([float(self.scheme)])

    def average(self, num_players: int) -> Average:
        """Returns where the average strategy can be updated so that it is right for this number of players."""
        return Average.OWN_WALK

    @property
    def walks_all_chance(self) -> bool:
        """Whether all chance outcomes are visited."""
        return False

    @property
    def walks_all_own(self) -> bool:
        """Whether all of the player's own actions are visited."""
        return True

    @property
    def needs_leaves(self) -> bool:
        """Whether the leaf tables of the tree are needed."""
        return False

    @property
    def needs_perfect_recall(self) -> bool:
        """Whether the scheme is wrong on games where players forget."""
        return True
