"""Kernels that expand a node of a lazy tree when a traversal first visits it.

All arrays of a lazy tree have their full length from the start; memory that was never written takes no space. A node
whose first two fields are zero is unvisited: decision and chance nodes have children, and the kind of a leaf is not 0.
At such a node a traversal calls `expand`. A callback into Python (`expander`) writes what pyspiel says about the node
to the thread's row of `ANSWERS`. `expand` then finds or makes its infoset, reserves its children and publishes the
node, and the traversal continues. The numbers of a traversal do not depend on when a node was expanded.

`TreeArrays.expansion` holds counts, limits and addresses of everything that only expansion needs, so that kernels take
one array more and not ten. In compiled trees it is all zeros.

When the memory is full, `expand` returns False. The loop then throws the gradient under way away, and the run ends.

Reference: open addressing with linear probing (Knuth 1998, TAOCP 3, section 6.4, algorithm L).
"""

import numba
import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import call_back, head_of, load_word, pointer, publish_head, publish_word, swap_word
from mccfr_plus.kernels.slots import optional_slot
from mccfr_plus.trees.arrays import INFOSET, NODE, NUM_EXPANSION, NUM_SLOTS

# Entries of `TreeArrays.expansion`.
STATUS = 0  # one of the values below
CALLBACK = 1  # address of the callback
LOCK = 2  # 1 while a thread changes the tree
(
    SELF,  # addresses: of `expansion` itself, which kernels take as a read-only array,
    NODES,  # of the tree's arrays,
    PARENTS,
    INFOSETS,
    KEYS,
    TABLE,
    SLOT_ACTIONS,
    ANSWERS,  # of the rows that the callback writes, one per thread,
    STRATEGY,  # and of what a new infoset initializes: its uniform strategy,
    ONES,  # and a 1 at its first slot, or 0 for nothing
) = range(3, 13)
(
    ANSWER_WIDTH,  # entries of a row of `ANSWERS`
    NUM_NODES,  # nodes in use
    MAX_NODES,
    NUM_INFOSETS,
    MAX_INFOSETS,
    MAX_SLOTS,
    NODE_COST,  # bytes of a node,
    INFOSET_COST,  # of an infoset,
    SLOT_COST,  # of a slot,
    PAYOFF_COST,  # of a row of payoffs,
    OUTCOME_COST,  # of a row of chance events,
    MAX_COST,  # and of all of them together
    TABLE_SIZE,  # a power of 2
    NUM_PAYOFFS,  # rows of the tree's payoffs in use
    NUM_OUTCOMES,  # rows of its chance events
    CONFLICT_NODE,  # the node at which two infosets were found to be in conflict,
    CONFLICT_INFOSET,  # and the infoset with its key
) = range(13, NUM_SLOTS)

# Values of STATUS. All but the first end a traversal.
EXPANDING, FAILED, FULL, ACTIONS_DIFFER, INTERRUPTED = range(5)

# Columns of ANSWERS. A chance node and a leaf have the row of their outcomes or payoffs, a decision node has the two
# words of its infoset's key, and its legal actions.
ANSWER_KIND, ANSWER_COUNT, ANSWER_ROW, ANSWER_KEY, ANSWER_ACTIONS = 0, 1, 2, 3, 5
_NO_ANSWER = -100

NONE = -1  # in place of an infoset or a node

_MIX_A = np.uint64(0x9E3779B97F4A7C15)
_MIX_B = np.uint64(0xD6E8FEB86659FD93)


def interrupt(expansion: np.ndarray) -> None:
    """Ends the traversals under way soon, from any thread. `expansion` is modified in place."""
    if expansion[STATUS] == EXPANDING:
        expansion[STATUS] = INTERRUPTED


@inline_kernel
def _int64_at(address, count):
    """Returns the int64 array at an address."""
    return numba.carray(pointer(address), count, np.int64)


@inline_kernel
def _int32_at(address, count):
    """Returns the int32 array at an address."""
    return numba.carray(pointer(address), count, np.int32)


@inline_kernel
def lock(expansion):
    """Waits until no other thread changes the tree. `expansion` must be writable, as for `unlock`."""
    while swap_word(expansion, LOCK, 1) != 0:
        pass


