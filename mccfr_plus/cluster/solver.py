"""The solver whose traversals many processes make, on one machine or several: its workers, engine and interface."""

import contextlib
import heapq
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from mccfr_plus.averages.average import PowerAverage, add_visits
from mccfr_plus.cluster.batch import LISTS, BatchWorker, SamplingPlan, SparseSums, TraversalBatch, add_sums, stream_of
from mccfr_plus.cluster.cluster import LOCAL, RAY, Cluster
from mccfr_plus.errors import CheckpointError, ConfigError
from mccfr_plus.estimators import Estimator
from mccfr_plus.estimators.traversal import list_nothing
from mccfr_plus.evaluation.exact import AnyGame
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.interrupts import deferred_signals
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.parameters import Seed, check_whole
from mccfr_plus.solver import saved_state as checkpoints
from mccfr_plus.solver.config import SolverConfig, composed
from mccfr_plus.solver.engine import Engine
from mccfr_plus.solver.loop import ACCUMULATE, MINIMIZE, State, weight_of
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.arrays import TreeArrays, read_only
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.needs import NO_VALUES
from mccfr_plus.trees.scratch import begin_gradient, scale_gradient
from mccfr_plus.trees.tree import Sizes, Tree


def _compile(arrays: TreeArrays, plan: SamplingPlan) -> None:
    BatchWorker(arrays, plan)


class WorkerPool:
    """Samples batches in actors on a cluster or in this process; see `DistributedSolver` for the arguments."""

    def __init__(self, num_workers: int | None, cluster: str | Cluster):
        if num_workers is not None:
            check_whole("workers", num_workers)
        self._num_workers = num_workers
        self._is_local = cluster == LOCAL
        self._has_own_cluster = not self._is_local and not isinstance(cluster, Cluster)
        self._cluster: Any = Cluster(cluster) if self._has_own_cluster else cluster  # type: ignore[arg-type]
        self.workers: list[Any] = []  # empty before `start`; Ray restarts lost ones and repeats their tasks
        self._arrays: Any = None  # of the tree, in the cluster's shared memory

    def start(self, arrays: TreeArrays, plan: SamplingPlan) -> None:
        """Starts the workers, and returns when all have compiled or loaded their kernels."""
        if self._is_local:
            self.workers = [BatchWorker(arrays, plan)]
            return
        try:
            if self._has_own_cluster:
                self._cluster.__enter__()
            with self._cluster.worker_errors():
                self._start_actors(arrays, plan)
        except BaseException:
            self.close()
            raise

    def _start_actors(self, arrays: TreeArrays, plan: SamplingPlan) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        ray, actor = self._cluster.ray, self._cluster.ray.remote(BatchWorker)
        self._arrays = ray.put(arrays)
        # Once per machine, rather than in all workers at the same time.
        self._cluster.on_every_node("Its kernels could not be compiled.", _compile, self._arrays, plan)
        cpus = {node["NodeID"]: node["Resources"]["CPU"] for node in self._cluster.nodes()}
        for node in places(cpus, self._num_workers or int(sum(cpus.values()))):
            there = NodeAffinitySchedulingStrategy(node_id=node, soft=True)
            options = actor.options(max_restarts=-1, max_task_retries=-1, scheduling_strategy=there)
            self.workers.append(options.remote(self._arrays, plan))
        ray.get([worker.__ray_ready__.remote() for worker in self.workers])

    def sample(
        self, shared: tuple[np.ndarray, np.ndarray], batches: Sequence[TraversalBatch]
    ) -> Iterator[tuple[list[SparseSums], int]]:
        """Yields the results of batches, in their order; see `BatchWorker.sample`."""
        if self._is_local:
            yield from (self.workers[0].sample(shared, batch) for batch in batches)
            return
        ray = self._cluster.ray
        with self._cluster.worker_errors():
            place, workers = ray.put(shared), itertools.cycle(self.workers)
            waiting = [worker.sample.remote(place, batch) for worker, batch in zip(workers, batches, strict=False)]
            while waiting:
                yield ray.get(waiting.pop(0))

    def close(self) -> None:
        if not self._is_local:
            for worker in self.workers:
                self._cluster.ray.kill(worker)
        self.workers, self._arrays = [], None
        if self._has_own_cluster:
            self._cluster.close()


def places(cpus: dict[str, float], count: int) -> list[str]:
    """Returns nodes for workers in proportion to CPUs: Ray may start all actors, which hold no CPU, on one node."""
    turns = ((turn / number, node) for node, number in cpus.items() for turn in range(1, count + 1))
    return [node for _, node in heapq.nsmallest(count, turns)]


