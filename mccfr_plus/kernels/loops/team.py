"""Threads that make one gradient together: each traverses with its own scratch, then they add up and update.

The result depends on the seed and on the number of threads, not on their speed: an exact batch of traversals (Farina,
Kroer, Sandholm 2020, section 6: the mean of the estimates). All threads run the same loop and wait for each other at
barriers, without the interpreter's lock.

An update takes about as long as the traversals of its gradient, so it is divided, too: each thread owns subtrees of the
players' infosets. It adds up all threads' gradients there, averages and updates. The first thread does the infosets
above those subtrees: it averages them before the others, and updates them after. This holds on compiled trees for
minimizers and averages that read one infoset only; elsewhere no thread owns any infoset. All is added up in the same
order in both cases, so that the results are bitwise identical.

The array `team` has one row for all, one per thread, and one for each of two more lists. Words that threads write at
the same time are apart by a cache line.
"""

from collections.abc import Sequence
from typing import NamedTuple

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
from mccfr_plus.kernels.loops.components import LISTS_VISITS, settle
from mccfr_plus.kernels.loops.work_partition import CELL, OWNER, UNOWNED, WorkPartition
from mccfr_plus.kernels.scratch import (
    NUM_COUNTS,
    NUM_VISITS,
    STAMP,
    THREAD,
    TOUCHED,
    VISIT,
    Scratch,
    at,
    scale_touched,
)
from mccfr_plus.tree.arrays import TreeArrays

# Entries of the first row.
SIZE = 0  # number of threads that make one gradient together; 1: they have nothing to do with each other
SIGNAL = 1  # what the first thread has decided for all
YIELD = 2  # address of the system's function that lets another thread run, or 0
_OWNERS = 3  # address of an int32 array that says who owns a slot: `WorkPartition.owners`,
_NUM_SLOTS = 4  # of this length
IS_SHARED = 5  # 1 if threads own infosets
ARRIVED = 8  # threads waiting at the barrier
ROUND = 16  # how often all have passed it
_ROW = 24

# Entries of the rows of threads: addresses and lengths of arrays of their scratches.
_GRADIENT, _TOUCHED, _NUM_TOUCHED, _VISITS, _COUNTS, _NUM_VISITS, _SHARE, _NUM_SHARE, _STAMPS = range(9)

# Values of SIGNAL.
GO_ON, PAUSE, FAIL = range(3)

ABOVE = -1  # an owner in `listed`: unowned infosets, and the tops of the subtrees below

_SPINS = 4000  # looks at the barrier before another thread is let run: some microseconds


class ThreadTeam(NamedTuple):
    """The array of a team, and what it points at, which lives as long."""

    words: np.ndarray  # [threads + 3, _ROW] int64
    shares: WorkPartition
    lists: np.ndarray  # [owners, infosets] TOUCHED: what was touched, by owner: `UNOWNED`, `ABOVE`, then the threads
    counts: np.ndarray  # [owners, num_players] int64, how many of each player's are listed there


def new_thread_team(tree: TreeArrays, scratches: Sequence[Scratch], shares: WorkPartition | None) -> ThreadTeam:
    """Returns a team.

    Args:
        scratches: One per thread; they must live as long as the team.
        shares: Who owns what; None if the threads do not make one gradient together.
    """
    size, num_players, together = len(scratches), len(tree.slot_range) - 1, shares is not None
    shares = shares or WorkPartition(np.zeros(0, np.int32), 0)
    num_owners = 2 + (size if shares.num_cells else 0)
    team = ThreadTeam(
        words=np.zeros((size + 3, _ROW), np.int64),
        shares=shares,
        lists=np.zeros((num_owners, tree.infoset_range[-1] if together else 0), TOUCHED),
        counts=np.zeros((num_owners, num_players), np.int64),
    )
    first = team.words[0]
    first[SIZE] = size if together else 1
    first[YIELD] = yield_address()
    first[IS_SHARED] = shares.num_cells > 0
    first[_OWNERS], first[_NUM_SLOTS] = address_of(shares.owners), len(shares.owners)
    rows = (team.words[size + 1], team.words[size + 2], *team.words[1 : size + 1])
    for row, touched, count in zip(rows, team.lists, team.counts, strict=False):
        row[_SHARE], row[_NUM_SHARE] = address_of(touched), address_of(count)
    for row, scratch in zip(team.words[1:], scratches, strict=False):
        row[_GRADIENT] = address_of(scratch.gradient)
        row[_TOUCHED] = address_of(scratch.touched)
        row[_NUM_TOUCHED] = address_of(scratch.num_touched)
        row[_VISITS] = address_of(scratch.visits)
        row[_COUNTS] = address_of(scratch.counts)
        row[_NUM_VISITS] = len(scratch.visits)
        row[_STAMPS] = address_of(scratch.stamps)
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


