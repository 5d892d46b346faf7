"""A tree's information sets, split among owners: whole subtrees of each player, and what is above them.

Owners number their slots from 0 on. So do those above all subtrees, which are part 0. A subtree's value is passed up
through a *cell*: an entry behind a part's own slots, empty sequences and dump.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus.cluster.chunk import Sums, as_read
from mccfr_plus.kernels.work_partition import CELL, OWNER, new_work_partition
from mccfr_plus.tree.arrays import INFOSET, TreeArrays


class Part(NamedTuple):
    """What belongs to an owner, or to nobody."""

    arrays: TreeArrays  # the infosets in the part's own numbers, parents first; nothing else of the tree
    slots: np.ndarray  # [slots of the part] int64: their numbers in the tree
    infoset_of_slot: np.ndarray  # [slots of the part] int32
    cells: np.ndarray  # [cells of the part] int64: their numbers; of part 0: all
    parents: np.ndarray  # [cells of part 0] int64: the slot or empty sequence above each; of other parts: none

    @property
    def first_cell(self) -> int:
        """Where cells are behind a gradient or an average."""
        return len(self.slots) + len(self.arrays.slot_range) - 1 + 1


class Places(NamedTuple):
    """Where a slot of the tree is."""

    part: np.ndarray  # [num_slots] uint8
    slot: np.ndarray  # [num_slots] int32: its number there
    cell: np.ndarray  # [num_slots] int32: at the top of a subtree, its cell's number plus 1; elsewhere 0


def split(arrays: TreeArrays, owners: int) -> tuple[Places, list[Part]]:
    """Returns where every slot is, and the parts: part 0, and the owners'.

    Args:
        arrays: Of a tree of perfect recall.
        owners: How many, 1 to 255.
    """
    words = new_work_partition(arrays, owners, True).owners
    num_slots, infosets = len(words), arrays.infosets
    firsts, counts = infosets["first_slot"], infosets["num_actions"].astype(np.int64)
    part_of = words & OWNER
    cell_of = np.where(part_of > 0, words >> CELL, 0)
    places = Places(part_of.astype(np.uint8), np.zeros(num_slots, np.int32), cell_of.astype(np.int32))
    chosen = [np.flatnonzero(part_of[firsts] == part) for part in range(owners + 1)]
    slots = [_slots_of(firsts[of_part], counts[of_part]) for of_part in chosen]
    for found in slots:
        places.slot[found] = np.arange(len(found), dtype=np.int32)
    parts = [_part(arrays, places, of_part, found) for of_part, found in zip(chosen, slots, strict=True)]
    tops = np.flatnonzero(places.cell[firsts])
    tops = tops[np.argsort(places.cell[firsts[tops]], kind="stable")]
    above = infosets["parent_slot"][tops].astype(np.int64)
    inside = np.minimum(above, max(num_slots - 1, 0))
    parents = np.where(above < num_slots, places.slot[inside], above - num_slots + len(slots[0]))
    parts[0] = parts[0]._replace(cells=np.arange(len(tops)), parents=parents)
    return places, parts


def _slots_of(firsts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns the slots of infosets, one after another."""
    begins = np.cumsum(counts) - counts
    return np.arange(counts.sum(dtype=np.int64)) + np.repeat(firsts - begins, counts)


def _part(arrays: TreeArrays, places: Places, chosen: np.ndarray, slots: np.ndarray) -> Part:
    num_slots, num_players, num_own = len(places.slot), len(arrays.slot_range) - 1, len(slots)
    found = arrays.infosets[chosen]
    own = np.zeros(len(found), INFOSET)
    counts = found["num_actions"].astype(np.int64)
    cells = places.cell[found["first_slot"]]
    cells = np.sort(cells[cells > 0]).astype(np.int64) - 1
    above = found["parent_slot"].astype(np.int64)
    inside = np.minimum(above, max(num_slots - 1, 0))
    parents = np.where(above < num_slots, places.slot[inside], above - num_slots + num_own)
    top = places.cell[found["first_slot"]]
    behind = num_own + num_players + 1 + np.searchsorted(cells, top - 1)
    own["first_slot"] = np.cumsum(counts) - counts
    own["num_actions"] = counts
    own["parent_slot"] = np.where(top > 0, behind, parents)
    own["player"] = found["player"]
    infoset_range = np.searchsorted(own["player"], np.arange(num_players + 1)).astype(np.int64)
    slot_range = np.append(own["first_slot"], num_own).astype(np.int64)[infoset_range]
    empty = {name: getattr(arrays, name)[:0] for name in ("nodes", "payoffs", "chance", "leaf_row", "leaf_others")}
    local = TreeArrays(
        **empty,
        infosets=own,
        infoset_range=infoset_range,
        slot_range=slot_range,
        leaf_range=np.zeros(num_players + 1, np.int64),
        leaf_start=np.zeros(1, np.int64),
        leaf_value=arrays.leaf_value[:0],
        expansion=arrays.expansion,
    )
    for array in local:
        array.flags.writeable = False  # as those of a whole tree: kernels are compiled once
    of_slot = np.repeat(np.arange(len(own), dtype=np.int32), counts)
    return Part(local, slots, as_read(of_slot), cells, np.zeros(0, np.int64))


def share_out(sums: Sums, counts: np.ndarray, places: Places, parts: int) -> list[Sums]:
    """Returns a chunk's sums for one player by part, in the parts' own numbers.

    For part 0, the tops of subtrees that were touched are listed, too, in the order in which they were: as
    ``-1 - number of the cell``, without values.

    Args:
        sums: What a chunk has sampled.
        counts: ``[infosets touched]``, how many slots each has.
        places: Where slots are.
        parts: How many parts there are.
    """
    part_of, slots, cells = places.part[sums.firsts], places.slot[sums.firsts], places.cell[sums.firsts]
    part_of_value = np.repeat(part_of, counts)
    part_of_visit = places.part[sums.visited]
    shared = []
    for part in range(parts):
        own, visits = part_of == part, part_of_visit == part
        firsts = np.where(own, slots, -cells)[own | (cells > 0)] if part == 0 else slots[own]
        values = sums.values[part_of_value == part]
        visited = places.slot[sums.visited[visits]]
        shared.append(Sums(*map(as_read, (firsts, values, visited, sums.visit_weights[visits]))))
    return shared
