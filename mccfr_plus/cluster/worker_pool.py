"""A pool of workers: actors on a cluster, or this process. Ray schedules, sends data and restarts lost actors."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mccfr_plus.cluster.cluster import LOCAL, RAY, WORK_SECONDS, Closing, Cluster, check_address
from mccfr_plus.errors import ConfigError

# A lost actor is restarted, and repeats what it was doing.
_RESTARTED: dict[str, Any] = {"max_restarts": -1, "max_task_retries": -1}


class _Actor:
    """A worker that gets its constants with every task: they stay in shared memory, also if the actor is restarted."""

    def __init__(self, kind: Callable[..., Any]):
        self._kind = kind
        self._worker: Any = None

    def prepare(self, constants: tuple[Any, ...]) -> None:
        """Makes the worker, which compiles its kernels or loads them."""
        if self._worker is None:
            self._worker = self._kind(*constants)

    def work(self, constants: tuple[Any, ...], shared: Any, task: Any) -> Any:
        """Returns the result of a task."""
        self.prepare(constants)
        return self._worker.work(shared, task)

    def where(self) -> tuple[str, int]:
        """Returns the node and the number of the process."""
        import ray

        return ray.get_runtime_context().get_node_id(), os.getpid()


class WorkerPool(Closing):
    """Processes tasks in a fixed number of workers, and returns the results in the order of the tasks.

    Args:
        num_workers: How many actors; 0: this process does the work, without Ray; None: as many as the cluster has CPUs.
        cluster: A connected `Cluster`, an address as for `Cluster`, or ``"local"``: this process does the work.

    Raises:
        ConfigError: If one of them is none of these, or Ray is needed and not installed.
    """

    def __init__(self, num_workers: int | None = None, cluster: str | Cluster = RAY):
        if num_workers is not None and (
            isinstance(num_workers, bool) or not isinstance(num_workers, int | np.integer) or num_workers < 0
        ):
            raise ConfigError(
                f"workers={num_workers!r}: give a number of processes, 0 to sample in this one, or None for as many as "
                "the cluster has CPUs."
            )
        self._num_workers = num_workers
        self._is_local = num_workers == 0 or cluster == LOCAL
        self._is_own_cluster = not isinstance(cluster, Cluster)
        self._cluster: Any = cluster
        if self._is_own_cluster and cluster != LOCAL:
            check_address(cluster)
            if not self._is_local:
                self._cluster = Cluster(cluster, cpus=max(num_workers or 0, os.cpu_count() or 1))  # type: ignore[arg-type]
        self._local_worker: Any = None
        self._constants: Any = None  # what workers are made with, in the cluster's object store
        self.actors: Sequence[Any] = []

    @property
    def has_started(self) -> bool:
        """Whether the workers have been started."""
        return self._local_worker is not None or bool(self.actors)

    def start(self, kind: Callable[..., Any], constants: tuple[Any, ...], num_bytes: int, what: str) -> None:
        """Starts the workers, and returns when all can work.

        Args:
            kind: A class that can be imported. Its objects have a method ``work(shared, task)`` whose result depends on
                its arguments alone.
            constants: The arguments of the class.
            num_bytes: Their size in a node's shared memory.
            what: Their name in errors.

        Raises:
            ClusterError: If there is no cluster, or it cannot do the work.
        """
        if self._is_local:
            self._local_worker = kind(*constants)
            return
        try:
            if self._is_own_cluster:
                self._cluster.__enter__()
            self._cluster.check_room(num_bytes, what)
            ray = self._cluster.ray
            count = max(self._cluster.cpus, 1) if self._num_workers is None else int(self._num_workers)
            self._cluster.check_workers(count)
            self._constants = ray.put(constants)
            actor = ray.remote(_Actor)
            places = _places(self._cluster, count)
            self.actors = [actor.options(**_RESTARTED, **place).remote(kind) for place in places]
            # The first one of each node compiles the kernels for the others there.
            firsts = [places.index(place) == number for number, place in enumerate(places)]
            for is_first in (True, False):
                some = [actor for actor, first in zip(self.actors, firsts, strict=True) if first == is_first]
                for reference in [actor.prepare.remote(self._constants) for actor in some]:
                    self._get(reference, "compiling the kernels in a worker")
        except BaseException:
            self.close()
            raise

    def work(self, shared: Any, tasks: Sequence[Any]) -> Iterator[Any]:
        """Yields the results of tasks, in their order.

        Raises:
            ClusterError: If a worker raises an error, or the cluster is lost.
        """
        if self._local_worker is not None:
            for task in tasks:
                yield self._local_worker.work(shared, task)
            return
        reference, count = self._cluster.ray.put(shared), len(self.actors)
        waiting = [
            self.actors[number % count].work.remote(self._constants, reference, task)
            for number, task in enumerate(tasks)
        ]
        while waiting:
            yield self._get(waiting.pop(0), "a worker's task")

    def _get(self, reference: Any, what: str) -> Any:
        with self._cluster.worker_errors(what):
            return self._cluster.ray.get(reference, timeout=WORK_SECONDS)

    def close(self) -> None:
        """Ends the workers, and the connection if it was made here. They can be started again."""
        self._local_worker = self._constants = None
        for actor in self.actors:
            self._cluster.ray.kill(actor)
        self.actors = []
        if self._is_own_cluster and not self._is_local:
            self._cluster.close()


def _places(cluster: Cluster, count: int) -> list[dict[str, Any]]:
    """Returns Ray's options for actors, which spread them among nodes as CPUs are.

    An actor starts where a CPU is free, and holds none while it runs, which is Ray's default. Otherwise a restarted
    actor, a second solver or an evaluation between two rounds could wait for a CPU for ever. But without resources Ray
    may start all actors on one node.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    cpus = {node["NodeID"]: node["Resources"].get("CPU", 0) for node in cluster.nodes}
    actors = {node: 0 for node, number in cpus.items() if number > 0}
    on_node = {n: {"scheduling_strategy": NodeAffinitySchedulingStrategy(node_id=n, soft=True)} for n in actors}
    options: list[dict[str, Any]] = []
    for _ in range(count):
        if actors:
            node = min(actors, key=lambda name: (actors[name] + 1) / cpus[name])
            actors[node] += 1
            options.append(on_node[node])
        else:
            options.append({})  # until there is a CPU
    return options
