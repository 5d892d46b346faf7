"""Many histories at once, each followed to its end: one forward pass per level and player for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.neural.batched.observer import Observer

Strategies = Callable[[int, np.ndarray, np.ndarray], np.ndarray]


class Paths(NamedTuple):
    """Histories from the root to a leaf, by the points at which a player is to move: the first ones of all histories,
    the second ones, and so on.
    """

    starts: np.ndarray  # [num_levels + 1] int64: points of level k are starts[k] .. starts[k + 1] - 1
    traversals: np.ndarray  # [num_points] int64, which history
    players: np.ndarray  # [num_points] int64, who is to move
    tensors: np.ndarray  # [num_points, size] float16, of that player's information set
    histories: np.ndarray  # [num_points, history_size] float16
    masks: np.ndarray  # [num_points, num_actions] bool, legal actions
    strategies: np.ndarray  # [num_points, num_actions] float64, what the player plays there
    actions: np.ndarray  # [num_points] int64, what was drawn
    chances: np.ndarray  # [num_points] float64, with which probability
    returns: np.ndarray  # [num_walks, num_players] float64
    nodes: int  # histories visited, chance nodes and leaves included

    def levels(self) -> list[slice]:
        """Returns the points of each level, the first one first."""
        return [slice(int(a), int(b)) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def reach(self, player: int) -> np.ndarray:
        """Returns the probability of a player's draws before each point, ``[num_points]``."""
        return self._along(np.where(self.players == player, self.chances, 1.0))

    def uniform_reach(self, player: int) -> np.ndarray:
        """Returns what it would be if the player drew uniformly, ``[num_points]``: the same in all iterations."""
        return self._along(np.where(self.players == player, 1.0 / self.masks.sum(1), 1.0))

    def _along(self, factors: np.ndarray) -> np.ndarray:
        """Returns the product of the factors at the points before each point of its history, ``[num_points]``."""
        result, along = np.ones(len(self.traversals)), np.ones(len(self.returns))
        for level in self.levels():
            traversals = self.traversals[level]
            result[level] = along[traversals]
            along[traversals] *= factors[level]
        return result


def sample_paths(
    game: pyspiel.Game,
    observer: Observer,
    strategies: Strategies,
    explorer: int | None,
    epsilon: float,
    traversals: int,
    rng: np.random.Generator,
) -> Paths:
    """Follows histories side by side.

    Args:
        game: Players in turn.
        observer: Of this game.
        strategies: Returns what a player plays, ``[n, num_actions]``, given tensors ``[n, size]`` and legal actions.
        explorer: The player who plays uniformly at random with probability epsilon; None: nobody.
        epsilon: See `explorer`.
        traversals: How many histories.
        rng: Draws actions and chance outcomes.
    """
    states = [game.new_initial_state() for _ in range(traversals)]
    past: list[list[int]] = [[] for _ in range(traversals)]
    parts: list[tuple[np.ndarray, ...]] = []
    starts, nodes, live = [0], 0, np.arange(traversals)
    while True:
        nodes += sum(pass_chance(states[traversal], rng) for traversal in live)
        live = np.array([traversal for traversal in live if not states[traversal].is_terminal()], np.int64)
        if not len(live):
            break
        tensors = np.zeros((len(live), observer.size), np.float16)
        histories = np.zeros((len(live), observer.history_size), np.float16)
        masks = np.zeros((len(live), observer.num_actions), bool)
        players = np.array([states[traversal].current_player() for traversal in live], np.int64)
        for row, (traversal, player) in enumerate(zip(live.tolist(), players.tolist(), strict=True)):
            state = states[traversal]
            observer.write_history(state, past[traversal], histories[row])
            tensors[row] = histories[row, player * observer.size : (player + 1) * observer.size]
            masks[row, state.legal_actions()] = True
        table = np.zeros(masks.shape)
        for player in np.unique(players).tolist():
            rows = np.flatnonzero(players == player)
            table[rows] = strategies(player, tensors[rows], masks[rows])
        sampling = table
        if explorer is not None:
            uniform = masks / masks.sum(1, keepdims=True)
            explored = epsilon * uniform + (1.0 - epsilon) * table
            sampling = np.where((players == explorer)[:, None], explored, table)
        actions = draw(sampling, rng)
        for traversal, action in zip(live.tolist(), actions.tolist(), strict=True):
            states[traversal].apply_action(action)
            past[traversal].append(action)
        chances = sampling[np.arange(len(live)), actions]
        parts.append((live, players, tensors, histories, masks, table, actions, chances))
        starts.append(starts[-1] + len(live))
    returns = np.array([state.returns() for state in states])
    merged: list[Any] = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    return Paths(np.array(starts), *merged, returns, nodes)  # type: ignore[call-arg, arg-type]


def pass_chance(state: pyspiel.State, rng: np.random.Generator) -> int:
    """Draws chance outcomes until a player is to move or the game is over; returns how many histories were visited."""
    visited = 1
    while state.is_chance_node():
        outcomes, chances = zip(*state.chance_outcomes(), strict=True)
        ends = np.cumsum(chances)
        state.apply_action(outcomes[min(int(np.searchsorted(ends, rng.random() * ends[-1], "right")), len(ends) - 1)])
        visited += 1
    return visited


def draw(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns an action for each row, never one of probability 0, ``[n]`` int64."""
    ends = np.cumsum(table, axis=1)
    draws = rng.random(len(table)) * ends[:, -1]
    last = table.shape[1] - 1 - np.argmax(table[:, ::-1] > 0.0, axis=1)  # rounding may leave the draw at the end
    return np.minimum((ends <= draws[:, None]).sum(1), last)
