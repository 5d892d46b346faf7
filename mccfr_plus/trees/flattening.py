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

from mccfr_plus.games.rules import CHANCE
from mccfr_plus.kernels.compile import announce_compilation, inline_kernel, kernel, source_of
from mccfr_plus.kernels.intrinsics import at
from mccfr_plus.trees.arrays import BLOCK, OUTCOME, Shape, TreeArrays
from mccfr_plus.trees.public.arrays import public_gradient
from mccfr_plus.trees.scratch import IS_PUBLIC

_MIXED, _WORTHLESS = -1, -2  # in the place of the number of payoffs: several, or 0 for all players
_NONE = -1
_WINDOW = 4096  # rows that are sorted by length
_MIN_USES = 2.75  # of a term, on average, without which multiplying each entry is faster
_FEW = 1000  # entries of arrays for which a kernel runs as plain Python: compiling it takes 0.2 s
_LOOKS = 64  # terms with the same other slot among which a value is looked up, so that it takes no quadratic time


class FlatTree(NamedTuple):
    arrays: TreeArrays
    shape: Shape
    order: np.ndarray  # [num_infosets] int64: the recorded number of each infoset
    slot_action: np.ndarray  # [num_slots] int64
    outcome_action: np.ndarray  # of each row of `TreeArrays.chance`, int64


def flatten(
    shape: Shape,
    nodes: np.ndarray,
    infosets: np.ndarray,
    slot_action: np.ndarray,
    distributions: Sequence[Sequence[tuple[int, float]]],
    payoffs: np.ndarray,
) -> FlatTree:
    """Returns the tree of a recording, in which all is numbered by first visit, and slots within their player.

    Payloads in `nodes`, which is modified in place, are first slots, numbers of distributions, or rows of payoffs.
    Parents in `infosets` are -1 where there is none.
    """
    num_players, counts = payoffs.shape[1], infosets["num_actions"]
    order = np.argsort(infosets["player"].astype(np.int8), kind="stable")
    recorded = rows_of((np.cumsum(counts) - counts)[order], counts[order])
    infosets = infosets[order]
    infoset_range = np.searchsorted(infosets["player"], np.arange(num_players + 1))
    slot_range = np.append(0, np.cumsum(infosets["num_actions"], dtype=np.int64))[infoset_range]
    begins, parents = slot_range[infosets["player"]], infosets["parent_slot"]
    infosets["first_slot"] += begins
    infosets["parent_slot"] = np.where(parents < 0, slot_range[-1] + infosets["player"], begins + parents)
    kinds, payloads = nodes["kind"], nodes["payload"]
    for player in range(1, num_players):
        np.add(payloads, slot_range[player], out=payloads, where=kinds == player, casting="unsafe")
    ends, is_chance = np.cumsum([0, *map(len, distributions)]), kinds == CHANCE
    payloads[is_chance] = ends[payloads[is_chance]]
    outcome_action = np.array([action for d in distributions for action, _ in d], np.int64)
    chance = np.concatenate([np.zeros(0, OUTCOME), *(alias_table(np.array([p for _, p in d])) for d in distributions)])
    arrays = TreeArrays(nodes, payoffs, chance, infosets, infoset_range, slot_range)
    return FlatTree(arrays, shape, order, slot_action[recorded], outcome_action)


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


# --- the leaves by last slot ---


def with_leaves(arrays: TreeArrays, max_stack: int, *, folded: bool = False) -> TreeArrays:
    """Returns the arrays with the leaf tables filled, perhaps folded (see above). `max_stack` is the tree's."""
    num_players, num_slots = len(arrays.slot_range) - 1, int(arrays.slot_range[-1])
    empties, same = num_slots + np.arange(num_players), np.empty(len(arrays.nodes), np.int32)
    numbers = np.where(arrays.payoffs.any(axis=1), np.arange(len(arrays.payoffs)), _WORTHLESS)
    count = _run(_find_same, arrays.nodes, numbers, folded, same)
    leaves, chance = np.empty((num_players + 1, count), np.int32), np.empty(count)
    stack, chances = np.zeros((max_stack, num_players + 1), np.int32), np.ones(max_stack)
    stack[0, :-1] = empties
    _run(_list_leaves, arrays.nodes, arrays.chance, same, stack, chances, leaves, chance)
    order = np.arange(count, dtype=np.int32)
    for keys in leaves[-2::-1]:  # the least significant first
        order = _sorted(order, keys, num_slots + num_players)
    leaves, payoff, chance = np.take(leaves[:-1], order, axis=1), leaves[-1][order], chance[order]
    is_first = np.ones(count, np.bool_)
    is_first[1:] = (leaves[:, 1:] != leaves[:, :-1]).any(axis=0)
    entry, slots = np.cumsum(is_first), np.compress(is_first, leaves, axis=1)
    entry -= 1
    del order, leaves  # they are as large as the tree
    listed: np.ndarray = arrays.infosets
    if folded:
        parents = np.append(np.repeat(listed["parent_slot"], listed["num_actions"]), empties)  # of slots
        has_leaves = np.zeros(len(parents), np.bool_)
        has_leaves[slots.reshape(-1)] = True
        while not has_leaves[above := parents[has_leaves]].all():
            has_leaves[above] = True
        listed = listed[np.logical_or.reduceat(has_leaves[:num_slots], listed["first_slot"])]
    listed_range = np.searchsorted(listed["player"], np.arange(num_players + 1))
    blocks: list[tuple] = []
    for player in range(num_players):
        records = listed[listed_range[player] : listed_range[player + 1]]
        rows = np.append(rows_of(records["first_slot"], records["num_actions"]), empties[player])
        sums = np.bincount(entry, chance * arrays.payoffs[payoff, player], slots.shape[1])
        blocks.append(_blocks_of(player, rows, slots, sums, num_slots))
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
    others = arrays.leaf_others.reshape(len(arrays.leaf_value), len(arrays.slot_range) - 2)[terms]
    return rows[is_used], others[is_used], arrays.leaf_value[terms[is_used]]


