"""How a walk goes on where the tree ends: the kernels that put a node in its place when a walk first comes to it.

A tree that grows has its arrays at full length from the start; memory that nobody has touched costs nothing. All zeros
in the first two fields of a node say that nobody has been there: a decision or chance node has children, a leaf's kind
is not zero. Whoever comes there calls `grow`, which asks pyspiel what the node is (`asking`; through a callback into
Python, `frontier`, where that does not do), finds or makes its infoset, gives its children their places, and publishes
the node, so that the walk goes on as if it had been there all the time. Nothing about the walk's numbers depends on
when a node came to be.

The array `TreeArrays.growth` holds the counts, the limits and the addresses of everything that only growth needs, so
that walks get one array more and not ten. In complete trees it is all zeros.

When the permanent nodes' part is full, further nodes go to the part behind it, which is emptied by `forget` between
two walks whenever it is half full: infosets stay.

References: the infosets' table is open addressing with linear probing (Knuth 1998, TAOCP 3, section 6.4, algorithm L).
"""

import numba
import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import call_back, head_of, load_word, pointer, publish_head, publish_word, swap_word
from mccfr_plus.python_api import NUM_ADDRESSES, give_lock, let_go, take_lock
from mccfr_plus.tree.arrays import CHANCE, INFOSET, NODE, TERMINAL
from mccfr_plus.tree.asking import (
    ANSWER_ACTIONS,
    ANSWER_CHECK,
    ANSWER_COUNT,
    ANSWER_KEY,
    ANSWER_KIND,
    ANSWER_ROW,
    API,
    NUM_ENTRIES,
    NUM_SCRATCH,
    ask_for,
    list_actions,
    remember,
    words_at,
)

# Entries of `TreeArrays.growth`.
STATUS = 0  # one of the states below
CALLBACK = 1  # address of what is called at a node that is not there yet
LOCK = 2  # 1 while a thread changes the tree
(
    SELF,  # addresses: of `growth` itself, which kernels get as a read-only array,
    NODES,  # of the tree's arrays,
    PARENTS,
    INFOSETS,
    KEYS,
    CHECKS,  # or 0,
    TABLE,
    SLOT_ACTIONS,
    BORROWERS,
    ANSWERS,  # of what the callback answered, a row per thread,
    STRATEGY,  # and of what a new infoset writes to: its uniform strategy,
    ONES,  # and a 1 at its first slot, or 0 for nothing
) = range(3, 15)
(
    ANSWER_WIDTH,  # entries of a row of answers
    NUM_NODES,  # permanent nodes in use; they come first
    MAX_NODES,  # places for them, and the first place of those behind
    NUM_PASSING,  # nodes behind them in use
    MAX_PASSING,
    NUM_BORROWERS,  # permanent nodes whose children are behind
    NUM_INFOSETS,
    MAX_INFOSETS,
    NUM_SLOTS,
    MAX_SLOTS,  # what infosets and slots may cost is counted together:
    INFOSET_COST,  # bytes of an infoset,
    SLOT_COST,  # of a slot,
    MAX_COST,  # and of all of them, with their texts
    TABLE_SIZE,  # a power of 2
    FORGETFUL,  # 1 + a node at which a player has forgotten something, or 0
    NUM_PAYOFFS,  # rows of the tree's payoffs in use
    NUM_OUTCOMES,  # rows of its chance events
    ASK,  # address of the array of `asking`, or 0: all is asked through the callback
    SCRATCH,  # address of its scratch memory, a row per thread
    NUM_ASKED,  # nodes that pyspiel was asked for, those forgotten meanwhile included
    TEXT_COST,  # bytes of all texts that are kept, which count like infosets
) = range(15, 36)
NUM_GROWTH = 36

# Values of STATUS. All but the first end a walk.
GROWING, FAILED, INFOSETS_FULL, NODES_FULL, KEYS_COLLIDE, INTERRUPTED = range(6)

_NOT_ANSWERED = -100

NOBODY = -1  # where there is no infoset, or no parent

