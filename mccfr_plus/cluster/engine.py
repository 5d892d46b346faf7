"""The arrays of a solver whose gradients a worker pool samples in batches; the batches are added in their order."""

import numpy as np

from mccfr_plus.averages.average import Mechanism
from mccfr_plus.cluster.batch import SamplingPlan, TraversalBatch, add_sums, add_visits, begin_sums, stream_of
from mccfr_plus.cluster.worker_pool import WorkerPool
from mccfr_plus.estimators.draws import list_nothing
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.solver.config import SolverConfig, composed
from mccfr_plus.solver.engine import Engine
from mccfr_plus.solver.loop import ACCUMULATE, MINIMIZE, State, weight_of
from mccfr_plus.trees.arrays import read_only
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.scratch import scale_gradient
from mccfr_plus.trees.tree import Sizes


@kernel
def update(tree, state, scratch, settings, first_player, last_player, iteration):
    """Averages and updates the players from `first_player` to `last_player`, in the order of the loop.

    `scratch` has the sums of the gradients of ``settings.batch`` traversals. Modified in place, as `state`, `settings`.
    """
    count = last_player + 1 - first_player
    weight = weight_of(iteration, settings.gamma, settings.scheduled)
    for step in range(2 * count):  # one call that averages and one that minimizes: each is inlined once
        player = first_player + step % count
        if step < count:
            scale_gradient(tree, scratch, player, 1.0 / settings.batch)
            ACCUMULATE(tree, state.strategy, state.average, scratch, player, weight)
        else:
            MINIMIZE(tree, state.strategy, state.tables, scratch, player, iteration, settings.minimizer)


class DistributedEngine(Engine):
    """The arrays that a distributed solver's iterations read and write.

    The batch size of `config` is the number of traversals in all `num_batches` batches of a gradient, which
    `worker_pool` samples; `rngs`, ``[1]`` uint64, is the seed of all streams.
    """

    tree: GameTree

    def __init__(
        self, config: SolverConfig, tree: GameTree, rngs: np.ndarray, num_batches: int, worker_pool: WorkerPool
    ):
        self._num_batches, self._worker_pool = num_batches, worker_pool
        self._seed = rngs.copy()
        super().__init__(config, tree, rngs)

    def _bind(self) -> None:
        self.run = composed(update, self.config, self.average_method, partial=True)

    def prepare(self) -> None:
        """Starts the workers, which compile their kernels."""
        if self._worker_pool.workers:
            return
        config, method = self.config, self.average_method
        traversals, visits, max_visits = config.batch // self._num_batches, "nothing", 0
        if method.list_visit is not list_nothing:
            is_drawn, max_visits = method.mechanism is Mechanism.DRAWN_ACTIONS, self._max_visits()
            visits = "drawn actions" if is_drawn else "infosets"
        plan = SamplingPlan(config.estimator, self.tree.shape, traversals, max_visits, visits)
        self._worker_pool.start(self.tree.arrays, plan)

    def advance(self, iterations: int) -> None:
        """Runs iterations. One interrupted by a limit, Ctrl-C or a lost cluster continues with its player."""
        self.prepare()
        counts, target = self.scratches[0].counts[0], self.iterations + iterations
        everyone = tuple(range(self.tree.num_players))
        while self.iterations < target and not self.is_ended:
            self._round((int(counts["step"]) // 2,) if self.config.alternating else everyone)

    def interrupt(self) -> None:
        """Does nothing: rounds end when `is_ended` is set."""

    def _round(self, players: tuple[int, ...]) -> None:
        """Estimates the gradients of players under one strategy, and updates them; returns before if it is ended."""
        scratch, config = self.scratches[0], self.config
        counts = scratch.counts[0]
        arrays, infoset_of_slot = self.tree.arrays, read_only(self.tree.infoset_of_slot)
        iteration, seed = int(counts["iteration"]) + 1, int(self._seed[0])
        nodes, visits = 0, []
        begin_sums(arrays, scratch, players[0], players[-1])
        batches = [TraversalBatch(seed, iteration, players, number) for number in range(self._num_batches)]
        for found, touched in self._worker_pool.sample((self.strategy, self.sampling_weights()), batches):
            if self.is_ended:
                return
            nodes += touched
            for player, sums in zip(players, found, strict=True):
                add_sums(arrays, scratch, infoset_of_slot, player, sums.first_slots, sums.values)
                if len(sums.visited):
                    visits.append((sums.visited, sums.visit_weights))
        # Until here only scratch memory was written, which a repeated round resets.
        with deferred_signals():
            average, is_drawn = config.averaging, self.average_method.mechanism is Mechanism.DRAWN_ACTIONS
            weighting = (iteration, average.last_gamma, average.scheduled, int(config.batch), is_drawn)
            for visited in visits:
                add_visits(arrays.infosets, infoset_of_slot, self.strategy, self.average, *visited, *weighting)
            # For averages with traversals of their own: a stream that no batch has.
            scratch.rng[:] = stream_of(seed, iteration, players[0], self._num_batches)
            state, settings = State(self.strategy, self.tables, self.average), self._settings(self.parameters[0])
            self.run(arrays, state, scratch, settings, players[0], players[-1], iteration)
            counts["nodes_touched"] += nodes
            is_last = players[-1] == self.tree.num_players - 1
            counts["step"] = 0 if is_last else 2 * (players[-1] + 1)
            counts["iteration"] += is_last

    def places(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """See `Engine.places`; the seed is one of the arrays."""
        return super().places(sizes) | {"stream_seed": self._seed}

    def __getstate__(self) -> dict:
        raise TypeError("a distributed solver cannot be copied: write a checkpoint, and load that.")
