"""What workers of NFSP do: chunks of episodes on a compiled tree. The same arguments give the same bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus.neural.episodes import Episodes, Tables
from mccfr_plus.tree.game_tree import GameTree

_NEVER = np.iinfo(np.int64).max  # are updates due: learning is the driver's


class EpisodeTask(NamedTuple):
    """A chunk that is wanted."""

    episodes: int
    stream: np.ndarray  # [1] uint64, the state of the random generator at its beginning


class Policies(NamedTuple):
    """What everybody plays by."""

    tables: Tables
    epsilon: np.ndarray  # [num_players] float64, how likely a best response is to play any action instead


class Record(NamedTuple):
    """What a chunk of episodes gives."""

    transitions: list[np.ndarray]  # of each player, [n] TRANSITION
    decisions: list[np.ndarray]  # of each player, [n] DECISION
    steps: np.ndarray  # [num_players] int64: decisions and ends of episodes
    nodes_touched: int


class EpisodeChunks:
    """Episodes, for NFSP; see `Episodes`.

    Args:
        tree: The game, or its arrays alone. Of perfect recall.
        anticipatory: See `Episodes`.
    """

    def __init__(self, tree: GameTree, anticipatory: float):
        self._rng = np.zeros(1, np.uint64)
        self._players = range(tree.num_players)
        self._episodes = Episodes(tree, anticipatory, self._rng)
        self._tables = Tables(tree.uniform_strategy(), np.zeros(tree.num_infosets, np.int32))
        self._episodes.prepare()

    def work(self, shared: Policies, task: EpisodeTask) -> Record:
        """Returns a chunk."""
        tables, epsilon = shared
        for own, given in zip(self._tables, tables, strict=True):
            own[:] = given  # what comes from another process is read-only: kernels would be compiled again
        self._rng[:] = task.stream
        episodes, never = self._episodes, np.full(len(self._players), _NEVER)
        steps, nodes = episodes.steps.copy(), episodes.nodes_touched
        transitions: list[list[np.ndarray]] = [[] for _ in self._players]
        decisions: list[list[np.ndarray]] = [[] for _ in self._players]
        left = task.episodes
        while left > 0:
            left -= episodes.play(self._tables, epsilon.copy(), never, left)
            for player in self._players:
                transitions[player].append(episodes.transitions(player).copy())  # not the buffer's
                decisions[player].append(episodes.decisions(player).copy())
        return Record(
            [np.concatenate(parts) for parts in transitions],
            [np.concatenate(parts) for parts in decisions],
            episodes.steps - steps,
            episodes.nodes_touched - nodes,
        )
