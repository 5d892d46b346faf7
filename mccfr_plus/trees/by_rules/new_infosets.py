"""Infosets of a game that is traversed by rules: they are numbered when they are first met.

Or only those of the player for whom a traversal is made: the others' strategy is uniform before their own traversals
have come to an infoset, and no table needs a place for it. `observe`, of the game's rules, tells what a player has
learned since its own last action, as a small number, and `successors` leads from a slot and such a number to the
infoset that follows.
"""

import numba
import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import pointer, prefetch, publish_word, unlikely
from mccfr_plus.trees.access import ALL_PLAYERS
from mccfr_plus.trees.arrays import INFOSET
from mccfr_plus.trees.by_rules.frames import NUM_SYMMETRIES, canonical_actions, orbit_size, stabilizer_of, turn_view
from mccfr_plus.trees.by_rules.rows import (
    FIRST_UNIFORM,
    NUM_PLACES,
    NUM_PLAYERS,
    NUM_PRIOR,
    NUM_WORDS,
    PLACES,
    PRIOR_FIRST,
    PRIOR_KEYS,
    PRIOR_PROBABILITIES,
    PRIOR_RANGE,
    VIEW_SIZE,
    actions_of,
    high_of,
    low_of,
    pair,
    parameters_of,
    place_of_frame,
    place_of_last,
    slot_actions_of,
    symmetries_of,
    table_of,
    traverser_of,
    view_of,
)
from mccfr_plus.trees.by_rules.rule_slots import RULE_LEGAL, RULE_LOOK, RULE_OBSERVE
from mccfr_plus.trees.by_rules.rules_keys import key_of_view
from mccfr_plus.trees.by_rules.successors import NUM_BLOCK_WORDS, enter, fetch_ahead, fetch_word, find
from mccfr_plus.trees.expansion import (
    FULL,
    INFOSET_COST,
    INFOSETS,
    KEYS,
    MAX_COST,
    MAX_INFOSETS,
    MAX_SLOTS,
    NUM_INFOSETS,
    NUM_SLOTS,
    ONES,
    SELF,
    SLOT_COST,
    STATUS,
    STRATEGY,
    lock,
    unlock,
)


@inline_kernel
def _place_of(tree, row, state, player):
    """Returns slot and code that lead to the infoset of a row's player to move; see `successors`."""
    last = row[place_of_last(player)]
    code = RULE_OBSERVE(parameters_of(tree), table_of(tree), state, player, high_of(last))
    return low_of(last), np.int64(code)


@inline_kernel
def known_infoset(tree, row, state, player):
    """Returns the infoset of a row's player to move, or 0 if it has no number."""
    last = low_of(row[place_of_last(player)])
    if tree.expansion[FIRST_UNIFORM] <= last < tree.expansion[MAX_SLOTS]:
        return np.int64(0)
    slot, code = _place_of(tree, row, state, player)
    return find(tree.expansion, slot, code)


@inline_kernel
def uniform_infoset(tree, scratch, state):
    """Returns what stands for an infoset without a number: slots with a uniform strategy. Lists its actions.

    There are such slots for every number of actions; see `num_uniform`.
    """
    count = np.int64(RULE_LEGAL(parameters_of(tree), table_of(tree), state, actions_of(tree, scratch)))
    return pair(tree.expansion[FIRST_UNIFORM] + num_uniform(count - 1), count)


@inline_kernel
def num_uniform(count):
    """Returns how many slots there are for up to so many actions, of which each number has slots of its own."""
    return count * (count + 1) // 2


@inline_kernel
def infoset_at(tree, scratch, row, state, player):
    """Returns the infoset of a row's player to move, a pair of first slot and actions; 0 if there is no room for it."""
    slot, code = _place_of(tree, row, state, player)
    found = find(tree.expansion, slot, code)
    if unlikely(found == 0):
        found = new_infoset(tree, scratch, row, state, player, slot, code)
    return found


@inline_kernel
def fetch_infoset(tree, scratch, infoset, player):
    """Begins to fetch what traversals read of a player's infoset, and what they write if they enter it."""
    first, count, expansion = low_of(infoset), high_of(infoset), tree.expansion
    fetch_word(expansion, first)
    fetch_word(expansion, first + count - 1)
    fetch_ahead(numba.carray(pointer(expansion[STRATEGY]), expansion[MAX_SLOTS], np.float64), first, count)
    if NUM_SYMMETRIES() > 1:
        fetch_ahead(slot_actions_of(expansion), first, count)
    if traverser_of(tree, scratch)[0] in (player, ALL_PLAYERS):
        prefetch(scratch.stamps, first)
        fetch_ahead(scratch.gradient, first, count)


