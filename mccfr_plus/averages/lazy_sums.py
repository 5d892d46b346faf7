"""The exact average, formed on demand: O(touched) per iteration."""

from mccfr_plus.averages.base import AverageMethod, add_weight
from mccfr_plus.kernels.compile import expression_kernel, inline_kernel, kernel
from mccfr_plus.kernels.scratch import LOOK_AHEAD, at
from mccfr_plus.tree.access import fetch_ahead


@expression_kernel
def accumulate(tree, strategy, average, scratch, player, weight):
    """Applies the pending average updates at the player's touched infosets. See `AverageMethod`."""
    add_weight(tree, average, player, weight)
    settle_touched(tree, strategy, average, scratch, player)
    return True


@inline_kernel
def settle_touched(tree, strategy, average, scratch, player):
    """Applies the pending average updates at touched infosets. `average` and `scratch` are modified in place."""
    begin = tree.infoset_range[player]
    end = begin + scratch.num_touched[player]
    for position in range(begin, end):
        ahead = scratch.touched[at(min(position + LOOK_AHEAD, end - 1))]
        fetch_ahead(average, ahead["parent_slot"])
        fetch_ahead(average, ahead["first_slot"])
        fetch_ahead(scratch.seen, ahead["first_slot"])
        infoset = scratch.touched[at(position)]
        first, count = infoset["first_slot"], infoset["num_actions"]
        settle_infoset(first, count, infoset["parent_slot"], strategy, average, scratch.seen)


@inline_kernel
def settle_infoset(first, count, parent, strategy, average, marks):
    """Applies the pending average update of an infoset. `average` and `marks` are modified in place.

    Args:
        first: The infoset's first slot.
        count: Its number of actions.
        parent: The player's last slot before it.
        strategy: ``[num_slots]``, unchanged at this infoset since it was last settled.
        average: See `accumulate`; the parent's sum is up to date.
        marks: ``[num_slots]`` MARK.
    """
    above = average[at(parent)]
    gain = above - marks[at(first)]["seen"]
    if gain != 0.0:
        marks[at(first)]["seen"] = above
        for slot in range(first, first + count):
            average[at(slot)] += gain * strategy[at(slot)]


@kernel
def settled(infosets, strategy, average, marks, sums):
    """Writes what `average` would be if all infosets were settled; nothing else changes, not even by rounding.

    Args:
        infosets: ``[num_infosets]`` INFOSET, parents first.
        strategy: ``[num_slots]``.
        average: See `accumulate`.
        marks: See `settle_infoset`.
        sums: ``[num_slots + num_players]``, an output.
    """
    for slot in range(len(strategy), len(average)):
        sums[slot] = average[slot]
    for infoset in infosets:
        first = infoset["first_slot"]
        gain = sums[infoset["parent_slot"]] - marks[first]["seen"]
        for slot in range(first, first + infoset["num_actions"]):
            sums[slot] = average[slot] + gain * strategy[slot]


LAZY = AverageMethod("lazy", accumulate, settle_touched)
