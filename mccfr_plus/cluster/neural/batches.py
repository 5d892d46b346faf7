"""What workers of neural solvers do: batches of traversals or episodes on a compiled tree, without torch.

Results depend on the arguments of `work` alone. Arrays from other processes are read-only: they are copied, so that no
kernel is compiled again for them.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.neural.episodes import Episodes, Tables
from mccfr_plus.neural.memory import Samples
from mccfr_plus.neural.sampling import PathSampler, Sampler
from mccfr_plus.tree.game_tree import GameTree

_NEVER = np.iinfo(np.int64).max  # updates are due: the driver makes them


class Task(NamedTuple):
    """A batch to make."""

    size: int  # of traversals for each player, or of episodes
    stream: np.ndarray  # [1] uint64, the state of the random generator at its beginning


class Traversals(NamedTuple):
    """What the batches of a phase have in common."""

    strategy: np.ndarray  # [num_slots] float64, of all players
    players: tuple[int, ...]  # of the traversals, one after the other
    options: tuple[Any, ...] = ()  # see `Sampler.sample`
    wants_samples: bool = True
    wants_visits: bool = False


class TraversalResult(NamedTuple):
    """The results of a batch of traversals."""

    samples: Samples | None  # in the order of sampling
    visits: tuple[np.ndarray, np.ndarray] | None  # histories that were visited, and how often
    nodes_touched: int


class EpisodePolicies(NamedTuple):
    """The policies that episodes are played with."""

    tables: Tables
    epsilon: np.ndarray  # [num_players] float64: exploration of best responses


class EpisodeResult(NamedTuple):
    """The results of a batch of episodes."""

    transitions: list[np.ndarray]  # of each player, [n] TRANSITION
    decisions: list[np.ndarray]  # of each player, [n] DECISION
    steps: np.ndarray  # [num_players] int64: decisions and ends of episodes
    nodes_touched: int


def without_game(tree: GameTree) -> GameTree:
    """Returns a tree of arrays only: without the game and texts, which traversals do not read."""
    return dataclasses.replace(tree, game=None, info_states=())


def num_bytes_of(tree: GameTree) -> int:
    """Returns how many bytes the arrays of a tree take."""
    return sum(array.nbytes for array in (*tree.arrays, tree.slot_action, tree.outcome_action))


class TraversalBatches:
    """Traversals, for Deep CFR, DREAM and ESCHER.

    Args:
        tree: The game, or its arrays alone. Of perfect recall.
        num_actions: Number of distinct actions of the game.
        exploration: See `PathSampler`; None: external sampling.
    """

    def __init__(self, tree: GameTree, num_actions: int, exploration: np.ndarray | None):
        self._rng, self._strategy = np.zeros(1, np.uint64), tree.uniform_strategy()
        if exploration is None:
            self._sampler = Sampler(tree, self._rng, num_actions)
        else:
            self._sampler = PathSampler(tree, self._rng, num_actions, exploration.copy())
        self._sampler.prepare()

    def work(self, shared: Traversals, task: Task) -> TraversalResult:
        """Returns the results of a batch."""
        self._strategy[:], self._rng[:] = shared.strategy, task.stream
        options = [writable(each) if isinstance(each, np.ndarray) else each for each in shared.options]
        sampler = self._sampler
        sampler.visited[:] = 0
        before, found = sampler.nodes_touched, []
        for player in shared.players:
            for samples in sampler.sample(self._strategy, player, task.size, *options):
                if shared.wants_samples:
                    found.append(_joined([samples]))  # the next ones overwrite them
        visits = None
        if shared.wants_visits:
            nodes = np.flatnonzero(sampler.visited)
            visits = nodes, sampler.visited[nodes]
        joined = _joined(found) if shared.wants_samples else None
        return TraversalResult(joined, visits, sampler.nodes_touched - before)


class EpisodeBatches:
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

    def work(self, shared: EpisodePolicies, task: Task) -> EpisodeResult:
        """Returns the results of a batch."""
        tables, epsilon = shared
        for own, given in zip(self._tables, tables, strict=True):
            own[:] = given
        self._rng[:] = task.stream
        episodes, never = self._episodes, np.full(len(self._players), _NEVER)
        steps, nodes = episodes.steps.copy(), episodes.nodes_touched
        transitions: list[list[np.ndarray]] = [[] for _ in self._players]
        decisions: list[list[np.ndarray]] = [[] for _ in self._players]
        left = task.size
        while left > 0:
            left -= episodes.play(self._tables, epsilon.copy(), never, left)
            for player in self._players:
                transitions[player].append(episodes.transitions(player).copy())  # not the buffer's
                decisions[player].append(episodes.decisions(player).copy())
        return EpisodeResult(
            [np.concatenate(found) for found in transitions],
            [np.concatenate(found) for found in decisions],
            episodes.steps - steps,
            episodes.nodes_touched - nodes,
        )


def writable(array: np.ndarray) -> np.ndarray:
    """Returns an array that may be written to: itself or a copy, for which no kernel has to be compiled again."""
    return np.require(array, requirements="W")


def _joined(found: list[Samples]) -> Samples:
    """Returns copies of samples one after another."""
    rows, values = (np.concatenate(each) for each in zip(*((s.infosets["rows"], s.values) for s in found), strict=True))
    weights = [samples.weights for samples in found if samples.weights is not None]
    return Samples({"rows": rows}, values, np.concatenate(weights) if weights else None)
