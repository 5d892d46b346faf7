"""Averages at the player's touched infosets, by own reach: for this iteration, or for all since the last visit.

The first is right where the visits depend on chance alone. The second, "optimistic averaging", is biased, as reach has
changed meanwhile (Lanctot et al. 2009, appendix A.1).
"""

from mccfr_plus.averages.base import AverageMethod, add_weight
from mccfr_plus.kernels.compile import compose, kernel

SINCE_LAST_VISIT = False  # composed in


@kernel
def accumulate(tree, strategy, average, scratch, player, weight):
    """Adds reach x strategy at the player's touched infosets. See `AverageMethod`."""
    add_weight(tree, average, player, weight)
    reach, total = scratch.reach, average[tree.slot_range[-1] + player]
    begin = tree.infoset_range[player]
    for position in range(begin, begin + scratch.num_touched[player]):
        infoset = scratch.touched[position]
        first = infoset["first_slot"]
        above = reach[infoset["parent_slot"]]
        scale = weight
        if SINCE_LAST_VISIT:
            scale = total - scratch.seen[first]["seen"]
            scratch.seen[first]["seen"] = total
        for slot in range(first, first + infoset["num_actions"]):
            reach[slot] = above * strategy[slot]
            average[slot] += scale * reach[slot]
    return True


TOUCHED = AverageMethod("touched", accumulate, is_shared=False)
OPTIMISTIC = AverageMethod("optimistic", compose(accumulate, SINCE_LAST_VISIT=True), is_shared=False)
