"""The arrays of a public tree, as the kernels see them, and the product with its payoff matrices.

A *public node* is a decision that all players see being made, with the *hands* that its player may hold there. An
information set is a (public node, hand) pair. Those of a node stand together, and so do the slots of each of them. An
*end* is a terminal of the public tree: it adds a matrix times the other player's reach at its last public node to the
gradient at the own last public node. Matrices that are equal up to a factor are stored once.
"""

from typing import NamedTuple

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.slots import optional_slot
from mccfr_plus.trees.arrays import NUM_EXPANSION, no
from mccfr_plus.trees.scratch import at

# One record per step of a traversal of the public tree, parents first: a decision (`kind` is the player), `CHANCE`, an
# end (`TERMINAL`), or `LEAVE`, which follows the subtree of each public outcome.
PUBLIC_NODE = np.dtype(
    [
        ("kind", np.int32),
        ("num_children", np.int32),  # actions, or public outcomes
        ("num_hands", np.int32),  # of a decision
        ("first", np.int32),  # decision: its first infoset; chance: first of `chance`; end: its number; LEAVE: the node
        ("last", np.int32),  # decision or chance: the node after its subtree
    ]
)
LEAVE = -5

# A hand of poker in a table; see `trees.public.showdowns`.
HAND = np.dtype(
    [
        ("low", np.int8),  # its cards
        ("high", np.int8),
        ("group", np.int16),  # equal for hands of equal strength
        ("same", np.int32),  # the place of the same hand among the other player's; their number if they lack it
        ("chance", np.float64),  # its weight
    ]
)

# Columns of `PublicArrays.ends`, of each player: the first hand's last slot, the distance to that of the next hand, the
# number of hands, and where the matrix begins in `matrices`, or ~(where its rows begin in `row_start`).
SLOT, STRIDE, HANDS, MATRIX = range(4)

# Columns of `PublicArrays.segments`; those of player 1 are 2 further. The owner is a thread or `TOP`.
OWNER, FIRST, LAST, FIRST_SLOT, LAST_SLOT, FIRST_END, LAST_END = 0, 1, 2, 5, 6, 9, 10
TOP = -1


BLOCK = 8  # rows of a matrix that are summed side by side, as each sum waits for its last addition
_FEW = 8  # times as many entries as differences take as long
_NO_CHANGE = 4e-16  # of entries of about 1 that differ by rounding


class PublicArrays(NamedTuple):
    """All arrays of a public tree that kernels read; the first ones are as in `TreeArrays`."""

    nodes: np.ndarray  # [num_nodes] PUBLIC_NODE
    chance: np.ndarray  # [num_outcomes] OUTCOME: the public outcomes, with their probabilities over all hands
    outcome_node: np.ndarray  # [num_outcomes] int32: where the subtree of each begins in `nodes`
    infosets: np.ndarray  # [num_infosets] INFOSET
    infoset_range: np.ndarray  # [num_players + 1] int64
    slot_range: np.ndarray  # [num_players + 1] int64
    ends: np.ndarray  # [num_ends, 2, 4] int32, by player
    scales: np.ndarray  # [num_ends, 2] float64: what the matrix of each player is multiplied by
    matrices: np.ndarray = no(0, np.float64)  # [any]: blocks of `BLOCK` own hands, in each the other player's hands
    # Matrices whose neighboring rows differ in few entries, such as comparisons of cards: the differences from the row
    # before, those of row r are entries row_start[r] .. row_start[r + 1] - 1.
    row_start: np.ndarray = no(0, np.int64)  # [any]
    change_hand: np.ndarray = no(0, np.int32)  # [any]: the other player's hand
    change: np.ndarray = no(0, np.float64)  # [any]
    # In the place of matrices where all hands are pairs of cards with a strength: see `trees.public.showdowns`.
    hands: np.ndarray = no(0, HAND)  # [any]: those of all tables
    tables: np.ndarray = no((0, 2, 2), np.int64)  # by player, where the hands of each begin, and their number
    order: np.ndarray = no(0, np.int32)  # [any]: numbers of hands at players' last nodes
    segments: np.ndarray = no((0, 11), np.int64)  # consecutive nodes that belong to one thread, or to the top
    expansion: np.ndarray = no(NUM_EXPANSION, np.int64)  # all zeros, as in complete trees


