"""NFSP whose episodes are played on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus.cluster.neural.episodes import EpisodeChunks, EpisodeTask, Policies, Record
from mccfr_plus.cluster.neural.solver import Distributed
from mccfr_plus.neural.nfsp import NFSP
from mccfr_plus.neural.training import Learner

_NOBODY = 0  # in place of a player in the key of a stream: episodes are for all of them


class DistributedNFSP(Distributed, NFSP):
    """`NFSP` with episodes played by workers on a Ray cluster, and networks in the driver.

    An iteration is a round: all of its ``config.episodes`` are played by the tables, and explored with the
    probabilities, that its beginning has. The driver takes chunks in their order and makes the updates that are due
    after each, while workers play later ones. In `NFSP` tables are renewed within an iteration, as soon as a player
    has made ``config.refresh_every`` updates, and the exploration's probability then, too. So policies here are up to
    an iteration old, and ``config.episodes`` matters to what is learned: fewer are nearer to `NFSP`, more make rounds
    longer than what it costs to begin one. How many updates there are per step, and what they do, is the same.

    Chunk c of iteration t has the random stream of (seed, t, 0, c).

    Args:
        game: See `NFSP`.
        config: An `NFSPConfig`; None: its defaults.
        seed: An integer for a repeatable run; a numpy generator, or None: an integer is drawn, and kept as `seed`.
        **others: ``workers``, ``chunks`` (of an iteration's episodes), ``cluster`` and ``device``; see `Distributed`.

    Raises:
        ConfigError: If an argument is out of range, or Ray is needed and not installed.
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.

    Reference: Heinrich, Silver 2016, "Deep reinforcement learning from self-play in imperfect-information games",
    algorithm 1. Differs from it as `NFSP` does, and in the above.

    Example:
        >>> from mccfr_plus.cluster.neural import DistributedNFSP
        >>> from mccfr_plus.neural import NFSPConfig
        >>> solver = DistributedNFSP("kuhn_poker", NFSPConfig(episodes=500), seed=1, cluster="local").run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    worker = EpisodeChunks

    def _counts(self, config: Any) -> dict[str, int]:
        return {"episodes": config.episodes}

    def _workers_arguments(self) -> tuple[Any, ...]:
        return (self.config.anticipatory,)

    def _learners(self) -> list[Learner]:
        return [learner for part in self._players for learner in (part.values, part.policy)]

    def _play_and_learn(self, iteration: int) -> None:
        self._begin_phase("episodes")
        epsilon = np.array([self.config.epsilon(count) for count in self._episodes.steps.tolist()])
        streams = self._streams(self.config.episodes, iteration, _NOBODY)
        tasks = [EpisodeTask(episodes, stream) for episodes, stream in streams]
        # A copy: learning writes to the tables while chunks that need the old ones are still to be played.
        tables = type(self._tables)(*(table.copy() for table in self._tables))
        for record in self._work(Policies(tables, epsilon), tasks):
            self._note(Record(*record))
            self._learn_if_due(iteration)

    def _note(self, record: Record) -> None:
        """Puts a chunk into the memories, and counts."""
        for player, part in enumerate(self._players):
            part.transitions.add(record.transitions[player])
            part.decisions.add(record.decisions[player])
        self._episodes.steps += record.steps
        self._episodes.state()["nodes"][0] += record.nodes_touched
