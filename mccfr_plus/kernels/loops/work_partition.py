"""Who owns which infoset, where threads share out the work that follows their traversals."""

from typing import NamedTuple

import numpy as np

from mccfr_plus.kernels.compile import allocating_kernel
from mccfr_plus.tree.arrays import TreeArrays

UNOWNED = 0
OWNER = 255  # the bits of an entry of `WorkPartition.owners` that name the owner
CELL = 8  # and how many bits the others are shifted
MAX_OWNERS = OWNER
_MOST_CELLS = np.iinfo(np.int32).max >> CELL
_PARTS = 4  # subtrees per thread, at the least: so that the shares become about equal


class WorkPartition(NamedTuple):
    """Who owns which infoset."""

    owners: np.ndarray  # [num_slots] int32: see `share_out`
    num_cells: int


def new_work_partition(tree: TreeArrays, threads: int, is_shared: bool) -> WorkPartition:
    """Returns who owns which infoset.

    Args:
        is_shared: Whether all own some, in a tree that is complete; otherwise none does.
    """
    owners = np.zeros(tree.slot_range[-1], np.int32)
    cells = share_out(tree.infosets, tree.infoset_range, threads, owners) if is_shared else 0
    if cells > _MOST_CELLS:  # their numbers do not fit: no thread owns anything
        return WorkPartition(np.zeros_like(owners), 0)
    return WorkPartition(owners, cells)


@allocating_kernel
def share_out(infosets, infoset_range, threads, owners):
    """Gives each thread about as many of each player's slots, in whole subtrees. Returns how many subtrees.

    Args:
        infosets: ``[num_infosets]`` INFOSET, parents first.
        infoset_range: ``[num_players + 1]``.
        threads: How many.
        owners: ``[num_slots]`` int32, an output: `UNOWNED` or the number of a thread plus 1; in the upper bits, at the
            top of a subtree, its number from 1 on, which is that of its cell behind the gradient.
    """
    infoset_of = np.empty(len(owners), np.int32)
    for infoset in range(len(infosets)):
        first = infosets[infoset]["first_slot"]
        infoset_of[first : first + infosets[infoset]["num_actions"]] = infoset
    sizes, cells = np.zeros(len(infosets), np.int64), 0  # of subtrees, in slots
    for player in range(len(infoset_range) - 1):
        begin, end, total = infoset_range[player], infoset_range[player + 1], 0
        for infoset in range(end - 1, begin - 1, -1):
            sizes[infoset] += infosets[infoset]["num_actions"]
            total += infosets[infoset]["num_actions"]
            above = infosets[infoset]["parent_slot"]
            if above < len(owners):
                sizes[infoset_of[above]] += sizes[infoset]
        limit, loads = total // (_PARTS * threads), np.zeros(threads, np.int64)
        for infoset in range(begin, end):
            above = infosets[infoset]["parent_slot"]
            word = np.int64(owners[above]) & OWNER if above < len(owners) else np.int64(UNOWNED)
            if word == UNOWNED and sizes[infoset] <= limit:
                thread = np.argmin(loads)
                loads[thread] += sizes[infoset]
                cells += 1
                word = (cells << CELL) + thread + 1
            first = infosets[infoset]["first_slot"]
            owners[first : first + infosets[infoset]["num_actions"]] = word
    return cells
