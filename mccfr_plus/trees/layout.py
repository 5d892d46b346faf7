"""Turns a depth-first traversal into the flat arrays of a tree: children contiguous, infosets player by player.

`with_leaves` adds the leaves by last slot: the sequence form, for any number of players.

The gradient of player i's expected utility at slot s is a sum over the leaves whose last slot of player i is s:

    gradient_i[s] = sum over leaves z below s of  chance(z) u_i(z) prod over j != i of reach_j[last slot of j at z].

For two players this is a sparse matrix times the other player's realization plan (von Stengel 1996, section 3).
Leaves with the same last slots of all players differ in chance alone and are added up; those worth 0 are left out.

A player's rows are sorted by length and stored in blocks of `BLOCK` rows side by side, entry j of all rows of a block
before entry j + 1 (sliced ELLPACK: Monakov, Lokhmotov, Avetisyan 2010): the sums of a block do not wait for each
other, which made the product 2.5 times as fast as row after row. Shorter rows of a block are filled up with value 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import allocating_kernel, announce_compilation, kernel
from mccfr_plus.trees.arrays import BLOCK, NODE, OUTCOME, Shape, TreeArrays

_UNSEEN = -1

# An inner node on the path of a depth-first traversal.
_FRAME = np.dtype(
    [
        ("first", np.int32),  # the first child
        ("next", np.int32),  # the child to visit next
        ("last", np.int32),
        ("width", np.int32),  # nodes that a traversal down to here has waiting
        ("mover", np.int32),  # the player, or CHANCE
        ("first_slot", np.int32),
        ("saved_slot", np.int32),  # the player's last slot before the node
    ]
)


class Layout(NamedTuple):
    """A tree as arrays."""

    arrays: TreeArrays
    shape: Shape
    order: np.ndarray  # [num_infosets] int64: the recorded number of each infoset
    slot_action: np.ndarray  # [num_slots] int64
    outcome_action: np.ndarray  # of each row of `TreeArrays.chance`, int64


def lay_out(
    max_depth: int,
    kinds: np.ndarray,
    payloads: np.ndarray,
    infosets: np.ndarray,
    slot_action: np.ndarray,
    distributions: Sequence[Sequence[tuple[int, float]]],
    payoffs: np.ndarray,
) -> Layout:
    """Returns the tree of a depth-first traversal, in which all is numbered by first visit.

    Args:
        max_depth: The longest history, in actions of players and chance.
        kinds: ``[num_nodes]`` int8.
        payloads: ``[num_nodes]`` int32: the number of the infoset, distribution or row of payoffs.
        infosets: ``[num_infosets]`` INFOSET, in which `player`, `num_actions` and `first_slot` count.
        slot_action: ``[num_slots]`` int64.
        distributions: Actions and probabilities of each distribution of chance.
        payoffs: ``[num_distinct_payoffs, num_players]`` float64.
    """
    num_players = payoffs.shape[1]
    order = np.argsort(infosets["player"].astype(np.int8), kind="stable")  # first-visit order within a player
    infosets = infosets[order]
    old_slot = infosets["first_slot"].copy()
    infosets["parent_slot"] = _UNSEEN
    infoset_range, slot_range = number_slots(infosets, num_players)
    num_slots = int(slot_range[-1])
    old_slot = np.repeat(old_slot - infosets["first_slot"], infosets["num_actions"])
    old_slot += np.arange(num_slots, dtype=np.int32)
    slot_action = slot_action[old_slot]
    del old_slot
    renumbered = np.empty(len(order), np.int32)
    renumbered[order] = np.arange(len(order), dtype=np.int32)
    chance_count = np.array([len(d) for d in distributions], np.int32)
    tables = [alias_table(np.array([p for _, p in d])) for d in distributions]
    nodes = np.empty(len(kinds), NODE)
    with announce_compilation(_link, "the layout of trees", 1.0):  # the first kernel that a process needs
        max_stack, max_moves, perfect_recall = _link(
            kinds,
            payloads,
            renumbered,
            (np.cumsum(chance_count) - chance_count).astype(np.int32),
            chance_count,
            num_slots + np.arange(num_players),
            np.zeros(max_depth, _FRAME),
            infosets,
            nodes,
        )
    arrays = TreeArrays(
        nodes=nodes,
        payoffs=payoffs,
        chance=np.concatenate(tables) if tables else np.zeros(0, OUTCOME),
        infosets=infosets,
        infoset_range=infoset_range,
        slot_range=slot_range,
    )
    outcome_action = np.array([action for d in distributions for action, _ in d], np.int64)
    shape = Shape(max_depth, int(max_stack), bool(perfect_recall), int(max_moves))
    return Layout(arrays, shape, order, slot_action, outcome_action)


def number_slots(infosets: np.ndarray, num_players: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ranges of players' infosets and slots, ``[num_players + 1]`` int64."""
    ends = np.cumsum(infosets["num_actions"], dtype=np.int64)
    np.subtract(ends, infosets["num_actions"], out=infosets["first_slot"], casting="unsafe")
    infoset_range = np.searchsorted(infosets["player"], np.arange(num_players + 1)).astype(np.int64)
    return infoset_range, np.array([ends[last - 1] if last else 0 for last in infoset_range], np.int64)


