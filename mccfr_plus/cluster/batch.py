"""Batches: fixed numbers of traversals, each batch with its own random stream, and their sparse sums.

A batch may touch little of a large table. So its sums are the first slots of the touched information sets, and the
values at all slots of these, one after another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mccfr_plus.estimators import Estimator
from mccfr_plus.kernels.compile import compose, kernel
from mccfr_plus.kernels.loops.components import begin_gradients, estimate, weight_of
from mccfr_plus.kernels.loops.composed import estimate_with
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import (
    NUM_VISITS,
    STAMP,
    Scratch,
    at,
    begin_gradient,
    begin_traversal,
    enter,
)
from mccfr_plus.tree.arrays import TreeArrays


class SparseSums(NamedTuple):
    """What a batch has sampled for one player."""

    first_slots: np.ndarray  # [infosets] int32: of the infosets touched, parents before children
    values: np.ndarray  # [slots of these] float64: sum of the gradients of all traversals
    visited: np.ndarray  # [visits] int32: slots that the average needs; see `add_visits`
    visit_weights: np.ndarray  # [visits] float64


class BatchResult(NamedTuple):
    """The results of a batch."""

    sums: tuple[SparseSums, ...]  # per player that is updated
    nodes: int  # histories touched
    seconds: float  # of sampling

    @property
    def nbytes(self) -> int:
        """Bytes that are sent."""
        return sum(array.nbytes for sums in self.sums for array in sums)


def stream_of(seed: int, *key: int) -> np.ndarray:
    """Returns the state of the random generator of a key, ``[1]`` uint64.

    Args:
        seed: Of the run, an integer >= 0.
        *key: What the stream is for, such as iteration, player and batch: integers from 0 to 2^32 - 1.
    """
    return np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)


@kernel
def traverse_batch(tree, scratch, strategy, parameters, sampling_weights, player, traversals, weights, visited):
    """Makes the traversals of a batch for a player; returns how many entries of `visited` are in use.

    Args:
        tree: `TreeArrays`.
        scratch: `Scratch`. Modified in place: the gradient is the sum over the traversals.
        strategy: ``[num_slots]``.
        parameters: See `Estimator.parameters`.
        sampling_weights: See `SamplingWeights`.
        player: The player whose gradient is estimated; 0 if a traversal serves all players.
        traversals: How many.
        weights: ``[num_slots]`` float64, zeros; or empty, if traversals list nothing. Modified in place: sums.
        visited: ``[num_slots]`` int32, or empty. Modified in place: where `weights` is not 0.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    strategy, sampling_weights = no_refcount(strategy), no_refcount(sampling_weights)
    parameters, num_visited = no_refcount(parameters), 0
    begin_gradients(tree, scratch, player)
    for _ in range(traversals):
        begin_traversal(scratch)
        estimate(parameters, sampling_weights, tree, strategy, scratch, player)
        if len(weights) > 0:
            for visit in range(scratch.counts[NUM_VISITS]):
                entry = scratch.visits[at(visit)]
                slot, weight = entry["first_slot"], entry["weight"]
                if weights[slot] == 0.0 and weight != 0.0:
                    visited[num_visited] = slot
                    num_visited += 1
                weights[slot] += weight
    return num_visited


def batch_kernel(estimator: Estimator, list_visit: Callable) -> Callable:
    """Returns `traverse_batch` for an estimator.

    Args:
        estimator: The estimator.
        list_visit: What traversals list; see `mccfr_plus.estimators.visits`.

    Raises:
        ConfigError: If the estimator has no kernel.
    """
    own = estimate_with(estimator, list_visit=list_visit)
    return compose(traverse_batch, estimate=own, UPDATE_ALL_PLAYERS=estimator.updates_all_players)


@kernel
def copy_touched(touched, gradient, first_slots, values):
    """Copies first slots, and the gradient at all slots of what was touched; the last two arguments are outputs."""
    count = 0
    for position in range(len(touched)):
        first = touched[position]["first_slot"]
        first_slots[position] = first
        for slot in range(first, first + touched[position]["num_actions"]):
            values[count] = gradient[slot]
            count += 1


@kernel
def begin_sums(tree, scratch, first_player, last_player):
    """Begins the gradients of the players from `first_player` to `last_player`. `scratch` is modified in place."""
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    for player in range(first_player, last_player + 1):
        begin_gradient(tree, scratch, player)


@kernel
def add_sums(tree, scratch, infoset_of_slot, player, first_slots, values):
    """Adds a batch's sums to a player's gradient. `scratch` is modified in place.

    Args:
        tree: `TreeArrays`; of it, only what belongs to infosets is read.
        scratch: `Scratch`, after `begin_sums`.
        infoset_of_slot: ``[num_slots]`` int32.
        player: The player.
        first_slots: See `SparseSums`.
        values: Likewise.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    gradient, stamp, place = scratch.gradient, scratch.counts[STAMP], 0
    for first in first_slots:
        infoset = tree.infosets[infoset_of_slot[first]]
        count = infoset["num_actions"]
        is_new = enter(tree, scratch, player, first, count, infoset["parent_slot"], stamp)
        for slot in range(first, first + count):
            if is_new:
                gradient[slot] = 0.0
            gradient[slot] += values[place]
            place += 1


@kernel
def add_visits(infosets, infoset_of_slot, strategy, average, visited, weights, iteration, gamma, traversals, is_drawn):
    """Adds the visits of a batch to the sums of the average, modified in place.

    Args:
        infosets: ``[num_infosets]`` INFOSET.
        infoset_of_slot: ``[num_slots]`` int32.
        strategy: ``[num_slots]``.
        average: See `AverageMethod`.
        visited: First slots of infosets, or with `is_drawn` slots of the actions that were drawn.
        weights: Theirs.
        iteration: Its number, from 1.
        gamma: Exponent of the weights of iterations.
        traversals: Of all batches together.
        is_drawn: Whether drawn actions count, and not the strategy.
    """
    scale = weight_of(iteration, gamma) / traversals
    for visit in range(len(visited)):
        first, weight = visited[visit], scale * weights[visit]
        if is_drawn:
            average[first] += weight
            continue
        for slot in range(first, first + infosets[infoset_of_slot[first]]["num_actions"]):
            average[slot] += weight * strategy[slot]


def sparse_sums(
    tree: TreeArrays, scratch: Scratch, player: int, visited: np.ndarray, weights: np.ndarray
) -> SparseSums:
    """Returns the sums of a batch for a player, and clears the weights of visits.

    Args:
        tree: The tree.
        scratch: After `traverse_batch`.
        player: The player.
        visited: The entries of `visited` that are in use.
        weights: See `traverse_batch`. Modified in place: zeros again.
    """
    begin = int(tree.infoset_range[player])
    touched = scratch.touched[begin : begin + int(scratch.num_touched[player])]
    first_slots = np.empty(len(touched), np.int32)
    values = np.empty(int(touched["num_actions"].sum(dtype=np.int64)))
    copy_touched(touched, scratch.gradient, first_slots, values)
    found = weights[visited]
    weights[visited] = 0.0
    return SparseSums(*map(read_only, (first_slots, values, visited.copy(), found)))


def read_only(array: np.ndarray) -> np.ndarray:
    """Returns a read-only view, as arrays in shared memory are: kernels are compiled once, for these."""
    view = array.view()
    view.flags.writeable = False
    return view
