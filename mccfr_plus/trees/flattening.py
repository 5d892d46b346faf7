"""Flattens a depth-first traversal into the arrays of a tree: children contiguous, infosets player by player.

`with_leaves` adds the sequence form: the gradient of player i's expected utility at slot s is

    gradient_i[s] = sum over leaves z below s of  chance(z) u_i(z) prod over j != i of reach_j[last slot of j at z],

for two players a sparse matrix times the other player's realization plan (von Stengel 1996, section 3). Leaves with the
same last slots of all players are added up; those worth 0 are left out.

Where only differences between the values of an infoset's actions count, tables are *folded*: a subtree whose leaves all
pay the same is one leaf. That changes an infoset's values by a constant, which the parent's slot has instead, as the
plan below a slot adds up to the slot's. Infosets with no other leaves below have no rows, and need no updates: in
Goofspiel with 7 cards a sixth of the entries and 28% of the infosets are left.

A *term* is what an entry of the matrix adds: its value times the others' reach. Most are added in several rows, as few
values occur. Terms are thus multiplied once, and an entry is the number of its term. Terms are numbered by first use:
neighboring rows find theirs close together.

Rows are sorted by length within windows, and stored in blocks of `BLOCK` rows side by side, entry j of all rows of a
block before entry j + 1 (sliced ELLPACK, SELL-C-sigma: Kreutzer et al. 2014): the sums of a block do not wait for each
other, which made the product 2.5 times as fast as row after row. Shorter rows of a block are filled up with value 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import announce_compilation, inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import at
from mccfr_plus.trees.arrays import BLOCK, NODE, OUTCOME, Shape, TreeArrays

_UNSEEN = -1
_WINDOW = 4096  # rows that are sorted by length
_MIN_USES = 2.75  # of a term, on average, without which multiplying each entry is faster
_LOOKS = 64  # terms with the same other slot among which a value is looked up, so that it takes no quadratic time

# Columns of the path: a node, its child there, the mover's last slot before it, pending nodes, moves of players.
_NODE, _CHILD, _LAST_SLOT, _WAITING, _MOVES, _COLUMNS = range(6)


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
    last_slot, path = slot_range[-1] + np.arange(num_players), np.zeros((max_depth, _COLUMNS), np.int64)
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
    perfect_recall, max_stack, max_moves, depth, free, node = True, 1, 0, 0, 1, 0
    for position in range(len(kinds)):
        kind, payload, count = kinds[at(position)], payloads[at(position)], 0
        waiting, moves = (path[at(depth - 1), _WAITING], path[at(depth - 1), _MOVES]) if depth > 0 else (1, 0)
        if kind == CHANCE:
            count, payload = chance_count[payload], chance_first[payload]
        elif kind >= 0:
            infoset = infosets[at(renumbered[at(payload)])]
            count, payload = infoset["num_actions"], infoset["first_slot"]
            if infoset["parent_slot"] == _UNSEEN:
                infoset["parent_slot"] = last_slot[kind]
            elif infoset["parent_slot"] != last_slot[kind]:
                perfect_recall = False
            moves += 1
            max_moves = max(max_moves, moves)
        record = nodes[at(node)]
        record["kind"], record["num_children"] = kind, count
        record["first_child"], record["payload"] = free if count else 0, payload
        if count:
            waiting += count - 1
            path[at(depth), _WAITING], path[at(depth), _MOVES] = waiting, moves
            free += count
            max_stack = max(max_stack, waiting)
        depth, node = _next_node(nodes, node, path, depth, last_slot, count > 0)
    return max_stack, perfect_recall, max_moves


@inline_kernel
def _next_node(nodes, node, path, depth, last_slot, descends):
    """Returns the depth and the number of the node after this one, depth first; depth 0 at the end.

    Without `descends` it is the one behind the subtree. `path` and players' last slots before the node are modified.
    """
    kind = nodes[at(node)]["kind"]
    if descends:
        path[at(depth), _NODE], path[at(depth), _CHILD], path[at(depth), _LAST_SLOT] = node, -1, last_slot[max(kind, 0)]
        depth += 1
    while depth > 0 and path[at(depth - 1), _CHILD] + 1 == nodes[at(path[at(depth - 1), _NODE])]["num_children"]:
        depth -= 1
        kind = nodes[at(path[at(depth), _NODE])]["kind"]
        if kind >= 0:
            last_slot[at(kind)] = path[at(depth), _LAST_SLOT]
    if depth == 0:
        return 0, 0
    path[at(depth - 1), _CHILD] += 1
    above, child = nodes[at(path[at(depth - 1), _NODE])], path[at(depth - 1), _CHILD]
    if above["kind"] >= 0:
        last_slot[at(above["kind"])] = above["payload"] + child
    return depth, above["first_child"] + child


# --- the leaves by last slot ---


def with_leaves(arrays: TreeArrays, max_depth: int, *, folded: bool = False) -> TreeArrays:
    """Returns the arrays with the leaf tables filled, perhaps folded (see above). `max_depth` is the tree's."""
    is_leaf = arrays.nodes["kind"] == TERMINAL
    num_players, count = len(arrays.slot_range) - 1, int(np.count_nonzero(is_leaf))
    last_slots, chance, payoff = np.empty((num_players, count), np.int32), np.empty(count), np.empty(count, np.int32)
    same = np.where(is_leaf, arrays.nodes["payload"], _UNSEEN)
    if folded:
        _find_same(arrays.nodes, same)
    path, last_slot = np.zeros((max_depth, _COLUMNS), np.int64), arrays.slot_range[-1] + np.arange(num_players)
    count = _list_leaves(arrays, same, path, np.ones(max_depth + 1), last_slot, last_slots, chance, payoff)
    order = np.arange(count, dtype=np.int32)
    for keys in last_slots[::-1]:  # the least significant first
        order = _sorted(order, keys, int(arrays.slot_range[-1]) + num_players)
    listed: np.ndarray = arrays.infosets
    if folded:
        has_leaves = np.zeros(arrays.slot_range[-1] + num_players, np.bool_)
        has_leaves[last_slots[:, :count].reshape(-1)] = True
        listed = listed[_pass_up(listed, has_leaves, np.zeros(len(listed), np.bool_))]
    listed_range = np.searchsorted(listed["player"], np.arange(num_players + 1))
    blocks: list[tuple] = []
    for player in range(num_players):
        records = listed[listed_range[player] : listed_range[player + 1]]
        rows = rows_of(records["first_slot"], records["num_actions"])
        blocks.append(_blocks_of(arrays, player, rows, order, last_slots, chance, payoff))
    lengths, all_rows, terms, others, values = zip(*blocks, strict=True)
    if num_players == 2 and sum(map(len, terms)) < _MIN_USES * sum(map(len, values)):
        others, values = (tuple(map(np.ndarray.__getitem__, each, terms)) for each in (others, values))
        terms = ()
    tables = {
        "listed": listed,
        "listed_range": listed_range,
        "leaf_range": np.cumsum([0, *map(len, lengths)]),
        "leaf_start": np.append(0, np.cumsum(np.concatenate(lengths))),
        "leaf_row": np.concatenate(all_rows),
        "leaf_term": np.concatenate([np.zeros(0, np.int32), *terms]),
        "term_range": np.cumsum([0, *map(len, values)]),
        "leaf_others": np.concatenate(others).reshape(-1),
        "leaf_value": np.concatenate(values),
    }
    for table in tables.values():
        table.flags.writeable = False
    return arrays._replace(**tables)


