"""How a traversal goes on where the tree ends: the kernels that put a node in its place when a traversal first comes to it.

A tree that is_lazy has its arrays at full length from the start; memory that nobody has touched costs nothing. All zeros
in the first two fields of a node say that nobody has been there: a decision or chance node has children, a leaf's kind
is not zero. Whoever comes there calls `expand`, which asks pyspiel what the node is (`asking`; through a callback into
Python, `expander`, where that does not do), finds or makes its infoset, gives its children their places, and publishes
the node, so that the traversal goes on as if it had been there all the time. Nothing about the traversal's numbers depends on
when a node came to be.

The array `TreeArrays.expansion` holds the counts, the limits and the addresses of everything that only expansion needs, so
that traversals get one array more and not ten. In complete trees it is all zeros.

When the permanent nodes' part is full, further nodes go to the part behind it, which is emptied by `forget` between
two traversals whenever it is half full: infosets stay.

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

# Entries of `TreeArrays.expansion`.
STATUS = 0  # one of the states below
CALLBACK = 1  # address of what is called at a node that is not there yet
LOCK = 2  # 1 while a thread changes the tree
(
    SELF,  # addresses: of `expansion` itself, which kernels get as a read-only array,
    NODES,  # of the tree's arrays,
    PARENTS,
    INFOSETS,
    KEYS,
    CHECKS,  # or 0,
    TABLE,
    SLOT_ACTIONS,
    TRANSIENT_PARENTS,
    ANSWERS,  # of what the callback answered, a row per thread,
    STRATEGY,  # and of what a new infoset writes to: its uniform strategy,
    ONES,  # and a 1 at its first slot, or 0 for nothing
) = range(3, 15)
(
    ANSWER_WIDTH,  # entries of a row of answers
    NUM_NODES,  # permanent nodes in use; they come first
    MAX_NODES,  # places for them, and the first place of those behind
    NUM_TRANSIENT,  # nodes behind them in use
    MAX_TRANSIENT,
    NUM_TRANSIENT_PARENTS,  # permanent nodes whose children are behind
    NUM_INFOSETS,
    MAX_INFOSETS,
    NUM_SLOTS,
    MAX_SLOTS,  # what infosets and slots may cost is counted together:
    INFOSET_COST,  # bytes of an infoset,
    SLOT_COST,  # of a slot,
    MAX_COST,  # and of all of them, with their texts
    TABLE_SIZE,  # a power of 2
    RECALL_LOST_AT,  # 1 + a node at which a player has forgotten something, or 0
    NUM_PAYOFFS,  # rows of the tree's payoffs in use
    NUM_OUTCOMES,  # rows of its chance events
    ASK,  # address of the array of `asking`, or 0: all is asked through the callback
    SCRATCH,  # address of its scratch memory, a row per thread
    NUM_ASKED,  # nodes that pyspiel was asked for, those forgotten meanwhile included
    TEXT_COST,  # bytes of all texts that are kept, which count like infosets
) = range(15, 36)
NUM_EXPANSION = 36

# Values of STATUS. All but the first end a traversal.
EXPANDING, FAILED, INFOSETS_FULL, NODES_FULL, KEYS_COLLIDE, INTERRUPTED = range(6)

_NOT_ANSWERED = -100

NOBODY = -1  # where there is no infoset, or no parent

_MIX_A = np.uint64(0x9E3779B97F4A7C15)
_MIX_B = np.uint64(0xD6E8FEB86659FD93)


@inline_kernel
def halves_at(address, count):
    """Returns the int32 array at an address."""
    return numba.carray(pointer(address), count, np.int32)


@kernel
def expand(expansion, node, thread):
    """Puts a node in its place. Returns whether it is there; if not, the traversal is to end.

    Args:
        expansion: ``TreeArrays.expansion``; what it points at is modified in place.
        node: The node that a traversal has come to.
        thread: The number of the traversal's thread.
    """
    if expansion[CALLBACK] == 0 or load_word(expansion, STATUS) != EXPANDING:
        return False
    shared = words_at(expansion[SELF], NUM_EXPANSION)
    answer = words_at(expansion[ANSWERS] + 8 * expansion[ANSWER_WIDTH] * thread, expansion[ANSWER_WIDTH])
    if not _ask_shortly(shared, node, thread, answer) and not _ask_frontier(shared, node, thread, answer):
        return False
    _lock(shared)
    is_there = _put(shared, node, answer[ANSWER_KIND], answer)
    _unlock(shared)
    return is_there


@kernel
def _ask_shortly(expansion, node, thread, answer):
    """Writes the answer for a node without any Python; returns whether it could."""
    if expansion[ASK] == 0:
        return False
    ask = words_at(expansion[ASK], NUM_ENTRIES)
    scratch = words_at(expansion[SCRATCH] + 8 * NUM_SCRATCH * thread, NUM_SCRATCH)
    api = words_at(ask[API], NUM_ADDRESSES)
    token = take_lock(api)
    is_done, state = ask_for(ask, node, answer, scratch)
    if state != 0:
        if _is_new(expansion, answer):
            is_done = list_actions(ask, state, answer, scratch)
        let_go(api, state)
    give_lock(api, token)
    return is_done


@kernel
def _ask_frontier(expansion, node, thread, answer):
    """Writes the answer for a node through the callback; returns whether there is one.

    What the callback returns means nothing if a signal's exception has ended it before its first line. So what it has
    written is looked at.
    """
    answer[ANSWER_KIND] = _NOT_ANSWERED
    call_back(expansion[CALLBACK], node, thread)
    is_answered = answer[ANSWER_KIND] != _NOT_ANSWERED
    if is_answered and answer[ANSWER_KIND] >= 0 and _is_new(expansion, answer):
        answer[ANSWER_COUNT] = _NOT_ANSWERED
        call_back(expansion[CALLBACK], -1 - node, thread)
        is_answered = answer[ANSWER_COUNT] != _NOT_ANSWERED
    if not is_answered:
        publish_word(expansion, STATUS, FAILED)
        return False
    if expansion[ASK] != 0:
        ask = words_at(expansion[ASK], NUM_ENTRIES)
        api = words_at(ask[API], NUM_ADDRESSES)
        token = take_lock(api)
        remember(ask, node, answer)
        give_lock(api, token)
    return True


@kernel
def _is_new(expansion, answer):
    """Returns whether nobody has found the infoset of an answer."""
    _lock(expansion)
    infoset = _find(expansion, answer[ANSWER_KIND], answer)
    _unlock(expansion)
    return infoset == NOBODY


@kernel
def _put(expansion, node, kind, answer):
    """Writes the node, its infoset and the places of its children, unless another thread has.

    Returns whether it is there. What `expansion` points at is modified in place.
    """
    total = expansion[MAX_NODES] + expansion[MAX_TRANSIENT]
    nodes = numba.carray(pointer(expansion[NODES]), total, NODE)
    there, count = head_of(nodes, node)
    if there != 0 or count != 0:
        return True
    expansion[NUM_ASKED] += 1
    record = nodes[node]
    if kind == TERMINAL:
        record["payload"] = answer[ANSWER_ROW]
        publish_head(nodes, node, TERMINAL, 0)
        return True
    payload, num_children = answer[ANSWER_ROW], answer[ANSWER_COUNT]
    parents = halves_at(expansion[PARENTS], total)
    if kind != CHANCE:
        infosets = numba.carray(pointer(expansion[INFOSETS]), expansion[MAX_INFOSETS], INFOSET)
        slot = _last_own_slot(nodes, parents, node, kind, expansion[MAX_SLOTS] + kind)
        infoset = _find(expansion, kind, answer)
        if infoset == NOBODY:
            infoset = _new_infoset(expansion, infosets, kind, answer, slot)
            if infoset == NOBODY:
                return False
        elif not _is_same(expansion, infosets, infoset, answer):
            publish_word(expansion, STATUS, KEYS_COLLIDE)
            return False
        if infosets[infoset]["parent_slot"] != slot:
            expansion[RECALL_LOST_AT] = node + 1
        payload, num_children = infosets[infoset]["first_slot"], infosets[infoset]["num_actions"]
    first = _new_nodes(expansion, node, num_children)
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
def _new_nodes(expansion, node, count):
    """Returns the first of `count` places for the children of a node, or NOBODY where there are none left."""
    if expansion[NUM_NODES] + count <= expansion[MAX_NODES] and expansion[NUM_TRANSIENT] == 0:
        expansion[NUM_NODES] += count
        return expansion[NUM_NODES] - count
    if expansion[NUM_TRANSIENT] + count > expansion[MAX_TRANSIENT]:
        publish_word(expansion, STATUS, NODES_FULL)
        return NOBODY
    if node < expansion[MAX_NODES]:
        transient_parents = halves_at(expansion[TRANSIENT_PARENTS], expansion[MAX_TRANSIENT])
        transient_parents[expansion[NUM_TRANSIENT_PARENTS]] = node
        expansion[NUM_TRANSIENT_PARENTS] += 1
    expansion[NUM_TRANSIENT] += count
    return expansion[MAX_NODES] + expansion[NUM_TRANSIENT] - count


@kernel
def _new_infoset(expansion, infosets, player, answer, parent_slot):
    """Makes the infoset of an answer and returns its number, or NOBODY where there is no room."""
    infoset, first, count = expansion[NUM_INFOSETS], expansion[NUM_SLOTS], answer[ANSWER_COUNT]
    cost = (infoset + 1) * expansion[INFOSET_COST] + (first + count) * expansion[SLOT_COST] + expansion[TEXT_COST]
    if infoset == expansion[MAX_INFOSETS] or first + count > expansion[MAX_SLOTS] or cost > expansion[MAX_COST]:
        publish_word(expansion, STATUS, INFOSETS_FULL)
        return NOBODY
    record = infosets[infoset]
    record["first_slot"] = first
    record["num_actions"] = count
    record["parent_slot"] = parent_slot
    record["player"] = player
    keys = words_at(expansion[KEYS], 2 * expansion[MAX_INFOSETS])
    keys[2 * infoset] = answer[ANSWER_KEY]
    keys[2 * infoset + 1] = answer[ANSWER_KEY + 1]
    if expansion[CHECKS] != 0:
        words_at(expansion[CHECKS], expansion[MAX_INFOSETS])[infoset] = answer[ANSWER_CHECK]
    actions = words_at(expansion[SLOT_ACTIONS], expansion[MAX_SLOTS])
    strategy = numba.carray(pointer(expansion[STRATEGY]), expansion[MAX_SLOTS], np.float64)
    for index in range(count):
        actions[first + index] = answer[ANSWER_ACTIONS + index]
        strategy[first + index] = 1.0 / count
    if expansion[ONES] != 0:
        numba.carray(pointer(expansion[ONES]), expansion[MAX_SLOTS], np.float64)[first] = 1.0
    expansion[NUM_INFOSETS] += 1
    expansion[NUM_SLOTS] += count
    if 2 * expansion[NUM_INFOSETS] > expansion[TABLE_SIZE]:
        expansion[TABLE_SIZE] *= 2
        enter_all(expansion)
    else:
        _enter(expansion, infosets, infoset)
    return infoset


@kernel
def _is_same(expansion, infosets, infoset, answer):
    """Returns whether an answer with an infoset's key is about the same infoset, as far as it says more."""
    if expansion[CHECKS] == 0:
        return True
    same_text = words_at(expansion[CHECKS], expansion[MAX_INFOSETS])[infoset] == answer[ANSWER_CHECK]
    return same_text and infosets[infoset]["num_actions"] == answer[ANSWER_COUNT]


