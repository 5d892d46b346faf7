"""Kernels that expand a node of a lazy tree when a traversal first visits it.

A node whose first two fields are zero is unvisited: decision and chance nodes have children, and the kind of a leaf is
not 0. There a traversal calls `EXPAND`. A callback into Python (`lazy_tree`) writes what pyspiel says about the node to
the thread's row of `ANSWERS`. `EXPAND` then finds or makes its infoset, reserves its children and publishes the node.
When the memory is full, it returns False: the loop throws the gradient under way away, and the run ends.

`TreeArrays.expansion` holds counts, limits and addresses of everything that only expansion needs, so that kernels take
one array more and not ten. In compiled trees it is all zeros.

Reference: open addressing with linear probing (Knuth 1998, TAOCP 3, section 6.4, algorithm L).
"""

from typing import NamedTuple

import numba
import numpy as np

from mccfr_plus.games.rules import TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import call_back, head_of, load_word, pointer, publish_head, publish_word, swap_word
from mccfr_plus.kernels.slots import optional_slot
from mccfr_plus.trees.arrays import INFOSET, NODE, NUM_EXPANSION, NUM_SLOTS
from mccfr_plus.trees.info_states import hash_step

# Entries of `TreeArrays.expansion`: one of the values below, the callback's address, 1 while a thread changes the tree,
STATUS, CALLBACK, LOCK = 0, 1, 2
# addresses of `expansion` itself, which kernels take as a read-only array, and of the arrays of `Tables` and the table
# of infosets; and of the rows that the callback writes, one per thread,
SELF, NODES, PARENTS, INFOSETS, KEYS, TABLE, SLOT_ACTIONS, ANSWERS, STRATEGY = range(3, 12)
# the length of such a row; how much is in use, and the limits,
ANSWER_WIDTH, NUM_NODES, MAX_NODES, NUM_INFOSETS, MAX_INFOSETS, MAX_SLOTS = range(12, 18)
# bytes of one of each, and the limit of all together; the length of the table, a power of 2,
NODE_COST, INFOSET_COST, SLOT_COST, PAYOFF_COST, OUTCOME_COST, MAX_COST, TABLE_SIZE = range(18, 25)
# rows of payoffs and chance events in use; a node with other actions than its infoset; whether infosets are tied (there
# is imperfect recall); and, in any tree, the address of the team of threads. `NUM_SLOTS` is the last entry.
NUM_PAYOFFS, NUM_OUTCOMES, CONFLICT_NODE, CONFLICT_INFOSET, HAS_TIES, TEAM = range(25, NUM_SLOTS)

# Values of STATUS. All but the first end a traversal. `LIST_FULL`: a gradient has no room for more tied infosets.
EXPANDING, FAILED, FULL, ACTIONS_DIFFER, INTERRUPTED, LIST_FULL, ABSENT_MINDED = range(7)

# Columns of ANSWERS. A chance node and a leaf have the row of their outcomes or payoffs, a decision node has the two
# words of its infoset's key, and its legal actions.
ANSWER_KIND, ANSWER_COUNT, ANSWER_ROW, ANSWER_KEY, ANSWER_ACTIONS = 0, 1, 2, 3, 5
_NO_ANSWER = -100

NONE = -1  # in place of an infoset


class Tables(NamedTuple):
    """The arrays that expansion writes."""

    nodes: np.ndarray  # [max_nodes] NODE
    parents: np.ndarray  # [max_nodes] int32, the node above each node
    infosets: np.ndarray  # [max_infosets] INFOSET
    keys: np.ndarray  # [max_infosets, 2] int64, of their information states
    slot_actions: np.ndarray  # [max_slots] int64
    strategy: np.ndarray  # [max_slots] float64
    words: np.ndarray  # `TreeArrays.expansion`, writable


@inline_kernel
def tables_of(words):
    """Returns the arrays at the addresses in `TreeArrays.expansion`."""
    nodes, infosets, slots = words[MAX_NODES], words[MAX_INFOSETS], words[MAX_SLOTS]
    return Tables(
        numba.carray(pointer(words[NODES]), nodes, NODE),
        numba.carray(pointer(words[PARENTS]), nodes, np.int32),
        numba.carray(pointer(words[INFOSETS]), infosets, INFOSET),
        numba.carray(pointer(words[KEYS]), (infosets, 2), np.int64),
        numba.carray(pointer(words[SLOT_ACTIONS]), slots, np.int64),
        numba.carray(pointer(words[STRATEGY]), slots, np.float64),
        numba.carray(pointer(words[SELF]), NUM_EXPANSION, np.int64),
    )