@inline_kernel
def listed(team, scratch, owner):
    """Returns a thread's scratch with the list of what an owner owns in the place of what the thread has touched.

    Args:
        team: See `new_thread_team`.
        scratch: Any thread's.
        owner: The number of a thread plus 1, `UNOWNED`, or `ABOVE` for unowned infosets and the tops of the subtrees
            below.
    """
    row = team[owner if owner > UNOWNED else team[0, SIZE] + 1 - owner]
    return Scratch(
        scratch.gradient,
        numba.carray(pointer(row[_SHARE]), len(scratch.touched), TOUCHED),
        numba.carray(pointer(row[_NUM_SHARE]), len(scratch.num_touched), np.int64),
        scratch.alike,
        scratch.lanes,
        scratch.stamps,
        scratch.seen,
        scratch.reach,
        scratch.reach_valid,
        scratch.visits,
        scratch.stack,
        scratch.drawn,
        scratch.frames,
        scratch.values,
        scratch.counts,
        scratch.rng,
    )


@inline_kernel
def _cell(tree, word):
    """Returns where behind the gradient a subtree's value is passed up to."""
    return tree.slot_range[-1] + len(tree.slot_range) - 1 + (word >> CELL)


@inline_kernel
def _gradient(team, scratch, thread):
    """Returns a thread's gradient."""
    return numba.carray(pointer(team[thread + 1, _GRADIENT]), len(scratch.gradient), np.float64)


@inline_kernel
def _has_touched(team, scratch, thread, first):
    """Returns whether a thread has touched an infoset for the current gradient."""
    row = team[thread + 1]
    stamps = numba.carray(pointer(row[_STAMPS]), len(scratch.stamps), np.uint16)
    return stamps[at(first)] == numba.carray(pointer(row[_COUNTS]), NUM_COUNTS, np.int64)[STAMP]


