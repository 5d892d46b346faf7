"""How the payoff matrix is made: traversals of all histories count its leaves, then list them, some rows at a time.

Leaves with the same last slots of both players are added up once their rows are complete: orders in which dice are
thrown, and what symmetries of a board turn into each other. Only then do further rows take memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.scratch import at
from mccfr_plus.tree.payoff_matrix import MOST_VALUES, PayoffMatrix

_WORD_BITS = 32
_ENTRY, _NUMBER = np.dtype(np.uint32).itemsize, np.dtype(np.int64).itemsize
_NUMBERS_OF_ROWS = 2  # per row, beside those of threads: `_starts` and `_places`
_MOST_PARTS = 16  # each takes a traversal of all histories

# Entries of `Leaves.leaf_numbers`. `EMPTY` is what stands for empty sequences; rows from `FIRST_ROW` to before
# `END_ROW` are listed, `OFFSET` places before those that `leaf_next` says.
EMPTY, COLUMN_BITS, DISTINCT_VALUES, LAST_VALUE, LACKS_VALUES, FIRST_ROW, END_ROW, OFFSET, NUM_NUMBERS = range(9)


class Leaves(NamedTuple):
    """Leaves that are counted, and then listed, by a traversal of all histories."""

    leaf_next: np.ndarray  # [num_rows] int64: how many leaves a row has; then where the next one goes
    leaf_entries: np.ndarray  # [num_entries] uint32; none while they are counted
    leaf_values: np.ndarray  # [MOST_VALUES, 2] float64
    leaf_numbers: np.ndarray  # [NUM_NUMBERS] int64; see above


def no_leaves() -> Leaves:
    """Returns no room."""
    return Leaves(np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros((0, 2)), np.zeros(NUM_NUMBERS, np.int64))


def leaves_to_count(slot_capacity: int) -> Leaves:
    """Returns what counts the leaves of a game with room for so many slots."""
    numbers = np.zeros(NUM_NUMBERS, np.int64)
    numbers[EMPTY], numbers[END_ROW] = slot_capacity, slot_capacity + 1
    values, words = np.zeros((MOST_VALUES, 2)), np.zeros(0, np.uint32)
    return Leaves(np.zeros(slot_capacity + 1, np.int64), words, values, numbers)


class PayoffListing:
    """Makes the payoff matrix of leaves that were counted.

    Args:
        counted: What each thread has counted; see `leaves_to_count`. Its arrays are used again.
        num_slots: Of both players.
        room: Bytes that the matrix may take while it is made.

    Attributes:
        num_leaves: How many leaves are not worth 0.
        missing_bytes: What the memory lacks for the next part, if that is why `next_part` has returned None; else 0.
    """

    def __init__(self, counted: Sequence[Leaves], num_slots: int, room: int):
        self._bits = (num_slots + 1).bit_length()
        self._most = min(1 << (_WORD_BITS - self._bits), MOST_VALUES)
        found = [leaves.leaf_values[: leaves.leaf_numbers[DISTINCT_VALUES]] for leaves in counted]
        distinct = np.unique(np.concatenate(found), axis=0)
        self.has_too_many_values = len(distinct) > self._most or any(
            leaves.leaf_numbers[LACKS_VALUES] for leaves in counted
        )
        self.missing_bytes = 0
        self._next_row, self._num_rows = 0, num_slots + 1
        self._room = room - self._num_rows * _NUMBER * (_NUMBERS_OF_ROWS + len(counted))
        self._counted = counted
        if self.has_too_many_values:
            return
        # Up to the next row where entries begin in the matrix, after it where leaves begin in a list of all.
        self._starts, rows = np.zeros(self._num_rows + 1, np.int64), slice(self._num_rows)
        for leaves in counted:
            leaves.leaf_next[num_slots] = leaves.leaf_next[-1]  # of empty sequences
            self._starts[1:] += leaves.leaf_next[rows]
        np.cumsum(self._starts, out=self._starts)
        begin = self._starts[:-1].copy()
        for leaves in counted:  # in a row come the leaves of the first thread, then those of the second one
            counts = leaves.leaf_next[rows].copy()
            leaves.leaf_next[rows] = begin
            begin += counts
        self.num_leaves, self._first_leaf = int(self._starts[-1]), 0
        self._entries, self._values = np.zeros(self.num_leaves, np.uint32), np.zeros((MOST_VALUES, 2))
        self._values[: len(distinct)] = distinct
        self._numbers = np.zeros(NUM_NUMBERS, np.int64)
        self._numbers[:DISTINCT_VALUES] = num_slots, self._bits
        self._numbers[DISTINCT_VALUES] = self._num_distinct = len(distinct)
        self._places = np.zeros(self._num_rows, np.int64)
        self._sums = np.zeros((self._most, self._most), np.int32)

    def next_part(self) -> list[Leaves] | None:
        """Returns what each thread lists next, before `add_up`; None at the end, or if the matrix cannot be made."""
        if self.has_too_many_values or self._next_row == self._num_rows:
            return None
        begin, left = int(self._starts[self._next_row]), self.num_leaves - self._first_leaf
        room = self._room // _ENTRY - begin
        ends = self._starts[self._next_row + 1 :]
        end_row = self._next_row + int(np.searchsorted(ends, self._first_leaf + room, "right"))
        least = max(int(ends[0]) - self._first_leaf, -(-left // _MOST_PARTS))
        if room < least:
            whole = self.num_leaves  # or, if some leaves were added up, as much less as these have become
            if self._first_leaf:
                whole = min(whole, begin * self.num_leaves // self._first_leaf + least)
            self.missing_bytes = max(whole * _ENTRY - self._room, (least - room) * _ENTRY)
            return None
        numbers = self._numbers.copy()
        numbers[DISTINCT_VALUES] = self._num_distinct
        numbers[FIRST_ROW], numbers[END_ROW], numbers[OFFSET] = self._next_row, end_row, self._first_leaf - begin
        self._end_row = end_row
        return [Leaves(leaves.leaf_next, self._entries, self._values, numbers.copy()) for leaves in self._counted]

    @property
    def progress(self) -> str:
        """How much was listed before, to be written after what is going on; "" at the beginning."""
        return f", after {self._first_leaf / self.num_leaves:.0%}" if self._first_leaf else ""

    def add_up(self) -> None:
        """Adds up leaves of the same row and column, in the part that was listed."""
        first_leaf, self._first_leaf = self._first_leaf, int(self._starts[self._end_row])
        offset = first_leaf - int(self._starts[self._next_row])
        _add_up(
            self._starts, self._entries, self._values, self._sums, self._numbers, self._places,
            self._next_row, self._end_row, first_leaf, offset,
        )  # fmt: skip
        self._next_row = self._end_row

    def matrix(self) -> PayoffMatrix | None:
        """Returns the matrix, or None if not all of it could be listed."""
        if self.has_too_many_values or self._next_row < self._num_rows:
            return None
        self._entries.resize(int(self._starts[-1]), refcheck=False)  # gives back the memory of what was added up
        return PayoffMatrix(self._starts, self._entries, np.ascontiguousarray(self._values.T), self._bits)


@inline_kernel
def _number_of(values, numbers, most, first, second):
    """Returns the number of a pair of values, which may be new, or `most` if there is no room for it.

    `values` and `numbers` are modified in place.
    """
    count, number = numbers[DISTINCT_VALUES], np.int64(0)
    while number < count and (values[at(number), 0] != first or values[at(number), 1] != second):
        number += 1
    if number == count and count < most:
        values[at(number), 0], values[at(number), 1] = first, second
        numbers[DISTINCT_VALUES] += 1
    return number


@inline_kernel
def list_leaf(leaves, capacity, row, column, weight, payoffs):
    """Counts a leaf, or lists it if there is room for entries.

    Args:
        leaves: What has the fields of `Leaves`. Modified in place.
        capacity: Larger slots are empty sequences.
        row: The last slot of player 0.
        column: The last slot of player 1.
        weight: Chance's probability.
        payoffs: Both players'.
    """
    first, second, numbers = weight * payoffs[0], weight * payoffs[1], leaves.leaf_numbers
    if row >= capacity:
        row = numbers[EMPTY]
    if (first == 0.0 and second == 0.0) or row < numbers[FIRST_ROW] or row >= numbers[END_ROW]:
        return
    values, number = leaves.leaf_values, numbers[LAST_VALUE]
    is_same = number < numbers[DISTINCT_VALUES]
    if not is_same or values[at(number), 0] != first or values[at(number), 1] != second:
        number = _number_of(values, numbers, MOST_VALUES, first, second)
        if number == MOST_VALUES:
            numbers[LACKS_VALUES], number = 1, 0
        numbers[LAST_VALUE] = number
    place = leaves.leaf_next[at(row)]
    leaves.leaf_next[at(row)] = place + 1
    if len(leaves.leaf_entries) > 0:
        if column >= capacity:
            column = numbers[EMPTY]
        leaves.leaf_entries[at(place - numbers[OFFSET])] = np.uint32(number << numbers[COLUMN_BITS] | column)


@kernel
def _add_up(starts, entries, values, sums, numbers, places, first_row, end_row, first_leaf, offset):
    """Adds up leaves of the same row and column, and moves what is left together.

    Args:
        starts: ``[num_rows + 1]``, of `first_row` and those above in the matrix, of those below in a list of all
            leaves. Modified in place: up to `end_row` they are those in the matrix.
        entries: The matrix's, and behind them leaves, `offset` places before where they stand in the list of all.
            Modified in place, as what follows.
        values: ``[MOST_VALUES, 2]``. Sums are added to it, while there is room.
        sums: ``[most, most]``, one more than the number of the sum of two values, or -1 if there is no room for it; 0:
            not asked yet.
        numbers: See `Leaves`.
        places: ``[num_rows]``, where entries of a column may stand; whatever is there at first.
        first_row: The first row to add up.
        end_row: The row after the last one.
        first_leaf: Where leaves of `first_row` begin in the list of all.
        offset: See `entries`.
    """
    bits, most = np.uint32(numbers[COLUMN_BITS]), len(sums)
    mask, place = np.uint32((np.int64(1) << numbers[COLUMN_BITS]) - 1), starts[at(first_row)]
    for row in range(first_row, end_row):
        begin, end_leaf = place, starts[at(row + 1)]
        for leaf in range(first_leaf - offset, end_leaf - offset):
            word = entries[at(leaf)]
            known = places[at(word & mask)]
            if begin <= known < place and (entries[at(known)] & mask) == (word & mask):
                one, two = np.int64(entries[at(known)] >> bits), np.int64(word >> bits)
                if sums[at(one), at(two)] == 0:
                    first = values[at(one), 0] + values[at(two), 0]
                    number = _number_of(values, numbers, most, first, values[at(one), 1] + values[at(two), 1])
                    sums[at(one), at(two)] = number + 1 if number < most else -1
                if sums[at(one), at(two)] > 0:
                    entries[at(known)] = np.uint32((sums[at(one), at(two)] - 1) << np.int64(bits)) | (word & mask)
                    continue
            entries[at(place)] = word
            places[at(word & mask)] = place
            place += 1
        kept = begin
        for entry in range(begin, place):
            word = entries[at(entry)]
            if values[at(word >> bits), 0] != 0.0 or values[at(word >> bits), 1] != 0.0:
                entries[at(kept)] = word
                kept += 1
        place, first_leaf, starts[at(row + 1)] = kept, end_leaf, kept
