"""Gives equal rows of numbers the same index: hash tables in arrays, for kernels.

Rows are kept in full and compared in full, so that two different ones never share an index. A table has a power of two
of places, each the index of a row or `EMPTY`, and is kept at most half full by the code that inserts.
"""

import numpy as np

from mccfr_plus.kernels.compile import allocating_kernel, inline_kernel

EMPTY = -1


@inline_kernel
def hash_step(state, word):
    """Returns the hash of what was hashed so far and one more word; all are uint64."""
    state = (state ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return state ^ (state >> np.uint64(29))


@inline_kernel
def hash_of_row(row):
    """Returns the hash of a row of int64."""
    state = np.uint64(0x2545F4914F6CDD1D)
    for index in range(len(row)):
        state = hash_step(state, np.uint64(row[index]))
    # Tables read the lowest bits only. Small whole numbers as floats differ in the highest bits only.
    state = (state ^ (state >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return state ^ (state >> np.uint64(32))


def num_places(capacity: int) -> int:
    """Returns how many places a table needs for that many rows: a power of two, more than twice as many."""
    return 1 << (2 * max(capacity, 1)).bit_length()


@inline_kernel
def place_of_row(table, rows, row):
    """Returns where in the table, ``[places]`` int32, the index of a row stands, or where it belongs if the row is new.

    The `rows` are ``[capacity, words]`` int64, a row ``[words]``.
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


@inline_kernel
def index_of_row(table, rows, row, used):
    """Returns the index of a row; a new row is entered as number `used`, into the first two, modified in place."""
    place = place_of_row(table, rows, row)
    if table[place] == EMPTY:
        table[place] = used
        for word in range(len(row)):
            rows[used, word] = row[word]
    return table[place]


@allocating_kernel
def table_of_rows(rows, count, places):
    """Returns the table of the first `count` rows, all of them different, with that many places."""
    table = np.full(places, EMPTY, np.int32)
    for index in range(count):
        table[place_of_row(table, rows, rows[index])] = index
    return table
