"""The exact average, formed at all of the player's sequences in every iteration."""

from mccfr_plus.averages.base import AverageMethod, add_weight
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.scratch import at, refresh_reach


@inline_kernel
def accumulate(tree, strategy, average, scratch, player, weight):
    """Adds weight x own reach x strategy at all of the player's slots. See `AverageMethod`."""
    add_weight(tree, average, player, weight)
    refresh_reach(tree, strategy, scratch, player)
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        average[at(slot)] += weight * scratch.reach[at(slot)]
    return True


EXACT = AverageMethod("exact", accumulate)