# --- the table of infosets: the number of an infoset plus 1, or 0, at a place that its key tells ---


@inline_kernel
def _first_place(player, low, high, mask):
    word = (np.uint64(low) + np.uint64(player)) * _MIX_A ^ np.uint64(high) * _MIX_B
    return np.int64((word >> np.uint64(20)) & np.uint64(mask))


@kernel
def _find(expansion, player, answer):
    """Returns the player's infoset with the answer's key, or NOBODY."""
    return find(expansion, player, answer[ANSWER_KEY], answer[ANSWER_KEY + 1])


@kernel
def find(expansion, player, low, high):
    """Returns the number of the player's infoset with a key, or -1 where there is none."""
    infosets = numba.carray(pointer(expansion[INFOSETS]), expansion[MAX_INFOSETS], INFOSET)
    keys = words_at(expansion[KEYS], 2 * expansion[MAX_INFOSETS])
    table = halves_at(expansion[TABLE], expansion[TABLE_SIZE])
    mask = expansion[TABLE_SIZE] - 1
    place = _first_place(player, low, high, mask)
    while table[place] != 0:
        infoset = table[place] - 1
        is_key = keys[2 * infoset] == low and keys[2 * infoset + 1] == high
        if is_key and infosets[infoset]["player"] == player:
            return np.int64(infoset)
        place = (place + 1) & mask
    return np.int64(NOBODY)


