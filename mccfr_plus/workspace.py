"""What one traversal writes and the next step reads: the only thing that estimators, minimizers and averages share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus._jit import inline_kernel
from mccfr_plus.tree.arrays import TreeArrays

# Entries of `Workspace.counts`.
STAMP = 0  # number of the current walk; `mark` holds the number of the last walk that entered
NUM_VISITS = 1  # entries of `visits` in use
NODES_TOUCHED = 2  # nodes visited since the solver was made
ITERATION = 3  # iterations finished
NUM_COUNTS = 4

# What a walk notes of an infoset that it enters: all that the update needs, so that it looks nothing up.
TOUCHED = np.dtype([("first_slot", np.int32), ("num_actions", np.int32), ("parent_slot", np.int32)])

# An infoset whose player's average is to be updated, and with which weight.
VISIT = np.dtype([("first_slot", np.int32), ("num_actions", np.int32), ("weight", np.float64)])

# A node that waits to be expanded: the last own slot before it, and the weight of what is below it.
PENDING = np.dtype([("node", np.int32), ("slot", np.int32), ("weight", np.float64)])

_LAST_STAMP = 2**31 - 2  # `mark` is int32 to stay small; the stamps start again when they run out


class Workspace(NamedTuple):
    """Scratch memory of the kernels, allocated once per solver.

    After an estimator has run for player p, ``touched[infoset_range[p]:][:num_touched[p]]`` lists the infosets of p
    that it entered, in the order of first visit, so that parents come before children, and ``gradient`` holds an
    unbiased estimate of p's utility gradient at their slots. At all other slots the estimate is 0, whatever stands
    there.
    """

    gradient: np.ndarray  # [num_slots + num_players + 1] float64; then come the empty sequences and a dump
    touched: np.ndarray  # [num_infosets] TOUCHED; player p's part starts at infoset_range[p]
    num_touched: np.ndarray  # [num_players] int64
    mark: np.ndarray  # [num_slots] int32; at an infoset's first slot, the stamp of the last walk that entered it
    reach: np.ndarray  # [num_slots + num_players] float64; own reach of each sequence, where it is up to date
    reach_valid: np.ndarray  # [num_players] int64; 1 where a player's part of `reach` fits the strategy
    visits: np.ndarray  # [max_visits] VISIT
    stack: np.ndarray  # [max_stack] PENDING
    counts: np.ndarray  # [NUM_COUNTS] int64
    rng: np.ndarray  # [1] uint64


def new_workspace(tree: TreeArrays, max_stack: int, max_visits: int, rng: np.ndarray) -> Workspace:
    """Returns a fresh workspace for a tree."""
    num_slots, num_players = int(tree.slot_range[-1]), len(tree.slot_range) - 1
    reach = np.zeros(num_slots + num_players)
    reach[num_slots:] = 1.0
    return Workspace(
        gradient=np.zeros(num_slots + num_players + 1),
        touched=np.zeros(len(tree.infosets), TOUCHED),
        num_touched=np.zeros(num_players, np.int64),
        mark=np.zeros(num_slots, np.int32),
        reach=reach,
        reach_valid=np.zeros(num_players, np.int64),
        visits=np.zeros(max_visits, VISIT),
        stack=np.zeros(max_stack, PENDING),
        counts=np.zeros(NUM_COUNTS, np.int64),
        rng=rng,
    )


@inline_kernel
def at(index):
    """Returns an index as an unsigned number, for which Numba leaves out the code that makes negative ones wrap."""
    return np.uint64(index)


@inline_kernel
def begin_walk(tree, workspace, player):
    """Forgets what the last walk of this player touched and returns the stamp of the new one. Modified in place."""
    counts = workspace.counts
    if counts[STAMP] >= _LAST_STAMP:
        workspace.mark[:] = 0
        counts[STAMP] = 0
    counts[STAMP] += 1
    counts[NUM_VISITS] = 0
    workspace.num_touched[player] = 0
    workspace.gradient[tree.slot_range[-1] + player] = 0.0
    return counts[STAMP]


@inline_kernel
def enter(tree, workspace, player, first, count, parent, stamp):
    """Puts an infoset of the player on the touched list, if this walk enters it for the first time.

    Returns whether it did; then the caller must set the gradient of the infoset's slots to 0. Modified in place.

    Args:
        tree: `TreeArrays`.
        workspace: `Workspace`.
        player: The player.
        first: The infoset's first slot.
        count: Its number of actions.
        parent: The player's last slot before it.
        stamp: What `begin_walk` returned.
    """
    is_new = workspace.mark[at(first)] != stamp
    if is_new:
        workspace.mark[at(first)] = stamp
        touched = workspace.touched[at(tree.infoset_range[player] + workspace.num_touched[player])]
        touched["first_slot"] = first
        touched["num_actions"] = count
        touched["parent_slot"] = parent
        workspace.num_touched[player] += 1
    return is_new


@inline_kernel
def touch(tree, workspace, player, first, count, parent, stamp):
    """Does what `enter` does and sets the gradient of an infoset that is new to the walk to 0. Modified in place."""
    if enter(tree, workspace, player, first, count, parent, stamp):
        for slot in range(first, first + count):
            workspace.gradient[at(slot)] = 0.0


@inline_kernel
def note_visit(workspace, position, first, count, weight):
    """Writes an entry of `workspace.visits`, modified in place. The caller counts them in ``counts[NUM_VISITS]``."""
    visit = workspace.visits[at(position)]
    visit["first_slot"] = first
    visit["num_actions"] = count
    visit["weight"] = weight


@inline_kernel
def push(stack, position, node, slot, weight):
    """Writes an entry of a stack of PENDING nodes, modified in place."""
    pending = stack[at(position)]
    pending["node"] = node
    pending["slot"] = slot
    pending["weight"] = weight


@inline_kernel
def refresh_reach(tree, strategy, workspace, player):
    """Brings the player's part of `workspace.reach` up to date with the strategy. Modified in place."""
    if workspace.reach_valid[player]:
        return
    infosets, reach = tree.infosets, workspace.reach
    for infoset in range(tree.infoset_range[player], tree.infoset_range[player + 1]):
        record = infosets[at(infoset)]
        first = record["first_slot"]
        above = reach[at(record["parent_slot"])]
        for slot in range(first, first + record["num_actions"]):
            reach[at(slot)] = above * strategy[at(slot)]
    workspace.reach_valid[player] = 1
