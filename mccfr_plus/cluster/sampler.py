"""What samples chunks: in the program's own process, or as an actor on a cluster."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from mccfr_plus.cluster.chunk import Chunk, as_read, nodes_of, sums_of, traverser
from mccfr_plus.cluster.streams import stream_of
from mccfr_plus.estimators import Estimator
from mccfr_plus.kernels.scratch import NO_VISITS, new_scratch
from mccfr_plus.tree.arrays import TreeArrays
from mccfr_plus.tree.layout import Shape


class Task(NamedTuple):
    """What a sampler needs to know of all chunks of a run, but for the tree."""

    estimator: Estimator
    shape: Shape  # of the tree
    traversals: int  # of a chunk
    max_visits: int  # of a traversal
    visit_mode: int  # what traversals list
    seed: int  # of all streams


class Sampler:
    """Samples chunks. What comes out depends on the arguments alone, so that whoever makes a chunk makes the same.

    Args:
        arrays: The tree's, read-only; kept, not copied.
        task: What is sampled.
    """

    def __init__(self, arrays: TreeArrays, task: Task):
        self._arrays, self._task = arrays, task
        self._rng = np.zeros(1, np.uint64)
        estimator = task.estimator
        self._workspace = new_scratch(
            self._arrays,
            task.shape,
            self._rng,
            max_visits=task.max_visits,
            sample_per_infoset=estimator.samples_per_infoset,
        )
        self._walk = traverser(estimator)
        num_slots = int(self._arrays.slot_range[-1]) if task.visit_mode != NO_VISITS else 0
        self._weights, self._visited = np.zeros(num_slots), np.zeros(num_slots, np.int32)
        self._parameters = estimator.parameters()

    def prepare(self) -> None:
        """Compiles the kernels, if that is to be done."""
        strategy = np.zeros(int(self._arrays.slot_range[-1]))
        self._sample(as_read(strategy), as_read(strategy), 0, 0)

    def sample(
        self, strategy: np.ndarray, sampling_weights: np.ndarray, players: tuple[int, ...], iteration: int, chunk: int
    ) -> Chunk:
        """Returns what comes out of a chunk.

        Args:
            strategy: ``[num_slots]`` float64, what everybody plays.
            sampling_weights: See `SamplingWeights`.
            players: Whose gradients are estimated; all, if a traversal serves all.
            iteration: Its number, from 1.
            chunk: Its number, from 0.
        """
        strategy, sampling_weights = as_read(strategy), as_read(sampling_weights)
        begin = time.perf_counter()
        before, task = nodes_of(self._workspace), self._task
        sums = []
        for player in players:
            if player == players[0] or not task.estimator.updates_all_players:
                self._rng[:] = stream_of(task.seed, iteration, player, chunk)
                visited = self._visited[: self._sample(strategy, sampling_weights, player, task.traversals)]
            sums.append(sums_of(self._arrays, self._workspace, player, visited, self._weights))
            visited = visited[:0]
        return Chunk(tuple(sums), nodes_of(self._workspace) - before, time.perf_counter() - begin)

    def _sample(self, strategy: np.ndarray, sampling_weights: np.ndarray, player: int, traversals: int) -> int:
        task = self._task
        return self._walk(
            self._arrays,
            self._workspace,
            strategy,
            self._parameters,
            sampling_weights,
            player,
            task.estimator.updates_all_players,
            traversals,
            task.visit_mode,
            self._weights,
            self._visited,
        )
