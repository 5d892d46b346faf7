"""Parts of a stored tree of two players, for threads that share one gradient of `full`.

All that follows a slot is in one part. Infosets that lead to several parts are the top, which the first thread updates.
Terms, rows and sums of the average are shared equally, whatever their part: reach and gradient are the same for all.
"""

import numpy as np

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.trees.arrays import TreeArrays, read_only
from mccfr_plus.trees.public.arrays import FIRST, FIRST_END, FIRST_SLOT, LAST, LAST_END, LAST_SLOT, OWNER, TOP
from mccfr_plus.trees.scratch import at

_PIECES = 16  # of a part, at least, so that parts differ by a few percent


def in_parts(arrays: TreeArrays, threads: int) -> TreeArrays:
    """Returns the arrays with infosets part by part, and with `segments`: the top and a row of shares per thread."""
    infosets, segments = arrays.infosets, np.zeros((threads + 1, arrays.segments.shape[1]), np.int64)
    size, owners, numbers = int(arrays.slot_range[-1]) + 2, np.empty(len(infosets), np.int64), np.arange(threads + 1)
    segments[:, OWNER] = numbers + TOP
    for player in range(2):
        ranges = arrays.infoset_range, arrays.slot_range, arrays.leaf_range
        (begin, end), (first_slot, last_slot), (first, last) = (each[player : player + 2].tolist() for each in ranges)
        _deal(infosets, begin, end, size - 2 + player, threads, np.zeros(size, np.int64), np.full(size, TOP), owners)
        cuts = begin + np.searchsorted(np.sort(owners[begin:end]), np.append(numbers + TOP, threads))
        slots = first_slot + (last_slot - first_slot) * numbers // threads
        starts = arrays.leaf_start[first : last + 1]
        blocks = first + np.searchsorted(starts, starts[0] + (starts[-1] - starts[0]) * numbers // threads)
        blocks[-1] = last  # the last ones may be empty
        own = segments[:, 2 * player :]
        own[:, FIRST], own[:, LAST] = cuts[:-1], cuts[1:]
        own[1:, FIRST_SLOT], own[1:, LAST_SLOT] = slots[:-1], slots[1:]
        own[1:, FIRST_END], own[1:, LAST_END] = blocks[:-1], blocks[1:]
    infosets = infosets[np.lexsort((owners, infosets["player"]))]
    return arrays._replace(infosets=read_only(infosets), segments=read_only(segments))


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