def entries_of(arrays: TreeArrays, player: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns own slots, other players' slots, ``[entries, num_players - 1]``, and values of the player's entries."""
    blocks = np.arange(*arrays.leaf_range[player : player + 2])
    begin, end = arrays.leaf_start[arrays.leaf_range[player : player + 2]]
    block_of = np.repeat(blocks, np.diff(arrays.leaf_start)[blocks])
    rows = arrays.leaf_row[block_of * BLOCK + np.arange(end - begin) % BLOCK]  # a block's length is a multiple of BLOCK
    terms = np.arange(begin, end)
    if len(arrays.leaf_term):
        terms = arrays.leaf_term[begin:end] + arrays.term_range[player]
    is_used = arrays.leaf_value[terms] != 0  # the others fill up blocks
    others = arrays.leaf_others.reshape(len(arrays.leaf_value), -1)[terms]
    return rows[is_used], others[is_used], arrays.leaf_value[terms[is_used]]


def _blocks_of(arrays, player, rows, order, last_slots, chance, payoff):
    """Returns lengths of blocks, rows of blocks, terms of entries, and other players' slots and values of terms."""
    num_slots, num_players = int(arrays.slot_range[-1]), len(arrays.slot_range) - 1
    dump = num_slots + num_players
    others = np.array([p for p in range(num_players) if p != player], np.int64)  # none of one player
    if player > 0:  # by the others' slots they are sorted
        order = _sorted(order, last_slots[player], dump)
    ends, value = np.zeros(dump, np.int64), np.empty(len(order))
    columns = np.empty((len(order), num_players - 1), np.int32)
    count = _add_up(arrays, order, last_slots, chance, payoff, player, others, columns, value, ends)
    rows = np.append(rows, num_slots + player)  # the empty sequence is the last row
    length = ends[rows]
    first = np.cumsum(length) - length
    order = np.lexsort((-length, np.arange(len(rows)) // _WINDOW))
    block_rows = np.full(-(-len(rows) // BLOCK) * BLOCK, dump, np.int32)
    block_rows[: len(rows)] = rows[order]
    block_lengths = np.maximum.reduceat(length[order], np.arange(0, len(rows), BLOCK)) * BLOCK
    terms, heads = np.zeros(block_lengths.sum(), np.int32), np.full(dump, _UNSEEN, np.int32)
    term_others, term_value = np.empty((count + 1, num_players - 1), np.int32), np.empty(count + 1)
    term_others[0], term_value[0] = num_slots, 0.0  # term 0 fills up rows
    tables = columns, value, heads, np.zeros(count + 1, np.int32), terms, term_others, term_value
    found = _number_terms(first[order], length[order], block_lengths, *tables)
    return block_lengths, block_rows, terms, term_others[:found].copy(), term_value[:found].copy()


@kernel
def _find_same(nodes, same):
    """Writes the payoffs' number of nodes whose leaves pay the same to `same`, which has those of leaves."""
    for node in range(len(nodes) - 1, -1, -1):
        first, count = nodes[at(node)]["first_child"], nodes[at(node)]["num_children"]
        if count > 0:
            number = same[at(first)]
            for child in range(first + 1, first + count):
                number = number if same[at(child)] == number else _UNSEEN
            same[at(node)] = number


@kernel
def _pass_up(infosets, has_leaves, found):
    """Returns which infosets have leaves behind their slots or those below. Both arrays are modified in place."""
    for infoset in range(len(infosets) - 1, -1, -1):
        record = infosets[at(infoset)]
        for slot in range(record["first_slot"], record["first_slot"] + record["num_actions"]):
            found[at(infoset)] |= has_leaves[at(slot)]
        has_leaves[at(record["parent_slot"])] |= found[at(infoset)]
    return found


@kernel
def _list_leaves(tree, same, path, chances, last_slot, last_slots, chance, payoff):
    """Lists all players' last slots, chance, and the payoff's number of leaves not worth 0 to all, depth first.

    A node with payoffs in `same` counts as a leaf. Returns how many there are. `last_slot` holds the empty sequences;
    `path` is as in `_link`, with `chances`.
    """
    nodes, depth, node, found = tree.nodes, 0, 0, 0
    while True:
        number, is_worth = same[at(node)], False
        if number >= 0:
            for player in range(len(last_slot)):
                last_slots[player, at(found)] = last_slot[player]
                is_worth = is_worth or tree.payoffs[at(number), player] != 0.0
            chance[at(found)], payoff[at(found)] = chances[at(depth)], number
            found += is_worth
        depth, node = _next_node(nodes, node, path, depth, last_slot, number < 0)
        if depth == 0:
            return found
        above, chances[at(depth)] = nodes[at(path[at(depth - 1), _NODE])], chances[at(depth - 1)]
        if above["kind"] == CHANCE:
            outcome = above["payload"] + path[at(depth - 1), _CHILD]
            chances[at(depth)] *= tree.chance[at(outcome)]["probability"]


def _sorted(order, keys, num_keys):
    """Returns `order`, stably sorted by keys."""
    found = np.empty_like(order)
    _sort(order, keys, np.zeros(num_keys + 1, np.int64), found)
    return found


@kernel
def _sort(order, keys, places, found):
    """Does it; `places` are zeros, one more than there are keys."""
    for each in order:
        places[at(keys[at(each)] + 1)] += 1
    for key in range(1, len(places)):
        places[at(key)] += places[at(key - 1)]
    for each in order:
        place = at(keys[at(each)])
        found[at(places[place])] = each
        places[place] += 1


@kernel
def _add_up(tree, order, last_slots, chance, payoff, player, others, columns, value, lengths):
    """Adds up leaves with the same last slots, by which they are sorted; returns how many entries that makes.

    Writes `columns` and `value`; `lengths` counts entries by the player's last slot.
    """
    count, before = 0, -1
    for leaf in order:
        worth = chance[at(leaf)] * tree.payoffs[at(payoff[at(leaf)]), player]
        if worth == 0.0:
            continue
        is_new = before < 0 or last_slots[player, at(leaf)] != last_slots[player, at(before)]
        for other in others:
            is_new = is_new or last_slots[other, at(leaf)] != last_slots[other, at(before)]
        if is_new:
            for index in range(len(others)):
                columns[at(count), index] = last_slots[others[index], at(leaf)]
            value[at(count)] = 0.0
            lengths[at(last_slots[player, at(leaf)])] += 1
            count += 1
        value[at(count - 1)] += worth
        before = leaf
    return count


@kernel
def _number_terms(first, length, block_lengths, columns, value, heads, after, terms, term_others, term_value):
    """Writes the term of each entry of the rows, in their order, and the terms; returns how many there are.

    Terms with the same slot of the first other player are a list, `heads` and `after`, the last one first.
    """
    found, begin, num_others = 1, 0, columns.shape[1]
    for row in range(len(first)):
        if row > 0 and row % BLOCK == 0:
            begin += block_lengths[row // BLOCK - 1]
        for index in range(length[row]):
            entry, looks = first[row] + index, 0
            head = columns[entry, 0] if num_others > 0 else 0
            term = heads[head]
            while term != _UNSEEN:
                is_same = term_value[term] == value[entry]
                for other in range(1, num_others):
                    is_same = is_same and term_others[term, other] == columns[entry, other]
                if is_same:
                    break
                looks += 1
                term = after[term] if looks < _LOOKS else _UNSEEN
            if term == _UNSEEN:
                term = found
                term_value[term], after[term] = value[entry], heads[head]
                for other in range(num_others):
                    term_others[term, other] = columns[entry, other]
                heads[head] = term
                found += 1
            terms[begin + row % BLOCK + BLOCK * index] = term
    return found
