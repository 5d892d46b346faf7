"""Inputs of networks from pyspiel's states: tensors of information sets and histories, decisions of a level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

from mccfr_plus.neural.features import check_has_tensors

# Returns a player's strategy, [n, num_actions] float64, given the player, tensors [n, size] and legal actions.
Strategies = Callable[[int, np.ndarray, np.ndarray], np.ndarray]


class Decisions(NamedTuple):
    """The decisions of many histories at once."""

    players: np.ndarray  # [n] int64, the player to move
    tensors: np.ndarray  # [n, size] float32, of that player's information set
    masks: np.ndarray  # [n, num_actions] bool, legal actions
    strategies: np.ndarray  # [n, num_actions] float64, the player's strategy


class Observer:
    """Writes tensors of information sets and of histories.

    Args:
        game: A game with information-state tensors and sequential moves.
        what: The reader of the tensors, for error messages.

    Attributes:
        size: Size of an information-state tensor.
        history_size: Size of a history's tensor: all players' tensors, the player to move, and the last actions of
            players, one fewer than there are players, which games with hidden simultaneous moves need.

    Raises:
        GameError: If the game has no information-state tensors.
    """

    def __init__(self, game: pyspiel.Game, what: str):
        check_has_tensors(game, what)
        self._players, self.num_actions = game.num_players(), game.num_distinct_actions()
        self.size = int(np.prod(game.information_state_tensor_shape()))
        self.history_size = self._players * (self.size + 1) + (self._players - 1) * self.num_actions
        try:
            observation = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
        except (RuntimeError, ValueError, NotImplementedError):  # no observer, as in most games in Python
            observation = None
        self._observation = observation if observation is not None and observation.tensor.size == self.size else None

    def write(self, state: pyspiel.State, player: int, out: np.ndarray) -> None:
        """Writes a player's information-state tensor to ``out``, ``[size]``."""
        if self._observation is None:
            out[:] = state.information_state_tensor(player)
        else:
            self._observation.set_from(state, player)
            out[:] = self._observation.tensor

    def histories(self, states: Sequence[pyspiel.State], last_actions: Sequence[list[int]]) -> np.ndarray:
        """Returns the tensors of histories, ``[n, history_size]`` float32.

        Args:
            states: States in which a player is to move.
            last_actions: The actions of players before each.
        """
        result = np.zeros((len(states), self.history_size), np.float32)
        for state, actions, out in zip(states, last_actions, result, strict=True):
            for player in range(self._players):
                self.write(state, player, out[player * self.size : (player + 1) * self.size])
            base = self._players * self.size
            out[base + state.current_player()] = 1.0
            base += self._players
            for position, action in enumerate(actions[len(actions) - self._players + 1 :]):
                out[base + position * self.num_actions + action] = 1.0
        return result

    def decisions(
        self, states: Sequence[pyspiel.State], strategies: Strategies, histories: np.ndarray | None = None
    ) -> Decisions:
        """Returns the decisions at states in which a player is to move, with one forward pass per player.

        Args:
            states: The states.
            strategies: The strategies of all players.
            histories: The result of `histories`, if available, which contains the tensors.
        """
        players = np.array([state.current_player() for state in states], np.int64)
        tensors = np.zeros((len(states), self.size), np.float32)
        masks = np.zeros((len(states), self.num_actions), bool)
        for row, (state, player) in enumerate(zip(states, players.tolist(), strict=True)):
            if histories is None:
                self.write(state, player, tensors[row])
            else:
                tensors[row] = histories[row, player * self.size : (player + 1) * self.size]
            masks[row, state.legal_actions()] = True
        table = np.zeros(masks.shape)
        for player in np.unique(players).tolist():
            rows = np.flatnonzero(players == player)
            table[rows] = strategies(player, tensors[rows], masks[rows])
        return Decisions(players, tensors, masks, table)


def pass_chance(state: Any, rng: np.random.Generator) -> int:
    """Draws chance outcomes until a player is to move or the game is over; returns the number of histories visited."""
    visited = 1
    while state.is_chance_node():
        outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
        ends = np.cumsum(probabilities)
        state.apply_action(outcomes[min(int(np.searchsorted(ends, rng.random() * ends[-1], "right")), len(ends) - 1)])
        visited += 1
    return visited


def draw(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns an action for each row, never one of probability 0, ``[n]`` int64."""
    ends = np.cumsum(table, axis=1)
    draws = rng.random(len(table)) * ends[:, -1]
    last = table.shape[1] - 1 - np.argmax(table[:, ::-1] > 0.0, axis=1)  # rounding may leave the draw at the end
    return np.minimum((ends <= draws[:, None]).sum(1), last)
