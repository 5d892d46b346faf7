"""The payoff matrix of a two-player game in sequence form, for games that are traversed by rules: four bytes an entry.

Row r and column c are last slots of player 0 and player 1. Where the play ends after both, there is an entry: the sum
over these leaves of chance's probability times both payoffs. Few different pairs of these occur, so that an entry is a
word of 32 bits: the column in the lower ones, and above the number of its pair of values. Entries stand row by row, in
the order of their first leaves.

A product with a player's reach gives the other's gradient, at one or two nanoseconds an entry. Rows that player 0 does
not reach are left out of player 1's.

Reference: von Stengel 1996, "Efficient computation of behavior strategies", section 3.
"""

from typing import NamedTuple

import numba
import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import load_word, pointer
from mccfr_plus.kernels.scratch import at
from mccfr_plus.tree.expansion import EXPANDING, NUM_INFOSETS, NUM_SLOTS, STATUS

MOST_VALUES = 4096


class PayoffMatrix(NamedTuple):
    """The matrix."""

    starts: np.ndarray  # [num_slots + 2] int64: entries of row r are starts[r] .. starts[r + 1] - 1
    entries: np.ndarray  # [num_entries] uint32
    values: np.ndarray  # [2, MOST_VALUES] float64
    column_bits: int


@kernel
def add_products(tree, matrix, reach, gradient, player, piece, num_pieces):
    """Adds a piece of the matrix times the other player's reach to the player's gradient. Modified in place.

    It ends early if the tree's `STATUS` says so.

    Args:
        tree: `TreeArrays`.
        matrix: The words that hold the addresses of the matrix: starts, entries, values; the number of entries, and
            the bits of a column.
        reach: ``[slot_capacity + 2]``, up to date for the other player. Behind the slots it is overwritten.
        gradient: ``[slot_capacity + 2]``. Behind the slots it is overwritten.
        player: Whose gradient.
        piece: The piece.
        num_pieces: In how many the entries are divided, row by row.
    """
    num_slots, empty = tree.expansion[NUM_SLOTS], tree.slot_range[-1]
    starts = numba.carray(pointer(matrix[0]), num_slots + 2, np.int64)
    entries = numba.carray(pointer(matrix[1]), matrix[3], np.uint32)
    values = numba.carray(pointer(matrix[2]), (2, MOST_VALUES), np.float64)
    bits = np.uint32(matrix[4])
    mask = np.uint32((np.int64(1) << matrix[4]) - 1)
    begin, end = matrix[3] * piece // num_pieces, matrix[3] * (piece + 1) // num_pieces
    reach[num_slots], gradient[num_slots] = 1.0, 0.0  # no slot stands here, so that it can be the empty sequence
    for row in range(num_slots + 1):
        first, last = starts[at(row)], starts[at(row + 1)]
        if first == last or first < begin or first >= end:
            continue
        if load_word(tree.expansion, STATUS) != EXPANDING:
            return
        if player == 0:
            sum_0, sum_1, sum_2, sum_3, entry = 0.0, 0.0, 0.0, 0.0, first
            while entry + 4 <= last:
                word_0, word_1 = entries[at(entry)], entries[at(entry + 1)]
                word_2, word_3 = entries[at(entry + 2)], entries[at(entry + 3)]
                sum_0 += values[0, at(word_0 >> bits)] * reach[at(word_0 & mask)]
                sum_1 += values[0, at(word_1 >> bits)] * reach[at(word_1 & mask)]
                sum_2 += values[0, at(word_2 >> bits)] * reach[at(word_2 & mask)]
                sum_3 += values[0, at(word_3 >> bits)] * reach[at(word_3 & mask)]
                entry += 4
            while entry < last:
                sum_0 += values[0, at(entries[at(entry)] >> bits)] * reach[at(entries[at(entry)] & mask)]
                entry += 1
            gradient[at(row if row < num_slots else empty)] += (sum_0 + sum_1) + (sum_2 + sum_3)
        else:
            above = reach[at(row if row < num_slots else empty)]
            if above == 0.0:
                continue
            for entry in range(first, last):
                word = entries[at(entry)]
                gradient[at(word & mask)] += above * values[1, at(word >> bits)]
    if player == 1:
        gradient[at(empty + 1)] += gradient[at(num_slots)]


@inline_kernel
def set_reach(tree, strategy, reach, player):
    """Writes a player's reach of all of its slots in a game by rules. `reach` is modified in place."""
    infosets = tree.infosets
    for infoset in range(tree.expansion[NUM_INFOSETS]):
        record = infosets[at(infoset)]
        if record["player"] == player:
            first, above = record["first_slot"], reach[at(record["parent_slot"])]
            for slot in range(first, first + record["num_actions"]):
                reach[at(slot)] = above * strategy[at(slot)]


@kernel
def both_gradients(tree, matrix, strategy, reach, gradient):
    """Adds both players' gradients under a strategy. See `add_products`; the last two are modified in place."""
    for player in range(2):
        reach[tree.slot_range[-1] + 1 - player] = 1.0
        set_reach(tree, strategy, reach, 1 - player)
        add_products(tree, matrix, reach, gradient, player, 0, 1)
