"""What one traversal writes and the next step reads: the only thing that estimators, minimizers and averages share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus._jit import inline_kernel
from mccfr_plus.tree.arrays import FIRST_SLOT, NUM_ACTIONS, PARENT_SLOT, TreeArrays

# Entries of `Workspace.counts`.
STAMP = 0  # number of the current walk; `mark` holds the number of the last walk that entered
NUM_VISITS = 1  # entries of `visits` in use
NODES_TOUCHED = 2  # nodes visited since the solver was made
ITERATION = 3  # iterations finished
NUM_COUNTS = 4

_LAST_STAMP = 2**31 - 2  # `mark` is int32 to stay small; the stamps start again when they run out


class Workspace(NamedTuple):
    """Scratch memory of the kernels, allocated once per solver.

    After an estimator has run for player p, ``gradient`` holds an unbiased estimate of p's utility gradient at the
    touched slots and 0 elsewhere, and ``touched[infoset_range[p]:][:num_touched[p]]`` lists p's touched infosets in
    the order of first visit, so that parents come before children.
    """

    gradient: np.ndarray  # [num_slots + num_players] float64; the last entries belong to the empty sequences
    touched: np.ndarray  # [num_infosets] int32; player p's part starts at infoset_range[p]
    num_touched: np.ndarray  # [num_players] int64
    mark: np.ndarray  # [num_slots] int32; at an infoset's first slot, the stamp of the last walk that entered it
    reach: np.ndarray  # [num_slots + num_players] float64; own reach of each sequence, where it is up to date
    reach_valid: np.ndarray  # [num_players] int64; 1 where a player's part of `reach` fits the strategy
    visits: np.ndarray  # [max_visits, 2] int32; first slot and number of actions of infosets to average at
    visit_weight: np.ndarray  # [max_visits] float64; the weight of each
    stack: np.ndarray  # [max_stack, 2] int32; pending nodes and the last own slot before them
    stack_weight: np.ndarray  # [max_stack] float64
    counts: np.ndarray  # [NUM_COUNTS] int64
    rng: np.ndarray  # [1] uint64


def new_workspace(tree: TreeArrays, max_stack: int, max_visits: int, rng: np.ndarray) -> Workspace:
    """Returns a fresh workspace for a tree."""
    num_slots, num_players = len(tree.infoset_of_slot), len(tree.slot_range) - 1
    reach = np.zeros(num_slots + num_players)
    reach[num_slots:] = 1.0
    return Workspace(
        gradient=np.zeros(num_slots + num_players),
        touched=np.zeros(len(tree.infosets), np.int32),
        num_touched=np.zeros(num_players, np.int64),
        mark=np.zeros(num_slots, np.int32),
        reach=reach,
        reach_valid=np.zeros(num_players, np.int64),
        visits=np.zeros((max_visits, 2), np.int32),
        visit_weight=np.zeros(max_visits),
        stack=np.zeros((max_stack, 2), np.int32),
        stack_weight=np.zeros(max_stack),
        counts=np.zeros(NUM_COUNTS, np.int64),
        rng=rng,
    )


@inline_kernel
def begin_walk(workspace, player):
    """Forgets what the last walk of this player touched and returns the stamp of the new one. Modified in place."""
    counts = workspace.counts
    if counts[STAMP] >= _LAST_STAMP:
        workspace.mark[:] = 0
        counts[STAMP] = 0
    counts[STAMP] += 1
    counts[NUM_VISITS] = 0
    workspace.num_touched[player] = 0
    return counts[STAMP]


@inline_kernel
def refresh_reach(tree, strategy, workspace, player):
    """Brings the player's part of `workspace.reach` up to date with the strategy. Modified in place."""
    if workspace.reach_valid[player]:
        return
    infosets, reach = tree.infosets, workspace.reach
    for infoset in range(tree.infoset_range[player], tree.infoset_range[player + 1]):
        first = infosets[infoset, FIRST_SLOT]
        above = reach[infosets[infoset, PARENT_SLOT]]
        for slot in range(first, first + infosets[infoset, NUM_ACTIONS]):
            reach[slot] = above * strategy[slot]
    workspace.reach_valid[player] = 1
