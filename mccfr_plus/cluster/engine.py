"""The arrays of a solver whose gradients are sampled elsewhere, in chunks, and added up here in their order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mccfr_plus.solver.config import Combination
from mccfr_plus.cluster.chunk import add_sums, as_read, take_visits
from mccfr_plus.cluster.worker_pool import Crew
from mccfr_plus.cluster.sampler import Task
from mccfr_plus.cluster.streams import stream_of
from mccfr_plus.cluster.update import BOTH, updater, weight_of
from mccfr_plus.solver.engine import Engine
from mccfr_plus.estimators import Guide, Way
from mccfr_plus.solver.interrupts import deferred_signals
from mccfr_plus.tree.arrays import TreeArrays
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.lazy_tree import Sizes
from mccfr_plus.kernels.scratch import DRAWN_ACTIONS, ITERATION, NODES_TOUCHED, STEP, begin_gradient


class DistributedEngine(Engine):
    """What a distributed solver's iterations read and write.

    Args:
        combination: The parts; its batch is that of all chunks together.
        tree: The game.
        rngs: ``[1]`` uint64, the seed of all streams.
        chunks: How many a gradient is made of.
        new_crew: Makes those who sample, when they are first needed.
    """

    tree: GameTree

    def __init__(
        self,
        combination: Combination,
        tree: GameTree,
        rngs: np.ndarray,
        chunks: int,
        new_crew: Callable[[TreeArrays, Task], Crew],
    ):
        self._chunks, self._new_crew = chunks, new_crew
        self._seed = rngs.copy()
        self._crew: Crew | None = None
        super().__init__(combination, tree, rngs)
        self.bytes_received = 0  # since the engine was made
        self.sampling_seconds = 0.0  # of all workers together, likewise

    def _bind(self, together: bool) -> None:
        self._only = self._team = None
        self.run = updater(self.combination.minimizer, self.combination.averaging)

    # --- running ---

    def prepare(self) -> None:
        """Starts those who sample, and compiles the kernels, if that is to be done."""
        if self._crew is None:
            crew = self._new_crew(self.tree.arrays, self._task())
            try:
                crew.prepare()
            except BaseException:
                crew.close()
                raise
            self._crew = crew

    def _task(self) -> Task:
        return Task(
            self.combination.estimator,
            self.tree.shape,
            self.combination.batch // self._chunks,
            self._max_visits() if self.way == Way.VISITS else 0,
            self.combination.visit_mode(self.tree),
            int(self._seed[0]),
        )

    def advance(self, iterations: int) -> None:
        """Runs iterations. One that is cut short, by Ctrl-C or a lost cluster, goes on at the turn it was in."""
        self.prepare()
        num_players = self.tree.num_players
        counts, alternating = self.workspaces[0].counts, self.combination.alternating
        for _ in range(iterations):
            if alternating:
                for player in range(int(counts[STEP]) // 2, num_players):
                    self._turn((player,))
            else:
                self._turn(tuple(range(num_players)))

    def _turn(self, players: tuple[int, ...]) -> None:
        """Estimates the gradients of players under one strategy, and updates them."""
        workspace, combination = self.workspaces[0], self.combination
        arrays, infoset_of_slot = self.tree.arrays, as_read(self.tree.infoset_of_slot)
        iteration = int(workspace.counts[ITERATION]) + 1
        nodes, visits = 0, []
        for player in players:
            begin_gradient(arrays, workspace, player)
        assert self._crew is not None
        for chunk in self._crew.sample(self.strategy, self._guide(), players, iteration, self._chunks):
            nodes += chunk.nodes
            self.bytes_received += chunk.nbytes
            self.sampling_seconds += chunk.seconds
            for player, sums in zip(players, chunk.sums, strict=True):
                add_sums(arrays, workspace, infoset_of_slot, player, sums.firsts, sums.values)
                if len(sums.visited):
                    visits.append((sums.visited, sums.visit_weights))
        # Until here only scratch memory was written, which the same turn begins anew.
        with deferred_signals(lambda: None):
            scale = weight_of(float(combination.averaging.gamma), iteration) / combination.batch
            is_drawn = combination.visit_mode(self.tree) == DRAWN_ACTIONS
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
            # For averages that have a walk of their own: a stream that no chunk has.
            workspace.rng[:] = stream_of(int(self._seed[0]), iteration, players[0], self._chunks)
            self._update(players, iteration)
            self._end_turn(players, nodes)

    def _end_turn(self, players: tuple[int, ...], nodes: int) -> None:
        counts = self.workspaces[0].counts
        counts[NODES_TOUCHED] += nodes
        if players[-1] == self.tree.num_players - 1:
            counts[STEP] = 0
            counts[ITERATION] += 1
        else:
            counts[STEP] = 2 * (players[-1] + 1)

    def _update(self, players: tuple[int, ...], iteration: int) -> None:
        combination = self.combination
        self.run(
            self.tree.arrays,
            self.strategy,
            self.tables,
            self.average,
            self.workspaces[0],
            self.parameters[0],
            int(self.way),
            float(combination.averaging.gamma),
            combination.estimator.walks_all_own,
            players[0],
            players[-1],
            int(combination.batch),
            iteration,
            BOTH,
        )

    def _guide(self) -> np.ndarray:
        guide = self.combination.estimator.guide
        if guide == Guide.AVERAGE:
            return self.average
        if guide == Guide.REGRETS:
            return self.tables[0]
        return self.sampling if guide == Guide.SAMPLING else np.zeros(0)

    def close(self) -> None:
        """Ends those who sample; they begin again when they are needed."""
        if self._crew is not None:
            crew, self._crew = self._crew, None
            crew.close()

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
