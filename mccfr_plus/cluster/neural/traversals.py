"""What workers do: chunks of traversals on a compiled tree. The same arguments give the same bits, in any process."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.neural.path_sampling import PathSampler
from mccfr_plus.neural.sampling import Sampler, Samples
from mccfr_plus.tree.game_tree import GameTree


class Task(NamedTuple):
    """A chunk that is wanted."""

    players: tuple[int, ...]  # whom traversals are for, one after the other
    traversals: int  # for each of them
    stream: np.ndarray  # [1] uint64, the state of the random generator at its beginning
    wants_samples: bool = True
    wants_visits: bool = False


class Visits(NamedTuple):
    """How often histories were visited: those that were."""

    nodes: np.ndarray  # [n] int64
    counts: np.ndarray  # [n] int64


class Chunk(NamedTuple):
    """What a chunk of traversals gives."""

    samples: Samples | None  # in the order in which they came up
    visits: Visits | None
    nodes_touched: int


def without_game(tree: GameTree) -> GameTree:
    """Returns a tree that has its arrays alone: neither the game nor texts, which traversals do not look at."""
    return dataclasses.replace(tree, game=None, info_states=())


def bytes_of(tree: GameTree) -> int:
    """Returns how many bytes the arrays of a tree take."""
    return sum(array.nbytes for array in (*tree.arrays, tree.slot_action, tree.outcome_action))


class ExternalWalks:
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

    def work(self, strategy: np.ndarray, task: Task) -> Chunk:
        """Returns a chunk.

        Args:
            strategy: ``[num_slots]`` float64, what everybody plays.
            task: Which chunk.
        """
        self._strategy[:] = strategy  # what comes from another process is read-only: kernels would be compiled again
        self._rng[:] = task.stream
        (player,) = task.players
        before = self._sampler.nodes_touched
        counts = counts_of(self._tree, player)
        parts = all_walks(task.traversals, counts, lambda left: self._sampler.sample(self._strategy, player, left))
        return Chunk(joined(parts), None, self._sampler.nodes_touched - before)


class PathWalks:
    """Traversals along one history, for DREAM and ESCHER; see `PathSampler`.

    Args:
        tree: The game, or its arrays alone. Of perfect recall.
        exploration: See `PathSampler`.
        epsilon: See `PathSampler`.
        corrected: See `PathSampler.sample_paths`.
    """

    def __init__(self, tree: GameTree, exploration: np.ndarray, epsilon: float, corrected: bool):
        self._rng = np.zeros(1, np.uint64)
        self._tree = tree
        self._sampler = PathSampler(tree, self._rng, exploration.copy(), epsilon)
        self._strategy = tree.uniform_strategy()
        self._values = np.zeros((tree.num_players, tree.num_nodes))
        self._corrected = corrected
        self._sampler.sample_paths(self._strategy, self._values, 0, 0, corrected)  # compiles the kernel, or loads it

    def work(self, shared: tuple[np.ndarray, np.ndarray | None], task: Task) -> Chunk:
        """Returns a chunk.

        Args:
            update_all_players: ``[num_slots]`` float64, what everybody plays; and ``[num_nodes]`` float64, what histories are worth
                to the one player whom traversals are for, None if no samples are wanted: draws do not depend on it.
            task: Which chunk.
        """
        self._strategy[:], values = shared
        self._rng[:] = task.stream
        if values is not None:
            (player,) = task.players
            self._values[player] = values
        self._sampler.evict()
        before = self._sampler.nodes_touched
        parts: list[Samples] = []
        for player in task.players:
            traversal = functools.partial(self._walk, player, task.wants_samples)
            parts += all_walks(task.traversals, counts_of(self._tree, player), traversal)
        return Chunk(
            joined(parts) if task.wants_samples else None,
            self._visits() if task.wants_visits else None,
            self._sampler.nodes_touched - before,
        )

    def _walk(self, player: int, wants_samples: bool, traversals: int) -> tuple[int, Samples]:
        done, samples = self._sampler.sample_paths(self._strategy, self._values, player, traversals, self._corrected)
        return done, samples if wants_samples else Samples(samples.rows[:0], samples.regrets[:0])

    def _visits(self) -> Visits:
        nodes = np.flatnonzero(self._sampler.visited)
        return Visits(nodes, self._sampler.visited[nodes])


def counts_of(tree: GameTree, player: int) -> np.ndarray:
    """Returns how many actions each information set of a player has, ``[num_rows]``."""
    begin, end = tree.arrays.infoset_range[player : player + 2]
    return tree.arrays.infosets["num_actions"][begin:end]


def all_walks(traversals: int, counts: np.ndarray, make: Callable[[int], tuple[int, Samples]]) -> list[Samples]:
    """Returns the samples of so many traversals, in parts.

    Args:
        traversals: How many.
        counts: See `counts_of`.
        make: Makes at least one of so many traversals that are left, and returns how many, and what they sampled.
    """
    parts = []
    while traversals > 0:
        done, samples = make(traversals)
        rows, regrets, weights = samples
        # Copies, as the next call writes there; without what earlier ones have left beyond a row's actions.
        is_action = np.arange(regrets.shape[1]) < counts[rows][:, None]
        parts.append(
            Samples(rows.copy(), np.where(is_action, regrets, 0.0), None if weights is None else weights.copy())
        )
        traversals -= done
    return parts


def joined(parts: list[Samples]) -> Samples:
    """Returns samples one after another."""
    if len(parts) == 1:
        return parts[0]
    columns: list[Any] = [None if column[0] is None else np.concatenate(column) for column in zip(*parts, strict=True)]
    return Samples(*columns)