@kernel
def _enter(expansion, infosets, infoset):
    """Enters an infoset, whose key is not there, into the table."""
    keys = words_at(expansion[KEYS], 2 * expansion[MAX_INFOSETS])
    table = halves_at(expansion[TABLE], expansion[TABLE_SIZE])
    mask = expansion[TABLE_SIZE] - 1
    place = _first_place(infosets[infoset]["player"], keys[2 * infoset], keys[2 * infoset + 1], mask)
    while table[place] != 0:
        place = (place + 1) & mask
    table[place] = infoset + 1


@kernel
def enter_all(expansion):
    """Enters all infosets into the table anew, after its size has changed."""
    infosets = numba.carray(pointer(expansion[INFOSETS]), expansion[MAX_INFOSETS], INFOSET)
    table = halves_at(expansion[TABLE], expansion[TABLE_SIZE])
    for place in range(expansion[TABLE_SIZE]):
        table[place] = 0
    for infoset in range(expansion[NUM_INFOSETS]):
        _enter(expansion, infosets, infoset)


# --- nodes that pass ---


@kernel
def evict(expansion):
    """Empties the part behind the permanent nodes. Not while a traversal is under way. Modified in place."""
    total = expansion[MAX_NODES] + expansion[MAX_TRANSIENT]
    nodes = numba.carray(pointer(expansion[NODES]), total, NODE)
    transient_parents = halves_at(expansion[TRANSIENT_PARENTS], expansion[MAX_TRANSIENT])
    for index in range(expansion[NUM_TRANSIENT_PARENTS]):
        publish_head(nodes, transient_parents[index], 0, 0)
    for node in range(expansion[MAX_NODES], expansion[MAX_NODES] + expansion[NUM_TRANSIENT]):
        publish_head(nodes, node, 0, 0)
    expansion[NUM_TRANSIENT_PARENTS] = 0
    expansion[NUM_TRANSIENT] = 0


@inline_kernel
def _lock(expansion):
    while swap_word(expansion, LOCK, 1) != 0:
        pass


@inline_kernel
def _unlock(expansion):
    publish_word(expansion, LOCK, 0)