@kernel
def merge(tree, scratch, team, player, owner):
    """Adds up all threads' gradients, in their order, at an owner's infosets, and lists these, parents before children.

    Args:
        tree: `TreeArrays`.
        scratch: That of the thread that calls. Its gradient is modified in place, as is the list.
        team: See `new_thread_team`.
        player: The player.
        owner: `UNOWNED`, or the number of the thread plus 1.
    """
    size, gradient, begin = team[0, SIZE], scratch.gradient, tree.infoset_range[player]
    owners = numba.carray(pointer(team[0, _OWNERS]), team[0, _NUM_SLOTS], np.int32)
    share, above = listed(team, scratch, owner), listed(team, scratch, ABOVE)
    count, count_above, empty = 0, 0, tree.slot_range[-1] + player
    for thread in range(size):
        row = team[thread + 1]
        theirs = _gradient(team, scratch, thread)
        entered = numba.carray(pointer(row[_TOUCHED]), len(scratch.touched), TOUCHED)
        num_entered = numba.carray(pointer(row[_NUM_TOUCHED]), len(scratch.num_touched), np.int64)[player]
        for position in range(begin, begin + num_entered):
            infoset = entered[at(position)]
            first = infoset["first_slot"]
            word = owners[at(first)]
            is_own, is_top = word & OWNER == owner, owner == UNOWNED and word >> CELL > 0
            if not is_own and not is_top:
                continue
            is_listed = False
            for other in range(thread):
                is_listed = is_listed or _has_touched(team, scratch, other, first)
            if is_listed:
                continue
            if owner == UNOWNED:
                above.touched[at(begin + count_above)] = infoset
                if is_top:
                    above.touched[at(begin + count_above)]["first_slot"] = _cell(tree, word)
                    above.touched[at(begin + count_above)]["num_actions"] = -(word & OWNER)
                count_above += 1
            if is_own:
                share.touched[at(begin + count)] = infoset
                count += 1
                for slot in range(first, first + infoset["num_actions"]):
                    total = theirs[at(slot)]
                    for other in range(thread + 1, size):
                        if _has_touched(team, scratch, other, first):
                            total += _gradient(team, scratch, other)[at(slot)]
                    gradient[at(slot)] = total  # only now, as it may be one of the others'
        if owner == UNOWNED and thread > 0:
            gradient[empty] += theirs[empty]
    share.num_touched[player] = count
    if owner == UNOWNED:
        above.num_touched[player] = count_above


@kernel
def take_share(tree, strategy, average, scratch, team, player, weight, scale, with_visits):
    """Adds up, and averages, what the thread owns; `accumulate` has averaged what no thread owns. Modified in place.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]``.
        average: See `AverageMethod`.
        scratch: The thread's.
        team: See `new_thread_team`.
        player: The player whose gradient was estimated.
        weight: Of this iteration.
        scale: 1 / number of all traversals.
        with_visits: Whether visits are still to be added.
    """
    owner, begin = scratch.counts[THREAD] + 1, tree.infoset_range[player]
    merge(tree, scratch, team, player, owner)
    share = listed(team, scratch, owner)
    scale_touched(share, tree, player, scale)
    settle(tree, strategy, average, share, player)
    if LISTS_VISITS and with_visits:
        add_team_visits(team, strategy, average, weight * scale, owner)
    owners = numba.carray(pointer(team[0, _OWNERS]), team[0, _NUM_SLOTS], np.int32)
    for position in range(begin, begin + share.num_touched[player]):
        word = owners[at(share.touched[at(position)]["first_slot"])]
        if word >> CELL > 0:  # its value goes to a cell, and from there up in the order of `above`
            share.touched[at(position)]["parent_slot"] = _cell(tree, word)
            scratch.gradient[_cell(tree, word)] = 0.0


@kernel
def gather(tree, scratch, team, player):
    """Brings the values of the others' subtrees to the first thread's cells. `scratch` is modified in place."""
    above, begin = listed(team, scratch, ABOVE), tree.infoset_range[player]
    for position in range(begin, begin + above.num_touched[player]):
        cell, owner = above.touched[position]["first_slot"], -above.touched[position]["num_actions"]
        if owner > 1:
            scratch.gradient[cell] = _gradient(team, scratch, owner - 1)[cell]


@kernel
def add_team_visits(team, strategy, average, weight, owner):
    """Adds what all threads have visited of an owner's infosets to the sums of the average, in their order.

    `average` is modified in place.
    """
    owners = numba.carray(pointer(team[0, _OWNERS]), team[0, _NUM_SLOTS], np.int32)
    for thread in range(team[0, SIZE]):
        row = team[thread + 1]
        counts = numba.carray(pointer(row[_COUNTS]), NUM_COUNTS, np.int64)
        visits = numba.carray(pointer(row[_VISITS]), row[_NUM_VISITS], VISIT)
        for visit in range(counts[NUM_VISITS]):
            if owners[at(visits[at(visit)]["first_slot"])] & OWNER == owner:
                add_listed(strategy, average, visits[visit : visit + 1], 1, weight)
