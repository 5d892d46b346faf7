"""What a player knows as a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mccfr_plus.games.rules import Field


class Encoding:
    """Turns what a player knows into a tensor: the player, then each place of each field, as one-hot vectors.

    Attributes:
        size: Length of the tensor.
        shapes: Of each field: where its part begins and ends, and its shape ``(count, size)``.
    """

    def __init__(self, num_players: int, places: Sequence[tuple[int, Field]]):
        self.size = num_players
        self.shapes: dict[str, tuple[int, int, tuple[int, int]]] = {}
        where, base = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for begin, each in places:
            end = self.size + each.count * each.size
            self.shapes[each.name] = (self.size, end, (each.count, each.size))
            where.append(np.arange(begin, begin + each.count))
            base.append(np.arange(self.size, end, each.size))
            self.size = end
        # Of each entry of `look` that is shown: its position, and where its one-hot vector begins.
        self._where, self._base = np.concatenate(where), np.concatenate(base)

    def write(self, player: int, view: np.ndarray, tensor: np.ndarray) -> None:
        """Writes the tensor of what `look` wrote into zeros."""
        tensor[player] = 1.0
        tensor[self._base + view[self._where]] = 1.0
