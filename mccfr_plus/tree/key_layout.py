"""Packs what a player knows into a few 64-bit words, and back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus.games.rules import NOW, Layout
from mccfr_plus.kernels.compile import inline_kernel, kernel

_WORD = 63  # bits in use of a word: the sign stays out of it


class KeyLayout(NamedTuple):
    """Where each entry of what `look` writes goes in the words of a key, whose lowest bits are the player."""

    word: np.ndarray  # [view_size] int64; -1 for entries that are not part of information states
    shift: np.ndarray  # [view_size] int64
    size: np.ndarray  # [view_size] int64, number of values
    mask: np.ndarray  # [view_size] int64, the lowest bits of a word, as many as a value takes


def key_layout(layout: Layout) -> tuple[KeyLayout, int]:
    """Returns the places of a game's fields and the number of words of a key."""
    word, shift, size, mask = [], [], [], []
    current, used = 0, _bits(layout.num_players)
    for each in layout.fields:
        bits = _bits(each.size)
        for _ in range(each.count):
            size.append(each.size)
            mask.append((1 << bits) - 1)
            if each.when == NOW:
                word.append(-1)
                shift.append(0)
                continue
            if used + bits > _WORD:
                current, used = current + 1, 0
            word.append(current)
            shift.append(used)
            used += bits
    arrays = (np.array(column, np.int64) for column in (word, shift, size, mask))
    return KeyLayout(*arrays), current + 1


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


@kernel
def unpack(places, keys, views):
    """Writes what the keys, ``[n, words]``, stand for into ``[n, view_size]`` zeros; entries that they lack stay 0."""
    for row in range(len(keys)):
        for entry in range(views.shape[1]):
            if places.word[entry] >= 0:
                views[row, entry] = (keys[row, places.word[entry]] >> places.shift[entry]) & places.mask[entry]
