"""The leaves of a tree by last slot: the sequence form, for any number of players.

The gradient of player i's expected utility at slot s is a sum over the leaves whose last slot of player i is s:

    gradient_i[s] = sum over leaves z below s of  chance(z) u_i(z) prod over j != i of reach_j[last slot of j at z].

For two players this is a sparse matrix times the other player's realization plan (von Stengel 1996, section 3).
Leaves with the same last slots of everybody differ in chance alone and are added up; those worth 0 are left out.
"""

from __future__ import annotations

import numpy as np

from mccfr_plus._jit import kernel
from mccfr_plus.tree.arrays import CHANCE, FIRST_CHILD, KIND, NUM_CHILDREN, PAYLOAD, PROBABILITY, TERMINAL, TreeArrays
from mccfr_plus.tree.layout import Shape


def with_leaves(arrays: TreeArrays, shape: Shape) -> TreeArrays:
    """Returns the arrays with the three leaf tables filled."""
    num_players = len(arrays.slot_range) - 1
    num_rows = len(arrays.infoset_of_slot) + num_players
    num_leaves = int(np.count_nonzero(arrays.nodes[:, KIND] == TERMINAL))
    last_slots = np.empty((num_leaves, num_players), np.int32)
    chance = np.empty(num_leaves)
    payoff = np.empty(num_leaves, np.int32)
    _collect(arrays, shape.max_stack, last_slots, chance, payoff)
    parts = [_rows_of(arrays, num_rows, player, last_slots, chance, payoff) for player in range(num_players)]
    start = np.zeros(num_rows + 1, np.int64)
    for rows, _, _ in parts:
        start[1:] += np.bincount(rows, minlength=num_rows)
    start = np.cumsum(start)
    others = np.empty((start[-1], num_players - 1), np.int32)
    value = np.empty(start[-1])
    for rows, part_others, part_value in parts:
        if len(rows):
            _place(rows, part_others, part_value, start, others, value)
    for table in (start, others, value):
        table.flags.writeable = False
    return arrays._replace(leaf_start=start, leaf_others=others, leaf_value=value)


def _rows_of(arrays, num_rows, player, last_slots, chance, payoff):
    """Returns rows, other players' slots and values of one player's leaves, sorted by all slots and added up."""
    value = chance * arrays.payoffs[payoff, player]
    order = np.flatnonzero(value)
    others = [p for p in range(last_slots.shape[1]) if p != player]
    for key in [*reversed(others), player]:  # least significant first: each pass is stable
        order = order[_counting_sort(last_slots[order, key], num_rows)]
    rows, columns, value = last_slots[order, player], last_slots[order][:, others], value[order]
    if not len(rows):
        return rows, columns, value
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1]).any(axis=1)
    starts = np.flatnonzero(first)
    return rows[starts], columns[starts], np.add.reduceat(value, starts)


@kernel
def _collect(tree, max_stack, last_slots, chance, payoff):
    """Writes last slots, chance's probability and the payoff's row of every leaf. The last three are outputs.

    Loops instead of slices: assigning a slice makes Numba compile text formatting for its error, 3 seconds' worth.
    """
    nodes, slot_range = tree.nodes, tree.slot_range
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
        node = stack[pending]
        for player in range(num_players):
            current[player] = stack_slots[pending, player]
        reach = stack_chance[pending]
        kind, first, payload = nodes[node, KIND], nodes[node, FIRST_CHILD], nodes[node, PAYLOAD]
        if kind == TERMINAL:
            for player in range(num_players):
                last_slots[leaf, player] = current[player]
            chance[leaf] = reach
            payoff[leaf] = payload
            leaf += 1
            continue
        for child in range(nodes[node, NUM_CHILDREN] - 1, -1, -1):
            stack[pending] = first + child
            for player in range(num_players):
                stack_slots[pending, player] = current[player]
            stack_chance[pending] = reach
            if kind == CHANCE:
                stack_chance[pending] = reach * tree.chance[payload + child, PROBABILITY]
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


@kernel
def _place(rows, part_others, part_value, start, others, value):
    """Copies one player's sorted leaves to where their rows begin. `others` and `value` are modified in place."""
    target = start[rows[0]]
    for i in range(len(rows)):
        if i > 0 and rows[i] != rows[i - 1]:
            target = start[rows[i]]
        for other in range(others.shape[1]):
            others[target, other] = part_others[i, other]
        value[target] = part_value[i]
        target += 1
