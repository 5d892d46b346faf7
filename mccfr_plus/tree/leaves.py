"""The leaves of a tree by last slot: the sequence form, for any number of players.

The gradient of player i's expected utility at slot s is a sum over the leaves whose last slot of player i is s:

    gradient_i[s] = sum over leaves z below s of  chance(z) u_i(z) prod over j != i of reach_j[last slot of j at z].

For two players this is a sparse matrix times the other player's realization plan (von Stengel 1996, section 3).
Leaves with the same last slots of everybody differ in chance alone and are added up; those worth 0 are left out.

A player's rows are sorted by length and stored in blocks of `BLOCK` rows side by side, entry j of all rows of a block
before entry j + 1 (sliced ELLPACK: Monakov, Lokhmotov, Avetisyan 2010): the sums of a block do not wait for each
other, which made the product 2.5 times as fast as row after row. Shorter rows of a block are filled up with value 0.
"""

from __future__ import annotations

import numpy as np

from mccfr_plus._jit import kernel
from mccfr_plus.tree.arrays import BLOCK, CHANCE, TERMINAL, TreeArrays
from mccfr_plus.tree.layout import Shape


def with_leaves(arrays: TreeArrays, shape: Shape) -> TreeArrays:
    """Returns the arrays with the leaf tables filled."""
    num_players = len(arrays.slot_range) - 1
    num_leaves = int(np.count_nonzero(arrays.nodes["kind"] == TERMINAL))
    last_slots = np.empty((num_leaves, num_players), np.int32)
    chance = np.empty(num_leaves)
    payoff = np.empty(num_leaves, np.int32)
    _collect(arrays, shape.max_stack, last_slots, chance, payoff)
    starts, rows, others, values = [np.zeros(1, np.int64)], [], [], []
    leaf_range = np.zeros(num_players + 1, np.int64)
    for player in range(num_players):
        blocks = _blocks_of(arrays, player, *_entries_of(arrays, player, last_slots, chance, payoff))
        starts.append(blocks[0] + starts[-1][-1])
        rows.append(blocks[1])
        others.append(blocks[2])
        values.append(blocks[3])
        leaf_range[player + 1] = leaf_range[player] + len(blocks[0])
    with_tables = arrays._replace(
        leaf_range=leaf_range,
        leaf_start=np.concatenate(starts),
        leaf_row=np.concatenate(rows).astype(np.int32),
        leaf_others=np.concatenate(others).reshape(-1),
        leaf_value=np.concatenate(values),
    )
    for array in with_tables:
        array.flags.writeable = False
    return with_tables


def _entries_of(arrays, player, last_slots, chance, payoff):
    """Returns rows, other players' slots and values of one player's leaves, sorted by all slots and added up."""
    value = chance * arrays.payoffs[payoff, player]
    order = np.flatnonzero(value)
    others = [p for p in range(last_slots.shape[1]) if p != player]
    num_keys = int(arrays.slot_range[-1]) + last_slots.shape[1]
    for key in [*reversed(others), player]:  # least significant first: each pass is stable
        order = order[_counting_sort(last_slots[order, key], num_keys)]
    rows, columns, value = last_slots[order, player], last_slots[order][:, others], value[order]
    if not len(rows):
        return rows, columns, value
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1]).any(axis=1)
    starts = np.flatnonzero(first)
    return rows[starts], columns[starts], np.add.reduceat(value, starts)


def _blocks_of(arrays, player, rows, columns, value):
    """Returns ends of blocks, rows of blocks, other players' slots and values, all in block order."""
    num_slots, num_players = int(arrays.slot_range[-1]), len(arrays.slot_range) - 1
    begin, end = int(arrays.slot_range[player]), int(arrays.slot_range[player + 1])
    empty, dump = num_slots + player, num_slots + num_players
    local = np.where(rows == empty, end - begin, rows - begin)  # the empty sequence is the last row
    length = np.bincount(local, minlength=end - begin + 1)
    order = np.argsort(-length, kind="stable")
    num_blocks = -(-len(order) // BLOCK)
    name = np.append(np.arange(begin, end), empty)
    block_rows = np.full(num_blocks * BLOCK, dump, np.int64)
    block_rows[: len(order)] = name[order]
    width = length[order[::BLOCK]]  # the longest row comes first
    ends = np.cumsum(width * BLOCK)
    begins = ends - width * BLOCK
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    within = np.arange(len(rows)) - (np.cumsum(length) - length)[local]  # rows are sorted, the empty one last
    target = begins[place[local] // BLOCK] + within * BLOCK + place[local] % BLOCK
    size = int(ends[-1]) if num_blocks else 0
    others = np.full((size, num_players - 1), num_slots, np.int32)  # a filler may point anywhere
    others[target] = columns
    values = np.zeros(size)
    values[target] = value
    return ends, block_rows, others, values


@kernel
def _collect(tree, max_stack, last_slots, chance, payoff):
    """Writes last slots, chance's probability and the payoff's row of every leaf. The last three are outputs.

    Loops instead of slices: assigning a slice makes Numba compile text formatting for its error, 3 seconds' worth.
    """
    slot_range = tree.slot_range
    num_players = last_slots.shape[1]
    stack = np.empty(max_stack, np.int64)
    stack_slots = np.empty((max_stack, num_players), np.int32)
    stack_chance = np.empty(max_stack)
    current = np.empty(num_players, np.int32)
    stack[0] = 0
    for player in range(num_players):
        stack_slots[0, player] = slot_range[num_players] + player
    stack_chance[0] = 1.0
    pending, leaf = 1, 0
    while pending > 0:
        pending -= 1
        node = tree.nodes[stack[pending]]
        for player in range(num_players):
            current[player] = stack_slots[pending, player]
        reach = stack_chance[pending]
        kind, first, payload = node["kind"], node["first_child"], node["payload"]
        if kind == TERMINAL:
            for player in range(num_players):
                last_slots[leaf, player] = current[player]
            chance[leaf] = reach
            payoff[leaf] = payload
            leaf += 1
            continue
        for child in range(node["num_children"] - 1, -1, -1):
            stack[pending] = first + child
            for player in range(num_players):
                stack_slots[pending, player] = current[player]
            stack_chance[pending] = reach
            if kind == CHANCE:
                stack_chance[pending] = reach * tree.chance[payload + child]["probability"]
            else:
                stack_slots[pending, kind] = payload + child
            pending += 1


@kernel
def _counting_sort(keys, num_keys):
    """Returns the stable order that sorts the keys, all of them in 0 .. num_keys - 1."""
    position = np.zeros(num_keys + 1, np.int64)
    for key in keys:
        position[key + 1] += 1
    for key in range(num_keys):
        position[key + 1] += position[key]
    order = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        order[position[keys[i]]] = i
        position[keys[i]] += 1
    return order
