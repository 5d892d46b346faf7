"""The payoff matrix of a two-player game in sequence form, for games that are traversed with compiled rules: four bytes
a leaf.

Rows and columns are last slots of players 0 and 1. Where a play ends after both, an entry stands for chance's
probability times both payoffs. Few different pairs of these occur, so that it is a word of 32 bits: the column in the
lower ones, and above the number of its pair. A product with a player's reach gives the other's gradient, at one or two
nanoseconds a leaf. Reference: von Stengel 1996, "Efficient computation of behavior strategies", section 3.
"""

from typing import NamedTuple

import numba
import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import load_word, pointer
from mccfr_plus.trees.expansion import EXPANDING, NUM_INFOSETS, NUM_SLOTS, STATUS
from mccfr_plus.trees.scratch import at

MOST_VALUES = 4096
BYTES_PER_ENTRY = np.dtype(np.uint32).itemsize
_ARRAYS_OF_ROWS = 3  # of the matrix, and to fill it

# Entries of `Leaves.numbers`.
EMPTY, COLUMN_BITS, DISTINCT_VALUES, LAST_VALUE, LACKS_VALUES, NUM_NUMBERS = range(6)


class Leaves(NamedTuple):
    """Leaves that are counted, and then listed, by a traversal of all histories."""

    places: np.ndarray  # [num_rows] int64: how many entries a row has; then where the next one goes
    entries: np.ndarray  # [num_entries] uint32; none while they are counted
    values: np.ndarray  # [MOST_VALUES, 2] float64
    numbers: np.ndarray  # [NUM_NUMBERS] int64; see above: `EMPTY` is what stands for empty sequences


class PayoffMatrix(NamedTuple):
    starts: np.ndarray  # [num_slots + 2] int64: entries of row r are starts[r] .. starts[r + 1] - 1
    entries: np.ndarray  # [num_entries] uint32
    values: np.ndarray  # [2, MOST_VALUES] float64
    column_bits: int


def leaves_to_count(slot_capacity: int) -> Leaves:
    numbers = np.zeros(NUM_NUMBERS, np.int64)
    numbers[EMPTY] = slot_capacity
    values, words = np.zeros((MOST_VALUES, 2)), np.zeros(0, np.uint32)
    return Leaves(np.zeros(slot_capacity + 1, np.int64), words, values, numbers)


def bytes_of(num_entries: int, num_slots: int) -> int:
    """Returns the memory of a matrix while it is filled."""
    return num_entries * BYTES_PER_ENTRY + (num_slots + 1) * _ARRAYS_OF_ROWS * np.dtype(np.int64).itemsize


def room_for_leaves(counted: Leaves, num_slots: int) -> tuple[PayoffMatrix, Leaves] | None:
    """Returns an empty matrix and what lists its entries; None if a word has no room for so many different values."""
    bits = (num_slots + 1).bit_length()
    if counted.numbers[DISTINCT_VALUES] > 1 << (8 * BYTES_PER_ENTRY - bits) or counted.numbers[LACKS_VALUES]:
        return None
    places, starts = counted.places, np.zeros(num_slots + 2, np.int64)
    places[num_slots] = places[-1]  # of empty sequences
    np.cumsum(places[: num_slots + 1], out=starts[1:])
    places[: num_slots + 1] = starts[:-1]
    counted.numbers[EMPTY], counted.numbers[COLUMN_BITS] = num_slots, bits
    listed = counted._replace(entries=np.zeros(starts[-1], np.uint32))
    return PayoffMatrix(starts, listed.entries, np.ascontiguousarray(counted.values.T), bits), listed


@inline_kernel
def list_leaf(leaves, capacity, row, column, weight, payoffs):
    """Counts a leaf, or lists it if there is room. Rows and columns from `capacity` on are empty sequences."""
    first, second, numbers = weight * payoffs[0], weight * payoffs[1], leaves.numbers
    if first == 0.0 and second == 0.0:
        return
    values, count, number = leaves.values, numbers[DISTINCT_VALUES], numbers[LAST_VALUE]
    if number >= count or values[at(number), 0] != first or values[at(number), 1] != second:
        number = 0
        while number < count and (values[at(number), 0] != first or values[at(number), 1] != second):
            number += 1
        if number == count and count < MOST_VALUES:
            values[at(number), 0], values[at(number), 1] = first, second
            numbers[DISTINCT_VALUES] += 1
        elif number == count:
            numbers[LACKS_VALUES], number = 1, 0
        numbers[LAST_VALUE] = number
    if row >= capacity:
        row = numbers[EMPTY]
    place = leaves.places[at(row)]
    leaves.places[at(row)] = place + 1
    if len(leaves.entries) > 0:
        if column >= capacity:
            column = numbers[EMPTY]
        leaves.entries[at(place)] = np.uint32(number << numbers[COLUMN_BITS] | column)


@kernel
def add_products(tree, matrix, reach, gradient, player, piece, num_pieces):
    """Adds a piece of the matrix times the other player's reach, which must be up to date, to the player's gradient.

    `matrix` are the words from `rows.MATRIX` on. `reach` and `gradient`, ``[slot_capacity + 2]``, are overwritten
    behind the slots found. It ends early if the tree's `STATUS` says so.
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
    infosets = tree.infosets
    for infoset in range(tree.expansion[NUM_INFOSETS]):
        record = infosets[at(infoset)]
        if record["player"] == player:
            first, above = record["first_slot"], reach[at(record["parent_slot"])]
            for slot in range(first, first + record["num_actions"]):
                reach[at(slot)] = above * strategy[at(slot)]


@kernel
def both_gradients(tree, matrix, strategy, reach, gradient):
    for player in range(2):
        reach[tree.slot_range[-1] + 1 - player] = 1.0
        set_reach(tree, strategy, reach, 1 - player)
        add_products(tree, matrix, reach, gradient, player, 0, 1)