def interrupt(expansion: np.ndarray) -> None:
    """Ends the traversals under way soon, from any thread. `expansion` is modified in place."""
    if expansion[STATUS] == EXPANDING:
        expansion[STATUS] = INTERRUPTED


@inline_kernel
def lock(expansion):
    """Waits until no other thread changes the tree; `expansion` must be writable."""
    while swap_word(expansion, LOCK, 1) != 0:
        pass


@inline_kernel
def unlock(expansion):
    publish_word(expansion, LOCK, 0)


@optional_slot
@kernel
def EXPAND(expansion, node, thread):
    """Expands an unvisited node, and modifies the tree in place. Returns False if traversals must end."""
    if expansion[CALLBACK] == 0 or load_word(expansion, STATUS) != EXPANDING:
        return False
    width, tables = expansion[ANSWER_WIDTH], tables_of(expansion)
    answer = numba.carray(pointer(expansion[ANSWERS] + 8 * width * thread), width, np.int64)
    answer[ANSWER_KIND] = _NO_ANSWER
    call_back(expansion[CALLBACK], node, thread)
    if answer[ANSWER_KIND] == _NO_ANSWER:
        if load_word(expansion, STATUS) == EXPANDING:  # a signal has ended the callback before its first line
            publish_word(tables.words, STATUS, FAILED)
        return False
    lock(tables.words)
    is_there = _put(tables, node, answer)
    unlock(tables.words)
    return is_there


@kernel
def _put(tables, node, answer):
    """Writes the node, its infoset and its children, unless another thread has; returns whether the node is there."""
    words, nodes, parents = tables.words, tables.nodes, tables.parents
    there, count = head_of(nodes, node)
    if there != 0 or count != 0:
        return True
    kind, num_children, payload = answer[ANSWER_KIND], answer[ANSWER_COUNT], answer[ANSWER_ROW]
    if kind >= 0:
        slot = _last_own_slot(tables, node, kind)
        infoset = find(tables, kind if words[HAS_TIES] else slot, answer[ANSWER_KEY], answer[ANSWER_KEY + 1])
        if infoset == NONE:
            infoset = new_infoset(tables, slot, answer)
            if infoset == NONE:
                return False
        elif not _has_actions(tables, infoset, answer):
            words[CONFLICT_NODE], words[CONFLICT_INFOSET] = node, infoset
            publish_word(words, STATUS, ACTIONS_DIFFER)
            return False
        elif words[HAS_TIES] and _is_entered_again(tables, node, infoset):
            words[CONFLICT_NODE] = node
            publish_word(words, STATUS, ABSENT_MINDED)
            return False
        payload = np.int64(tables.infosets[infoset]["first_slot"])
    record = nodes[node]
    record["payload"] = payload
    if kind != TERMINAL:
        if not _has_room(words, num_children, 0, 0):
            return False
        first = words[NUM_NODES]
        words[NUM_NODES] += num_children
        for child in range(first, first + num_children):
            parents[child] = node
        record["first_child"] = first
    publish_head(nodes, node, kind, num_children)
    return True


@inline_kernel
def _last_own_slot(tables, node, player):
    """Returns the player's last slot before a node, or the one that stands for the empty sequence."""
    child = node
    while child > 0:
        above = tables.parents[child]
        record = tables.nodes[above]
        if record["kind"] == player:
            return np.int64(record["payload"] + child - record["first_child"])
        child = above
    return tables.words[MAX_SLOTS] + player


@inline_kernel
def _is_entered_again(tables, node, infoset):
    """Returns whether an infoset is also that of a node above."""
    is_it, above, record = False, node, tables.infosets[infoset]
    while above > 0 and not is_it:
        above = tables.parents[above]
        head = tables.nodes[above]
        is_it = head["kind"] == record["player"] and head["payload"] == record["first_slot"]
    return is_it


