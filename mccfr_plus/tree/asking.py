"""Asks pyspiel for a node from within a kernel: the short way of what `expander` does in Python.

It serves what nearly all nodes of large games are: decision nodes and leaves. For the rest (the root, chance, errors,
keys that are texts) the expander is called. Both give the same answers.

States are kept in a table of one place per hash of the node's number: a newer one takes the place of an older one. One
that is not kept is played again from the nearest that is. Where traversals are single histories, whose new nodes come one
below the other, each is played on from the one before, without a copy of every state; then only states are kept below
which a traversal has come to something new for the second time.
"""

import numba
import numpy as np
import pyspiel

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import pointer
from mccfr_plus.python_api import (
    NUM_ADDRESSES,
    call_object,
    float_of,
    integer_object,
    integer_of,
    keep,
    let_go,
    list_item,
    list_size,
    text_of,
)
from mccfr_plus.tree.arrays import CHANCE, NODE, TERMINAL
from mccfr_plus.tree.blake2 import NUM_WORDS, blake2b

# Columns of an answer. For a decision node there are the key of its infoset and, if they were asked for, its actions.
ANSWER_KIND, ANSWER_COUNT, ANSWER_ROW, ANSWER_KEY, ANSWER_CHECK, ANSWER_STATE, ANSWER_ACTIONS = 0, 1, 2, 3, 5, 6, 7

# Entries of the array that all of this works with. Addresses:
(
    API,  # see `python_api.addresses`
    NODES,
    PARENTS,
    SLOT_ACTIONS,
    OUTCOME_ACTIONS,
    KEPT_NODES,  # ``[num_places]`` int64: 1 + the node whose state is kept there
    KEPT_STATES,  # ``[num_places]`` int64: references to states
    PAYOFFS,  # the tree's
    ROOT_STATE,
    MEMO,  # ``[_NUM_MEMO, 1 + num_players]`` int64: 1 + a row of payoffs, and the bits of the payoffs
    # and numbers:
    NUM_PLACES,  # a power of 2
    NUM_PLAYERS,
    DIGEST_SIZE,  # bytes
    MOST_ACTIONS,
    COUNTDOWN,  # asks until Python is called anyway, so that signals get their turn
    IS_HISTORY,  # 1 if traversals are single histories
) = range(16)
NUM_ENTRIES = 16

# The callables, in the order in which `python_api.addresses` gets them.
CHILD, CURRENT_PLAYER, INFORMATION_STATE, LEGAL_ACTIONS, RETURNS, APPLY_ACTION = range(6)

NUM_MEMO = 1 << 10
_ASKS_BETWEEN_SIGNALS = 4096
_TERMINAL_PLAYER = int(pyspiel.PlayerId.TERMINAL)

# Columns of the scratch memory of a thread, in words.
_ARGUMENTS, _SIZE, _HASH = 0, 2, 3
_PATH = _HASH + NUM_WORDS
_MAX_PATH = 256  # actions that are played again; longer ways are the expander's
LAST_NODE = _PATH + _MAX_PATH  # 1 + the node that was asked for last, or 0, if traversals are single histories,
LAST_STATE = LAST_NODE + 1  # and a reference to its state
NUM_SCRATCH = LAST_STATE + 1

_MIX = np.uint64(0x9E3779B97F4A7C15)


@inline_kernel
def words_at(address, count):
    """Returns the int64 array at an address."""
    return numba.carray(pointer(address), count, np.int64)


@inline_kernel
def _place(ask, node):
    """Returns the place of a node's state."""
    return np.int64(((np.uint64(node) * _MIX) >> np.uint64(20)) & np.uint64(ask[NUM_PLACES] - 1))


@kernel
def state_of(ask, node):
    """Returns a new reference to the state of a node, or 0 if it is not kept. The interpreter's lock is held."""
    place = _place(ask, node)
    if words_at(ask[KEPT_NODES], ask[NUM_PLACES])[place] != node + 1:
        return 0
    state = words_at(ask[KEPT_STATES], ask[NUM_PLACES])[place]
    keep(words_at(ask[API], NUM_ADDRESSES), state)
    return state


@kernel
def keep_state(ask, node, state):
    """Keeps the state of a node, of which it takes a reference of its own. The interpreter's lock is held."""
    api, place = words_at(ask[API], NUM_ADDRESSES), _place(ask, node)
    nodes, states = words_at(ask[KEPT_NODES], ask[NUM_PLACES]), words_at(ask[KEPT_STATES], ask[NUM_PLACES])
    before = states[place]
    keep(api, state)
    nodes[place] = node + 1
    states[place] = state
    if before != 0:
        let_go(api, before)