@inline_kernel
def unlock(expansion):
    """Lets other threads change the tree again."""
    publish_word(expansion, LOCK, 0)


@kernel
def expand(expansion, node, thread):
    """Expands an unvisited node. Returns whether it is expanded now; if not, the traversal must end.

    Args:
        expansion: ``TreeArrays.expansion``; the arrays that it points at are modified in place.
        node: The node.
        thread: The number of the traversal's thread.
    """
    if expansion[CALLBACK] == 0 or load_word(expansion, STATUS) != EXPANDING:
        return False
    shared = _int64_at(expansion[SELF], NUM_EXPANSION)
    answer = _int64_at(expansion[ANSWERS] + 8 * expansion[ANSWER_WIDTH] * thread, expansion[ANSWER_WIDTH])
    answer[ANSWER_KIND] = _NO_ANSWER
    call_back(expansion[CALLBACK], node, thread)
    if answer[ANSWER_KIND] == _NO_ANSWER:
        if load_word(expansion, STATUS) == EXPANDING:  # a signal has ended the callback before its first line
            publish_word(shared, STATUS, FAILED)
        return False
    lock(shared)
    is_there = _put(shared, node, answer[ANSWER_KIND], answer)
    unlock(shared)
    return is_there


EXPAND = optional_slot(expand)


@kernel
def _put(expansion, node, kind, answer):
    """Writes the node, its infoset and its children, unless another thread has; returns whether the node is there.

    The arrays that `expansion` points at are modified in place.
    """
    nodes = numba.carray(pointer(expansion[NODES]), expansion[MAX_NODES], NODE)
    there, count = head_of(nodes, node)
    if there != 0 or count != 0:
        return True
    record = nodes[node]
    if kind == TERMINAL:
        record["payload"] = answer[ANSWER_ROW]
        publish_head(nodes, node, TERMINAL, 0)
        return True
    payload, num_children = answer[ANSWER_ROW], answer[ANSWER_COUNT]
    parents = _int32_at(expansion[PARENTS], expansion[MAX_NODES])
    if kind != CHANCE:
        infosets = numba.carray(pointer(expansion[INFOSETS]), expansion[MAX_INFOSETS], INFOSET)
        slot = _last_own_slot(nodes, parents, node, kind, expansion[MAX_SLOTS] + kind)
        infoset = find(expansion, kind, slot, answer[ANSWER_KEY], answer[ANSWER_KEY + 1])
        if infoset == NONE:
            infoset = _new_infoset(expansion, infosets, kind, answer, slot)
            if infoset == NONE:
                return False
        elif not _has_actions(expansion, infosets, infoset, answer):
            expansion[CONFLICT_NODE], expansion[CONFLICT_INFOSET] = node, infoset
            publish_word(expansion, STATUS, ACTIONS_DIFFER)
            return False
        payload, num_children = infosets[infoset]["first_slot"], infosets[infoset]["num_actions"]
    if not _has_room(expansion, num_children, 0, 0):
        return False
    first = expansion[NUM_NODES]
    expansion[NUM_NODES] += num_children
    for child in range(first, first + num_children):
        parents[child] = node
    record["first_child"] = first
    record["payload"] = payload
    publish_head(nodes, node, kind, num_children)
    return True


@kernel
def _last_own_slot(nodes, parents, node, player, empty):
    """Returns the player's last slot before a node, or `empty`."""
    child = node
    while child > 0:
        above = parents[child]
        record = nodes[above]
        if record["kind"] == player:
            return np.int64(record["payload"] + child - record["first_child"])
        child = above
    return empty


@inline_kernel
def _has_room(expansion, nodes, infosets, slots):
    """Returns whether so many more nodes, infosets and slots fit the memory; if not, the tree is full."""
    nodes += expansion[NUM_NODES]
    infosets += expansion[NUM_INFOSETS]
    slots += expansion[NUM_SLOTS]
    cost = nodes * expansion[NODE_COST] + infosets * expansion[INFOSET_COST] + slots * expansion[SLOT_COST]
    cost += expansion[NUM_PAYOFFS] * expansion[PAYOFF_COST] + expansion[NUM_OUTCOMES] * expansion[OUTCOME_COST]
    fits = nodes <= expansion[MAX_NODES] and infosets <= expansion[MAX_INFOSETS] and slots <= expansion[MAX_SLOTS]
    if fits and cost <= expansion[MAX_COST]:
        return True
    publish_word(expansion, STATUS, FULL)
    return False