_MIX_A = np.uint64(0x9E3779B97F4A7C15)
_MIX_B = np.uint64(0xD6E8FEB86659FD93)


@inline_kernel
def halves_at(address, count):
    """Returns the int32 array at an address."""
    return numba.carray(pointer(address), count, np.int32)


@kernel
def grow(growth, node, thread):
    """Puts a node in its place. Returns whether it is there; if not, the walk is to end.

    Args:
        growth: ``TreeArrays.growth``; what it points at is modified in place.
        node: The node that a walk has come to.
        thread: The number of the walk's thread.
    """
    if growth[CALLBACK] == 0 or load_word(growth, STATUS) != GROWING:
        return False
    shared = words_at(growth[SELF], NUM_GROWTH)
    answer = words_at(growth[ANSWERS] + 8 * growth[ANSWER_WIDTH] * thread, growth[ANSWER_WIDTH])
    if not _ask_shortly(shared, node, thread, answer) and not _ask_frontier(shared, node, thread, answer):
        return False
    _lock(shared)
    is_there = _put(shared, node, answer[ANSWER_KIND], answer)
    _unlock(shared)
    return is_there


@kernel
def _ask_shortly(growth, node, thread, answer):
    """Writes the answer for a node without any Python; returns whether it could."""
    if growth[ASK] == 0:
        return False
    ask = words_at(growth[ASK], NUM_ENTRIES)
    scratch = words_at(growth[SCRATCH] + 8 * NUM_SCRATCH * thread, NUM_SCRATCH)
    api = words_at(ask[API], NUM_ADDRESSES)
    token = take_lock(api)
    is_done, state = ask_for(ask, node, answer, scratch)
    if state != 0:
        if _is_new(growth, answer):
            is_done = list_actions(ask, state, answer, scratch)
        let_go(api, state)
    give_lock(api, token)
    return is_done


@kernel
def _ask_frontier(growth, node, thread, answer):
    """Writes the answer for a node through the callback; returns whether there is one.

    What the callback returns means nothing if a signal's exception has ended it before its first line. So what it has
    written is looked at.
    """
    answer[ANSWER_KIND] = _NOT_ANSWERED
    call_back(growth[CALLBACK], node, thread)
    is_answered = answer[ANSWER_KIND] != _NOT_ANSWERED
    if is_answered and answer[ANSWER_KIND] >= 0 and _is_new(growth, answer):
        answer[ANSWER_COUNT] = _NOT_ANSWERED
        call_back(growth[CALLBACK], -1 - node, thread)
        is_answered = answer[ANSWER_COUNT] != _NOT_ANSWERED
    if not is_answered:
        publish_word(growth, STATUS, FAILED)
        return False
    if growth[ASK] != 0:
        ask = words_at(growth[ASK], NUM_ENTRIES)
        api = words_at(ask[API], NUM_ADDRESSES)
        token = take_lock(api)
        remember(ask, node, answer)
        give_lock(api, token)
    return True


@kernel
def _is_new(growth, answer):
    """Returns whether nobody has found the infoset of an answer."""
    _lock(growth)
    infoset = _find(growth, answer[ANSWER_KIND], answer)
    _unlock(growth)
    return infoset == NOBODY