@kernel
def _replayed(ask, node, scratch):
    """Returns a new reference to the state of a node in the tree, or 0 if that could not be. The lock is held.

    It is kept from then on.
    """
    api = words_at(ask[API], NUM_ADDRESSES)
    parents = numba.carray(pointer(ask[PARENTS]), node + 1, np.int32)
    path, length, near, state = scratch[_PATH:], 0, np.int64(node), np.int64(0)
    while near != 0:
        state = state_of(ask, near)
        if state != 0:
            break
        if length == _MAX_PATH:
            return 0
        path[length] = near
        length += 1
        near = np.int64(parents[near])
    if state == 0:
        state = ask[ROOT_STATE]
        keep(api, state)
    for index in range(length - 1, -1, -1):
        action = _action_object(ask, api, near, path[index])
        scratch[_ARGUMENTS], scratch[_ARGUMENTS + 1] = state, action
        if index == length - 1:  # a copy, as somebody else has the other one
            played = call_object(api, CHILD, scratch.ctypes.data, 2)
            let_go(api, state)
            state = played
        else:
            played = call_object(api, APPLY_ACTION, scratch.ctypes.data, 2)
            if played == 0:
                let_go(api, state)
                state = np.int64(0)
            else:
                let_go(api, played)
        let_go(api, action)
        if state == 0:
            return 0
        near = path[index]
    if length > 0:
        keep_state(ask, node, state)
    return state


@inline_kernel
def _action_object(ask, api, above, node):
    """Returns the action that leads from a node to one of its children, as an object."""
    record = numba.carray(pointer(ask[NODES]), above + 1, NODE)[above]
    row = np.int64(record["payload"]) + node - record["first_child"]
    actions = ask[OUTCOME_ACTIONS] if record["kind"] == CHANCE else ask[SLOT_ACTIONS]
    return integer_object(api, words_at(actions, row + 1)[row])


@kernel
def _child(ask, above, node, scratch):
    """Returns a new reference to the state of a node, or 0 if that could not be. The interpreter's lock is held."""
    api = words_at(ask[API], NUM_ADDRESSES)
    parent = _replayed(ask, above, scratch)
    if parent == 0:
        return np.int64(0)
    action = _action_object(ask, api, above, node)
    scratch[_ARGUMENTS], scratch[_ARGUMENTS + 1] = parent, action
    state = call_object(api, CHILD, scratch.ctypes.data, 2)
    let_go(api, action)
    let_go(api, parent)
    return state


@kernel
def _played_on(ask, above, node, scratch):
    """Returns the last state after one more action: a new reference, or 0. The interpreter's lock is held."""
    api, state = words_at(ask[API], NUM_ADDRESSES), scratch[LAST_STATE]
    scratch[LAST_NODE], scratch[LAST_STATE] = 0, 0
    action = _action_object(ask, api, above, node)
    scratch[_ARGUMENTS], scratch[_ARGUMENTS + 1] = state, action
    nothing = call_object(api, APPLY_ACTION, scratch.ctypes.data, 2)
    let_go(api, action)
    if nothing == 0:
        let_go(api, state)
        return np.int64(0)
    let_go(api, nothing)
    return state


@kernel
def forget_last(api, scratch):
    """Forgets the state that a thread was asked for last. The interpreter's lock is held."""
    if scratch[LAST_STATE] != 0:
        let_go(api, scratch[LAST_STATE])
    scratch[LAST_NODE], scratch[LAST_STATE] = 0, 0


