"""Positions of a game with compiled rules in the place of stored nodes: the functions of `access`, and new infosets.

A node is the address of its row (see `rows`), where it is moved on and waits. The children of an open node take the
rows after those that wait. All are made then, and what their infosets have in memory is fetched in parallel: DRAM takes
hundreds of nanoseconds to answer. Only infosets of the player for whom a traversal is made get a number: at others play
is uniform before that player's own traversals have come there, and no table needs a place for them.
"""

import numba
import numpy as np

from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import load_word, pointer, prefetch, publish_word, unlikely
from mccfr_plus.trees import expansion
from mccfr_plus.trees.arrays import INFOSET
from mccfr_plus.trees.by_rules.frames import (
    NUM_SYMMETRIES,
    canonical_actions,
    draw_turn,
    first_frame,
    key_of_view,
    orbit_size,
    stabilizer_of,
    turn_view,
)
from mccfr_plus.trees.by_rules.rows import (
    FIRST_STATE,
    FIRST_UNIFORM,
    MOVED,
    NUM_PLAYERS,
    NUM_PRIOR,
    NUM_WORDS,
    OPEN,
    PRIOR_FIRST,
    PRIOR_KEYS,
    PRIOR_PROBABILITIES,
    PRIOR_RANGE,
    RULE_APPLY,
    RULE_LEGAL,
    RULE_OBSERVE,
    RULE_RETURNS,
    STATE_SIZE,
    actions_of,
    find_outcomes,
    first_strategy_of,
    high_of,
    low_of,
    outcomes_of,
    own_words,
    pair,
    parameters_of,
    payoffs_of,
    place_of_end,
    place_of_frame,
    place_of_infoset,
    place_of_last,
    places_of,
    row_at,
    slot_actions_of,
    state_at,
    symmetries_of,
    table_of,
    traverser_of,
    view_of,
    words_before_rows,
    words_per_row,
)
from mccfr_plus.trees.by_rules.successors import (
    KEYED,
    enter,
    fetch_ahead,
    fetch_block,
    fetch_word,
    find,
    words_for_one_more,
)
from mccfr_plus.trees.scratch import ALL_PLAYERS, TIED, at


@inline_kernel
def way_to_infoset(tree, scratch, row, state, player):
    """Returns what the infoset of a row's player to move is found by: last slot and code, or the words of its key."""
    if KEYED():
        low, high = key_of_view(view_of(tree, scratch, state, player), places_of(tree.expansion))
        return low ^ np.int64(player), high
    last = row[place_of_last(player)]
    code = RULE_OBSERVE(parameters_of(tree), table_of(tree), state, player, high_of(last))
    return low_of(last), np.int64(code)


@inline_kernel
def known_infoset(tree, scratch, row, state, player):
    """Returns the infoset of a row's player to move, or 0 if it has no number."""
    last = low_of(row[place_of_last(player)])
    if not TIED() and tree.expansion[FIRST_UNIFORM] <= last < tree.expansion[expansion.MAX_SLOTS]:
        return np.int64(0)
    slot, code = way_to_infoset(tree, scratch, row, state, player)
    return find(tree.expansion, slot, code)


@inline_kernel
def infoset_at(tree, scratch, row, state, player):
    """Returns the infoset of a row's player to move, a pair of first slot and actions; 0 if there is no room for it."""
    slot, code = way_to_infoset(tree, scratch, row, state, player)
    found = find(tree.expansion, slot, code)
    if unlikely(found == 0):
        found = _new_infoset(tree, scratch, row, state, player, slot, code)
    return found


