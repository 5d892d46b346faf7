"""How threads share the iterations on a public tree: each has subtrees, and the first one also what is above them all.

Subtrees have their own infosets and ends. So a thread estimates, averages and updates its part alone, in its own
gradient; what it passes up to the top is added up, in the order of threads, when all have done that.
"""

import numba
import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import pointer
from mccfr_plus.trees.public.arrays import ADD_END, FIRST, FIRST_END, LAST, LAST_END, OWNER, TOP
from mccfr_plus.trees.scratch import at, note_touched, pass_reach

_PER_THREAD = 32  # subtrees that are larger than this share of a thread's part are divided


def segments_of(nodes: np.ndarray, threads: int) -> np.ndarray:
    """Returns `PublicArrays.segments` for so many threads."""
    counts = [np.cumsum(np.where(nodes["kind"] == player, nodes["num_hands"], 0)) for player in range(2)]
    ends = np.cumsum(nodes["kind"] == TERMINAL)
    before = np.concatenate([np.zeros((3, 1), np.int64), [*counts, ends]], axis=1)
    before[1] += counts[0][-1]
    most, found, waiting = len(nodes) / (_PER_THREAD * threads), list[tuple[int, int, int]](), [(0, len(nodes))]
    while waiting:
        begin, end = waiting.pop()
        children, child = [], begin
        while child < end:
            has_children = nodes[child]["kind"] >= 0 or nodes[child]["kind"] == CHANCE
            last = int(nodes[child]["last"]) if has_children else child + 1
            if has_children and last - child > most:
                found.append((TOP, child, child + 1))
                children.append((child + 1, last))
            else:
                found.append((0 if has_children else TOP, child, last))
            child = last
        waiting += children
    tops = [each for each in found if each[OWNER] == TOP]
    rest = sorted(each for each in found if each[OWNER] != TOP)
    sizes = np.cumsum([end - begin for _, begin, end in rest]) if rest else np.zeros(0)
    rows = [(TOP, *each) for _, *each in sorted(tops, key=lambda each: each[1])]
    for (_, begin, end), size in zip(rest, sizes, strict=True):
        rows.append((int((size - (end - begin) / 2) * threads / sizes[-1]), begin, end))
    table = [
        [owner, *(before[kind, place] for kind in range(3) for place in (begin, end))] for owner, begin, end in rows
    ]
    return np.array(table, np.int64).reshape(-1, 7)


@inline_kernel
def _refresh_reach(tree, strategy, scratch, player):
    """Brings the player's reach up to date at the top and in the thread's part."""
    thread = scratch.counts[0]["thread"]
    if scratch.reach_valid[player]:
        return
    for segment in tree.segments:
        if segment[OWNER] in (TOP, thread):
            begin, end = segment[FIRST + 2 * player], segment[LAST + 2 * player]
            pass_reach(tree.infosets, strategy, scratch.reach, begin, end)
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
    _refresh_reach(tree, strategy, scratch, 1 - player)
    for segment in tree.segments:
        owner, first, last = segment[OWNER], segment[FIRST + 2 * player], segment[LAST + 2 * player]
        if last > first and owner in (TOP, thread):
            end = tree.infosets[at(last - 1)]["first_slot"] + tree.infosets[at(last - 1)]["num_actions"]
            for slot in range(tree.infosets[at(first)]["first_slot"], end):
                gradient[at(slot)] = 0.0
    for segment in tree.segments:
        if segment[OWNER] == thread or (segment[OWNER] == TOP and thread == 0):
            for end in range(segment[FIRST_END], segment[LAST_END]):
                ADD_END(tree, scratch.reach, gradient, player, end, 1.0)
    list_part(tree, scratch, player, thread, 0)
    scratch.counts[0]["nodes_touched"] += len(tree.nodes) if thread == 0 else 0


@inline_kernel
def accumulate_part(tree, strategy, average, scratch, player, weight):
    """Does what `accumulate_exact` does in the thread's part. See `AverageMethod`."""
    thread = scratch.counts[0]["thread"]
    _refresh_reach(tree, strategy, scratch, player)
    if thread == 0:
        average[at(tree.slot_range[-1] + player)] += weight
    for segment in tree.segments:
        first, last = segment[FIRST + 2 * player], segment[LAST + 2 * player]
        if last > first and (segment[OWNER] == thread or (segment[OWNER] == TOP and thread == 0)):
            end = tree.infosets[at(last - 1)]["first_slot"] + tree.infosets[at(last - 1)]["num_actions"]
            for slot in range(tree.infosets[at(first)]["first_slot"], end):
                average[at(slot)] += weight * scratch.reach[at(slot)]
    return True


@kernel
def move_tops(tree, scratch, player, address, num_slots):
    """Moves the gradient of another thread, at an address, at the top and at the empty sequence to this one."""
    theirs, empty = numba.carray(pointer(address), num_slots, np.float64), tree.slot_range[-1] + player
    for segment in tree.segments:
        if segment[OWNER] == TOP:
            for infoset in range(segment[FIRST + 2 * player], segment[LAST + 2 * player]):
                record = tree.infosets[at(infoset)]
                for slot in range(record["first_slot"], record["first_slot"] + record["num_actions"]):
                    scratch.gradient[at(slot)] += theirs[at(slot)]
                    theirs[at(slot)] = 0.0
    scratch.gradient[at(empty)] += theirs[at(empty)]
    theirs[at(empty)] = 0.0