@kernel
def _new_infoset(expansion, infosets, player, answer, parent_slot):
    """Makes the infoset of an answer; returns its number, or NONE if there is no room."""
    infoset, first, count = expansion[NUM_INFOSETS], expansion[NUM_SLOTS], answer[ANSWER_COUNT]
    if not _has_room(expansion, count, 1, count):  # for its children, too
        return NONE
    record = infosets[infoset]
    record["first_slot"] = first
    record["num_actions"] = count
    record["parent_slot"] = parent_slot
    record["player"] = player
    keys = _int64_at(expansion[KEYS], 2 * expansion[MAX_INFOSETS])
    keys[2 * infoset] = answer[ANSWER_KEY]
    keys[2 * infoset + 1] = answer[ANSWER_KEY + 1]
    actions = _int64_at(expansion[SLOT_ACTIONS], expansion[MAX_SLOTS])
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
def _has_actions(expansion, infosets, infoset, answer):
    """Returns whether the infoset has the legal actions of an answer."""
    first, count = infosets[infoset]["first_slot"], infosets[infoset]["num_actions"]
    if count != answer[ANSWER_COUNT]:
        return False
    actions = _int64_at(expansion[SLOT_ACTIONS], expansion[MAX_SLOTS])
    is_same = True
    for index in range(count):
        is_same &= actions[first + index] == answer[ANSWER_ACTIONS + index]
    return is_same


# --- the table of infosets: 1 + the number of an infoset, or 0, at the first free place from its key's hash on ---
# An infoset is known by the player's last slot and the information state, so that recall is perfect whatever the text
# of the information state leaves out.


@kernel
def _place_of(expansion, infosets, player, slot, low, high):
    """Returns where in the table the player's infoset after a slot, with a key, stands or belongs."""
    keys = _int64_at(expansion[KEYS], 2 * expansion[MAX_INFOSETS])
    table = _int32_at(expansion[TABLE], expansion[TABLE_SIZE])
    mask = expansion[TABLE_SIZE] - 1
    word = (np.uint64(low) + np.uint64(player)) * _MIX_A ^ (np.uint64(high) + np.uint64(slot)) * _MIX_B
    place = np.int64((word >> np.uint64(20)) & np.uint64(mask))
    while table[place] != 0:
        infoset = table[place] - 1
        is_key = keys[2 * infoset] == low and keys[2 * infoset + 1] == high
        if is_key and infosets[infoset]["player"] == player and infosets[infoset]["parent_slot"] == slot:
            break
        place = (place + 1) & mask
    return place


@kernel
def find(expansion, player, slot, low, high):
    """Returns the player's infoset after a slot, with a key, or NONE."""
    infosets = numba.carray(pointer(expansion[INFOSETS]), expansion[MAX_INFOSETS], INFOSET)
    table = _int32_at(expansion[TABLE], expansion[TABLE_SIZE])
    return np.int64(table[_place_of(expansion, infosets, player, slot, low, high)]) - 1


@kernel
def _enter(expansion, infosets, infoset):
    """Enters a new infoset into the table."""
    keys = _int64_at(expansion[KEYS], 2 * expansion[MAX_INFOSETS])
    low, high, record = keys[2 * infoset], keys[2 * infoset + 1], infosets[infoset]
    table = _int32_at(expansion[TABLE], expansion[TABLE_SIZE])
    table[_place_of(expansion, infosets, record["player"], record["parent_slot"], low, high)] = infoset + 1


@kernel
def enter_all(expansion):
    """Fills the table, whose size has changed."""
    infosets = numba.carray(pointer(expansion[INFOSETS]), expansion[MAX_INFOSETS], INFOSET)
    table = _int32_at(expansion[TABLE], expansion[TABLE_SIZE])
    for place in range(expansion[TABLE_SIZE]):
        table[place] = 0
    for infoset in range(expansion[NUM_INFOSETS]):
        _enter(expansion, infosets, infoset)
