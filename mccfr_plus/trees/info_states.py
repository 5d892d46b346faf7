"""Information states as numbers: packed keys of trees with compiled rules, tables of rows, 128-bit hashes of texts."""

import operator
import struct
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import NOW, Layout
from mccfr_plus.kernels.compile import allocating_kernel, inline_kernel

KEY_BYTES = 16  # of a lazy tree's infoset
EMPTY = -1  # of the places of a table

_CHUNK = 4096
_WORD = 63  # bits in use of a word: the sign stays out of it
_TWO_WORDS = struct.Struct("<qq")


class InfoStates(Sequence[str]):
    """The texts of a tree's infosets, made of their keys (`pack`) when they are read: all of them may not fit."""

    def __init__(self, game: RulesGame, keys: np.ndarray, players: np.ndarray):
        self._game, self._keys, self._players = game, keys, players
        self._places, _ = key_places(game.sizes)

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, index: Any) -> Any:
        infosets = range(len(self))[index]
        return self._texts(infosets) if isinstance(infosets, range) else self._texts([infosets])[0]

    def __iter__(self) -> Iterator[str]:
        for begin in range(0, len(self), _CHUNK):
            yield from self[begin : begin + _CHUNK]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(operator.eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def views(self, infosets: Sequence[int]) -> np.ndarray:
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


# --- hash tables, at most half full: each place has the index of a row of int64, or EMPTY ---


@inline_kernel
def hash_step(state, word):
    """Returns the hash of what was hashed so far and one more word; all are uint64."""
    state = (state ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return state ^ (state >> np.uint64(29))


@inline_kernel
def hash_of_row(row):
    state = np.uint64(0x2545F4914F6CDD1D)
    for index in range(len(row)):
        state = hash_step(state, np.uint64(row[index]))
    # Tables read the lowest bits only. Small integers as floats differ in the highest bits only.
    state = (state ^ (state >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return state ^ (state >> np.uint64(32))


def num_places(capacity: int) -> int:
    """Returns how many places a table needs for that many rows: a power of two, more than twice as many."""
    return 1 << (2 * max(capacity, 1)).bit_length()


@inline_kernel
def place_of_row(table, rows, row):
    """Returns the place of a row's index in the table, ``[places]`` int32, or where it belongs if the row is new."""
    mask = np.uint64(len(table) - 1)
    place = hash_of_row(row) & mask
    while True:
        index = table[place]
        if index == EMPTY:
            return place
        same = True  # rows are compared in full, so that two different ones never share an index
        for word in range(len(row)):
            if rows[index, word] != row[word]:
                same = False
                break
        if same:
            return place
        place = (place + np.uint64(1)) & mask


@inline_kernel
def index_of_row(table, rows, row, used):
    """Returns the index of a row; a new row is entered as number `used`, into the first two, modified in place."""
    place = place_of_row(table, rows, row)
    if table[place] == EMPTY:
        table[place] = used
        for word in range(len(row)):
            rows[used, word] = row[word]
    return table[place]


@allocating_kernel
def table_of_rows(rows, count, places):
    """Returns the table of the first `count` rows, all of them different, with that many places."""
    table = np.full(places, EMPTY, np.int32)
    for index in range(count):
        table[place_of_row(table, rows, rows[index])] = index
    return table


def digest_of_text(text: str) -> bytes:
    """Returns the key of an information state: two of 10^9 texts have the same with a probability of 10^-21."""
    return blake2b(text.encode(), digest_size=KEY_BYTES).digest()


class Keys:
    """Gives the keys of information states, as two words."""

    kind = "hash"  # as policy files name it
    of_texts = True  # and not of what compiled rules tell a player
    symmetry = False  # whether what symmetries turn into each other has one key

    def find(self, text: str) -> tuple[int, int] | None:
        """Returns an information state's key; None where keys are not of texts."""
        return _TWO_WORDS.unpack(digest_of_text(text))

    def of_state(self, state: pyspiel.State, player: int) -> list[tuple[int, int]]:
        """Returns the keys that a player's information state can have."""
        text = state.information_state_string(player)
        # In a simultaneous game that was converted, texts lack the line that the conversion adds.
        keys = (self.find(text), self.find(f"Current player: {player}\n{text}"))
        return [key for key in keys if key is not None]

    def row_of(self, rows: list[dict[int, float] | None]) -> dict[int, float] | None:
        """Returns {action: probability} at a state, given what a policy has under each key of `of_state`."""
        return next((row for row in rows if row is not None), None)