@inline_kernel
def fetch_infoset(tree, scratch, infoset, player):
    """Begins to fetch what traversals read of a player's infoset, and what they write if they enter it."""
    first, count, words = low_of(infoset), high_of(infoset), tree.expansion
    fetch_word(words, first)
    fetch_word(words, first + count - 1)
    fetch_ahead(first_strategy_of(words), first, count)
    if NUM_SYMMETRIES() > 1 or KEYED():
        fetch_ahead(slot_actions_of(words), first, count)
    if traverser_of(tree, scratch)[0] in (player, ALL_PLAYERS):
        prefetch(scratch.stamps, first)
        if not TIED():
            fetch_ahead(scratch.gradient, first, count)


@kernel
def _new_infoset(tree, scratch, row, state, player, slot, code):
    """Numbers an infoset unless another thread has done so. Returns it, or 0 if there is no room."""
    words = numba.carray(pointer(tree.expansion[expansion.SELF]), NUM_WORDS, np.int64)
    actions = actions_of(tree, scratch)
    num_legal = RULE_LEGAL(parameters_of(tree), table_of(tree), state, actions)
    count, frame = num_legal, np.int64(0)
    if NUM_SYMMETRIES() > 1:
        frame = row[place_of_frame(player)]
        count = canonical_actions(symmetries_of(words), frame, actions, num_legal)
    view, places = view_of(tree, scratch, state, player), places_of(words)
    if NUM_SYMMETRIES() > 1:
        turn_view(symmetries_of(words), frame, places, view)
    expansion.lock(words)
    found = find(words, slot, code)
    infoset, first, capacity = words[expansion.NUM_INFOSETS], words[expansion.NUM_SLOTS], words[expansion.MAX_INFOSETS]
    cost = (infoset + 1) * words[expansion.INFOSET_COST] + (first + count) * words[expansion.SLOT_COST]
    cost += 8 * words_for_one_more(words)
    is_full = infoset == capacity or first + count > words[FIRST_UNIFORM] or cost > words[expansion.MAX_COST]
    if found == 0 and is_full:
        publish_word(words, expansion.STATUS, expansion.FULL)
    elif found == 0:
        record = numba.carray(pointer(words[expansion.INFOSETS]), capacity, INFOSET)[infoset]
        record["first_slot"] = first
        record["num_actions"] = count
        record["parent_slot"] = low_of(row[place_of_last(player)])  # one of several with imperfect recall
        record["player"] = player
        keys = numba.carray(pointer(words[expansion.KEYS]), (capacity, 2), np.int64)
        keys[infoset, 0], keys[infoset, 1] = key_of_view(view, places)
        slot_actions, strategy = slot_actions_of(words), first_strategy_of(words)
        for index in range(count):
            slot_actions[first + index] = np.int32(actions[index])
            strategy[first + index] = 1.0 / num_legal
            if NUM_SYMMETRIES() > 1 and stabilizer_of(frame) > 1:
                strategy[first + index] *= orbit_size(symmetries_of(words), stabilizer_of(frame), actions[index])
        if words[NUM_PRIOR] > 0:
            _take_prior(words, player, keys[infoset], strategy, first, count)
        words[expansion.NUM_INFOSETS] += 1
        words[expansion.NUM_SLOTS] += count
        found = pair(first, count)
        enter(words, slot, code, found)
    expansion.unlock(words)
    return found


@kernel
def _take_prior(words, player, key, strategy, first, count):
    """Gives a new infoset the probabilities of the prior policy, if that has some."""
    bounds = numba.carray(pointer(words[PRIOR_RANGE]), NUM_PLAYERS() + 1, np.int64)
    keys = numba.carray(pointer(words[PRIOR_KEYS]), (words[NUM_PRIOR], 2), np.int64)
    starts = numba.carray(pointer(words[PRIOR_FIRST]), words[NUM_PRIOR] + 1, np.int64)
    low, high = bounds[player], bounds[player + 1]
    while low < high:
        middle = (low + high) // 2
        if keys[middle, 0] < key[0] or (keys[middle, 0] == key[0] and keys[middle, 1] < key[1]):
            low = middle + 1
        else:
            high = middle
    if low == bounds[player + 1] or keys[low, 0] != key[0] or keys[low, 1] != key[1]:
        return
    probabilities = numba.carray(pointer(words[PRIOR_PROBABILITIES]), starts[words[NUM_PRIOR]], np.float64)
    for index in range(count if starts[low + 1] - starts[low] == count else 0):
        strategy[first + index] = probabilities[starts[low] + index]