def alias_table(probabilities: np.ndarray) -> np.ndarray:
    """Returns the rows of `TreeArrays.chance` for one distribution, ``[num_outcomes]`` OUTCOME.

    Reference: Vose 1991, "A linear algorithm for generating random numbers with a given distribution".
    """
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
def _link(kinds, payloads, renumbered, chance_first, chance_count, last_slot, frames, infosets, nodes):
    """Fills `nodes` and the parents in `infosets` from the depth-first stream. Both are modified in place.

    `last_slot` holds the empty sequences, and `frames` is scratch memory. Returns the size of a traversal's stack, the
    most moves of players in a history, and whether every player has perfect recall: whether each infoset is always
    entered through one last slot of its player.
    """
    perfect_recall, max_stack, depth, free, node, moves, max_moves = True, 1, 0, 1, 0, 0, 0
    for position in range(len(kinds)):
        kind, payload = kinds[position], payloads[position]
        nodes[node]["kind"] = kind
        if kind == TERMINAL:
            nodes[node]["num_children"] = 0
            nodes[node]["first_child"] = 0
            nodes[node]["payload"] = payload
            while depth > 0 and frames[depth - 1]["next"] > frames[depth - 1]["last"]:
                depth -= 1
                if frames[depth]["mover"] >= 0:
                    moves -= 1
                    last_slot[frames[depth]["mover"]] = frames[depth]["saved_slot"]
            if depth == 0:
                break
        else:
            frame = frames[depth]
            frame["mover"] = kind
            if kind >= 0:
                infoset = renumbered[payload]
                count = infosets[infoset]["num_actions"]
                payload = infosets[infoset]["first_slot"]
                moves += 1
                max_moves = max(max_moves, moves)
                frame["first_slot"], frame["saved_slot"] = payload, last_slot[kind]
                if infosets[infoset]["parent_slot"] == _UNSEEN:
                    infosets[infoset]["parent_slot"] = last_slot[kind]
                elif infosets[infoset]["parent_slot"] != last_slot[kind]:
                    perfect_recall = False
            else:
                count = chance_count[payload]
                payload = chance_first[payload]
            nodes[node]["num_children"] = count
            nodes[node]["first_child"] = free
            nodes[node]["payload"] = payload
            frame["first"] = frame["next"] = free
            frame["last"] = free + count - 1
            frame["width"] = count - 1 + (frames[depth - 1]["width"] if depth > 0 else 1)
            max_stack = max(max_stack, frame["width"])
            free += count
            depth += 1
        top = frames[depth - 1]
        node = top["next"]
        top["next"] += 1
        if top["mover"] >= 0:
            last_slot[top["mover"]] = top["first_slot"] + node - top["first"]
    return max_stack, max_moves, perfect_recall


# --- the leaves by last slot ---


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
