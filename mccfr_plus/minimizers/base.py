"""The contract of minimizers: a frozen description, and a kernel that updates one infoset."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.tree.expanding_tree import ExpandingTree
from mccfr_plus.tree.game_tree import GameTree


@dataclass(frozen=True)
class Minimizer(abc.ABC):
    """Minimizes regret at every infoset, given sampled action values.

    ``kernel(values, strategy, tables, first, last, iteration, parameters) -> float`` is a Numba function. It is called
    once per touched infoset with several actions, children before parents. `values` and `strategy` are ``[num_slots]``,
    `tables` is ``[num_tables, num_slots]``; the infoset's slots are first .. last - 1. Its contract:

    1. ``values[first:last]`` are the counterfactual values of the actions, ``strategy[first:last]`` is the strategy
       that was played. Update ``tables[:, first:last]`` and write the next strategy to ``strategy[first:last]``.
    2. Return the infoset's value for its parent: for regret matching, the expected value of the strategy played.
    3. Write to no other slots. ``values[first:last]`` is free as scratch memory.
    4. Write only probabilities to `strategy`, at every moment: with ``thread_mode="fast"`` other threads read it.

    docs/tutorials/own-components.md has a complete example.

    Attributes:
        short_name: How messages call it.
        kernel: The kernel, as a ``staticmethod``, or a property where it depends on the parameters; every minimizer has
            one.
        prepare: A kernel that is called once per update, before the first infoset; None: there is none.
            ``prepare(tree, strategy, tables, scratch, player, iteration, parameters)``; it may write to the last four
            and the tables.
        num_tables: Rows of the tables.
        references: Keys of `mccfr_plus.citations`.
        is_local: Whether all that the kernel reads and writes belongs to its infoset, so that threads may update
            different infosets at the same time.
        keeps_regrets: Whether row 0 of the tables holds cumulative regrets, negative ones too; they may lack discounts.
        needs_perfect_recall: Whether it is wrong on games of imperfect recall.
        needs_full_gradients: Whether it is wrong where an update leaves infosets out, as sampling does.
        default_average: Short name of the average of its paper.
        row_of_ones: The row of the tables in which a new infoset has a 1 at its first slot; None: all begin with zeros.

    Examples:
        >>> import mccfr_plus
        >>> mccfr_plus.Discounted(alpha=1.5, beta=0.0).parameters()[:2]
        array([1.5, 0. ])
    """

    short_name: ClassVar[str]
    kernel: ClassVar[Any] = None
    prepare: ClassVar[Any] = None
    num_tables: ClassVar[int] = 1
    references: ClassVar[tuple[str, ...]] = ()
    is_local: ClassVar[bool] = False
    keeps_regrets: ClassVar[bool] = False
    needs_perfect_recall: ClassVar[bool] = False
    needs_full_gradients: ClassVar[bool] = False
    default_average: ClassVar[str] = "uniform"
    row_of_ones: ClassVar[int | None] = None

    def parameters(self) -> np.ndarray:
        """Returns what the kernels get as ``parameters``, float64, and may write to."""
        return np.zeros(0)

    def tables(self, tree: GameTree | ExpandingTree) -> np.ndarray:
        """Returns the tables before the first iteration, ``[num_tables, tree.slot_capacity]`` float64."""
        return np.zeros((self.num_tables, tree.slot_capacity))

    def begin(self, tree: GameTree | ExpandingTree, tables: np.ndarray) -> None:  # noqa: B027
        """Writes what depends on all infosets, once they are known, if `needs_whole_tree`. Modifies `tables`."""

    @property
    def needs_whole_tree(self) -> bool:
        """Whether the tables depend on more than their infoset, so that the tree must be complete."""
        return False

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        """Returns the cumulative regrets of one infoset's slots, as they count now."""
        return tables[0, slots].copy()