@kernel
def _put(growth, node, kind, answer):
    """Writes the node, its infoset and the places of its children, unless another thread has.

    Returns whether it is there. What `growth` points at is modified in place.
    """
    total = growth[MAX_NODES] + growth[MAX_PASSING]
    nodes = numba.carray(pointer(growth[NODES]), total, NODE)
    there, count = head_of(nodes, node)
    if there != 0 or count != 0:
        return True
    growth[NUM_ASKED] += 1
    record = nodes[node]
    if kind == TERMINAL:
        record["payload"] = answer[ANSWER_ROW]
        publish_head(nodes, node, TERMINAL, 0)
        return True
    payload, num_children = answer[ANSWER_ROW], answer[ANSWER_COUNT]
    parents = halves_at(growth[PARENTS], total)
    if kind != CHANCE:
        infosets = numba.carray(pointer(growth[INFOSETS]), growth[MAX_INFOSETS], INFOSET)
        slot = _last_own_slot(nodes, parents, node, kind, growth[MAX_SLOTS] + kind)
        infoset = _find(growth, kind, answer)
        if infoset == NOBODY:
            infoset = _new_infoset(growth, infosets, kind, answer, slot)
            if infoset == NOBODY:
                return False
        elif not _is_same(growth, infosets, infoset, answer):
            publish_word(growth, STATUS, KEYS_COLLIDE)
            return False
        if infosets[infoset]["parent_slot"] != slot:
            growth[FORGETFUL] = node + 1
        payload, num_children = infosets[infoset]["first_slot"], infosets[infoset]["num_actions"]
    first = _new_nodes(growth, node, num_children)
    if first == NOBODY:
        return False
    for child in range(first, first + num_children):
        parents[child] = node
    record["first_child"] = first
    record["payload"] = payload
    publish_head(nodes, node, kind, num_children)
    return True


@kernel
def _last_own_slot(nodes, parents, node, player, empty):
    """Returns the player's last slot before a node; `empty` where there is none."""
    child = node
    while child > 0:
        above = parents[child]
        record = nodes[above]
        if record["kind"] == player:
            return np.int64(record["payload"] + child - record["first_child"])
        child = above
    return empty


@kernel
def _new_nodes(growth, node, count):
    """Returns the first of `count` places for the children of a node, or NOBODY where there are none left."""
    if growth[NUM_NODES] + count <= growth[MAX_NODES] and growth[NUM_PASSING] == 0:
        growth[NUM_NODES] += count
        return growth[NUM_NODES] - count
    if growth[NUM_PASSING] + count > growth[MAX_PASSING]:
        publish_word(growth, STATUS, NODES_FULL)
        return NOBODY
    if node < growth[MAX_NODES]:
        borrowers = halves_at(growth[BORROWERS], growth[MAX_PASSING])
        borrowers[growth[NUM_BORROWERS]] = node
        growth[NUM_BORROWERS] += 1
    growth[NUM_PASSING] += count
    return growth[MAX_NODES] + growth[NUM_PASSING] - count


@kernel
def _new_infoset(growth, infosets, player, answer, parent_slot):
    """Makes the infoset of an answer and returns its number, or NOBODY where there is no room."""
    infoset, first, count = growth[NUM_INFOSETS], growth[NUM_SLOTS], answer[ANSWER_COUNT]
    cost = (infoset + 1) * growth[INFOSET_COST] + (first + count) * growth[SLOT_COST] + growth[TEXT_COST]
    if infoset == growth[MAX_INFOSETS] or first + count > growth[MAX_SLOTS] or cost > growth[MAX_COST]:
        publish_word(growth, STATUS, INFOSETS_FULL)
        return NOBODY
    record = infosets[infoset]
    record["first_slot"] = first
    record["num_actions"] = count
    record["parent_slot"] = parent_slot
    record["player"] = player
    keys = words_at(growth[KEYS], 2 * growth[MAX_INFOSETS])
    keys[2 * infoset] = answer[ANSWER_KEY]
    keys[2 * infoset + 1] = answer[ANSWER_KEY + 1]
    if growth[CHECKS] != 0:
        words_at(growth[CHECKS], growth[MAX_INFOSETS])[infoset] = answer[ANSWER_CHECK]
    actions = words_at(growth[SLOT_ACTIONS], growth[MAX_SLOTS])
    strategy = numba.carray(pointer(growth[STRATEGY]), growth[MAX_SLOTS], np.float64)
    for index in range(count):
        actions[first + index] = answer[ANSWER_ACTIONS + index]
        strategy[first + index] = 1.0 / count
    if growth[ONES] != 0:
        numba.carray(pointer(growth[ONES]), growth[MAX_SLOTS], np.float64)[first] = 1.0
    growth[NUM_INFOSETS] += 1
    growth[NUM_SLOTS] += count
    if 2 * growth[NUM_INFOSETS] > growth[TABLE_SIZE]:
        growth[TABLE_SIZE] *= 2
        enter_all(growth)
    else:
        _enter(growth, infosets, infoset)
    return infoset


