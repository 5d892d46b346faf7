"""Flattens a depth-first traversal into the arrays of a tree: children contiguous, infosets player by player.

`with_leaves` adds the sequence form: the gradient of player i's expected utility at slot s is

    gradient_i[s] = sum over leaves z below s of  chance(z) u_i(z) prod over j != i of reach_j[last slot of j at z],

for two players a sparse matrix times the other player's realization plan (von Stengel 1996, section 3). Leaves with the
same last slots of all players are added up; those worth 0 are left out.

A player's rows are sorted by length and stored in blocks of `BLOCK` rows side by side, entry j of all rows of a block
before entry j + 1 (sliced ELLPACK: Monakov, Lokhmotov, Avetisyan 2010): the sums of a block do not wait for each
other, which made the product 2.5 times as fast as row after row. Shorter rows of a block are filled up with value 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.trees.arrays import BLOCK, NODE, OUTCOME, Shape, TreeArrays

_UNSEEN = -1

_NODE, _CHILD, _LAST_SLOT = range(3)  # columns of the path: a node, its child there, the mover's last slot before it


class FlatTree(NamedTuple):
    arrays: TreeArrays
    shape: Shape
    order: np.ndarray  # [num_infosets] int64: the recorded number of each infoset
    slot_action: np.ndarray  # [num_slots] int64
    outcome_action: np.ndarray  # of each row of `TreeArrays.chance`, int64


def flatten(
    max_depth: int,
    kinds: np.ndarray,
    payloads: np.ndarray,
    infosets: np.ndarray,
    slot_action: np.ndarray,
    distributions: Sequence[Sequence[tuple[int, float]]],
    payoffs: np.ndarray,
) -> FlatTree:
    """Returns the tree of a depth-first traversal, in which all is numbered by first visit.

    `payloads` number infosets, distributions or rows of payoffs; `infosets` are INFOSET records without parents.
    """
    num_players = payoffs.shape[1]
    order = np.argsort(infosets["player"].astype(np.int8), kind="stable")  # first-visit order within a player
    infosets = infosets[order]
    slot_action = slot_action[rows_of(infosets["first_slot"], infosets["num_actions"])]
    ends = np.cumsum(infosets["num_actions"], dtype=np.int64)
    infosets["first_slot"], infosets["parent_slot"] = ends - infosets["num_actions"], _UNSEEN
    infoset_range = np.searchsorted(infosets["player"], np.arange(num_players + 1))
    slot_range = np.append(0, ends)[infoset_range]
    renumbered = np.empty(len(order), np.int32)
    renumbered[order] = np.arange(len(order), dtype=np.int32)
    counts = np.array([len(d) for d in distributions], np.int32)
    firsts = (np.cumsum(counts) - counts).astype(np.int32)
    outcome_action = np.array([action for d in distributions for action, _ in d], np.int64)
    chance = np.concatenate([np.zeros(0, OUTCOME), *(alias_table(np.array([p for _, p in d])) for d in distributions)])
    last_slot, path = slot_range[-1] + np.arange(num_players), np.zeros((max_depth, 3), np.int64)
    nodes = np.empty(len(kinds), NODE)
    with announce_compilation(_link, "the layout of trees", 1.0):  # the first kernel that a process needs
        found = _link(kinds, payloads, renumbered, firsts, counts, last_slot, path, infosets, nodes)
    arrays = TreeArrays(nodes, payoffs, chance, infosets, infoset_range, slot_range)
    return FlatTree(arrays, Shape(max_depth, *found), order, slot_action, outcome_action)


def rows_of(firsts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns the row numbers of groups, concatenated: each begins at an entry of `firsts` and has `counts` rows."""
    counts = counts.astype(np.int64)
    ends = np.cumsum(counts)
    return np.arange(counts.sum()) + np.repeat(firsts - (ends - counts), counts)


def alias_table(probabilities: np.ndarray) -> np.ndarray:
    """Returns the rows of `TreeArrays.chance` for one distribution, ``[num_outcomes]`` OUTCOME (Vose 1991)."""
    count = len(probabilities)
    table = np.empty(count, OUTCOME)
    table["probability"] = probabilities / probabilities.sum()
    scaled = (table["probability"] * count).tolist()
    accept, alias = [1.0] * count, list(range(count))
    small = [outcome for outcome in alias if scaled[outcome] < 1.0]
    large = [outcome for outcome in alias if scaled[outcome] >= 1.0]
    while small and large:
        low, high = small.pop(), large.pop()
        accept[low], alias[low] = scaled[low], high
        scaled[high] -= 1.0 - scaled[low]
        (small if scaled[high] < 1.0 else large).append(high)
    table["accept"], table["alias"] = accept, alias  # what is left over on either side is 1 up to rounding
    return table


