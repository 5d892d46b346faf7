"""How threads share the iterations on a public tree: each has a part, and the first one also the few nodes on top.

Parts have their own infosets and ends. A thread estimates, averages and updates its part alone, in its own gradient;
what it passes up to the top is added up, in the order of threads, when all have done that. On a stored tree, of which
`trees.parts` has the segments, threads have one gradient and one reach.
"""

import numba
import numpy as np

from mccfr_plus.games.rules import TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import pointer
from mccfr_plus.trees.public.arrays import (
    ADD_END,
    FIRST,
    FIRST_END,
    FIRST_SLOT,
    LAST,
    LAST_END,
    LAST_SLOT,
    OWNER,
    TOP,
    PublicArrays,
)
from mccfr_plus.trees.scratch import IS_PUBLIC, at, note_touched, pass_reach


def segments_of(tree: PublicArrays, threads: int) -> np.ndarray:
    """Returns `PublicArrays.segments` for so many threads: nodes in equal parts; the top is what leads to two parts."""
    kinds, numbers = tree.nodes["kind"], np.arange(len(tree.nodes))
    cuts = len(kinds) * np.arange(1, threads) // threads
    tops = [numbers[(kinds >= 0) & (numbers < cut) & (cut < tree.nodes["last"])] for cut in cuts]
    top = np.unique(np.concatenate(tops))
    limits = np.unique(np.concatenate([top, top + 1, cuts, [0, len(kinds)]]))
    infosets = [np.cumsum(np.where(kinds == player, tree.nodes["num_hands"], 0)) for player in range(2)]
    before = [np.append(0, counts)[limits] + tree.infoset_range[player] for player, counts in enumerate(infosets)]
    slots = [np.append(tree.infosets["first_slot"], tree.slot_range[-1])[each] for each in before]
    ends = np.append(0, np.cumsum(kinds == TERMINAL))[limits]
    columns = [pair for each in (*before, *slots, ends) for pair in (each[:-1], each[1:])]
    owners = np.where(np.isin(limits[:-1], top), TOP, np.searchsorted(cuts, limits[:-1], side="right"))
    return np.ascontiguousarray(np.stack([owners, *columns], axis=1, dtype=np.int64))


@inline_kernel
def refresh_part(tree, strategy, scratch, player):
    """Brings the player's reach up to date at the top and in the thread's part."""
    if scratch.reach_valid[player]:
        return
    for segment in tree.segments:
        if segment[OWNER] == TOP or segment[OWNER] == scratch.counts[0]["thread"]:
            pass_reach(tree.infosets, strategy, scratch.reach, segment[FIRST + 2 * player], segment[LAST + 2 * player])
    scratch.reach_valid[player] = 1


@inline_kernel
def list_part(tree, scratch, player, owner, count):
    """Lists the player's infosets of a thread, or of the top, as touched, after `count` others."""
    begin = tree.infoset_range[player]
    for segment in tree.segments:
        if segment[OWNER] == owner:
            for infoset in range(segment[FIRST + 2 * player], segment[LAST + 2 * player]):
                touched, record = scratch.touched[at(begin + count)], tree.infosets[at(infoset)]
                note_touched(touched, record["first_slot"], record["num_actions"], record["parent_slot"])
                count += 1
    scratch.num_touched[player] = count


@inline_kernel
def shared_gradient(parameters, sampling_weights, tree, strategy, scratch, player):
    """Writes the thread's part of the player's exact gradient, and lists its infosets. See `full_gradient`."""
    thread, gradient = scratch.counts[0]["thread"], scratch.gradient
    refresh_part(tree, strategy, scratch, 1 - player)
    for segment in tree.segments:
        if segment[OWNER] == TOP or segment[OWNER] == thread:
            for slot in range(segment[FIRST_SLOT + 2 * player], segment[LAST_SLOT + 2 * player]):
                gradient[at(slot)] = 0.0
    for segment in tree.segments:
        if segment[OWNER] == thread:
            for end in range(segment[FIRST_END], segment[LAST_END]):
                ADD_END(tree, scratch.reach, gradient, player, end, 1.0)
    list_part(tree, scratch, player, thread, 0)
    scratch.counts[0]["nodes_touched"] += len(tree.nodes) if thread == 0 else 0


@inline_kernel
def accumulate_part(tree, strategy, average, scratch, player, weight):
    """Does what `accumulate_exact` does in the thread's part. See `AverageMethod`."""
    thread = scratch.counts[0]["thread"]
    refresh_part(tree, strategy, scratch, player)
    if thread == 0:
        average[at(tree.slot_range[-1] + player)] += weight
    for segment in tree.segments:
        if segment[OWNER] == thread or (segment[OWNER] == TOP and thread == 0):
            for slot in range(segment[FIRST_SLOT + 2 * player], segment[LAST_SLOT + 2 * player]):
                average[at(slot)] += weight * scratch.reach[at(slot)]
    return True


@kernel
def move_tops(tree, scratch, player, address, num_slots):
    """Moves the gradient of another thread, at an address, at the top and at the empty sequence to this one."""
    if not IS_PUBLIC():
        return
    theirs, empty = numba.carray(pointer(address), num_slots, np.float64), tree.slot_range[-1] + player
    for segment in tree.segments:
        if segment[OWNER] == TOP:
            for slot in range(segment[FIRST_SLOT + 2 * player], segment[LAST_SLOT + 2 * player]):
                scratch.gradient[at(slot)] += theirs[at(slot)]
                theirs[at(slot)] = 0.0
    scratch.gradient[at(empty)] += theirs[at(empty)]
    theirs[at(empty)] = 0.0
