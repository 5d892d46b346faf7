"""Samplers and owners together, where the tables are split: what samplers find goes straight to the owners."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from mccfr_plus.cluster.chunk import Sums, as_read
from mccfr_plus.cluster.cluster import Cluster
from mccfr_plus.cluster.owner import Owner, Rules
from mccfr_plus.cluster.sampler import Sampler, Task
from mccfr_plus.cluster.split import Part, Places, share_out
from mccfr_plus.cluster.worker_pool import RESTARTED, placed
from mccfr_plus.errors import ClusterError
from mccfr_plus.tree.arrays import TreeArrays


class Summary:
    """What the driver is told of a chunk.

    Args:
        nodes: Histories touched.
        seconds: That it took.
        num_bytes: What all owners together are sent.
        top: The sums of part 0, per player.
    """

    def __init__(self, nodes: int, seconds: float, num_bytes: int, top: list[Sums]):
        self.nodes, self.seconds, self.num_bytes, self.top = nodes, seconds, num_bytes, top


class SplitSampler:
    """A sampler that gets the strategy from its owners, and gives each of them its share.

    Args:
        arrays: The tree's.
        places: Where slots are.
        slots: Per part, the slots that it has.
        task: What is sampled.
    """

    def __init__(self, arrays: TreeArrays, places: Places, slots: Sequence[np.ndarray], task: Task):
        self._sampler = Sampler(arrays, task)
        self._places, self._slots = places, slots
        self._strategy = np.zeros(len(places.part))
        self._turn: tuple | None = None  # whose strategy this is
        counts = np.zeros(len(places.part), np.int32)
        counts[arrays.infosets["first_slot"]] = arrays.infosets["num_actions"]
        self._counts = counts
        self._num_players = len(arrays.slot_range) - 1

    def prepare(self) -> None:
        """Compiles the kernels, if that is to be done."""
        self._sampler.prepare()

    def sample(
        self,
        players: tuple[int, ...],
        iteration: int,
        chunk: int,
        sampling_weights: np.ndarray,
        *strategies: np.ndarray,
    ) -> list[Any]:
        """Returns a `Summary`, and per owner the sums of each player; see `Sampler.sample`.

        Args:
            players: Whose turn it is.
            iteration: Its number.
            chunk: The chunk's.
            sampling_weights: See `SamplingWeights`.
            *strategies: Of the parts.
        """
        if self._turn != (players, iteration):
            for slots, strategy in zip(self._slots, strategies, strict=True):
                self._strategy[slots] = strategy
            self._turn = (players, iteration)
        found = self._sampler.sample(self._strategy, sampling_weights, players, iteration, chunk)
        shared = [share_out(sums, self._counts[sums.firsts], self._places, len(self._slots)) for sums in found.sums]
        by_part = [[of_player[part] for of_player in shared] for part in range(len(self._slots))]
        return [Summary(found.nodes, found.seconds, found.nbytes, by_part[0]), *by_part[1:]]


class SplitCrew(Protocol):
    """Samples chunks, and keeps the owners' tables."""

    def prepare(self) -> None:
        """Compiles the kernels, if that is to be done."""

    def sample(
        self, players: tuple[int, ...], iteration: int, chunks: int, sampling_weights: np.ndarray, top: np.ndarray
    ) -> list[Summary]:
        """Samples a round; what belongs to owners waits for `turn`.

        Args:
            players: Whose turn it is.
            iteration: Its number.
            chunks: How many.
            sampling_weights: See `SamplingWeights`.
            top: The strategy of part 0.
        """

    def turn(self, players: tuple[int, ...], iteration: int, above: list[np.ndarray]) -> list[np.ndarray]:
        """Lets all owners add up and update; returns the values of their subtrees. See `Owner.turn`."""

    def states(self) -> list[dict[str, np.ndarray]]:
        """Returns the owners' states."""

    def set_states(self, states: list[dict[str, np.ndarray]]) -> None:
        """Gives the owners theirs."""

    def close(self) -> None:
        """Ends what was started."""


class SplitOwnProcess:
    """All in this process.

    Args:
        arrays: The tree's.
        places: Where slots are.
        parts: The parts.
        task: What is sampled.
        rules: What owners do.
    """

    def __init__(self, arrays: TreeArrays, places: Places, parts: list[Part], task: Task, rules: Rules):
        self._sampler = SplitSampler(arrays, places, [part.slots for part in parts], task)
        self._owners = [Owner(part, rules) for part in parts[1:]]
        self._found: list[list[Any]] = []

    def prepare(self) -> None:
        self._sampler.prepare()

    def sample(
        self, players: tuple[int, ...], iteration: int, chunks: int, sampling_weights: np.ndarray, top: np.ndarray
    ) -> list[Summary]:
        strategies = [top, *(owner.strategy for owner in self._owners)]
        self._found = [
            self._sampler.sample(players, iteration, n, sampling_weights, *strategies) for n in range(chunks)
        ]
        return [found[0] for found in self._found]

    def turn(self, players: tuple[int, ...], iteration: int, above: list[np.ndarray]) -> list[np.ndarray]:
        values = []
        for number, (owner, sums) in enumerate(zip(self._owners, above, strict=True), 1):
            values.append(owner.turn(players, iteration, sums, *(found[number] for found in self._found))[0])
        return values

    def states(self) -> list[dict[str, np.ndarray]]:
        return [owner.state() for owner in self._owners]

    def set_states(self, states: list[dict[str, np.ndarray]]) -> None:
        for owner, state in zip(self._owners, states, strict=True):
            owner.set_state(state)

    def close(self) -> None:
        pass


