"""What networks see of a pyspiel state: the information-state tensors, written into arrays without a list between."""

from __future__ import annotations

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

from mccfr_plus.neural.features import check_has_tensors


class Observer:
    """Writes information-state tensors, and what a network of values sees of a history.

    Args:
        game: A game with information-state tensors, players in turn.
        what: What reads them, for error messages.

    Attributes:
        size: Of an information-state tensor.
        history_size: Of a history's: all players' tensors, whose turn it is, and the last actions of players, one fewer
            than there are players, for games in which nobody sees an action before all have acted.

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
        except (RuntimeError, ValueError, NotImplementedError):  # there is no observer, as in most games in Python
            observation = None
        self._observation = observation if observation is not None and observation.tensor.size == self.size else None

    def write(self, state: pyspiel.State, player: int, out: np.ndarray) -> None:
        """Writes a player's information-state tensor to ``out``, ``[size]``."""
        if self._observation is None:
            out[:] = state.information_state_tensor(player)
        else:
            self._observation.set_from(state, player)
            out[:] = self._observation.tensor

    def write_history(self, state: pyspiel.State, last_actions: list[int], out: np.ndarray) -> None:
        """Writes what a history looks like to ``out``, ``[history_size]``, zeros.

        Args:
            state: Where a player is to move.
            last_actions: The actions of players before it.
            out: Modified in place.
        """
        for player in range(self._players):
            self.write(state, player, out[player * self.size : (player + 1) * self.size])
        base = self._players * self.size
        out[base + state.current_player()] = 1.0
        base += self._players
        for position, action in enumerate(last_actions[len(last_actions) - self._players + 1 :]):
            out[base + position * self.num_actions + action] = 1.0
