"""Updates of several infosets side by side: those with as many actions form blocks, and an infoset is a lane.

A minimizer's `kernel` only returns values, and its `finish` goes over the blocks: it copies what an update reads to
`Scratch.lanes`, computes there, and copies the results back. Row r of lane j is ``lanes[r * LANES + j]``. So a loop
over lanes reads and writes consecutive numbers, and where the number of actions is a constant it contains no other
loop: the compiler makes it one of vector instructions.

The list of infosets by number of actions is made once: all infosets must be touched for every update.
"""

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.scratch import LANES, at

VECTOR = 8  # lanes are computed in multiples of it: what stands in those without an infoset means nothing


@kernel
def list_alike(tree, scratch, player):
    """Lists the player's touched infosets by number of actions in `scratch.alike`, once. Modified in place."""
    touched, alike, begin = scratch.touched, scratch.alike, tree.infoset_range[player]
    end = begin + scratch.num_touched[player]
    if end == begin or alike[at(begin)]["num_actions"] != 0:
        return
    place, count = begin, np.int64(1)
    while place < end:
        first, next_count = place, np.int64(0)
        for position in range(begin, end):
            num_actions = np.int64(touched[at(position)]["num_actions"])
            if num_actions == count:
                alike[at(place)]["first_slot"] = touched[at(position)]["first_slot"]
                alike[at(place)]["num_actions"] = count
                place += 1
            elif num_actions > count and (next_count == 0 or num_actions < next_count):
                next_count = num_actions
        for position in range(first, place):
            alike[at(position)]["num_alike"] = place - position
        count = next_count


@inline_kernel
def threshold_in_lane(lanes, lane, row, scratch_row, count, mass):
    """Returns what one infoset's values less it sum to `mass` with, when they are cut at 0 afterwards.

    Less the largest value, so that sums are exact however large they are, it is the largest of (their sum - mass) / k
    over the k largest values, for any k. They are sorted without branches.

    Args:
        lanes: `Scratch.lanes`. Modified in place at the rows from `scratch_row` on.
        lane: The number of the lane.
        row: The row of the first value; the others follow.
        scratch_row: The first of as many rows for the sorted values.
        count: Number of actions, a constant.
        mass: What remains.
    """
    for action in range(count):
        low = lanes[at((row + action) * LANES + lane)]
        for place in range(action):
            high = lanes[at((scratch_row + place) * LANES + lane)]
            lanes[at((scratch_row + place) * LANES + lane)] = max(high, low)
            low = min(high, low)
        lanes[at((scratch_row + action) * LANES + lane)] = low
    best, total, threshold = lanes[at(scratch_row * LANES + lane)], -mass, -mass
    for place in range(1, count):
        total += lanes[at((scratch_row + place) * LANES + lane)] - best
        threshold = max(threshold, total * (1.0 / (place + 1)))
    return best + threshold
