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

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import allocating_kernel, kernel
from mccfr_plus.trees.arrays import BLOCK, TreeArrays


def with_leaves(arrays: TreeArrays) -> TreeArrays:
    """Returns the arrays with the leaf tables filled."""
    num_nodes, num_players = len(arrays.nodes), len(arrays.slot_range) - 1
    last_slots, chance = np.empty((num_nodes, num_players), np.int32), np.ones(num_nodes)
    last_slots[0] = arrays.slot_range[-1] + np.arange(num_players)
    _pass_down(arrays, last_slots, chance)
    leaves = np.flatnonzero(arrays.nodes["kind"] == TERMINAL)
    last_slots, chance, payoff = last_slots[leaves], chance[leaves], arrays.nodes["payload"][leaves]
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
    others = [p for p in range(last_slots.shape[1]) if p != player]  # none of one player
    num_keys = int(arrays.slot_range[-1]) + last_slots.shape[1]
    begin, num_rows = int(arrays.slot_range[player]), int(np.diff(arrays.slot_range)[player]) + 1
    value = chance * arrays.payoffs[payoff, player]
    order = np.flatnonzero(value).astype(np.int32)  # the leaves that are not worth 0
    for key in [*others[::-1], player]:  # least significant first: each pass is stable
        order = _counting_sort(order, last_slots, key, num_keys)
    slots = last_slots[order]
    is_first = np.ones(len(order), np.bool_)  # of the leaves with these slots
    is_first[1:] = (slots[1:] != slots[:-1]).any(axis=1)
    value = np.bincount(np.cumsum(is_first) - 1, value[order])
    slots = slots[is_first]
    row = np.minimum(slots[:, player] - begin, num_rows - 1)  # the empty sequence is the last row
    return np.bincount(row, minlength=num_rows), slots[:, others], value


def _blocks_of(arrays, player, length, columns, value):
    """Returns ends of blocks, rows of blocks, other players' slots and values, all in block order."""
    num_slots, num_players = int(arrays.slot_range[-1]), len(arrays.slot_range) - 1
    begin, end = int(arrays.slot_range[player]), int(arrays.slot_range[player + 1])
    empty, dump = num_slots + player, num_slots + num_players
    order = np.argsort(-length, kind="stable")  # the longest row first
    block_rows = np.full(-(-len(order) // BLOCK) * BLOCK, dump, np.int32)
    block_rows[: len(order)] = np.append(np.arange(begin, end), empty)[order]
    ends = np.cumsum(length[order[::BLOCK]] * BLOCK)
    others = np.full((int(ends[-1]), num_players - 1), num_slots, np.int32)  # a filler may point anywhere
    values = np.zeros(len(others))
    first = np.empty_like(length)  # where each row's entries go, BLOCK apart
    first[order] = np.append(0, ends)[np.arange(len(order)) // BLOCK] + np.arange(len(order)) % BLOCK
    place = np.arange(len(value)) - np.repeat(np.cumsum(length) - length, length)  # within the row
    place = np.repeat(first, length) + BLOCK * place
    others[place], values[place] = columns, value
    return ends, block_rows, others, values


@kernel
def _pass_down(tree, last_slots, chance):
    """Writes every player's last slot before each node, and chance's probability; those of the root are given."""
    nodes = tree.nodes
    for node in range(len(nodes)):  # parents come before children
        kind, child, payload = nodes[node]["kind"], nodes[node]["first_child"], nodes[node]["payload"]
        for index in range(nodes[node]["num_children"]):
            for player in range(last_slots.shape[1]):
                last_slots[child + index, player] = last_slots[node, player]
            chance[child + index] = chance[node]
            if kind == CHANCE:
                chance[child + index] *= tree.chance[payload + index]["probability"]
            else:
                last_slots[child + index, kind] = payload + index


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