class _SamplingActor:
    """A `SplitSampler` that gets the tree and the places with every task."""

    def __init__(self, slots: list[Any], task: Task):
        self._slots, self._task = slots, task
        self._sampler: SplitSampler | None = None

    def _sampler_on(self, tree: tuple, places: tuple) -> SplitSampler:
        if self._sampler is None:
            import ray

            slots = ray.get(self._slots)
            self._sampler = SplitSampler(TreeArrays(*tree), Places(*places), slots, self._task)
        return self._sampler

    def prepare(self, tree: tuple, places: tuple) -> None:
        self._sampler_on(tree, places).prepare()

    def sample(self, tree: tuple, places: tuple, *arguments: Any) -> list[Any]:
        return self._sampler_on(tree, places).sample(*arguments)


class _OwningActor:
    """An `Owner`."""

    def __init__(self, part: Part, rules: Rules):
        self._owner = Owner(part, rules)

    def strategy(self) -> np.ndarray:
        return self._owner.strategy

    def turn(self, *arguments: Any) -> tuple[np.ndarray, np.ndarray]:
        return self._owner.turn(*arguments)

    def state(self) -> dict[str, np.ndarray]:
        return self._owner.state()

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        self._owner.set_state(state)

    def where(self) -> tuple[str, int]:
        import ray

        return ray.get_runtime_context().get_node_id(), os.getpid()


class SplitActors:
    """Actors on a cluster. A sampler that is lost is begun anew; with an owner its tables are lost, which is an error.

    Args:
        cluster: The cluster, connected.
        workers: How many samplers.
        arrays: The tree's.
        places: Where slots are.
        parts: The parts; each but the first one gets an actor.
        task: What is sampled.
        rules: What owners do.

    Raises:
        ClusterError: If a node has no room for the tree.
    """

    def __init__(
        self,
        cluster: Cluster,
        workers: int,
        arrays: TreeArrays,
        places: Places,
        parts: list[Part],
        task: Task,
        rules: Rules,
    ):
        self._ray = cluster.ray
        strategies = 2 * 8 * len(places.part)  # the last round's may still be there
        num_bytes = sum(array.nbytes for array in (*arrays, *places, *(part.slots for part in parts)))
        cluster.check_room(num_bytes + strategies, "the tree with two strategies")
        cluster.check_workers(workers + len(parts) - 1)
        self._shared = (self._put(arrays), self._put(places))
        self._slots = [self._ray.put(as_read(part.slots)) for part in parts]
        sampling, owning = self._ray.remote(_SamplingActor), self._ray.remote(_OwningActor)
        self.samplers = [
            sampling.options(**RESTARTED, **place).remote(self._slots, task) for place in placed(cluster, workers)
        ]
        self.owners = [
            owning.options(**place).remote(self._ray.put(part), rules)
            for part, place in zip(parts[1:], placed(cluster, len(parts) - 1), strict=True)
        ]
        self._strategies: list[Any] = []
        self._found: list[list[Any]] = []

    def _put(self, arrays: Sequence[np.ndarray]) -> Any:
        return self._ray.put(tuple(as_read(array) for array in arrays))

    def prepare(self) -> None:
        self._get(self.samplers[0].prepare.remote(*self._shared))  # the others find on disk what it has compiled
        self._get([sampler.prepare.remote(*self._shared) for sampler in self.samplers[1:]])
        self._strategies = [owner.strategy.remote() for owner in self.owners]

    def sample(
        self, players: tuple[int, ...], iteration: int, chunks: int, sampling_weights: np.ndarray, top: np.ndarray
    ) -> list[Summary]:
        strategies = [self._ray.put(top), *self._strategies]
        guiding = self._ray.put(sampling_weights)
        self._found = []
        for chunk in range(chunks):
            sampler = self.samplers[chunk % len(self.samplers)]
            task = sampler.sample.options(num_returns=1 + len(self.owners))
            self._found.append(task.remote(*self._shared, players, iteration, chunk, guiding, *strategies))
        return self._get([found[0] for found in self._found])

    def turn(self, players: tuple[int, ...], iteration: int, above: list[np.ndarray]) -> list[np.ndarray]:
        values = []
        for number, (owner, sums) in enumerate(zip(self.owners, above, strict=True), 1):
            task: Any = owner.turn.options(num_returns=2)
            value, self._strategies[number - 1] = task.remote(
                players, iteration, sums, *(found[number] for found in self._found)
            )
            values.append(value)
        return self._get(values)

    def states(self) -> list[dict[str, np.ndarray]]:
        return self._get([owner.state.remote() for owner in self.owners])

    def set_states(self, states: list[dict[str, np.ndarray]]) -> None:
        self._get([owner.set_state.remote(state) for owner, state in zip(self.owners, states, strict=True)])
        self._strategies = [owner.strategy.remote() for owner in self.owners]

    def close(self) -> None:
        for actor in (*self.samplers, *self.owners):
            self._ray.kill(actor)
        self._strategies, self._found, self._slots = [], [], []
        self._shared = (None, None)

    def _get(self, references: Any) -> Any:
        try:
            return self._ray.get(references)
        except self._ray.exceptions.RayActorError as error:
            raise ClusterError(
                f"an owner of a part of the tables was lost, and its part with it: {error} Go on from the last "
                "checkpoint."
            ) from None
        except self._ray.exceptions.RayError as error:
            raise ClusterError(f"a worker of the cluster has failed: {error}") from None
