"""Many histories of a compiled tree at once, as numbers of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.neural.sampling.positions import Positions
from mccfr_plus.tree import arrays
from mccfr_plus.tree.game_tree import GameTree


class TreeObserver:
    """Information sets and histories of a tree, as rows of each player and nodes.

    Args:
        tree: The game, or its arrays alone.
        num_actions: Number of distinct actions of the game.

    Attributes:
        slots: ``[num_infosets, num_actions]`` int64, the slot of each legal action; ``num_slots`` at others.
        masks: ``[num_infosets, num_actions]`` bool, legal actions.
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

    def tables(self, strategy: np.ndarray) -> TreeStrategies:
        """Returns the strategies of a table, ``[num_slots]``."""
        table = np.append(strategy, 0.0)[self.slots]
        return TreeStrategies(np.split(table, self.tree.arrays.infoset_range[1:-1]))


class TreeStrategies:
    """Strategies of all players by row; see `Strategies`. Workers get them, so it is no closure.

    Args:
        tables: Of each player, ``[num_rows, num_actions]`` float64.
    """

    def __init__(self, tables: Sequence[np.ndarray]):
        self.tables = tables

    def __call__(self, player: int, infosets: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return self.tables[player][infosets]


class TreePositions(Positions):
    """Histories as nodes of a tree.

    Args:
        observer: The tree.
        nodes: ``[n]`` int64.
    """

    def __init__(self, observer: TreeObserver, nodes: np.ndarray):
        self._observer, self.nodes, self.movers = observer, nodes, observer.movers[nodes]

    def take(self, rows: np.ndarray) -> Self:
        return type(self)(self._observer, self.nodes[rows])

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        return self.nodes[rows]

    keys = numbers

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
