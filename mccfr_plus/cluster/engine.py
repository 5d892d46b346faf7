"""The arrays of a solver whose gradients are sampled elsewhere, in chunks, and added up here in their order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mccfr_plus.cluster.chunk import add_sums, as_read, take_visits
from mccfr_plus.cluster.sampler import Task
from mccfr_plus.cluster.streams import stream_of
from mccfr_plus.cluster.update import BOTH, updater, weight_of
from mccfr_plus.cluster.worker_pool import WorkerPool
from mccfr_plus.estimators import AverageMethod, SamplingWeights
from mccfr_plus.kernels.scratch import DRAWN_ACTIONS, ITERATION, NODES_TOUCHED, STEP, begin_gradient
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.engine import Engine
from mccfr_plus.solver.interrupts import deferred_signals
from mccfr_plus.tree.arrays import TreeArrays
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.lazy_tree import Sizes


class DistributedEngine(Engine):
    """What a distributed solver's iterations read and write.

    Args:
        config: The parts; its batch is that of all chunks together.
        tree: The game.
        rngs: ``[1]`` uint64, the seed of all streams.
        chunks: How many a gradient is made of.
        new_worker_pool: Makes those who sample, when they are first needed.
    """

    tree: GameTree

    def __init__(
        self,
        config: SolverConfig,
        tree: GameTree,
        rngs: np.ndarray,
        chunks: int,
        new_worker_pool: Callable[[TreeArrays, Task], WorkerPool],
    ):
        self._chunks, self._new_worker_pool = chunks, new_worker_pool
        self._seed = rngs.copy()
        self._worker_pool: WorkerPool | None = None
        super().__init__(config, tree, rngs)
        self.bytes_received = 0  # since the engine was made
        self.sampling_seconds = 0.0  # of all workers together, likewise

    def _bind(self, together: bool) -> None:
        self._only = self._team = None
        self.run = updater(self.config.minimizer, self.config.averaging)

    # --- running ---

    def prepare(self) -> None:
        """Starts those who sample, and compiles the kernels, if that is to be done."""
        if self._worker_pool is None:
            worker_pool = self._new_worker_pool(self.tree.arrays, self._task())
            try:
                worker_pool.prepare()
            except BaseException:
                worker_pool.close()
                raise
            self._worker_pool = worker_pool

    def _task(self) -> Task:
        return Task(
            self.config.estimator,
            self.tree.shape,
            self.config.batch // self._chunks,
            self._max_visits() if self.average_method == AverageMethod.VISITS else 0,
            self.config.visit_mode(self.tree),
            int(self._seed[0]),
        )

    def advance(self, iterations: int) -> None:
        """Runs iterations. One that is cut short, by Ctrl-C or a lost cluster, goes on at the turn it was in."""
        self.prepare()
        num_players = self.tree.num_players
        counts, alternating = self.scratches[0].counts, self.config.alternating
        for _ in range(iterations):
            if alternating:
                for player in range(int(counts[STEP]) // 2, num_players):
                    self._turn((player,))
            else:
                self._turn(tuple(range(num_players)))

    def _turn(self, players: tuple[int, ...]) -> None:
        """Estimates the gradients of players under one strategy, and updates them."""
        scratch, config = self.scratches[0], self.config
        arrays, infoset_of_slot = self.tree.arrays, as_read(self.tree.infoset_of_slot)
        iteration = int(scratch.counts[ITERATION]) + 1
        nodes, visits = 0, []
        for player in players:
            begin_gradient(arrays, scratch, player)
        assert self._worker_pool is not None
        for chunk in self._worker_pool.sample(self.strategy, self._guide(), players, iteration, self._chunks):
            nodes += chunk.nodes
            self.bytes_received += chunk.nbytes
            self.sampling_seconds += chunk.seconds
            for player, sums in zip(players, chunk.sums, strict=True):
                add_sums(arrays, scratch, infoset_of_slot, player, sums.firsts, sums.values)
                if len(sums.visited):
                    visits.append((sums.visited, sums.visit_weights))
        # Until here only scratch memory was written, which the same turn begins anew.
        with deferred_signals(lambda: None):
            scale = weight_of(float(config.averaging.gamma), iteration) / config.batch
            is_drawn = config.visit_mode(self.tree) == DRAWN_ACTIONS
            for visited, weights in visits:
                take_visits(
                    arrays.infosets,
                    infoset_of_slot,
                    self.strategy,
                    self.average,
                    visited,
                    weights,
                    scale,
                    is_drawn,
                )
            # For averages that have a traversal of their own: a stream that no chunk has.
            scratch.rng[:] = stream_of(int(self._seed[0]), iteration, players[0], self._chunks)
            self._update(players, iteration)
            self._end_step(players, nodes)

    def _end_step(self, players: tuple[int, ...], nodes: int) -> None:
        counts = self.scratches[0].counts
        counts[NODES_TOUCHED] += nodes
        if players[-1] == self.tree.num_players - 1:
            counts[STEP] = 0
            counts[ITERATION] += 1
        else:
            counts[STEP] = 2 * (players[-1] + 1)

    def _update(self, players: tuple[int, ...], iteration: int) -> None:
        config = self.config
        self.run(
            self.tree.arrays,
            self.strategy,
            self.tables,
            self.average,
            self.scratches[0],
            self.parameters[0],
            int(self.average_method),
            float(config.averaging.gamma),
            config.estimator.visits_all_own,
            players[0],
            players[-1],
            int(config.batch),
            iteration,
            BOTH,
        )

    def _guide(self) -> np.ndarray:
        sampling_weights = self.config.estimator.sampling_weights
        if sampling_weights == SamplingWeights.AVERAGE:
            return self.average
        if sampling_weights == SamplingWeights.REGRETS:
            return self.tables[0]
        return self.sampling if sampling_weights == SamplingWeights.SAMPLING else np.zeros(0)

    def close(self) -> None:
        """Ends those who sample; they begin again when they are needed."""
        if self._worker_pool is not None:
            worker_pool, self._worker_pool = self._worker_pool, None
            worker_pool.close()

    # --- the state ---

    def places(self, sizes: Sizes | None) -> dict[str, np.ndarray]:
        """Returns the arrays that a state is read into; see `Engine.places`. The seed is one of them."""
        return super().places(sizes) | {"stream_seed": self._seed}

    def end_loading(self, sizes: Sizes | None, places: dict[str, np.ndarray]) -> None:
        """Goes on from a state that was read into `places`."""
        super().end_loading(sizes, places)
        self.close()  # whoever samples has the seed of before

    def __getstate__(self) -> dict:
        raise TypeError("a distributed solver cannot be copied: write a checkpoint, and load that.")
