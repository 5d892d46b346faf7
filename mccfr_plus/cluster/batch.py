"""Batches: fixed numbers of traversals, each batch with its own random stream, and their sparse sums."""

from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.estimators import Estimator
from mccfr_plus.estimators.traversal import list_drawn_action, list_infoset, list_nothing
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.solver.config import estimate_with
from mccfr_plus.solver.loop import ESTIMATE, UPDATE_ALL_PLAYERS, begin_gradients
from mccfr_plus.trees.arrays import Shape, TreeArrays, read_only
from mccfr_plus.trees.flattening import rows_of
from mccfr_plus.trees.scratch import VISIT, at, begin_traversal, enter, new_scratch

LISTS = {"nothing": list_nothing, "infosets": list_infoset, "drawn actions": list_drawn_action}


class SamplingPlan(NamedTuple):
    """The settings that all batches of a run share."""

    estimator: Estimator
    shape: Shape  # of the tree
    traversals: int  # per batch
    max_visits: int  # per traversal
    visits: str  # what traversals list for the average: a key of `LISTS`


class TraversalBatch(NamedTuple):
    seed: int  # of the run
    iteration: int  # from 1
    players: tuple[int, ...]  # whose gradients are estimated; all players, if one traversal serves all
    number: int  # from 0


class SparseSums(NamedTuple):
    """The samples of a batch for one player."""

    first_slots: np.ndarray  # [infosets] int32: of the touched infosets, parents before children
    values: np.ndarray  # [slots of these infosets] float64: sum of the gradients of all traversals
    visits: np.ndarray  # [slots that are visited] VISIT, for the average: with the sum of the weights


def stream_of(seed: int, *key: int) -> np.ndarray:
    """Returns the state of the random generator, ``[1]`` uint64, of a seed and a key, integers below 2^32."""
    return np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)


@kernel
def traverse_batch(tree, scratch, strategy, parameters, sampling_weights, player, traversals, weights, visits):
    """Makes the traversals of a batch for a player; returns the number of entries of `visits` in use.

    The gradient in `scratch` is the sum over the traversals. `weights`, ``[num_slots]`` zeros, gets the sums of the
    weights of visits, and `visits` the first one of each slot; both are empty if traversals list nothing.
    """
    num_visits = 0
    begin_gradients(tree, scratch, player)
    for _ in range(traversals):
        begin_traversal(scratch)
        ESTIMATE(parameters, sampling_weights, tree, strategy, scratch, player)
        if len(weights) > 0:
            for visit in range(scratch.counts[0]["num_visits"]):
                entry = scratch.visits[at(visit)]
                slot, weight = entry["first_slot"], entry["weight"]
                if weights[slot] == 0.0 and weight != 0.0:
                    visits[num_visits] = entry
                    num_visits += 1
                weights[slot] += weight
    return num_visits


@kernel
def add_sums(tree, scratch, infoset_of_slot, player, first_slots, values):
    """Adds the sums of a batch to a player's gradient, in `scratch`; see `SparseSums`."""
    gradient, stamp, place = scratch.gradient, scratch.counts[0]["stamp"], 0
    for first in first_slots:
        infoset = tree.infosets[infoset_of_slot[first]]
        count = infoset["num_actions"]
        is_new, _ = enter(tree, scratch, player, first, count, infoset["parent_slot"], stamp)
        for slot in range(first, first + count):
            if is_new:
                gradient[slot] = 0.0
            gradient[slot] += values[place]
            place += 1


class BatchWorker:
    """Samples batches of a tree. A result depends on the arguments alone, and not on batches sampled before."""

    def __init__(self, arrays: TreeArrays, plan: SamplingPlan):
        self._arrays, self._plan = TreeArrays(*map(read_only, arrays)), plan
        self._rng = np.zeros(1, np.uint64)
        estimator = plan.estimator
        options: dict[str, Any] = {"max_visits": plan.max_visits, "sample_per_infoset": estimator.sample_per_infoset}
        self._scratch = new_scratch(self._arrays, plan.shape, self._rng, **options)
        estimate = estimate_with(estimator, list_visit=LISTS[plan.visits])
        self._kernel = bind(traverse_batch, {ESTIMATE: estimate, UPDATE_ALL_PLAYERS: estimator.update_all_players})
        num_slots = int(self._arrays.slot_range[-1])
        num_weights = num_slots if plan.visits != "nothing" else 0
        self._weights, self._visits = np.zeros(num_weights), np.zeros(num_weights, VISIT)
        self._parameters = estimator.parameters()
        zeros = read_only(np.zeros(num_slots))
        self._traverse(zeros, zeros, 0, 0)  # compiles the kernel, or loads it

    def sample(self, shared: tuple[np.ndarray, np.ndarray], batch: TraversalBatch) -> tuple[list[SparseSums], int]:
        """Returns the sums of a batch, one per player, and the number of histories touched.

        `shared` are the strategy, ``[num_slots]`` float64, and its sampling weights, see `SamplingWeights`.
        """
        strategy, sampling_weights = map(read_only, shared)
        plan, counts = self._plan, self._scratch.counts[0]
        sums: list[SparseSums] = []
        before = int(counts["nodes_touched"])
        for player in batch.players:
            if player == batch.players[0] or not plan.estimator.update_all_players:
                self._rng[:] = stream_of(batch.seed, batch.iteration, player, batch.number)
                visits = self._visits[: self._traverse(strategy, sampling_weights, player, plan.traversals)].copy()
                visits["weight"] = self._weights[visits["first_slot"]]
                self._weights[visits["first_slot"]] = 0.0
            sums.append(self._sums(player, visits))
            visits = visits[:0]
        return sums, int(counts["nodes_touched"]) - before

    def _traverse(self, strategy: np.ndarray, sampling_weights: np.ndarray, player: int, traversals: int) -> int:
        arguments = (strategy, self._parameters, sampling_weights, player, traversals, self._weights, self._visits)
        return self._kernel(self._arrays, self._scratch, *arguments)

    def _sums(self, player: int, visits: np.ndarray) -> SparseSums:
        scratch, begin = self._scratch, int(self._arrays.infoset_range[player])
        touched = scratch.touched[begin : begin + int(scratch.num_touched[player])]
        first_slots = touched["first_slot"].copy()
        values = scratch.gradient[rows_of(first_slots, touched["num_actions"])]
        return SparseSums(*map(read_only, (first_slots, values, visits)))
