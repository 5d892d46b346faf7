"""Gives equal rows of numbers the same index: hash tables in arrays, for kernels.

Rows are kept in full and compared in full, so that two different ones never share an index. A table has a power of two
of places, each the index of a row or `EMPTY`, and is kept at most half full by whoever inserts.
"""

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel

EMPTY = -1


@inline_kernel
def hash_step(state, word):
    """Returns the hash of what was hashed so far and one more word; all are uint64."""
    state = (state ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return state ^ (state >> np.uint64(29))


@inline_kernel
def hash_end(state):
    """Returns the hash after the last word, every bit of which decides about the lowest bits: tables read these only.

    Without this the highest bits of the last word would not, and they are all that differs between small whole numbers
    as floats.
    """
    state = (state ^ (state >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return state ^ (state >> np.uint64(32))


@inline_kernel
def hash_of_row(row):
    """Returns the hash of a row of int64."""
    state = np.uint64(0x2545F4914F6CDD1D)
    for index in range(len(row)):
        state = hash_step(state, np.uint64(row[index]))
    return hash_end(state)


def num_places(capacity: int) -> int:
    """Returns how many places a table needs for that many rows: a power of two, more than twice as many."""
    return 1 << (2 * max(capacity, 1)).bit_length()


@inline_kernel
def place_of_row(table, rows, row):
    """Returns where in the table the index of a row stands, or where it belongs if the row is new.

    Args:
        table: ``[places]`` int32.
        rows: ``[capacity, words]`` int64.
        row: ``[words]`` int64.
    """
    mask = np.uint64(len(table) - 1)
    place = hash_of_row(row) & mask
    while True:
        index = table[place]
        if index == EMPTY:
            return place
        same = True
        for word in range(len(row)):
            if rows[index, word] != row[word]:
                same = False
                break
        if same:
            return place
        place = (place + np.uint64(1)) & mask


def table_of_rows(rows: np.ndarray, count: int, places: int) -> np.ndarray:
    """Returns the table of the first `count` rows, all of them different, with that many places."""
    table = np.full(places, EMPTY, np.int32)
    _fill_table(table, rows, count)
    return table


@kernel
def _fill_table(table, rows, count):
    """Enters the rows into an empty table, modified in place."""
    for index in range(count):
        table[place_of_row(table, rows, rows[index])] = index
