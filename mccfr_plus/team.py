"""Threads that make one gradient together: each walks with a workspace of its own, the first one adds up in order.

So the result depends on the seed and on the number of threads, not on who was faster: an exact batch of walks (Farina,
Kroer, Sandholm 2020, section 6: the mean of the estimates). All threads run the same loop and wait for each other at
barriers; nobody holds the interpreter's lock.

The array `team` has one row for all and one per thread. Words that threads write at the same time are apart by a cache
line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np

from mccfr_plus._jit import kernel
from mccfr_plus.averaging import add_listed
from mccfr_plus.native import add_word, address_of, call_yield, load_word, pointer, publish_word, yield_address
from mccfr_plus.workspace import NUM_COUNTS, NUM_VISITS, STAMP, TOUCHED, VISIT, Workspace, at, enter

# Entries of the first row.
SIZE = 0  # number of threads that make one gradient together; 1: they have nothing to do with each other
SIGNAL = 1  # what the first thread has decided for all
YIELD = 2  # address of the system's function that lets another thread run, or 0
ARRIVED = 8  # threads waiting at the barrier
ROUND = 16  # how often all have passed it
_ROW = 24

# Entries of the rows of threads: addresses and lengths of arrays of their workspaces.
_GRADIENT, _TOUCHED, _NUM_TOUCHED, _VISITS, _COUNTS, _NUM_VISITS = range(6)

# Values of SIGNAL.
GO_ON, PAUSE, FAIL = range(3)

_SPINS = 4000  # looks at the barrier before another thread is let run: some microseconds


def new_team(workspaces: Sequence[Workspace], together: bool) -> np.ndarray:
    """Returns the array of a team, ``[threads + 1, _ROW]`` int64.

    Args:
        workspaces: One per thread; they must live as long as the team.
        together: Whether the threads make one gradient together.
    """
    team = np.zeros((len(workspaces) + 1, _ROW), np.int64)
    team[0, SIZE] = len(workspaces) if together else 1
    team[0, YIELD] = yield_address()
    for row, workspace in zip(team[1:], workspaces, strict=True):
        row[_GRADIENT] = address_of(workspace.gradient)
        row[_TOUCHED] = address_of(workspace.touched)
        row[_NUM_TOUCHED] = address_of(workspace.num_touched)
        row[_VISITS] = address_of(workspace.visits)
        row[_COUNTS] = address_of(workspace.counts)
        row[_NUM_VISITS] = len(workspace.visits)
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
        if spins >= _SPINS and words[YIELD] != 0:
            spins = 0
            call_yield(words[YIELD])


@kernel
def merge(tree, workspace, team, player):
    """Adds the other threads' sums of gradients to the first one's, in their order.

    `workspace` is the first thread's; it is modified in place, and lists the infosets that any thread has touched,
    parents before children: a thread lists an infoset's parent before it, or has found it listed.
    """
    gradient, stamp = workspace.gradient, workspace.counts[STAMP]
    begin, empty = tree.infoset_range[player], tree.slot_range[-1] + player
    for thread in range(1, team[0, SIZE]):
        row = team[thread + 1]
        others = numba.carray(pointer(row[_GRADIENT]), len(gradient), np.float64)
        touched = numba.carray(pointer(row[_TOUCHED]), len(workspace.touched), TOUCHED)
        num_touched = numba.carray(pointer(row[_NUM_TOUCHED]), len(workspace.num_touched), np.int64)
        for position in range(begin, begin + num_touched[player]):
            infoset = touched[position]
            first, count = infoset["first_slot"], infoset["num_actions"]
            if enter(tree, workspace, player, first, count, infoset["parent_slot"], stamp):
                for slot in range(first, first + count):
                    gradient[at(slot)] = others[at(slot)]
            else:
                for slot in range(first, first + count):
                    gradient[at(slot)] += others[at(slot)]
        gradient[empty] += others[empty]


@kernel
def add_team_visits(team, strategy, average, weight):
    """Adds what all threads have visited to the sums of the average, in their order. `average` is modified in place."""
    for thread in range(team[0, SIZE]):
        row = team[thread + 1]
        counts = numba.carray(pointer(row[_COUNTS]), NUM_COUNTS, np.int64)
        visits = numba.carray(pointer(row[_VISITS]), row[_NUM_VISITS], VISIT)
        add_listed(strategy, average, visits, counts[NUM_VISITS], weight)
