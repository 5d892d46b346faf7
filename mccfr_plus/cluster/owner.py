"""A part of a solver's tables, with all that is done to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.averages.averaging import PowerAverage
from mccfr_plus.cluster.chunk import Sums, add_sums, take_visits
from mccfr_plus.cluster.split import Part
from mccfr_plus.cluster.update import AVERAGE, MINIMIZE, updater, weight_of
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import STAMP, TOUCHED, begin_gradient, enter, new_scratch
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.tree.layout import Shape


class Rules(NamedTuple):
    """What owners need to know of a run."""

    minimizer: Minimizer
    averaging: PowerAverage
    way: int  # a value of `AverageMethod`
    is_drawn: bool  # whether the actions that were drawn are averaged
    traversals: int  # of all chunks of a gradient


class Owner:
    """The tables of a part.

    Args:
        part: The part.
        rules: What is done to it.
    """

    def __init__(self, part: Part, rules: Rules):
        self.part, self._rules = part, rules
        arrays, num_cells, num_slots = part.arrays, len(part.cells), len(part.slots)
        self.strategy = np.repeat(1.0 / arrays.infosets["num_actions"], arrays.infosets["num_actions"])
        self.tables = np.zeros((rules.minimizer.num_tables, num_slots))
        self.average = np.zeros(part.first_cell + num_cells)
        shape = Shape(max_depth=0, max_stack=0, perfect_recall=True)
        self.scratch = new_scratch(arrays, shape, np.zeros(1, np.uint64), cells=num_cells)
        self.parameters = rules.minimizer.parameters()
        self._update = updater(rules.minimizer, rules.averaging)

    def turn(
        self, players: tuple[int, ...], iteration: int, above: np.ndarray, *chunks: Sequence[Sums]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Adds up what chunks have sampled for players, averages and updates.

        Args:
            players: Whose turn it is.
            iteration: Its number, from 1.
            above: ``[cells]``, the sums of the average at what is above each subtree.
            *chunks: In their order, the sums per player.

        Returns:
            The values of subtrees, ``[cells]``, and the next strategy, ``[slots of the part]``.
        """
        self.begin(players)
        for chunk in chunks:
            for player, sums in zip(players, chunk, strict=True):
                add_sums(self.part.arrays, self.scratch, self.part.infoset_of_slot, player, sums.firsts, sums.values)
        cells = slice(self.part.first_cell, None)
        self.average[cells] = above
        self.scratch.gradient[cells] = 0.0
        self.take_visits(iteration, [sums for chunk in chunks for sums in chunk])
        self.update(players, iteration, AVERAGE)
        self.update(players, iteration, MINIMIZE)
        return self.scratch.gradient[cells].copy(), self.strategy

    def begin(self, players: tuple[int, ...]) -> None:
        """Begins gradients."""
        for player in players:
            begin_gradient(self.part.arrays, self.scratch, player)

    def take_visits(self, iteration: int, found: Sequence[Sums]) -> None:
        """Adds what chunks have visited to the average."""
        scale = weight_of(float(self._rules.averaging.gamma), iteration) / self._rules.traversals
        for sums in found:
            take_visits(
                self.part.arrays.infosets,
                self.part.infoset_of_slot,
                self.strategy,
                self.average,
                sums.visited,
                sums.visit_weights,
                scale,
                self._rules.is_drawn,
            )

    def update(self, players: tuple[int, ...], iteration: int, phase: int, **replaced: np.ndarray) -> None:
        """Runs a phase of `update`, with other arrays in the scratch where they are given."""
        rules = self._rules
        self._update(
            self.part.arrays,
            self.strategy,
            self.tables,
            self.average,
            self.scratch._replace(**replaced),
            self.parameters,
            rules.way,
            float(rules.averaging.gamma),
            False,  # only traversals for averages look at it, and owners have no nodes
            players[0],
            players[-1],
            rules.traversals,
            iteration,
            phase,
        )

    # --- the state ---

    def state(self) -> dict[str, np.ndarray]:
        """Returns the arrays that carry from one turn to the next, by name."""
        slots = len(self.part.slots)
        seen = self.scratch.mark["seen"]
        return {
            "strategy": self.strategy,
            "average": self.average[:slots],
            "average_of_all": self.average[slots : self.part.first_cell - 1],
            "parameters": self.parameters,
            "seen": np.ascontiguousarray(seen),
            **{f"tables/{row}": table for row, table in enumerate(self.tables)},
        }

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Takes over what `state` has returned."""
        for name, array in self.state().items():
            if name != "seen":
                array[...] = state[name]
        self.scratch.mark["stamp"] = 0
        self.scratch.mark["seen"] = state["seen"]
        self.scratch.counts[STAMP] = 0


class Top(Owner):
    """Part 0: what is above the owners' subtrees.

    It lists what was touched twice: without the tops of subtrees, to average, and with them, to update.
    """

    def __init__(self, part: Part, rules: Rules):
        super().__init__(part, rules)
        size = len(part.arrays.infosets) + len(part.cells)
        players = len(part.arrays.slot_range) - 1
        self._listed = np.zeros((players, size), TOUCHED)
        self._num_listed = np.zeros(players, np.int64)
        self._stamps = np.zeros(len(part.cells), np.int64)

    def begin(self, players: tuple[int, ...]) -> None:
        """Begins gradients."""
        super().begin(players)
        self._num_listed[list(players)] = 0

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Takes over what `state` has returned."""
        super().set_state(state)
        self._stamps[:] = 0

    def add(self, player: int, sums: Sums) -> None:
        """Adds a chunk's sums to a player's gradient."""
        self._num_listed[player] = add_above(
            self.part.arrays,
            self.scratch,
            self.part.infoset_of_slot,
            self.part.parents,
            self._stamps,
            self._listed[player],
            self._num_listed[player],
            player,
            sums.firsts,
            sums.values,
        )

    def above(self) -> np.ndarray:
        """Returns the sums of the average above each subtree, ``[cells]``."""
        return self.average[self.part.parents]

    def pass_up(self, players: tuple[int, ...], iteration: int, values: np.ndarray) -> None:
        """Updates, given the values of subtrees, ``[cells]``."""
        self.scratch.gradient[self.part.first_cell :] = values
        for player in players:
            begin = int(self.part.arrays.infoset_range[player])
            listed = np.zeros(begin + int(self._num_listed[player]), TOUCHED)
            listed[begin:] = self._listed[player, : self._num_listed[player]]
            self.update((player,), iteration, MINIMIZE, touched=listed, num_touched=self._num_listed)


