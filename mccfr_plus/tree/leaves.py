"""The leaves of a tree by last slot: the sequence form, for any number of players.

The gradient of player i's expected utility at slot s is a sum over the leaves whose last slot of player i is s:

    gradient_i[s] = sum over leaves z below s of  chance(z) u_i(z) prod over j != i of reach_j[last slot of j at z].

For two players this is a sparse matrix times the other player's realization plan (von Stengel 1996, section 3).
Leaves with the same last slots of all players differ in chance alone and are added up; those worth 0 are left out.

A player's rows are sorted by length and stored in blocks of `BLOCK` rows side by side, entry j of all rows of a block
before entry j + 1 (sliced ELLPACK: Monakov, Lokhmotov, Avetisyan 2010): the sums of a block do not wait for each
other, which made the product 2.5 times as fast as row after row. Shorter rows of a block are filled up with value 0.
"""

import numpy as np

from mccfr_plus.kernels.compile import allocating_kernel, kernel
from mccfr_plus.tree.arrays import BLOCK, CHANCE, TERMINAL, Shape, TreeArrays


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
        leaf_row=np.concatenate(rows),
        leaf_others=np.concatenate(others).reshape(-1),
        leaf_value=np.concatenate(values),
    )
    for array in with_tables:
        array.flags.writeable = False
    return with_tables


def _entries_of(arrays, player, last_slots, chance, payoff):
    """Returns the entries of each row, other players' slots and values of one player's leaves, row by row, added up."""
    others = np.array([p for p in range(last_slots.shape[1]) if p != player], np.int64)  # none of one player
    num_keys = int(arrays.slot_range[-1]) + last_slots.shape[1]
    order = np.flatnonzero(chance * arrays.payoffs[payoff, player]).astype(np.int32)  # the leaves that are not worth 0
    for key in [*others[::-1], player]:  # least significant first: each pass is stable
        order = _counting_sort(order, last_slots, key, num_keys)
    length = np.zeros(int(arrays.slot_range[player + 1] - arrays.slot_range[player]) + 1, np.int32)
    columns, value = np.empty((len(order), len(others)), np.int32), np.empty(len(order))
    size = _add_up(arrays, player, others, order, last_slots, chance, payoff, length, columns, value)
    return length, columns[:size], value[:size]


def _blocks_of(arrays, player, length, columns, value):
    """Returns ends of blocks, rows of blocks, other players' slots and values, all in block order."""
    num_slots, num_players = int(arrays.slot_range[-1]), len(arrays.slot_range) - 1
    begin, end = int(arrays.slot_range[player]), int(arrays.slot_range[player + 1])
    empty, dump = num_slots + player, num_slots + num_players
    longest = int(length.max())
    order = np.arange(len(length), dtype=np.int32)
    order = _counting_sort(order, (longest - length).reshape(-1, 1), 0, longest + 1)  # the longest row first
    num_blocks = -(-len(order) // BLOCK)
    name = np.append(np.arange(begin, end, dtype=np.int32), np.int32(empty))  # the empty sequence is the last row
    block_rows = np.full(num_blocks * BLOCK, dump, np.int32)
    block_rows[: len(order)] = name[order]
    ends = np.cumsum(length[order[::BLOCK]] * np.int64(BLOCK))
    others = np.full((int(ends[-1]), num_players - 1), num_slots, np.int32)  # a filler may point anywhere
    values = np.zeros(len(others))
    _fill(order, ends, length, columns, value, others, values)
    return ends, block_rows, others, values


@kernel
def _add_up(tree, player, others, order, last_slots, chance, payoff, length, columns, value):
    """Adds up the leaves with the same last slots, which follow each other in `order`; returns how many remain.

    Writes how many each row has to `length`, and their other players' slots and values to the fronts of the others.
    """
    begin, empty = tree.slot_range[player], tree.slot_range[-1] + player
    size, before = 0, -1
    for leaf in order:
        is_new = before < 0 or last_slots[leaf, player] != last_slots[before, player]
        for other in others:
            is_new = is_new or last_slots[leaf, other] != last_slots[before, other]
        if is_new:
            row = last_slots[leaf, player]
            length[len(length) - 1 if row == empty else row - begin] += 1
            for index in range(len(others)):
                columns[size, index] = last_slots[leaf, others[index]]
            value[size] = 0.0
            size += 1
        value[size - 1] += chance[leaf] * tree.payoffs[payoff[leaf], player]
        before = leaf
    return size


@allocating_kernel
def _fill(order, ends, length, columns, value, others, values):
    """Moves entries, which lie row by row, to the blocks of their rows. The last two are outputs."""
    place = np.empty(len(order), np.int32)
    for index in range(len(order)):
        place[order[index]] = index
    entry = 0
    for row in range(len(order)):
        block, lane = place[row] // BLOCK, place[row] % BLOCK
        target = (ends[block - 1] if block > 0 else 0) + lane
        for _ in range(length[row]):
            for other in range(columns.shape[1]):
                others[target, other] = columns[entry, other]
            values[target] = value[entry]
            target += BLOCK
            entry += 1


@allocating_kernel
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


@allocating_kernel
def _counting_sort(order, keys, column, num_keys):
    """Returns `order`, stably sorted by a column of `keys`, whose entries are all in 0 .. num_keys - 1."""
    position = np.zeros(num_keys + 1, np.int64)
    for index in order:
        position[keys[index, column] + 1] += 1
    for key in range(num_keys):
        position[key + 1] += position[key]
    result = np.empty_like(order)
    for index in order:
        key = keys[index, column]
        result[position[key]] = index
        position[key] += 1
    return result