@kernel
def new_infoset(tree, scratch, row, state, player, slot, code):
    """Numbers an infoset that is met for the first time. Returns it, or 0 if there is no room; see `infoset_at`.

    The arrays that ``tree.expansion`` points at are modified in place.
    """
    expansion = numba.carray(pointer(tree.expansion[SELF]), NUM_WORDS, np.int64)
    actions = actions_of(tree, scratch)
    num_legal = RULE_LEGAL(parameters_of(tree), table_of(tree), state, actions)
    count, frame = num_legal, np.int64(0)
    if NUM_SYMMETRIES() > 1:
        frame = row[place_of_frame(player)]
        count = canonical_actions(symmetries_of(expansion), frame, actions, num_legal)
    view = view_of(tree, scratch)
    for index in range(VIEW_SIZE()):
        view[index] = 0
    RULE_LOOK(parameters_of(tree), table_of(tree), state, player, view)
    if NUM_SYMMETRIES() > 1:
        places = numba.carray(pointer(expansion[PLACES]), expansion[NUM_PLACES], np.int64)
        turn_view(symmetries_of(expansion), frame, places, view)
    lock(expansion)
    found = find(expansion, slot, code)
    if found == 0:
        found = _new_record(expansion, row, player, actions, count, num_legal, frame, view)
        if found != 0:
            enter(expansion, slot, code, found)
    unlock(expansion)
    return found


@inline_kernel
def _new_record(expansion, row, player, actions, count, num_legal, frame, view):
    infoset, first = expansion[NUM_INFOSETS], expansion[NUM_SLOTS]
    cost = (infoset + 1) * expansion[INFOSET_COST] + (first + count) * expansion[SLOT_COST]
    cost += 8 * expansion[NUM_BLOCK_WORDS]
    if infoset == expansion[MAX_INFOSETS] or first + count > expansion[FIRST_UNIFORM] or cost > expansion[MAX_COST]:
        publish_word(expansion, STATUS, FULL)
        return np.int64(0)
    record = numba.carray(pointer(expansion[INFOSETS]), expansion[MAX_INFOSETS], INFOSET)[infoset]
    record["first_slot"] = first
    record["num_actions"] = count
    record["parent_slot"] = low_of(row[place_of_last(player)])
    record["player"] = player
    keys = numba.carray(pointer(expansion[KEYS]), (expansion[MAX_INFOSETS], 2), np.int64)
    places = numba.carray(pointer(expansion[PLACES]), expansion[NUM_PLACES], np.int64)
    key_of_view(view, places, keys[infoset])
    slot_actions = slot_actions_of(expansion)
    strategy = numba.carray(pointer(expansion[STRATEGY]), expansion[MAX_SLOTS], np.float64)
    for index in range(count):
        slot_actions[first + index] = np.int32(actions[index])
        strategy[first + index] = 1.0 / num_legal
        if NUM_SYMMETRIES() > 1 and stabilizer_of(frame) > 1:
            strategy[first + index] *= orbit_size(symmetries_of(expansion), stabilizer_of(frame), actions[index])
    if expansion[NUM_PRIOR] > 0:
        _take_prior(expansion, player, keys[infoset], strategy, first, count)
    if expansion[ONES] != 0:
        numba.carray(pointer(expansion[ONES]), expansion[MAX_SLOTS], np.float64)[first] = 1.0
    expansion[NUM_INFOSETS] += 1
    expansion[NUM_SLOTS] += count
    return pair(first, count)


@kernel
def _take_prior(expansion, player, key, strategy, first, count):
    """Gives a new infoset the probabilities of the prior policy, if that has some. `strategy` is modified in place."""
    bounds = numba.carray(pointer(expansion[PRIOR_RANGE]), NUM_PLAYERS() + 1, np.int64)
    keys = numba.carray(pointer(expansion[PRIOR_KEYS]), (expansion[NUM_PRIOR], 2), np.int64)
    starts = numba.carray(pointer(expansion[PRIOR_FIRST]), expansion[NUM_PRIOR] + 1, np.int64)
    low, high = bounds[player], bounds[player + 1]
    while low < high:
        middle = (low + high) // 2
        if keys[middle, 0] < key[0] or (keys[middle, 0] == key[0] and keys[middle, 1] < key[1]):
            low = middle + 1
        else:
            high = middle
    if low == bounds[player + 1] or keys[low, 0] != key[0] or keys[low, 1] != key[1]:
        return
    row = starts[low]
    if starts[low + 1] - row != count:
        return
    probabilities = numba.carray(pointer(expansion[PRIOR_PROBABILITIES]), starts[expansion[NUM_PRIOR]], np.float64)
    for index in range(count):
        strategy[first + index] = probabilities[row + index]