@kernel
def update(tree, state, scratch, settings, first_player, last_player, iteration):
    """Averages and updates players from the sums of the gradients of ``settings.batch`` traversals in `scratch`."""
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
    """The arrays that a distributed solver's iterations read and write; `rngs`, ``[1]`` uint64, seeds all streams."""

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
        traversals = config.batch // self._num_batches
        max_visits = 0 if method.list_visit is list_nothing else self._max_visits()
        (visits,) = (name for name, kernel in LISTS.items() if kernel is method.list_visit)
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
        for player in players:
            begin_gradient(arrays, scratch, player)
        batches = [TraversalBatch(seed, iteration, players, number) for number in range(self._num_batches)]
        for found, touched in self._worker_pool.sample((self.strategy, self.sampling_weights()), batches):
            if self.is_ended:
                return
            nodes += touched
            for player, sums in zip(players, found, strict=True):
                add_sums(arrays, scratch, infoset_of_slot, player, sums.first_slots, sums.values)
                visits.append(sums.visits)
        # Until here only scratch memory was written, which a repeated round resets.
        with deferred_signals():
            weight = weight_of(iteration, *config.averaging.weights()) / config.batch
            for listed in visits:
                add_visits(self.strategy, self.average, listed, len(listed), weight)
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
        raise TypeError("a distributed solver cannot be copied: write a checkpoint and load it.")


class DistributedSolver(contextlib.AbstractContextManager, Solver):
    """A `Solver` whose gradients are sampled by workers on a Ray cluster.

    In every round, workers get the current strategy, make a fixed number of batches of traversals, each with its own
    random stream, and return sparse sums. The driver adds the sums in the order of batches and updates. A gradient is
    the mean of many estimates, without bias (Farina, Kroer and Sandholm 2020, section 5.2). Results depend on `seed`,
    `num_batches` and `traversals`, but not on the number or the speed of workers, or on a worker's crash.

    Otherwise it is used like a `Solver`. Close it after use, or use it in a ``with`` block.

    Args:
        game: As for `Solver`. It must fit into the memory of each machine. Workers get the compiled tree and do not
            load the game.
        estimator: As for `Solver`. It must sample.
        minimizer: As for `Solver`.
        averaging: As for `Solver`.
        alternating: See `Solver`. With False, one round serves all players, which halves the number of rounds for two
            players.
        num_batches: Number of batches per gradient: at least the number of workers, more if some are slower.
        traversals: Number of traversals per batch.
        seed: As for `Solver`.
        workers: Number of processes that sample. Default: one per CPU of the cluster.
        cluster: An address as for `Cluster`, a connected `Cluster`, or ``"local"`` to sample in this process, with the
            same results.

    Raises:
        GameError, BudgetError, ConfigError: As for `Solver`, or if Ray is needed and not installed.

    Examples:
        >>> from mccfr_plus.cluster import DistributedSolver
        >>> with DistributedSolver("kuhn_poker", num_batches=4, traversals=100, seed=1, cluster="local") as solver:
        ...     solver.run(200).exploitability() < 0.01
        True
    """

    def __init__(
        self,
        game: AnyGame,
        estimator: Estimator | str = "external",
        minimizer: Minimizer | str = "rm",
        averaging: PowerAverage | str | None = None,
        *,
        alternating: bool | None = None,
        num_batches: int = 8,
        traversals: int = 1000,
        seed: Seed = None,
        workers: int | None = 2,
        cluster: Cluster | str = RAY,
    ):
        check_whole("num_batches", num_batches)
        check_whole("traversals", traversals)
        self.num_batches, self.traversals, self.workers = int(num_batches), int(traversals), workers
        self._worker_pool = WorkerPool(workers, cluster)
        super().__init__(
            game,
            estimator,
            minimizer,
            averaging,
            alternating=alternating,
            batch=self.num_batches * self.traversals,
            seed=seed,
            tree="compiled",
        )

    def _new_engine(self, tree: Tree, rngs: np.ndarray) -> Engine:
        if NO_VALUES not in self.estimator.provides:
            raise ConfigError(
                f"estimator={self.estimator.short_name!r} in a distributed solver: workers would have to share its "
                "table of history values. Use external or outcome."
            )
        whole = tree.require_whole("a distributed solver")
        whole.require_perfect_recall("a distributed solver")
        return DistributedEngine(self.config, whole, rngs, self.num_batches, self._worker_pool)

    def close(self) -> None:
        """Ends the workers, and the connection if it was opened here. Results are kept; `run` starts new workers."""
        self._worker_pool.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    @classmethod
    def from_checkpoint(  # type: ignore[override]
        cls,
        path: str | os.PathLike,
        game: AnyGame | None = None,
        *,
        workers: int | None = 2,
        cluster: Cluster | str = RAY,
    ) -> Self:
        """Returns a solver in the state of a checkpoint, with any workers and cluster; see `Solver.from_checkpoint`."""
        header = checkpoints.read_header(path)
        num_batches = header["num_batches"]
        if num_batches is None:
            raise CheckpointError(f"{path} was written by a solver that is not distributed: load it with Solver.")
        arguments = checkpoints.arguments_of(path, header)
        known = {name: arguments[name] for name in ("estimator", "minimizer", "averaging", "alternating", "seed")}
        known |= {"num_batches": num_batches, "traversals": header["batch"] // num_batches}
        solver = cls(header["game"] if game is None else game, **known, workers=workers, cluster=cluster)
        return solver.restore(path)

    def __repr__(self) -> str:
        return f"Distributed{super().__repr__()}"