@kernel
def add_above(tree, scratch, infoset_of_slot, parents, stamps, listed, num_listed, player, firsts, values):
    """Adds a chunk's sums to a player's gradient, and lists what was touched, tops of subtrees included.

    Args:
        tree: `TreeArrays` of part 0.
        scratch: `Scratch`. Modified in place.
        infoset_of_slot: ``[slots]`` int32.
        parents: ``[cells]`` int64, what is above them.
        stamps: ``[cells]`` int64, of the last gradient for which each was listed. Modified in place.
        listed: ``[infosets + cells]`` TOUCHED. Modified in place.
        num_listed: Entries in use.
        player: The player.
        firsts: See `split.share_out`.
        values: Likewise.

    Returns:
        How many entries are in use now.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    gradient, stamp, place = scratch.gradient, scratch.counts[STAMP], 0
    first_cell = tree.slot_range[-1] + len(tree.slot_range) - 1 + 1
    for first in firsts:
        if first < 0:
            cell = -1 - first
            if stamps[cell] != stamp:
                stamps[cell] = stamp
                listed[num_listed]["first_slot"] = first_cell + cell
                listed[num_listed]["num_actions"] = 0
                listed[num_listed]["parent_slot"] = parents[cell]
                num_listed += 1
            continue
        infoset = tree.infosets[infoset_of_slot[first]]
        count = infoset["num_actions"]
        if enter(tree, scratch, player, first, count, infoset["parent_slot"], stamp):
            gradient[first : first + count] = 0.0
            listed[num_listed]["first_slot"] = first
            listed[num_listed]["num_actions"] = count
            listed[num_listed]["parent_slot"] = infoset["parent_slot"]
            num_listed += 1
        for slot in range(first, first + count):
            gradient[slot] += values[place]
            place += 1
    return num_listed
