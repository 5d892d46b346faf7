"""Observations and information states as tensors, in the way of `open_spiel.python.observation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel

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
        num_players = game.sizes.num_players
        self.tensor = np.zeros(num_players + sum(each.count * each.size for _, each in self._places), np.float32)
        self.dict = {"player": self.tensor[:num_players]}
        # Of each entry of `look` that is shown: its position, and where its one-hot vector begins.
        self._where = np.zeros(0, np.int64)
        self._base = np.zeros(0, np.int64)
        start = num_players
        for begin, each in self._places:
            end = start + each.count * each.size
            self.dict[each.name] = self.tensor[start:end].reshape(each.count, each.size)
            self._where = np.append(self._where, np.arange(begin, begin + each.count))
            self._base = np.append(self._base, np.arange(start, end, each.size))
            start = end

    def set_from(self, state: Any, player: int) -> None:
        """Brings `tensor` and `dict` to what the player sees in the state."""
        view = state.look(player)  # first: it may refuse the player
        self.tensor.fill(0.0)
        self.tensor[player] = 1.0
        self.tensor[self._base + view[self._where]] = 1.0

    def string_from(self, state: Any, player: int) -> str:
        """Returns what the player sees in the state as a text."""
        return self._game.view_text(player, state.look(player).tolist(), self._places)
