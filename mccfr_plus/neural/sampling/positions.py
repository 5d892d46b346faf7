"""Many histories of a game at once: as nodes of a tree here, as words of compiled rules, or as pyspiel's states."""

from __future__ import annotations

import abc
import functools
from typing import Any, Self

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.tree import arrays
from mccfr_plus.tree.game_tree import GameTree

_GOLDEN_RATIO = (5**0.5 - 1) / 2  # its multiples, modulo 1, are spread most evenly


class Positions(abc.ABC):
    """Histories that are played on together. Whichever class holds them, the same draws lead to the same histories.

    Attributes:
        movers: ``[n]`` int64, who is to move: a player, `CHANCE` or `TERMINAL`.
    """

    movers: np.ndarray

    @abc.abstractmethod
    def take(self, rows: np.ndarray) -> Self:
        """Returns some histories, perhaps several times; the object itself must not be used any more."""

    @abc.abstractmethod
    def play(self, actions: np.ndarray) -> None:
        """Plays an action, ``[n]`` int64, in each history; a player is to move in all."""

    @abc.abstractmethod
    def draw_outcomes(self, rows: np.ndarray, draws: np.ndarray) -> None:
        """Plays an outcome of chance in some histories, given numbers in [0, 1), one for each."""

    @abc.abstractmethod
    def returns(self, rows: np.ndarray) -> np.ndarray:
        """Returns the payoffs of some histories that are over, ``[len(rows), num_players]`` float64."""

    @abc.abstractmethod
    def keys(self, rows: np.ndarray) -> np.ndarray:
        """Returns integers that are the same for equal histories, and others for nearly all others, ``[len(rows)]``."""

    def draws(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns uniform numbers in [0, 1), one for each of some histories, ``[len(rows)]``.

        They are a Kronecker sequence with a random shift (Cranley, Patterson 1976), through the rows in the order of
        their keys: spread evenly where histories are equal, with much less variance than independent ones. Each number
        is uniform given what was drawn in earlier calls, so that what is estimated stays unbiased.
        """
        sequence = (rng.random() + _GOLDEN_RATIO * np.arange(len(rows))) % 1.0
        result = np.empty_like(sequence)
        result[np.argsort(self.keys(rows), kind="stable")] = sequence
        return result

    def pass_chance(self, rng: np.random.Generator) -> int:
        """Draws outcomes until chance is to move in no history; returns the number of histories visited."""
        visited = len(self.movers)
        while len(rows := np.flatnonzero(self.movers == CHANCE)):
            self.draw_outcomes(rows, self.draws(rows, rng))
            visited += len(rows)
        return visited


class TreeObserver:
    """Information sets and histories of a tree, which may lack its game, as rows of each player and nodes.

    ``slots`` are those of each legal action, ``[num_infosets, num_actions]`` int64, and ``num_slots`` at others;
    ``masks`` say which these are.
    """

    def __init__(self, tree: GameTree, num_actions: int):
        self.tree, self.game, self.num_players, self.num_actions = tree, tree.game, tree.num_players, num_actions
        self.records = tree.arrays.nodes
        kinds = self.records["kind"]
        self.movers = np.where(kinds == arrays.CHANCE, CHANCE, np.where(kinds == arrays.TERMINAL, TERMINAL, kinds))
        self.outcome_ends = np.cumsum(tree.arrays.chance["probability"])
        self.slots = np.full((tree.num_infosets, num_actions), tree.num_slots)
        self.slots[tree.infoset_of_slot, tree.slot_action] = np.arange(tree.num_slots)
        self.masks = self.slots < tree.num_slots

    def start(self, count: int) -> TreePositions:
        """Returns so many histories at the game's beginning."""
        return TreePositions(self, np.zeros(count, np.int64))

    def work(self, histories: Any, task: tuple[int, int]) -> Any:
        """Returns a number of `Trajectories` or traversals of `ExternalSampling`, given that and a seed."""
        return histories.sample(self, task[0], np.random.default_rng(task[1]))

    def numbers(self, nodes: np.ndarray) -> np.ndarray:
        """Returns the information sets of decision nodes, ``[n]``, numbered through all players."""
        return self.tree.infoset_of_slot[self.records["payload"][nodes]]

    def children(self, nodes: np.ndarray) -> np.ndarray:
        """Returns the nodes after each action, ``[n, num_actions]``; those of illegal ones are undefined."""
        records = self.records[nodes]
        return (records["first_child"] - records["payload"])[:, None] + self.slots[self.numbers(nodes)]

    def observe(self, positions: TreePositions, last_actions: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the rows of the players to move, ``[n]``, nodes, ``[n]``, and legal actions, ``[n, num_actions]``."""
        numbers = self.numbers(positions.nodes)
        rows = numbers - self.tree.arrays.infoset_range[positions.movers]
        return rows, positions.nodes, self.masks[numbers]

    def tables(self, strategy: np.ndarray) -> functools.partial:
        """Returns the `Strategies` of a table, ``[num_slots]``. Workers get them, so they are no closure."""
        table = np.append(strategy, 0.0)[self.slots]
        return functools.partial(_rows_of, np.split(table, self.tree.arrays.infoset_range[1:-1]))


def _rows_of(tables: list[np.ndarray], player: int, infosets: np.ndarray, masks: np.ndarray) -> np.ndarray:
    return tables[player][infosets]


class TreePositions(Positions):
    """Histories as nodes of a tree, ``[n]`` int64."""

    def __init__(self, observer: TreeObserver, nodes: np.ndarray):
        self._observer, self.nodes, self.movers = observer, nodes, observer.movers[nodes]

    def take(self, rows: np.ndarray) -> Self:
        return type(self)(self._observer, self.nodes[rows])

    def keys(self, rows: np.ndarray) -> np.ndarray:
        return self.nodes[rows]

    def play(self, actions: np.ndarray) -> None:
        records, slots = self._observer.records[self.nodes], self._observer.slots
        chosen = slots[self._observer.numbers(self.nodes), actions]
        self.nodes = (records["first_child"] + chosen - records["payload"]).astype(np.int64)
        self.movers = self._observer.movers[self.nodes]

    def draw_outcomes(self, rows: np.ndarray, draws: np.ndarray) -> None:
        records, ends = self._observer.records[self.nodes[rows]], self._observer.outcome_ends
        first = records["payload"]
        last = first + records["num_children"] - 1
        begin = np.where(first > 0, ends[first - 1], 0.0)
        outcomes = np.searchsorted(ends, begin + draws * (ends[last] - begin), "right")
        self.nodes[rows] = records["first_child"] + np.clip(outcomes, first, last) - first
        self.movers[rows] = self._observer.movers[self.nodes[rows]]

    def returns(self, rows: np.ndarray) -> np.ndarray:
        tree, records = self._observer.tree, self._observer.records
        return tree.arrays.payoffs[records["payload"][self.nodes[rows]]]
