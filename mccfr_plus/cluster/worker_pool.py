"""A pool of workers that sample batches: actors on a Ray cluster, or this process."""

import heapq
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mccfr_plus.cluster.batch import BatchWorker, SamplingPlan, SparseSums, TraversalBatch, compile_kernels
from mccfr_plus.cluster.cluster import LOCAL, RAY, Cluster
from mccfr_plus.parameters import check_whole
from mccfr_plus.trees.arrays import TreeArrays


class _Actor:
    """A worker on a cluster. It gets the tree with each batch, from shared memory, also if Ray has restarted it."""

    def __init__(self) -> None:
        self._worker: Any = None

    def prepare(self, arrays: TreeArrays, plan: SamplingPlan) -> None:
        if self._worker is None:
            self._worker = BatchWorker(arrays, plan)
            self._worker.prepare()

    def sample(self, arrays: TreeArrays, plan: SamplingPlan, *arguments: Any) -> Any:
        self.prepare(arrays, plan)
        return self._worker.sample(*arguments)


class WorkerPool:
    """Samples batches in a fixed number of workers, and returns the results in the order of the batches.

    Args:
        num_workers: Number of actors; None: one per CPU of the cluster.
        cluster: A connected `Cluster`, an address as for `Cluster`, or ``"local"``: this process samples.

    Raises:
        ConfigError, ClusterError: If Ray is needed and not installed; later, if the cluster or a worker fails.
    """

    def __init__(self, num_workers: int | None = None, cluster: str | Cluster = RAY):
        if num_workers is not None:
            check_whole("workers", num_workers)
        self._num_workers = num_workers
        self._is_local = cluster == LOCAL
        self._has_own_cluster = not self._is_local and not isinstance(cluster, Cluster)
        self._cluster: Any = Cluster(cluster) if self._has_own_cluster else cluster  # type: ignore[arg-type]
        self.workers: list[Any] = []  # empty before `start`; Ray restarts lost ones and repeats their tasks
        self._constants: Any = ()  # the tree, in the cluster's shared memory, and the plan

    def start(self, arrays: TreeArrays, plan: SamplingPlan) -> None:
        """Starts the workers, and returns when all have compiled or loaded their kernels."""
        if self._is_local:
            self.workers = [BatchWorker(arrays, plan)]
            self.workers[0].prepare()
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

        ray, actor = self._cluster.ray, self._cluster.ray.remote(_Actor)
        self._constants = ray.put(arrays), plan
        self._cluster.on_every_node("Its kernels could not be compiled.", compile_kernels, *self._constants)
        cpus = {node["NodeID"]: node["Resources"]["CPU"] for node in self._cluster.nodes()}
        for node in places(cpus, self._num_workers or int(sum(cpus.values()))):
            there = NodeAffinitySchedulingStrategy(node_id=node, soft=True)
            options = actor.options(max_restarts=-1, max_task_retries=-1, scheduling_strategy=there)
            self.workers.append(options.remote())
        ray.get([worker.prepare.remote(*self._constants) for worker in self.workers])

    def sample(
        self, shared: tuple[np.ndarray, np.ndarray], batches: Sequence[TraversalBatch]
    ) -> Iterator[tuple[list[SparseSums], int]]:
        """Yields the results of batches, in their order; see `BatchWorker.sample`."""
        if self._is_local:
            yield from (self.workers[0].sample(shared, batch) for batch in batches)
            return
        ray = self._cluster.ray
        with self._cluster.worker_errors():
            arguments, workers = (*self._constants, ray.put(shared)), itertools.cycle(self.workers)
            waiting = [worker.sample.remote(*arguments, batch) for worker, batch in zip(workers, batches, strict=False)]
            while waiting:
                yield ray.get(waiting.pop(0))

    def close(self) -> None:
        """Ends the workers, and the connection if it was made here. `start` can start them again."""
        if not self._is_local:
            for worker in self.workers:
                self._cluster.ray.kill(worker)
        self.workers, self._constants = [], ()
        if self._has_own_cluster:
            self._cluster.close()


def places(cpus: dict[str, float], count: int) -> list[str]:
    """Returns the nodes of so many workers, in proportion to the nodes' CPUs.

    Ray alone may start all actors on one node, because an actor holds no CPU while it runs. If it did, a second solver
    could wait for ever.
    """
    turns = ((turn / number, node) for node, number in cpus.items() for turn in range(1, count + 1))
    return [node for _, node in heapq.nsmallest(count, turns)]