# --- the functions of `access` ---


@inline_kernel
def first_node(tree, scratch, player):
    traverser_of(tree, scratch)[0] = player
    node = own_words(tree, scratch) + 8 * words_before_rows()
    row = row_at(node)
    first = numba.carray(pointer(tree.expansion[FIRST_STATE]), STATE_SIZE(), np.int64)
    for word in range(STATE_SIZE()):
        row[at(word)] = first[at(word)]
    for player in range(NUM_PLAYERS()):
        row[place_of_last(player)] = pair(tree.expansion[expansion.MAX_SLOTS] + player, -1)
        if NUM_SYMMETRIES() > 1:
            row[place_of_frame(player)] = first_frame()
    row[place_of_infoset()] = 0
    row[place_of_end()] = node + 8 * words_per_row()
    return node


@inline_kernel
def head(tree, scratch, node):
    row, state = row_at(node), state_at(node)
    mover = state[MOVER]
    if mover == TERMINAL:
        return TERMINAL, 0
    if mover == CHANCE:
        return CHANCE, find_outcomes(tree, scratch, state, MOVED)
    found = row[place_of_infoset()]
    if found == 0:  # or it was found when the parent was opened
        traverser = traverser_of(tree, scratch)[0]
        if traverser in (mover, ALL_PLAYERS):
            found = infoset_at(tree, scratch, row, state, mover)
        else:
            found = known_infoset(tree, scratch, row, state, mover)
            if found == 0:  # slots with a uniform strategy, which there are for each number of actions
                count = np.int64(RULE_LEGAL(parameters_of(tree), table_of(tree), state, actions_of(tree, scratch)))
                found = pair(tree.expansion[FIRST_UNIFORM] + (count - 1) * count // 2, count)
        fetch_infoset(tree, scratch, found, mover)
        for player in range(NUM_PLAYERS()):
            if player != mover:
                fetch_block(tree.expansion, low_of(row[place_of_last(player)]))
    if found == 0 or load_word(tree.expansion, expansion.STATUS) != expansion.EXPANDING:
        return mover, 0
    row[place_of_infoset()] = found
    return mover, high_of(found)


@inline_kernel
def payload_of(tree, scratch, node):
    return low_of(row_at(node)[place_of_infoset()])


@inline_kernel
def step(tree, scratch, node, payload, index):
    mover = state_at(node)[MOVER]
    if mover >= 0 and not _list_actions(tree, scratch, node, payload):
        return node
    _move(tree, scratch, node, payload, index, MOVED, actions_of(tree, scratch))
    if mover >= 0:
        fetch_word(tree.expansion, low_of(row_at(node)[place_of_last(mover)]))
    return node


@inline_kernel
def payoff(tree, scratch, node, player):
    payoffs = payoffs_of(tree, scratch)
    for each in range(NUM_PLAYERS()):
        payoffs[at(each)] = 0.0
    RULE_RETURNS(parameters_of(tree), table_of(tree), state_at(node), payoffs)
    return payoffs[at(player)]


@inline_kernel
def keep(tree, scratch, node):
    """Returns where the row is among the thread's words."""
    return (node - own_words(tree, scratch)) >> 3


@inline_kernel
def resume(tree, scratch, kept):
    return own_words(tree, scratch) + 8 * kept


@inline_kernel
def reopen(tree, scratch, kept):
    """Also makes the children: the node was the last one that waited, so that all rows after its siblings are free."""
    node = own_words(tree, scratch) + 8 * kept
    row = row_at(node)
    mover = row[MOVER]
    if mover == CHANCE:
        kind, count, payload = np.int64(CHANCE), find_outcomes(tree, scratch, state_at(node), OPEN), np.int64(0)
    else:
        found = row[place_of_infoset()]
        kind, count, payload = mover, high_of(found), low_of(found)
        if not _list_actions(tree, scratch, node, payload):
            count = np.int64(0)
    first, actions = row[place_of_end()], actions_of(tree, scratch)
    end = first + 8 * words_per_row() * count
    for index in range(count):
        child = first + 8 * words_per_row() * index
        below, state = row_at(child), state_at(child)
        for word in range(STATE_SIZE() + NUM_PLAYERS()):
            below[at(word)] = row[at(word)]
        if NUM_SYMMETRIES() > 1:
            for player in range(NUM_PLAYERS()):
                below[place_of_frame(player)] = row[place_of_frame(player)]
        below[place_of_end()] = end
        _move(tree, scratch, child, payload, index, OPEN, actions)
        mover = state[MOVER]
        if mover >= 0:
            known = known_infoset(tree, scratch, below, state, mover)
            below[place_of_infoset()] = known
            fetch_infoset(tree, scratch, known, mover)
    return kind, count, payload, first


@inline_kernel
def child_of(tree, scratch, opened, payload, index):
    return opened + 8 * words_per_row() * index


@inline_kernel
def outcome_probability(tree, scratch, payload, index):
    return outcomes_of(tree, scratch, OPEN)[1][at(index)]


@inline_kernel
def cannot_expand(words, node, thread):
    """Returns False: what is unknown here stays so until there is room."""
    return False


@inline_kernel
def _list_actions(tree, scratch, node, payload):
    """Lists a node's actions, unless `_move` reads them with its slots: the rules list them faster than memory.

    Returns `has_actions`.
    """
    if NUM_SYMMETRIES() == 1 or payload >= tree.expansion[FIRST_UNIFORM]:
        actions = actions_of(tree, scratch)
        count = RULE_LEGAL(parameters_of(tree), table_of(tree), state_at(node), actions)
        return has_actions(tree, node, actions, count, row_at(node)[place_of_infoset()])
    return True


@inline_kernel
def has_actions(tree, node, actions, count, infoset):
    """Returns whether a node has its infoset's actions. If not, keys do not tell nodes apart: the traversal ends."""
    first, is_same = low_of(infoset), not KEYED() or count == high_of(infoset)
    if KEYED() and is_same and first < tree.expansion[FIRST_UNIFORM]:
        expected = slot_actions_of(tree.expansion)
        for index in range(count):
            is_same &= expected[at(first + index)] == actions[at(index)]
    if unlikely(not is_same):
        words = numba.carray(pointer(tree.expansion[expansion.SELF]), NUM_WORDS, np.int64)
        words[expansion.CONFLICT_NODE] = node
        publish_word(words, expansion.STATUS, expansion.ACTIONS_DIFFER)
    return is_same


@inline_kernel
def _move(tree, scratch, node, payload, index, outcomes, actions):
    """Plays an action, or the outcome of chance that is listed, at a node. Its row is modified in place."""
    row, state = row_at(node), state_at(node)
    mover = state[MOVER]
    if mover == CHANCE:
        action = outcomes_of(tree, scratch, outcomes)[0][at(index)]
    else:
        slot = np.int64(payload + index)
        if NUM_SYMMETRIES() > 1 and payload < tree.expansion[FIRST_UNIFORM]:
            own, frame = np.int64(slot_actions_of(tree.expansion)[at(slot)]), row[place_of_frame(mover)]
            action, frame = draw_turn(symmetries_of(tree.expansion), frame, own, scratch.rng)
            row[place_of_frame(mover)] = frame
        else:
            action = actions[at(index)]
        row[place_of_last(mover)] = pair(slot, action)
    RULE_APPLY(parameters_of(tree), table_of(tree), state, action)
    row[place_of_infoset()] = 0