@inline_kernel
def _has_room(words, nodes, infosets, slots):
    """Returns whether so many more nodes, infosets and slots fit the memory; if not, the tree is full."""
    nodes, infosets, slots = nodes + words[NUM_NODES], infosets + words[NUM_INFOSETS], slots + words[NUM_SLOTS]
    cost = nodes * words[NODE_COST] + infosets * words[INFOSET_COST] + slots * words[SLOT_COST]
    cost += words[NUM_PAYOFFS] * words[PAYOFF_COST] + words[NUM_OUTCOMES] * words[OUTCOME_COST]
    fits = nodes <= words[MAX_NODES] and infosets <= words[MAX_INFOSETS] and slots <= words[MAX_SLOTS]
    if fits and cost <= words[MAX_COST]:
        return True
    publish_word(words, STATUS, FULL)
    return False


@kernel
def new_infoset(tables, parent_slot, answer):
    """Makes the infoset of an answer; returns its number, or NONE if there is no room. `tables` are modified."""
    words, player, count = tables.words, answer[ANSWER_KIND], answer[ANSWER_COUNT]
    infoset, first = words[NUM_INFOSETS], words[NUM_SLOTS]
    if not _has_room(words, count, 1, count):  # for its children, too
        return NONE
    record = tables.infosets[infoset]
    record["first_slot"], record["num_actions"] = first, count
    record["parent_slot"], record["player"] = parent_slot, player
    tables.keys[infoset, 0], tables.keys[infoset, 1] = answer[ANSWER_KEY], answer[ANSWER_KEY + 1]
    for index in range(count):
        tables.slot_actions[first + index] = answer[ANSWER_ACTIONS + index]
        tables.strategy[first + index] = 1.0 / count
    words[NUM_INFOSETS] += 1
    words[NUM_SLOTS] += count
    enter(tables, infoset)
    return infoset


@inline_kernel
def _has_actions(tables, infoset, answer):
    """Returns whether the infoset has the legal actions of an answer."""
    first, count = tables.infosets[infoset]["first_slot"], tables.infosets[infoset]["num_actions"]
    is_same = count == answer[ANSWER_COUNT]
    for index in range(min(count, answer[ANSWER_COUNT])):
        is_same &= tables.slot_actions[first + index] == answer[ANSWER_ACTIONS + index]
    return is_same


# --- the table of infosets: 1 + the number of an infoset, or 0, at the first free place from its key's hash on ---
# An infoset is known by its owner and the information state: by the player's last slot, so that recall is perfect
# whatever the text of the information state leaves out, or by the player alone if infosets are tied.


@inline_kernel
def _table(words):
    return numba.carray(pointer(words[TABLE]), words[TABLE_SIZE], np.int32)


@inline_kernel
def _owner_of(tables, infoset):
    record = tables.infosets[infoset]
    return np.int64(record["player"] if tables.words[HAS_TIES] else record["parent_slot"])


@kernel
def _place_of(tables, owner, low, high):
    """Returns where in the table the infoset of an owner, with a key, stands or belongs."""
    table, keys = _table(tables.words), tables.keys
    mask = len(table) - 1
    word = hash_step(hash_step(np.uint64(owner), np.uint64(low)), np.uint64(high))
    place = np.int64((word >> np.uint64(20)) & np.uint64(mask))
    while table[place] != 0:
        infoset = table[place] - 1
        is_key = keys[infoset, 0] == low and keys[infoset, 1] == high
        if is_key and _owner_of(tables, infoset) == owner:
            break
        place = (place + 1) & mask
    return place


@kernel
def find(tables, owner, low, high):
    """Returns the infoset of an owner, with a key, or NONE."""
    return np.int64(_table(tables.words)[_place_of(tables, owner, low, high)]) - 1


@kernel
def enter(tables, first):
    """Enters the infosets from `first` on, or all of them into a larger table if this one would be over half full."""
    words, keys = tables.words, tables.keys
    while 2 * words[NUM_INFOSETS] > words[TABLE_SIZE]:
        words[TABLE_SIZE] *= 2
        first = 0
    table = _table(words)
    for place in range(len(table) if first == 0 else 0):
        table[place] = 0
    for infoset in range(first, words[NUM_INFOSETS]):
        table[_place_of(tables, _owner_of(tables, infoset), keys[infoset, 0], keys[infoset, 1])] = infoset + 1
