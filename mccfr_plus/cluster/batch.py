"""Batches: fixed numbers of traversals, each batch with its own random stream, and their sparse sums.

A batch may touch little of a large table. So its sums are the first slots of the touched information sets, and the
values at all slots of these, one after another.
"""

import time
from typing import NamedTuple

import numpy as np

from mccfr_plus.estimators import Estimator
from mccfr_plus.estimators.visits import list_drawn_action, list_infoset, list_nothing
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.loops.components import ESTIMATE, UPDATE_ALL_PLAYERS, begin_gradients, estimate_with, weight_of
from mccfr_plus.kernels.scratch import (
    NODES_TOUCHED,
    NUM_VISITS,
    STAMP,
    Scratch,
    at,
    begin_gradient,
    begin_traversal,
    enter,
    new_scratch,
)
from mccfr_plus.kernels.slots import bind
from mccfr_plus.policies.table import rows_of
from mccfr_plus.trees.arrays import Shape, TreeArrays, read_only

_LISTS = {"nothing": list_nothing, "infosets": list_infoset, "drawn actions": list_drawn_action}


class SamplingPlan(NamedTuple):
    """What all batches of a run have in common."""

    estimator: Estimator
    shape: Shape  # of the tree
    traversals: int  # of a batch
    max_visits: int  # of a traversal
    visits: str  # what traversals list: "nothing", "infosets" or "drawn actions"


class Batch(NamedTuple):
    """A batch to sample."""

    seed: int  # of the run
    iteration: int  # from 1
    players: tuple[int, ...]  # whose gradients are estimated; all, if a traversal serves all
    number: int  # from 0


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
    num_visited = 0
    begin_gradients(tree, scratch, player)
    for _ in range(traversals):
        begin_traversal(scratch)
        ESTIMATE(parameters, sampling_weights, tree, strategy, scratch, player)
        if len(weights) > 0:
            for visit in range(scratch.counts[NUM_VISITS]):
                entry = scratch.visits[at(visit)]
                slot, weight = entry["first_slot"], entry["weight"]
                if weights[slot] == 0.0 and weight != 0.0:
                    visited[num_visited] = slot
                    num_visited += 1
                weights[slot] += weight
    return num_visited


@kernel
def begin_sums(tree, scratch, first_player, last_player):
    """Begins the gradients of the players from `first_player` to `last_player`. `scratch` is modified in place."""
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
def add_visits(
    infosets, infoset_of_slot, strategy, average, visited, weights, iteration, gamma, scheduled, traversals, is_drawn
):
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
        scheduled: See `weight_of`.
        traversals: Of all batches together.
        is_drawn: Whether drawn actions count, and not the strategy.
    """
    scale = weight_of(iteration, gamma, scheduled) / traversals
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
        scratch: After `traverse_batch`.
        visited: The entries of `visited` that are in use.
        weights: See `traverse_batch`. Modified in place: zeros again.
    """
    begin = int(tree.infoset_range[player])
    touched = scratch.touched[begin : begin + int(scratch.num_touched[player])]
    first_slots = touched["first_slot"].copy()
    values = scratch.gradient[rows_of(first_slots, touched["num_actions"])]
    found = weights[visited]
    weights[visited] = 0.0
    return SparseSums(*map(read_only, (first_slots, values, visited.copy(), found)))


class Sampler:
    """Samples batches. Their results depend on the arguments alone, and not on what was sampled before."""

    def __init__(self, arrays: TreeArrays, plan: SamplingPlan):
        self._arrays, self._plan = TreeArrays(*map(read_only, arrays)), plan
        self._rng = np.zeros(1, np.uint64)
        estimator = plan.estimator
        self._scratch = new_scratch(
            self._arrays,
            plan.shape,
            self._rng,
            max_visits=plan.max_visits,
            sample_per_infoset=estimator.samples_per_infoset,
        )
        self._kernel = bind(
            traverse_batch,
            {
                ESTIMATE: estimate_with(estimator, list_visit=_LISTS[plan.visits]),
                UPDATE_ALL_PLAYERS: estimator.updates_all_players,
            },
        )
        num_slots = int(self._arrays.slot_range[-1])
        num_weights = num_slots if plan.visits != "nothing" else 0
        self._weights, self._visited = np.zeros(num_weights), np.zeros(num_weights, np.int32)
        self._parameters = estimator.parameters()
        self._traverse(read_only(np.zeros(num_slots)), read_only(np.zeros(num_slots)), 0, 0)  # compiles the kernel

    def work(self, shared: tuple[np.ndarray, np.ndarray], batch: Batch) -> BatchResult:
        """Returns the results of a batch.

        Args:
            shared: The strategy, ``[num_slots]`` float64, and its sampling weights, see `SamplingWeights`.
        """
        strategy, sampling_weights = map(read_only, shared)
        begin = time.perf_counter()
        counts, plan = self._scratch.counts, self._plan
        before = int(counts[NODES_TOUCHED])
        sums = []
        for player in batch.players:
            if player == batch.players[0] or not plan.estimator.updates_all_players:
                self._rng[:] = stream_of(batch.seed, batch.iteration, player, batch.number)
                visited = self._visited[: self._traverse(strategy, sampling_weights, player, plan.traversals)]
            sums.append(sparse_sums(self._arrays, self._scratch, player, visited, self._weights))
            visited = visited[:0]
        return BatchResult(tuple(sums), int(counts[NODES_TOUCHED]) - before, time.perf_counter() - begin)

    def _traverse(self, strategy: np.ndarray, sampling_weights: np.ndarray, player: int, traversals: int) -> int:
        return self._kernel(
            self._arrays,
            self._scratch,
            strategy,
            self._parameters,
            sampling_weights,
            player,
            traversals,
            self._weights,
            self._visited,
        )