@kernel
def _is_same(growth, infosets, infoset, answer):
    """Returns whether an answer with an infoset's key is about the same infoset, as far as it says more."""
    if growth[CHECKS] == 0:
        return True
    same_text = words_at(growth[CHECKS], growth[MAX_INFOSETS])[infoset] == answer[ANSWER_CHECK]
    return same_text and infosets[infoset]["num_actions"] == answer[ANSWER_COUNT]


# --- the table of infosets: the number of an infoset plus 1, or 0, at a place that its key tells ---


@inline_kernel
def _first_place(player, low, high, mask):
    word = (np.uint64(low) + np.uint64(player)) * _MIX_A ^ np.uint64(high) * _MIX_B
    return np.int64((word >> np.uint64(20)) & np.uint64(mask))


@kernel
def _find(growth, player, answer):
    """Returns the player's infoset with the answer's key, or NOBODY."""
    return find(growth, player, answer[ANSWER_KEY], answer[ANSWER_KEY + 1])


@kernel
def find(growth, player, low, high):
    """Returns the number of the player's infoset with a key, or -1 where there is none."""
    infosets = numba.carray(pointer(growth[INFOSETS]), growth[MAX_INFOSETS], INFOSET)
    keys = words_at(growth[KEYS], 2 * growth[MAX_INFOSETS])
    table = halves_at(growth[TABLE], growth[TABLE_SIZE])
    mask = growth[TABLE_SIZE] - 1
    place = _first_place(player, low, high, mask)
    while table[place] != 0:
        infoset = table[place] - 1
        is_key = keys[2 * infoset] == low and keys[2 * infoset + 1] == high
        if is_key and infosets[infoset]["player"] == player:
            return np.int64(infoset)
        place = (place + 1) & mask
    return np.int64(NOBODY)


@kernel
def _enter(growth, infosets, infoset):
    """Enters an infoset, whose key is not there, into the table."""
    keys = words_at(growth[KEYS], 2 * growth[MAX_INFOSETS])
    table = halves_at(growth[TABLE], growth[TABLE_SIZE])
    mask = growth[TABLE_SIZE] - 1
    place = _first_place(infosets[infoset]["player"], keys[2 * infoset], keys[2 * infoset + 1], mask)
    while table[place] != 0:
        place = (place + 1) & mask
    table[place] = infoset + 1


@kernel
def enter_all(growth):
    """Enters all infosets into the table anew, after its size has changed."""
    infosets = numba.carray(pointer(growth[INFOSETS]), growth[MAX_INFOSETS], INFOSET)
    table = halves_at(growth[TABLE], growth[TABLE_SIZE])
    for place in range(growth[TABLE_SIZE]):
        table[place] = 0
    for infoset in range(growth[NUM_INFOSETS]):
        _enter(growth, infosets, infoset)


# --- nodes that pass ---


@kernel
def forget(growth):
    """Empties the part behind the permanent nodes. Not while a walk is under way. Modified in place."""
    total = growth[MAX_NODES] + growth[MAX_PASSING]
    nodes = numba.carray(pointer(growth[NODES]), total, NODE)
    borrowers = halves_at(growth[BORROWERS], growth[MAX_PASSING])
    for index in range(growth[NUM_BORROWERS]):
        publish_head(nodes, borrowers[index], 0, 0)
    for node in range(growth[MAX_NODES], growth[MAX_NODES] + growth[NUM_PASSING]):
        publish_head(nodes, node, 0, 0)
    growth[NUM_BORROWERS] = 0
    growth[NUM_PASSING] = 0


@inline_kernel
def _lock(growth):
    while swap_word(growth, LOCK, 1) != 0:
        pass


@inline_kernel
def _unlock(growth):
    publish_word(growth, LOCK, 0)