def _blocks_of(player, rows, slots, sums, num_slots):
    """Returns lengths of blocks, rows of blocks, terms of entries, and other players' slots and values of terms."""
    dump, order = num_slots + len(slots), np.flatnonzero(sums).astype(np.int32)
    if player > 0:  # by the others' slots they are sorted
        order = _sorted(order, slots[player], dump)
    length = np.bincount(slots[player, order], minlength=dump)[rows]
    columns, value = np.take(np.delete(slots, player, axis=0), order, axis=1), sums[order]
    first = np.cumsum(length) - length
    row_order = np.lexsort((-length, np.arange(len(rows)) // _WINDOW))
    block_rows = np.full(-(-len(rows) // BLOCK) * BLOCK, dump, np.int32)
    block_rows[: len(rows)] = rows[row_order]
    block_lengths = np.maximum.reduceat(length[row_order], np.arange(0, len(rows), BLOCK)) * BLOCK
    terms, heads = np.zeros(block_lengths.sum(), np.int32), np.full(dump, _NONE, np.int32)
    links = np.empty((2, len(value)), np.int32)
    found = _run(_number_terms, first[row_order], length[row_order], block_lengths, columns, value, heads, links, terms)
    others = np.append(np.full((len(slots) - 1, 1), num_slots, np.int32), columns[:, links[1, :found]], axis=1).T
    return block_lengths, block_rows, terms, np.ascontiguousarray(others), np.append(0.0, value[links[1, :found]])


def _run(kernel, *arguments):
    """Runs a kernel, as plain Python if all arrays are short."""
    run = kernel if max(map(np.size, arguments)) > _FEW else source_of(kernel)
    with announce_compilation(run, "the tables of trees", 1.0):
        return run(*arguments)


@kernel
def _find_same(nodes, numbers, folded, same):
    """Writes the number in `numbers` of the payoffs of leaves, and if `folded` of nodes whose leaves pay the same.

    Returns how many nodes with payoffs are right below others.
    """
    count = 0
    for node in range(len(nodes) - 1, -1, -1):
        first, width, below = nodes[at(node)]["first_child"], nodes[at(node)]["num_children"], 0
        number = same[at(first)] if folded and width > 0 else _MIXED
        for child in range(first, first + width):
            number = number if same[at(child)] == number else _MIXED
            below += same[at(child)] >= 0
        if width == 0:
            number = numbers[at(nodes[at(node)]["payload"])]
        elif number == _MIXED:
            count += below
        same[at(node)] = number
    return count + (same[0] >= 0)


@kernel
def _list_leaves(nodes, outcomes, same, stack, chances, leaves, chance):
    """Lists all players' last slots and the payoffs' number of nodes with payoffs in `same`, and chance, depth first.

    The stack has last slots and the node; it begins with the root.
    """
    last, waiting, found = len(leaves) - 1, 1, 0
    while waiting > 0:
        waiting -= 1
        node = nodes[at(stack[at(waiting), last])]
        number = same[at(stack[at(waiting), last])]
        if number >= 0:
            for player in range(last):
                leaves[player, at(found)] = stack[at(waiting), player]
            leaves[last, at(found)], chance[at(found)] = number, chances[at(waiting)]
            found += 1
        elif number == _MIXED:
            kind, first, count, payload = node["kind"], node["first_child"], node["num_children"], node["payload"]
            for child in range(count):  # the first one on top, the last one in the node's place
                place = waiting + count - 1 - child
                for player in range(last):
                    stack[at(place), player] = stack[at(waiting), player]
                stack[at(place), last], chances[at(place)] = first + child, chances[at(waiting)]
                if kind >= 0:
                    stack[at(place), at(kind)] = payload + child
                else:
                    chances[at(place)] *= outcomes[at(payload + child)]["probability"]
            waiting += count


def _sorted(order, keys, num_keys):
    """Returns `order`, stably sorted by keys."""
    found = np.empty_like(order)
    _run(_sort, order, keys, np.zeros(num_keys + 1, np.int64), found)
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
def _number_terms(first, length, block_lengths, columns, value, heads, links, terms):
    """Writes the term of each entry of the rows, in their order; returns how many there are.

    `links` has the entry before with the same slot of the first other player, if it has another term, and the first
    entry of each term. `heads` begins these lists.
    """
    found, begin = 0, 0
    for row in range(len(first)):
        if row > 0 and row % BLOCK == 0:
            begin += block_lengths[at(row // BLOCK - 1)]
        for index in range(length[at(row)]):
            entry, looks = first[at(row)] + index, 0
            head = columns[0, at(entry)] if len(columns) > 0 else 0
            term = heads[at(head)]
            while term != _NONE:
                same = links[1, at(term)]
                is_same = value[at(same)] == value[at(entry)]
                for other in range(1, len(columns)):
                    is_same = is_same and columns[other, at(same)] == columns[other, at(entry)]
                if is_same:
                    break
                looks += 1
                term = links[0, at(term)] if looks < _LOOKS else _NONE
            if term == _NONE:
                term = found
                links[0, at(term)], links[1, at(term)], heads[at(head)] = heads[at(head)], entry, term
                found += 1
            terms[at(begin + row % BLOCK + BLOCK * index)] = 1 + term
    return found


# --- the gradient ---


@inline_kernel
def exact_gradient(tree, reach, gradient, player):
    """Writes the player's rows of the gradient, given all players' reach. `gradient` is modified in place.

    It has room for the terms of a tree with leaf tables: see `scratch.gradient_size`.
    """
    if IS_PUBLIC():
        public_gradient(tree, reach, gradient, player)
    else:
        write_terms(tree, reach, gradient, player, 0, 1)
        add_rows(tree, reach, gradient, tree.leaf_range[player], tree.leaf_range[player + 1])


@inline_kernel
def write_terms(tree, reach, gradient, player, share, shares):
    """Writes a share of the terms behind the gradient, which is modified in place; nothing if entries are the terms."""
    if len(tree.leaf_term) == 0:
        return
    first, num_others = tree.term_range[player], len(tree.slot_range) - 2
    count, others, value = tree.term_range[player + 1] - first, tree.leaf_others, tree.leaf_value
    begin, end = first + count * share // shares, first + count * (share + 1) // shares
    place = tree.slot_range[-1] + len(tree.slot_range) - first
    if num_others == 1:
        for term in range(begin, end):
            gradient[at(place + term)] = value[at(term)] * reach[at(others[at(term)])]
    else:
        for term in range(begin, end):
            product = value[at(term)]
            for other in range(term * num_others, (term + 1) * num_others):
                product *= reach[at(others[at(other)])]
            gradient[at(place + term)] = product


@inline_kernel
def add_rows(tree, reach, gradient, first, last):
    """Adds up the terms of the rows of blocks first .. last - 1. `gradient` is modified in place."""
    if len(tree.leaf_term) > 0:
        _add_terms(tree, gradient, first, last)
    else:
        _multiply_entries(tree, reach, gradient, first, last)


@inline_kernel
def _add_terms(tree, gradient, first, last):
    """Adds up the terms of each row, four rows at a time. `gradient` is modified in place."""
    start, row, terms = tree.leaf_start, tree.leaf_row, tree.leaf_term
    place = tree.slot_range[-1] + len(tree.slot_range)
    for block in range(first, last):
        sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
        for entry in range(start[at(block)], start[at(block + 1)], BLOCK):
            sum_0 += gradient[at(place + terms[at(entry)])]
            sum_1 += gradient[at(place + terms[at(entry + 1)])]
            sum_2 += gradient[at(place + terms[at(entry + 2)])]
            sum_3 += gradient[at(place + terms[at(entry + 3)])]
        _write_rows(gradient, row, block * BLOCK, sum_0, sum_1, sum_2, sum_3)


@inline_kernel
def _multiply_entries(tree, reach, gradient, first, last):
    """Writes (sparse matrix) x (the other player's reach), four rows at a time, where each entry is a term."""
    start, row, others, value = tree.leaf_start, tree.leaf_row, tree.leaf_others, tree.leaf_value
    for block in range(first, last):
        sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
        for entry in range(start[at(block)], start[at(block + 1)], BLOCK):
            sum_0 += value[at(entry)] * reach[at(others[at(entry)])]
            sum_1 += value[at(entry + 1)] * reach[at(others[at(entry + 1)])]
            sum_2 += value[at(entry + 2)] * reach[at(others[at(entry + 2)])]
            sum_3 += value[at(entry + 3)] * reach[at(others[at(entry + 3)])]
        _write_rows(gradient, row, block * BLOCK, sum_0, sum_1, sum_2, sum_3)


@inline_kernel
def _write_rows(gradient, row, first, sum_0, sum_1, sum_2, sum_3):
    gradient[at(row[at(first)])] = sum_0
    gradient[at(row[at(first + 1)])] = sum_1
    gradient[at(row[at(first + 2)])] = sum_2
    gradient[at(row[at(first + 3)])] = sum_3
