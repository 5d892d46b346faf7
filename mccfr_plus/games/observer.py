"""Observations and information states as tensors, in the way of `open_spiel.python.observation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.games.encoding import Encoding
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import NOW, RECALLED


class RulesObserver:
    """Writes the fields that an observation consists of as one-hot vectors.

    Attributes:
        tensor: All of it, float32, one dimension.
        dict: The same memory, per field, ``[count, size]``.
    """

    def __init__(self, game: RulesGame, kind: pyspiel.IIGObservationType, params: Mapping[str, Any] | None):
        if params:
            raise ValueError(f"observers of {game} take no parameters; given {dict(params)}.")
        private = kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        hidden = NOW if kind.perfect_recall else RECALLED
        self._game = game
        self._places = game.sizes.places(hidden, private=private, public=kind.public_info)
        self._encoding = Encoding(game.sizes.num_players, self._places)
        self.tensor = np.zeros(self._encoding.size, np.float32)
        self.dict = {"player": self.tensor[: game.sizes.num_players]}
        for name, (begin, end, shape) in self._encoding.shapes.items():
            self.dict[name] = self.tensor[begin:end].reshape(shape)

    def set_from(self, state: Any, player: int) -> None:
        """Brings `tensor` and `dict` to what the player sees in the state."""
        view = state.look(player)  # first: it may refuse the player
        self.tensor.fill(0.0)
        self._encoding.write(player, view, self.tensor)

    def string_from(self, state: Any, player: int) -> str:
        """Returns what the player sees in the state as a text."""
        return self._game.view_text(player, state.look(player).tolist(), self._places)
