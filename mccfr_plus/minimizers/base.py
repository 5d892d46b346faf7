"""What a minimizer is: a frozen description, and a kernel that updates one infoset."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

import numpy as np

from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.lazy_tree import LazyTree


class Rule(IntEnum):
    """The number by which the built-in kernel tells the rules apart; 0 is a kernel of somebody else's."""

    CUSTOM = 0
    REGRET_MATCHING = 1
    REGRET_MATCHING_PLUS = 2
    DISCOUNTED = 3
    PREDICTIVE = 4
    PREDICTIVE_PLUS = 5
    HEDGE = 6
    DILATED = 7


@dataclass(frozen=True)
class Minimizer(abc.ABC):
    """Minimizes regret at every infoset, given sampled action values.

    The contract of the kernel, all of it in Numba:
    ``kernel(values, strategy, tables, first, last, iteration, parameters) -> float``.
    It is called once per touched infoset, children before parents. ``values[first:last]`` are the (counterfactual)
    values of its actions, ``strategy[first:last]`` is its current strategy. It updates its own
    ``tables[:, first:last]``, writes the next strategy to ``strategy[first:last]``, and returns the value of the
    infoset for its parent: for regret matching the expected value under the strategy that was played. `values` and
    `strategy` have one entry per slot of the whole game, `tables` is ``[num_tables, num_slots]``; writing outside
    first .. last - 1 is an error. ``values[first:last]`` may be written to, as scratch memory; `strategy` is to be
    given probabilities only, because other threads play it in the meantime (``thread_mode="fast"``).
    """

    rule: ClassVar[Rule] = Rule.CUSTOM
    short_name: ClassVar[str]
    num_tables: ClassVar[int] = 1
    references: ClassVar[tuple[str, ...]] = ()  # keys of `mccfr_plus.citations`

    @property
    def kernel(self) -> Callable | None:
        """The kernel of a minimizer that is not built in; None for the built-in ones."""
        return None

    def parameters(self) -> np.ndarray:
        """Returns what the kernel gets as ``parameters``, float64, and may write to; entry 0 is the rule's number."""
        return np.array([float(self.rule)])

    def tables(self, tree: GameTree | LazyTree) -> np.ndarray:
        """Returns the tables before the first iteration, ``[num_tables, tree.slot_capacity]`` float64."""
        return np.zeros((self.num_tables, tree.slot_capacity))

    @property
    def needs_whole_tree(self) -> bool:
        """Whether the tables depend on more than their infoset, so that the tree must be complete."""
        return False

    @property
    def row_of_ones(self) -> int | None:
        """The row of the tables in which a new infoset has a 1 at its first slot; None: all begin with zeros."""
        return None

    @property
    def needs_perfect_recall(self) -> bool:
        """Whether the rule is wrong on games where players forget."""
        return False

    @property
    def keeps_regrets(self) -> bool:
        """Whether row 0 of the tables holds cumulative regrets, negative ones too; they may lack discounts."""
        return False

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        """Returns the cumulative regrets of one infoset's slots, as they count now."""
        return tables[0, slots].copy()
