"""Parts of a stored tree of two players, for threads that share one gradient of `full`.

All that follows a slot is in one part. Infosets that lead to several parts are the top, which the first thread updates.
Terms, rows and sums of the average are shared equally, whatever their part: reach and gradient are the same for all.
"""

import numpy as np

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.trees.arrays import TreeArrays
from mccfr_plus.trees.public.arrays import FIRST, FIRST_END, FIRST_SLOT, OWNER, TOP
from mccfr_plus.trees.scratch import at

_PIECES = 16  # of a part, at least, so that parts differ by a few percent


def in_parts(arrays: TreeArrays, threads: int) -> TreeArrays:
    """Returns the arrays with `segments`, as those of a public tree; `infosets` are those listed, part by part."""
    infosets, ranges = arrays.infosets, arrays.infoset_range
    if len(arrays.listed):
        infosets, ranges = arrays.listed, arrays.listed_range
    size, owners = int(arrays.slot_range[-1]) + 2, np.empty(len(infosets), np.int64)
    segments = np.zeros((threads + 1, arrays.segments.shape[1]), np.int64)
    segments[:, OWNER] = np.arange(TOP, threads)
    for player in range(2):
        (begin, end), (first, last) = ranges[player:][:2].tolist(), arrays.leaf_range[player:][:2].tolist()
        _deal(infosets, begin, end, size - 2 + player, threads, np.zeros(size, np.int64), np.full(size, TOP), owners)
        infoset_cuts = begin + np.searchsorted(np.sort(owners[begin:end]), np.arange(TOP, threads + 1))
        first_slot, last_slot = arrays.slot_range[player:][:2].tolist()
        slot_cuts = np.linspace(first_slot, last_slot, threads + 1, dtype=np.int64)
        starts = arrays.leaf_start[first : last + 1]
        block_cuts = first + np.searchsorted(starts, np.linspace(starts[0], starts[-1], threads + 1))
        block_cuts[-1] = last  # the last blocks may be empty
        for rows, column, cuts in (
            (segments, FIRST, infoset_cuts),
            (segments[1:], FIRST_SLOT, slot_cuts),
            (segments[1:], FIRST_END, block_cuts),
        ):
            rows[:, column + 2 * player], rows[:, column + 2 * player + 1] = cuts[:-1], cuts[1:]
    infosets = infosets[np.lexsort((owners, infosets["player"]))]
    for array in (infosets, segments):
        array.flags.writeable = False
    return arrays._replace(infosets=infosets, infoset_range=ranges, listed=arrays.listed[:0], segments=segments)


@kernel
def _deal(infosets, begin, end, empty, threads, below, slot_owners, owners):
    """Writes the owners of a player's infosets. `below` is 0 and `slot_owners` is `TOP`; both are modified."""
    for infoset in range(end - 1, begin - 1, -1):
        record, size = infosets[at(infoset)], 0
        for slot in range(record["first_slot"], record["first_slot"] + record["num_actions"]):
            size += 1 + below[at(slot)]
        below[at(record["parent_slot"])] += size
    done, total = 0, below[at(empty)]
    for infoset in range(begin, end):
        record = infosets[at(infoset)]
        owner = slot_owners[at(record["parent_slot"])]
        owners[at(infoset)] = owner
        for slot in range(record["first_slot"], record["first_slot"] + record["num_actions"]):
            slot_owners[at(slot)] = owner
            if owner == TOP and below[at(slot)] * _PIECES * threads <= total:
                slot_owners[at(slot)] = done * threads // total
                done += below[at(slot)]
