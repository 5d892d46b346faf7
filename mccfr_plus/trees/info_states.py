"""The information states of a tree that was built from compiled rules: packed keys, which become texts when read.

Twenty million texts would take more memory than the tree.
"""

import operator
from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import NOW, Layout
from mccfr_plus.kernels.compile import inline_kernel

_CHUNK = 4096
_WORD = 63  # bits in use of a word: the sign stays out of it


class InfoStates(Sequence[str]):
    """The texts of a tree's infosets, a sequence of ``num_infosets`` strings that are made when they are read.

    Args:
        keys: ``[num_infosets, words]`` int64, as `pack` writes them.
        players: ``[num_infosets]``, whose infoset each is.
    """

    def __init__(self, game: RulesGame, keys: np.ndarray, players: np.ndarray):
        self._game, self._keys, self._players = game, keys, players
        self._places, _ = key_places(game.sizes)

    def __reduce__(self) -> tuple:
        return InfoStates, (self._game, self._keys, self._players)

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        infosets = range(len(self))[index]
        return self._texts([infosets])[0] if isinstance(infosets, int) else self._texts(infosets)

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), _CHUNK):
            yield from self[begin : begin + _CHUNK]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(operator.eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def views(self, infosets: Sequence[int] | np.ndarray) -> np.ndarray:
        """Returns what `look` writes at the infosets, ``[n, view_size]`` int64; 0 for fields of ``when="now"``."""
        return unpack(self._places, self._keys[np.asarray(infosets, np.int64)])

    def _texts(self, infosets: Sequence[int]) -> list[str]:
        write, players = self._game.view_text, self._players[np.asarray(infosets, np.int64)].tolist()
        return [write(player, view) for player, view in zip(players, self.views(infosets).tolist(), strict=True)]


class KeyPlaces(NamedTuple):
    """Where each entry of what `look` writes goes in the words of a key, whose lowest bits are the player."""

    word: np.ndarray  # [view_size] int64; -1 for entries that are not part of information states
    shift: np.ndarray  # [view_size] int64
    size: np.ndarray  # [view_size] int64, number of values
    mask: np.ndarray  # [view_size] int64, the lowest bits of a word, as many as a value takes; 0 where there is no word


def key_places(sizes: Layout) -> tuple[KeyPlaces, int]:
    """Returns the places of a game's fields and the number of words of a key."""
    places = []
    current, used = 0, _bits(sizes.num_players)
    for each in sizes.fields:
        bits = _bits(each.size)
        for _ in range(each.count):
            if each.when == NOW:
                places.append((-1, 0, each.size, 0))
                continue
            if used + bits > _WORD:
                current, used = current + 1, 0
            places.append((current, used, each.size, (1 << bits) - 1))
            used += bits
    columns = np.array(places, np.int64).reshape(-1, 4).T
    return KeyPlaces(*map(np.ascontiguousarray, columns)), current + 1


def _bits(size: int) -> int:
    return max(1, (size - 1).bit_length())


@inline_kernel
def pack(places, player, view, key):
    """Writes the key of what a player knows; returns whether all entries are in range. `key` is an output."""
    current, bits = 0, player  # the word that is being filled: entries fill one after the other
    for entry in range(len(view)):
        value = view[entry]
        if value < 0 or value >= places.size[entry]:
            return False
        word = places.word[entry]
        if word >= 0:
            if word != current:
                key[current] = bits
                current, bits = word, 0
            bits |= value << places.shift[entry]
    key[current] = bits
    return True


def unpack(places: KeyPlaces, keys: np.ndarray) -> np.ndarray:
    """Returns what the keys, ``[n, words]``, stand for, ``[n, view_size]`` int64; entries that they lack are 0."""
    return (keys[:, places.word] >> places.shift) & places.mask
