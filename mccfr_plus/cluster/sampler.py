"""Samples batches of traversals, in the program's process or in a worker."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from mccfr_plus.cluster.batch import BatchResult, batch_kernel, read_only, sparse_sums, stream_of
from mccfr_plus.estimators import Estimator
from mccfr_plus.estimators.visits import list_drawn_action, list_infoset, list_nothing
from mccfr_plus.kernels.scratch import NODES_TOUCHED, new_scratch
from mccfr_plus.tree.arrays import TreeArrays
from mccfr_plus.tree.layout import Shape

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


class Sampler:
    """Samples batches. Their results depend on the arguments alone, and not on what was sampled before.

    Args:
        arrays: The tree's, read-only.
        plan: What is sampled.
    """

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
        self._kernel = batch_kernel(estimator, _LISTS[plan.visits])
        num_slots = int(self._arrays.slot_range[-1])
        num_weights = num_slots if plan.visits != "nothing" else 0
        self._weights, self._visited = np.zeros(num_weights), np.zeros(num_weights, np.int32)
        self._parameters = estimator.parameters()
        self._traverse(read_only(np.zeros(num_slots)), read_only(np.zeros(num_slots)), 0, 0)  # compiles the kernel

    def work(self, shared: tuple[np.ndarray, np.ndarray], batch: Batch) -> BatchResult:
        """Returns the results of a batch.

        Args:
            shared: The strategy, ``[num_slots]`` float64, and its sampling weights, see `SamplingWeights`.
            batch: Which batch.
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