@optional_slot
@inline_kernel
def ADD_END(tree, reach, gradient, player, end, weight):
    """Adds an end to the player's gradient, given the other player's reach. `gradient` is modified in place."""
    ends, matrices, other = tree.ends, tree.matrices, 1 - player
    slot, stride, hands = ends[at(end), player, SLOT], ends[at(end), player, STRIDE], ends[at(end), player, HANDS]
    entry, scale = np.int64(ends[at(end), player, MATRIX]), weight * tree.scales[at(end), player]
    others = ends[at(end), other, HANDS]
    first_other, next_other = np.int64(ends[at(end), other, SLOT]), np.int64(ends[at(end), other, STRIDE])
    if entry < 0:
        total = 0.0
        for hand in range(hands):
            for number in range(tree.row_start[at(~entry + hand)], tree.row_start[at(~entry + hand + 1)]):
                total += tree.change[at(number)] * reach[at(first_other + tree.change_hand[at(number)] * next_other)]
            gradient[at(slot + hand * stride)] += scale * total
        return
    for begin in range(0, hands, BLOCK):
        sum_0, sum_1, sum_2, sum_3, sum_4, sum_5, sum_6, sum_7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        from_slot = first_other
        for _ in range(others):
            above = reach[at(from_slot)]
            sum_0 += matrices[at(entry)] * above
            sum_1 += matrices[at(entry + 1)] * above
            sum_2 += matrices[at(entry + 2)] * above
            sum_3 += matrices[at(entry + 3)] * above
            sum_4 += matrices[at(entry + 4)] * above
            sum_5 += matrices[at(entry + 5)] * above
            sum_6 += matrices[at(entry + 6)] * above
            sum_7 += matrices[at(entry + 7)] * above
            entry += BLOCK
            from_slot += next_other
        sums = sum_0, sum_1, sum_2, sum_3, sum_4, sum_5, sum_6, sum_7
        for row in range(min(hands - begin, BLOCK)):
            gradient[at(slot + (begin + row) * stride)] += scale * sums[row]


@inline_kernel
def public_gradient(tree, reach, gradient, player):
    """Writes the player's exact gradient, given the other player's reach. `gradient` is modified in place."""
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        gradient[at(slot)] = 0.0
    gradient[at(tree.slot_range[-1] + player)] = 0.0
    for end in range(len(tree.ends)):
        ADD_END(tree, reach, gradient, player, end, 1.0)


def with_changes(ends: np.ndarray, matrices: np.ndarray) -> dict[str, np.ndarray]:
    """Returns `ends`, `row_start`, `change_hand` and `change`, with row differences where these have few entries."""
    starts, rows, hands, changes, ends = [np.zeros(0, np.int64)], 0, list[np.ndarray](), list[np.ndarray](), ends.copy()
    total = 0
    for player in range(2):
        keys = np.stack([ends[:, player, MATRIX], ends[:, player, HANDS], ends[:, 1 - player, HANDS]], axis=1)
        for begin, own, other in np.unique(keys, axis=0).tolist():
            blocks = -(-own // BLOCK)
            block = matrices[begin : begin + blocks * other * BLOCK].reshape(blocks, other, BLOCK)
            change = np.diff(block.transpose(0, 2, 1).reshape(-1, other)[:own], axis=0, prepend=0.0)
            change[np.abs(change) < _NO_CHANGE] = 0.0
            row, hand = np.nonzero(change)
            if len(row) * _FEW < own * other:
                starts.append(total + np.searchsorted(row, np.arange(own + 1)))
                hands.append(hand.astype(np.int32))
                changes.append(change[row, hand])
                ends[(keys == [begin, own, other]).all(1), player, MATRIX] = ~rows
                rows, total = rows + own + 1, total + len(row)
    return {
        "ends": ends,
        "row_start": np.concatenate(starts),
        "change_hand": np.concatenate([np.zeros(0, np.int32), *hands]),
        "change": np.concatenate([np.zeros(0), *changes]),
    }
