"""Who samples the chunks of a round: this process, or actors on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from mccfr_plus.cluster.chunk import Chunk, as_read
from mccfr_plus.cluster.cluster import Cluster
from mccfr_plus.cluster.sampler import Sampler, Task
from mccfr_plus.errors import ClusterError
from mccfr_plus.tree.arrays import TreeArrays


class WorkerPool(Protocol):
    """Samples the chunks of rounds."""

    def prepare(self) -> None:
        """Compiles the kernels, if that is to be done."""

    def sample(
        self, strategy: np.ndarray, sampling_weights: np.ndarray, players: tuple[int, ...], iteration: int, chunks: int
    ) -> Iterator[Chunk]:
        """Yields what comes out of the chunks of a round, in their order; see `Sampler.sample`."""

    def close(self) -> None:
        """Ends what was started."""


class OwnProcess:
    """This process, one chunk after another.

    Args:
        arrays: The tree's.
        task: What is sampled.
    """

    def __init__(self, arrays: TreeArrays, task: Task):
        self._sampler = Sampler(arrays, task)

    def prepare(self) -> None:
        self._sampler.prepare()

    def sample(
        self, strategy: np.ndarray, sampling_weights: np.ndarray, players: tuple[int, ...], iteration: int, chunks: int
    ) -> Iterator[Chunk]:
        return (self._sampler.sample(strategy, sampling_weights, players, iteration, chunk) for chunk in range(chunks))

    def close(self) -> None:
        pass


class _SamplingActor:
    """A sampler that gets the tree with every task: so it stays in shared memory, also if an actor begins anew.

    Args:
        task: What is sampled.
    """

    def __init__(self, task: Task):
        self._task = task
        self._sampler: Sampler | None = None

    def _sampler_on(self, tree: tuple[np.ndarray, ...]) -> Sampler:
        if self._sampler is None:
            self._sampler = Sampler(TreeArrays(*tree), self._task)
        return self._sampler

    def prepare(self, tree: tuple[np.ndarray, ...]) -> None:
        """Does what `Sampler.prepare` does."""
        self._sampler_on(tree).prepare()

    def sample(self, tree: tuple[np.ndarray, ...], *arguments: Any) -> Chunk:
        """Does what `Sampler.sample` does."""
        return self._sampler_on(tree).sample(*arguments)

    def where(self) -> tuple[str, int]:
        """Returns the node and the number of the process."""
        import ray

        return ray.get_runtime_context().get_node_id(), os.getpid()


RESTARTED: dict[str, Any] = {"max_restarts": -1, "max_task_retries": -1}


def placed(cluster: Cluster, count: int) -> list[dict[str, Any]]:
    """Returns Ray's options for actors, one after another, who are spread among nodes as CPUs are.

    An actor is begun where a CPU is free, and holds none while it runs, which is Ray's default. Else one whose machine
    is lost, a second solver, or an evaluation between two rounds could wait for a CPU for ever. But actors that hold
    nothing are all the same to Ray, which may begin them on one node.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    cpus = {node["NodeID"]: node["Resources"].get("CPU", 0) for node in cluster.nodes}
    actors = {node: 0 for node, number in cpus.items() if number > 0}
    options: list[dict[str, Any]] = []
    for _ in range(count):
        if actors:
            node = min(actors, key=lambda name: (actors[name] + 1) / cpus[name])
            actors[node] += 1
            options.append({"scheduling_strategy": NodeAffinitySchedulingStrategy(node_id=node, soft=True)})
        else:
            options.append({})  # until there is a CPU
    return options


class Actors:
    """Actors on a cluster, each with its share of the chunks; Ray starts those anew that are lost, with what they did.

    The tree is in shared memory once per node.

    Args:
        cluster: The cluster, connected.
        workers: How many actors.
        arrays: The tree's.
        task: What is sampled.

    Raises:
        ClusterError: If a node has no room for the tree.
    """

    def __init__(self, cluster: Cluster, workers: int, arrays: TreeArrays, task: Task):
        self._ray = cluster.ray
        num_bytes = sum(array.nbytes for array in arrays)
        strategies = 2 * 8 * int(arrays.slot_range[-1])  # the last round's may still be there
        cluster.check_room(num_bytes + strategies, "the tree with two strategies")
        cluster.check_workers(workers)
        self._tree = self._ray.put(tuple(as_read(array) for array in arrays))
        actor = self._ray.remote(_SamplingActor)
        self.actors: Sequence[Any] = [
            actor.options(**RESTARTED, **place).remote(task) for place in placed(cluster, workers)
        ]

    def prepare(self) -> None:
        self._get(self.actors[0].prepare.remote(self._tree))  # alone: the others find on disk what it has compiled
        for reference in [actor.prepare.remote(self._tree) for actor in self.actors[1:]]:
            self._get(reference)

    def sample(
        self, strategy: np.ndarray, sampling_weights: np.ndarray, players: tuple[int, ...], iteration: int, chunks: int
    ) -> Iterator[Chunk]:
        shared = self._ray.put(strategy)
        guiding = self._ray.put(sampling_weights)
        waiting = [
            self.actors[chunk % len(self.actors)].sample.remote(self._tree, shared, guiding, players, iteration, chunk)
            for chunk in range(chunks)
        ]
        while waiting:
            yield self._get(waiting.pop(0))

    def close(self) -> None:
        for actor in self.actors:
            self._ray.kill(actor)
        self.actors, self._tree = [], None

    def _get(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            raise ClusterError(f"a worker of the cluster has failed: {error}") from None
