"""What distributed Deep CFR, DREAM and ESCHER share: a player's traversals, made in chunks."""

from __future__ import annotations

import abc
from typing import Any

from mccfr_plus.cluster.neural.solver import Distributed, writable
from mccfr_plus.cluster.neural.traversals import Chunk, Task, Visits
from mccfr_plus.neural.advantage_solver import AdvantageSolver
from mccfr_plus.neural.config import AdvantageConfig
from mccfr_plus.neural.sampling import Samples
from mccfr_plus.neural.training import Learner


class DistributedAdvantages(Distributed, AdvantageSolver):
    """A solver with a network of advantages per player, whose traversals are made by workers. See `Distributed`.

    Chunk c of the traversals for player p in iteration t has the random stream of (seed, t, p, c).
    """

    def _counts(self, config: AdvantageConfig) -> dict[str, int]:
        return {"traversals": config.traversals}

    def _learners(self) -> list[Learner]:
        return [part.learner for part in self._players]

    # --- what a subclass gives ---

    @abc.abstractmethod
    def _shared(self, player: int) -> Any:
        """Returns what a worker reads for a player's traversals."""

    wants_visits = False  # whether it is asked how often histories were visited

    def _taken(self, samples: Samples) -> Samples:
        """Returns what goes to the memory of a chunk's samples."""
        return samples

    # --- sampling ---

    def _sample(self, player: int, iteration: int) -> None:
        self._begin_phase(f"traversals {player}")
        tasks = [
            Task((player,), traversals, stream, wants_visits=self.wants_visits)
            for traversals, stream in self._streams(self.config.traversals, iteration, player)
        ]
        for chunk in self._work(self._shared(player), tasks):
            rows, regrets, weights = chunk.samples
            samples = Samples(writable(rows), writable(regrets), None if weights is None else writable(weights))
            self._players[player].memory.add(self._taken(samples), iteration)
            self._note(chunk)

    def _note(self, chunk: Chunk) -> None:
        """Counts what a chunk visited."""
        self._sampler.state()["nodes"][0] += chunk.nodes_touched
        if chunk.visits is not None:
            nodes, counts = Visits(*chunk.visits)
            self._sampler.visited[nodes] += counts