@kernel
def _link(kinds, payloads, renumbered, chance_first, chance_count, last_slot, path, infosets, nodes):
    """Fills `nodes` and the parents in `infosets` from the depth-first stream; `last_slot` holds the empty sequences.

    Returns the size of a traversal's stack, whether each infoset is always entered through one last slot of its player
    (perfect recall), and the most moves of players in a history.
    """
    perfect_recall, waiting, max_stack, moves, max_moves, depth, free, node = True, 1, 1, 0, 0, 0, 1, 0
    for position in range(len(kinds)):
        kind, payload, count = kinds[position], payloads[position], 0
        if kind == CHANCE:
            count, payload = chance_count[payload], chance_first[payload]
        elif kind >= 0:
            infoset = renumbered[payload]
            count, payload = infosets[infoset]["num_actions"], infosets[infoset]["first_slot"]
            if infosets[infoset]["parent_slot"] == _UNSEEN:
                infosets[infoset]["parent_slot"] = last_slot[kind]
            elif infosets[infoset]["parent_slot"] != last_slot[kind]:
                perfect_recall = False
            moves += 1
            max_moves = max(max_moves, moves)
        nodes[node]["kind"], nodes[node]["num_children"] = kind, count
        nodes[node]["first_child"], nodes[node]["payload"] = free if count else 0, payload
        if count:
            path[depth, _NODE], path[depth, _CHILD] = node, -1
            path[depth, _LAST_SLOT] = last_slot[max(kind, 0)]
            depth += 1
            free += count
            waiting += count - 1
            max_stack = max(max_stack, waiting)
        while depth > 0 and path[depth - 1, _CHILD] + 1 == nodes[path[depth - 1, _NODE]]["num_children"]:
            depth -= 1
            above = nodes[path[depth, _NODE]]
            waiting -= above["num_children"] - 1
            if above["kind"] >= 0:
                moves -= 1
                last_slot[above["kind"]] = path[depth, _LAST_SLOT]
        if depth == 0:
            break
        path[depth - 1, _CHILD] += 1
        above, child = nodes[path[depth - 1, _NODE]], path[depth - 1, _CHILD]
        node = above["first_child"] + child
        if above["kind"] >= 0:
            last_slot[above["kind"]] = above["payload"] + child
    return max_stack, perfect_recall, max_moves


# --- the leaves by last slot ---


def with_leaves(arrays: TreeArrays) -> TreeArrays:
    """Returns the arrays with the leaf tables filled."""
    num_nodes, num_players = len(arrays.nodes), len(arrays.slot_range) - 1
    last_slots, chance = np.empty((num_nodes, num_players), np.int32), np.ones(num_nodes)
    last_slots[0] = arrays.slot_range[-1] + np.arange(num_players)
    _pass_down(arrays, last_slots, chance)
    leaves = np.flatnonzero(arrays.nodes["kind"] == TERMINAL)
    last_slots, chance, payoff = last_slots[leaves], chance[leaves], arrays.nodes["payload"][leaves]
    blocks = [
        _blocks_of(arrays, player, *_entries_of(arrays, player, last_slots, chance, payoff))
        for player in range(num_players)
    ]
    lengths, rows, others, values = (np.concatenate(each) for each in zip(*blocks, strict=True))
    leaf_range, leaf_start = np.cumsum([0, *(len(each[0]) for each in blocks)]), np.append(0, np.cumsum(lengths))
    tables = leaf_range, leaf_start, rows, others.reshape(-1), values
    for array in tables:
        array.flags.writeable = False
    return TreeArrays(*arrays[:6], *tables, arrays.expansion)


def _entries_of(arrays, player, last_slots, chance, payoff):
    """Returns the entries of each row, other players' slots and values of one player's leaves, row by row, added up."""
    others = [p for p in range(last_slots.shape[1]) if p != player]  # none of one player
    begin, num_rows = int(arrays.slot_range[player]), int(np.diff(arrays.slot_range)[player]) + 1
    value = chance * arrays.payoffs[payoff, player]
    order = np.flatnonzero(value)  # the leaves that are not worth 0
    slots = last_slots[order]
    by_slots = np.lexsort(slots[:, [*others[::-1], player]].T)  # the least significant key first
    order, slots = order[by_slots], slots[by_slots]
    is_first = np.ones(len(order), np.bool_)  # of the leaves with these slots
    is_first[1:] = (slots[1:] != slots[:-1]).any(axis=1)
    value = np.bincount(np.cumsum(is_first) - 1, value[order])
    slots = slots[is_first]
    row = np.minimum(slots[:, player] - begin, num_rows - 1)  # the empty sequence is the last row
    return np.bincount(row, minlength=num_rows), slots[:, others], value


def _blocks_of(arrays, player, length, columns, value):
    """Returns lengths of blocks, rows of blocks, other players' slots and values, all in block order."""
    num_slots, num_players = int(arrays.slot_range[-1]), len(arrays.slot_range) - 1
    begin, end = int(arrays.slot_range[player]), int(arrays.slot_range[player + 1])
    empty, dump = num_slots + player, num_slots + num_players
    order = np.argsort(-length, kind="stable")  # the longest row first
    block_rows = np.full(-(-len(order) // BLOCK) * BLOCK, dump, np.int32)
    block_rows[: len(order)] = np.append(np.arange(begin, end), empty)[order]
    lengths = length[order[::BLOCK]] * BLOCK
    ends = np.cumsum(lengths)
    others = np.full((int(ends[-1]), num_players - 1), num_slots, np.int32)  # a filler may point anywhere
    values = np.zeros(len(others))
    first = np.empty_like(length)  # where each row's entries go, BLOCK apart
    first[order] = np.append(0, ends)[np.arange(len(order)) // BLOCK] + np.arange(len(order)) % BLOCK
    place = np.arange(len(value)) - np.repeat(np.cumsum(length) - length, length)  # within the row
    place = np.repeat(first, length) + BLOCK * place
    others[place], values[place] = columns, value
    return lengths, block_rows, others, values


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
