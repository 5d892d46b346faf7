"""What tells the infosets of a lazy tree apart: 128-bit hashes of their texts, or the texts themselves."""

import json
import struct
import sys
from collections.abc import Callable
from hashlib import blake2b

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError

KINDS = ("hash", "checked", "text")
KEY_BYTES = 24  # 16 for the key, 8 to check it by

_WORDS = struct.Struct("<qqq")

# Bytes of a text beside itself: its number (32), its entries in a list (9) and a dictionary (60, and while that grows
# up to twice as many), and the same once more while a policy has a copy of these.
TEXT_OVERHEAD = 250


def digest_of_text(text: str) -> bytes:
    """Returns the key of an information state, 16 bytes, and 8 more that tell whether two have the same key.

    No way is known to find two texts with the same 128 bits of BLAKE2b. By chance, two of 10^9 texts have them with a
    probability of 10^-21.
    """
    return blake2b(text.encode(), digest_size=KEY_BYTES).digest()


class Keys:
    """Gives the keys of information states.

    Args:
        kind: ``"hash"``; ``"checked"``, the same with 64 more bits and the number of actions compared at every
            node; or ``"text"``, which keeps the texts and can name them.

    Raises:
        ConfigError: If the kind is another one.
    """

    def __init__(self, kind: str = "hash"):
        if kind not in KINDS:
            raise ConfigError(f"keys={kind!r}: give one of {', '.join(KINDS)}.")
        self.kind = kind
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._cost = memoryview(bytearray(8)).cast("q")
        # What gives the 24 bytes of an information state that may not have been seen before.
        self.new: Callable[[str], bytes] = self._number if kind == "text" else digest_of_text

    @property
    def checked(self) -> bool:
        """Whether a second look tells if two infosets have the same key."""
        return self.kind == "checked"

    def _number(self, text: str) -> bytes:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
            self._cost[0] += sys.getsizeof(text) + TEXT_OVERHEAD
        return _WORDS.pack(number, 0, 0)

    def find(self, text: str) -> tuple[int, int] | None:
        """Returns the two words of an information state's key, or None if it was certainly never seen."""
        if self.kind != "text":
            low, high, _ = _WORDS.unpack(digest_of_text(text))
            return low, high
        number = self._numbers.get(text)
        return None if number is None else (number, 0)

    def of_state(self, state: pyspiel.State, player: int) -> list[tuple[int, int]]:
        """Returns the keys that a player's information state can have; none if it was certainly never seen.

        Also of states of the simultaneous game that the game was converted from: the conversion to turn-based puts a
        line before the original's text.
        """
        text = state.information_state_string(player)
        keys = (self.find(text), self.find(f"Current player: {player}\n{text}"))
        return [key for key in keys if key is not None]

    def row_of(self, rows: list[dict[int, float] | None]) -> dict[int, float] | None:
        """Returns {action: probability} at a state, given what a policy has under each key of `of_state`."""
        return next((row for row in rows if row is not None), None)

    def count_in(self, cost: memoryview) -> None:
        """Makes an int64 the place where the bytes of all texts are counted."""
        cost[0] = self._cost[0]
        self._cost = cost

    def copy(self) -> "Keys":
        """Returns keys that know what these know now."""
        copy = Keys(self.kind)
        copy._take(self.texts)
        return copy

    def as_bytes(self) -> bytes:
        """Returns the texts that are kept, for `restore`."""
        return json.dumps(self.texts).encode() if self.texts else b""

    def restore(self, data: bytes) -> None:
        """Takes over the texts of another run.

        Raises:
            ValueError: If the data are not what `as_bytes` gives.
        """
        texts = json.loads(data) if data else []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ValueError("no list of texts")
        if len(set(texts)) != len(texts):
            raise ValueError("a text that comes twice")
        self._take(texts)

    def has_all(self, keys: np.ndarray) -> bool:
        """Returns whether keys, ``[n, 2]`` int64, can be those of information states: with texts, their numbers."""
        if self.kind != "text":
            return True
        numbers = keys[:, 0]
        return bool(((numbers >= 0) & (numbers < len(self.texts)) & (keys[:, 1] == 0)).all())

    def _take(self, texts: list[str]) -> None:
        self.texts = list(texts)
        self._numbers.clear()
        self._numbers.update((text, number) for number, text in enumerate(texts))
        self._cost[0] = sum(map(sys.getsizeof, texts)) + len(texts) * TEXT_OVERHEAD
