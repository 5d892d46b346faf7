"""Threads that make one gradient together: each traverses with its own scratch, then the first adds up and updates.

The result depends on the seed and on the number of threads, not on their speed: an exact batch of traversals (Farina,
Kroer, Sandholm 2020, section 6: the mean of the estimates). All threads run the same loop and wait for each other at
barriers, without the interpreter's lock.

The array `team` has one row for all, and one per thread. Words that threads write at the same time are apart by a cache
line.
"""

from collections.abc import Sequence

import numba
import numpy as np

from mccfr_plus.averages.methods import add_listed
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import (
    add_word,
    address_of,
    call_yield,
    load_word,
    pointer,
    publish_word,
    yield_address,
)
from mccfr_plus.kernels.slots import Constant
from mccfr_plus.trees.scratch import COUNTS, TOUCHED, VISIT, Scratch, at, enter

# Entries of the first row.
SIZE = 0  # number of threads
IS_WHOLE = 1  # whether the first thread has found the gradient whole and added it up
YIELD = 2  # address of the system's function that lets another thread run, or 0
ARRIVED = 8  # threads waiting at the barrier
ROUND = 16  # how often all have passed it
_ROW = 24

# Entries of the rows of threads: addresses of arrays of their scratches, and the length of the list of visits.
_GRADIENT, _TOUCHED, _NUM_TOUCHED, _VISITS, _COUNTS, _NUM_VISITS = range(6)

SPINS = Constant("SPINS", 4000, "Looks at the barrier before another thread may run: some microseconds.")

NO_TEAM = np.zeros((0, _ROW), np.int64)  # where each thread makes gradients of its own


def new_team(scratches: Sequence[Scratch]) -> np.ndarray:
    """Returns the array of a team, ``[threads + 1, _ROW]`` int64; the scratches must live as long as it."""
    team = np.zeros((len(scratches) + 1, _ROW), np.int64)
    team[0, SIZE], team[0, YIELD] = len(scratches), yield_address()
    for row, scratch in zip(team[1:], scratches, strict=True):
        row[_GRADIENT] = address_of(scratch.gradient)
        row[_TOUCHED] = address_of(scratch.touched)
        row[_NUM_TOUCHED] = address_of(scratch.num_touched)
        row[_VISITS] = address_of(scratch.visits)
        row[_COUNTS] = address_of(scratch.counts)
        row[_NUM_VISITS] = len(scratch.visits)
    return team


@kernel
def wait(team):
    """Waits until all threads of the team have come here."""
    words = team[0]
    size, round_ = words[SIZE], load_word(words, ROUND)
    if add_word(words, ARRIVED, 1) == size - 1:
        publish_word(words, ARRIVED, 0)
        publish_word(words, ROUND, round_ + 1)
        return
    spins = 0
    while load_word(words, ROUND) == round_:
        spins += 1
        if spins >= SPINS() and words[YIELD] != 0:
            spins = 0
            call_yield(words[YIELD])


@kernel
def merge(tree, scratch, team, player):
    """Adds the other threads' gradients, in their order, to the first one's, and lists what they have touched.

    `scratch`, the first thread's, is modified in place.
    """
    gradient, stamp, begin = scratch.gradient, scratch.counts[0]["stamp"], tree.infoset_range[player]
    empty = tree.slot_range[-1] + player
    for thread in range(1, team[0, SIZE]):
        row = team[thread + 1]
        theirs = numba.carray(pointer(row[_GRADIENT]), len(gradient), np.float64)
        touched = numba.carray(pointer(row[_TOUCHED]), len(scratch.touched), TOUCHED)
        num_touched = numba.carray(pointer(row[_NUM_TOUCHED]), len(scratch.num_touched), np.int64)[player]
        for position in range(begin, begin + num_touched):
            infoset = touched[at(position)]
            first, count = infoset["first_slot"], infoset["num_actions"]
            is_new = enter(tree, scratch, player, first, count, infoset["parent_slot"], stamp)
            for slot in range(first, first + count):
                gradient[at(slot)] = theirs[at(slot)] if is_new else gradient[at(slot)] + theirs[at(slot)]
        gradient[empty] += theirs[empty]


@inline_kernel
def add_team_visits(strategy, average, team, weight):
    """Adds what all threads have visited to the sums of the average, in their order. `average` is modified in place."""
    for thread in range(team[0, SIZE]):
        row = team[thread + 1]
        visits = numba.carray(pointer(row[_VISITS]), row[_NUM_VISITS], VISIT)
        counts = numba.carray(pointer(row[_COUNTS]), 1, COUNTS)
        add_listed(strategy, average, visits, counts[0]["num_visits"], weight)
