"""Who makes chunks: actors on a cluster, or this process. Ray schedules, ships and tries again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mccfr_plus.cluster.cluster import LOCAL, RAY, Cluster
from mccfr_plus.cluster.neural.traversals import bytes_of, without_game
from mccfr_plus.cluster.worker_pool import RESTARTED, placed
from mccfr_plus.errors import ClusterError, ConfigError
from mccfr_plus.tree.game_tree import GameTree


class _Actor:
    """A worker that gets the tree with every task: so it stays in shared memory, also if an actor begins anew.

    Args:
        kind: See `Workers.begin`.
    """

    def __init__(self, kind: Callable[..., Any]):
        self._kind = kind
        self._worker: Any = None

    def prepare(self, made_with: tuple[Any, ...]) -> None:
        """Makes the worker, which compiles its kernels or loads them."""
        if self._worker is None:
            self._worker = self._kind(*made_with)

    def work(self, made_with: tuple[Any, ...], shared: Any, task: Any) -> Any:
        """Returns what comes of a task."""
        self.prepare(made_with)
        return self._worker.work(shared, task)


class Workers:
    """Makes chunks of samples, and gives them back in the order in which they were wanted.

    Args:
        count: How many actors; 0: this process does the work, without Ray; None: as many as the cluster has CPUs.
        cluster: A connected `Cluster`, the address of one, or ``"local"``: this process does the work.

    Raises:
        ConfigError: If one of them is none of these, or Ray is not installed.
    """

    def __init__(self, count: int | None = None, cluster: str | Cluster = RAY):
        if count is not None and (isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0):
            raise ConfigError(
                f"workers={count!r}: give a number of processes, 0 to sample in this one, or None for as many as the "
                "cluster has CPUs."
            )
        if not isinstance(cluster, str | Cluster):
            raise ConfigError(f"cluster={cluster!r}: give an address, a connected Cluster, or 'local'.")
        self._count = count
        self._is_local = count == 0 or cluster == LOCAL
        self._owns_cluster = isinstance(cluster, str)
        self._cluster: Any = None
        if not self._is_local:
            self._cluster = Cluster(cluster) if isinstance(cluster, str) else cluster
        self._own: Any = None  # what does the work in this process
        self._made_with: Any = None  # what workers are made with, in the cluster's object store
        self._actors: list[Any] = []

    @property
    def has_begun(self) -> bool:
        """Whether there is somebody to work."""
        return self._own is not None or bool(self._actors)

    def begin(self, kind: Callable[..., Any], tree: GameTree, *arguments: Any) -> None:
        """Starts the workers, and returns when all can work.

        Args:
            kind: A class that can be imported, whose objects have a method ``work(shared, task)`` that gives the same
                for the same arguments.
            tree: The game, of which workers get the arrays.
            *arguments: What the class is made with besides the tree.

        Raises:
            ClusterError: If there is no cluster, or it cannot do the work.
        """
        made_with = without_game(tree), *arguments
        if self._is_local:
            self._own = kind(*made_with)
            return
        try:
            if self._owns_cluster:
                self._cluster.__enter__()
            self._cluster.check_room(bytes_of(tree), f"the compiled tree of {tree.game}")
            ray = self._cluster.ray
            count = max(self._cluster.cpus, 1) if self._count is None else int(self._count)
            # One that dies is made anew, and does again what it was at.
            actor = ray.remote(_Actor)
            self._made_with = ray.put(made_with)
            places = placed(self._cluster, count)
            self._actors = [actor.options(**RESTARTED, **place).remote(kind) for place in places]
            for some in (self._actors[:1], self._actors[1:]):  # the first alone: others find what it has compiled
                self._get([each.prepare.remote(self._made_with) for each in some])
        except BaseException:
            self.close()
            raise

    def work(self, shared: Any, tasks: Sequence[Any]) -> Iterator[Any]:
        """Yields what comes of tasks, in their order.

        Args:
            update_all_players: What all of them read.
            tasks: One after another.

        Raises:
            ClusterError: If a worker raises an error.
        """
        if self._own is not None:
            for task in tasks:
                yield self._own.work(shared, task)
            return
        from ray.util import ActorPool

        reference = self._cluster.ray.put(shared)
        # A pool for each phase: if one is cut short nothing of it comes up in the next.
        pool: Any = ActorPool(self._actors)
        results = pool.map(lambda actor, task: actor.work.remote(self._made_with, reference, task), tasks)
        for _ in tasks:
            yield self._get(results)

    def _get(self, wanted: Any) -> Any:
        """Returns the results of references, or the next one of an iterator."""
        try:
            return self._cluster.ray.get(wanted) if isinstance(wanted, list) else next(wanted)
        except self._cluster.ray.exceptions.RayError as error:
            raise ClusterError(f"a worker of the cluster has failed: {error}") from None

    def close(self) -> None:
        """Ends the workers, and the connection if it was made here. They can begin anew."""
        self._own = self._made_with = None
        for actor in self._actors:
            self._cluster.ray.kill(actor)
        self._actors = []
        if self._owns_cluster and self._cluster is not None:
            self._cluster.close()