@kernel
def ask_for(ask, node, answer, scratch):
    """Writes an answer for a node, as `expander` does; returns whether it could, and the state if it is a decision.

    The interpreter's lock is held. The state is a new reference, or 0.

    Args:
        ask: See the entries above. Modified in place.
        node: The node, which nobody has visited.
        answer: See `expansion`: kind, count, row, key. Modified in place.
        scratch: ``[NUM_SCRATCH]`` int64, the thread's. Modified in place.
    """
    ask[COUNTDOWN] -= 1
    if node == 0 or ask[COUNTDOWN] <= 0:
        ask[COUNTDOWN] = _ASKS_BETWEEN_SIGNALS
        return False, 0
    api = words_at(ask[API], NUM_ADDRESSES)
    above = numba.carray(pointer(ask[PARENTS]), node + 1, np.int32)[node]
    state = (
        _played_on(ask, above, node, scratch) if scratch[LAST_NODE] == above + 1 else _child(ask, above, node, scratch)
    )
    if state == 0:
        return False, 0
    arguments = scratch.ctypes.data
    scratch[_ARGUMENTS] = state
    player_object = call_object(api, CURRENT_PLAYER, arguments, 1)
    player = np.int64(CHANCE)
    if player_object != 0:
        player = integer_of(api, player_object)
        let_go(api, player_object)
    is_done = False
    if player >= 0:
        is_done = _key(ask, api, arguments, answer, scratch)
        if is_done:
            answer[ANSWER_KIND] = player
            if ask[IS_HISTORY] == 0:
                keep_state(ask, node, state)
            else:
                forget_last(api, scratch)
                keep(api, state)
                scratch[LAST_NODE], scratch[LAST_STATE] = node + 1, state
            return True, state
    elif player == _TERMINAL_PLAYER:
        is_done = _payoffs(ask, api, arguments, answer, scratch)
    let_go(api, state)
    return is_done, 0


@kernel
def _key(ask, api, arguments, answer, scratch):
    """Writes the key of the state's information state. Returns whether it could."""
    text = call_object(api, INFORMATION_STATE, arguments, 1)
    if text == 0:
        return False
    data = text_of(api, text, arguments + 8 * _SIZE)
    if data != 0:
        size = scratch[_SIZE]
        words = scratch[_HASH:].view(np.uint64)
        blake2b(numba.carray(pointer(data), size, np.uint8), size, ask[DIGEST_SIZE], words)
        digest = scratch[_HASH + 32 :]
        answer[ANSWER_KEY], answer[ANSWER_KEY + 1], answer[ANSWER_CHECK] = digest[0], digest[1], digest[2]
    let_go(api, text)
    return data != 0


@kernel
def _payoffs(ask, api, arguments, answer, scratch):
    """Writes the row of a leaf's payoffs, if it was met before. Returns whether it was."""
    returns = call_object(api, RETURNS, arguments, 1)
    if returns == 0:
        return False
    count, found = ask[NUM_PLAYERS], False
    if list_size(api, returns) == count:
        bits = answer[ANSWER_ACTIONS:]
        floats = bits.view(np.float64)
        for player in range(count):
            floats[player] = float_of(api, list_item(api, returns, player))
        memo = _memo(ask, bits)
        found = memo[0] != 0
        for player in range(count):
            found = found and memo[1 + player] == bits[player]
        answer[ANSWER_KIND], answer[ANSWER_COUNT], answer[ANSWER_ROW] = TERMINAL, 0, memo[0] - 1
    let_go(api, returns)
    return found


@inline_kernel
def _memo(ask, bits):
    """Returns the place of payoffs in the memo."""
    count, mixed = ask[NUM_PLAYERS], np.uint64(0)
    for player in range(count):
        mixed = (mixed ^ np.uint64(bits[player])) * _MIX
        mixed ^= mixed >> np.uint64(29)  # or signs, the highest bits, would cancel out
    place = np.int64((mixed >> np.uint64(40)) & np.uint64(NUM_MEMO - 1))
    return words_at(ask[MEMO], NUM_MEMO * (count + 1))[place * (count + 1) :]


@kernel
def remember(ask, node, answer):
    """Keeps what the expander has answered: the payoffs' row of a leaf, or the state. The lock is held."""
    if answer[ANSWER_KIND] != TERMINAL:
        keep_state(ask, node, answer[ANSWER_STATE])
        return
    count, row = ask[NUM_PLAYERS], answer[ANSWER_ROW]
    bits = words_at(ask[PAYOFFS] + 8 * count * row, count)
    memo = _memo(ask, bits)
    memo[0] = row + 1
    for player in range(count):
        memo[1 + player] = bits[player]


@kernel
def list_actions(ask, state, answer, scratch):
    """Writes the number of legal actions of a state and the actions; returns whether it could. The lock is held."""
    api = words_at(ask[API], NUM_ADDRESSES)
    scratch[_ARGUMENTS] = state
    actions = call_object(api, LEGAL_ACTIONS, scratch.ctypes.data, 1)
    if actions == 0:
        return False
    count = list_size(api, actions)
    is_good = 0 < count <= ask[MOST_ACTIONS]
    if is_good:
        answer[ANSWER_COUNT] = count
        for index in range(count):
            answer[ANSWER_ACTIONS + index] = integer_of(api, list_item(api, actions, index))
    let_go(api, actions)
    return is_good
