"""What workers of neural solvers do: batches of traversals or episodes on a compiled tree, without torch.

Results depend on the arguments of `work` alone. Arrays from other processes are read-only: they are copied, so that no
kernel is compiled again for them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.neural.episodes import Episodes, Tables
from mccfr_plus.neural.sampling import PathSampler, Sampler, Samples
from mccfr_plus.tree.game_tree import GameTree

_NEVER = np.iinfo(np.int64).max  # updates are due: the driver makes them


class TraversalTask(NamedTuple):
    """A batch of traversals to make."""

    players: tuple[int, ...]  # of the traversals, one after the other
    traversals: int  # for each of them
    stream: np.ndarray  # [1] uint64, the state of the random generator at its beginning
    epsilon: float = 1.0  # of trajectories: probability of exploration
    wants_samples: bool = True
    wants_visits: bool = False


class Visits(NamedTuple):
    """The numbers of visits of those histories that were visited."""

    nodes: np.ndarray  # [n] int64
    counts: np.ndarray  # [n] int64


class TraversalResult(NamedTuple):
    """The results of a batch of traversals."""

    samples: Samples | None  # in the order of sampling
    visits: Visits | None
    nodes_touched: int


class EpisodeTask(NamedTuple):
    """A batch of episodes to play."""

    episodes: int
    stream: np.ndarray  # [1] uint64, the state of the random generator at its beginning


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


class ExternalBatches:
    """External sampling, for Deep CFR; see `Sampler`.

    Args:
        tree: The game, or its arrays alone. Of perfect recall.
    """

    def __init__(self, tree: GameTree):
        self._rng = np.zeros(1, np.uint64)
        self._sampler = Sampler(tree, self._rng)
        self._tree = tree
        self._strategy = tree.uniform_strategy()
        self._sampler.sample(self._strategy, 0, 0)  # compiles the kernel, or loads it

    def work(self, strategy: np.ndarray, task: TraversalTask) -> TraversalResult:
        """Returns the results of a batch.

        Args:
            strategy: ``[num_slots]`` float64, of all players.
            task: Which batch.
        """
        self._strategy[:] = strategy
        self._rng[:] = task.stream
        (player,) = task.players
        before = self._sampler.nodes_touched
        found = _all_samples(self._tree, task, player, functools.partial(self._sampler.sample, self._strategy, player))
        return TraversalResult(_joined(found), None, self._sampler.nodes_touched - before)


class PathBatches:
    """Traversals along one history, for DREAM and ESCHER; see `PathSampler`.

    Args:
        tree: The game, or its arrays alone. Of perfect recall.
        exploration: See `PathSampler`.
        corrected: See `PathSampler.sample_paths`.
    """

    def __init__(self, tree: GameTree, exploration: np.ndarray, corrected: bool):
        self._rng = np.zeros(1, np.uint64)
        self._tree = tree
        self._sampler = PathSampler(tree, self._rng, exploration.copy())
        self._strategy = tree.uniform_strategy()
        self._values = np.zeros((tree.num_players, tree.num_nodes))
        self._corrected = corrected
        self._sampler.sample_paths(
            self._strategy, self._values, 0, 0, 1.0, corrected
        )  # compiles the kernel, or loads it

    def work(self, shared: tuple[np.ndarray, np.ndarray | None], task: TraversalTask) -> TraversalResult:
        """Returns the results of a batch.

        Args:
            shared: The strategy of all players, ``[num_slots]`` float64, and the values of histories to the one player
                of the traversals, ``[num_nodes]`` float64; None if no samples are wanted: draws do not depend on them.
            task: Which batch.
        """
        self._strategy[:], values = shared
        self._rng[:] = task.stream
        if values is not None:
            (player,) = task.players
            self._values[player] = values
        self._sampler.evict()
        before = self._sampler.nodes_touched
        found: list[Samples] = []
        for player in task.players:
            found += _all_samples(self._tree, task, player, functools.partial(self._sample, player, task))
        return TraversalResult(
            _joined(found) if task.wants_samples else None,
            self._visits() if task.wants_visits else None,
            self._sampler.nodes_touched - before,
        )

    def _sample(self, player: int, task: TraversalTask, traversals: int) -> tuple[int, Samples]:
        done, samples = self._sampler.sample_paths(
            self._strategy, self._values, player, traversals, task.epsilon, self._corrected
        )
        return done, samples if task.wants_samples else Samples(samples.rows[:0], samples.regrets[:0])

    def _visits(self) -> Visits:
        nodes = np.flatnonzero(self._sampler.visited)
        return Visits(nodes, self._sampler.visited[nodes])


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

    def work(self, shared: EpisodePolicies, task: EpisodeTask) -> EpisodeResult:
        """Returns the results of a batch."""
        tables, epsilon = shared
        for own, given in zip(self._tables, tables, strict=True):
            own[:] = given
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
        return EpisodeResult(
            [np.concatenate(found) for found in transitions],
            [np.concatenate(found) for found in decisions],
            episodes.steps - steps,
            episodes.nodes_touched - nodes,
        )


def _all_samples(
    tree: GameTree, task: TraversalTask, player: int, sample: Callable[[int], tuple[int, Samples]]
) -> list[Samples]:
    """Returns the samples of all traversals of a task for a player.

    Args:
        tree: The game.
        task: The task.
        player: The player.
        sample: Makes at least one of a number of traversals, and returns how many, and what they sampled.
    """
    begin, end = tree.arrays.infoset_range[player : player + 2]
    num_actions, left, found = tree.arrays.infosets["num_actions"][begin:end], task.traversals, []
    while left > 0:
        done, (rows, regrets, weights) = sample(left)
        # Copies, as the next call writes there; without what earlier ones have left beyond a row's actions.
        is_action = np.arange(regrets.shape[1]) < num_actions[rows][:, None]
        weights = None if weights is None else weights.copy()
        found.append(Samples(rows.copy(), np.where(is_action, regrets, 0.0), weights))
        left -= done
    return found


def _joined(found: list[Samples]) -> Samples:
    """Returns samples one after another."""
    if len(found) == 1:
        return found[0]
    columns: list[Any] = [None if column[0] is None else np.concatenate(column) for column in zip(*found, strict=True)]
    return Samples(*columns)
