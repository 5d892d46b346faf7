"""The keys that tell the infosets of a lazy tree apart: 128-bit hashes of their texts."""

import struct
from hashlib import blake2b

import pyspiel

KEY_BYTES = 16

_WORDS = struct.Struct("<qq")


def digest_of_text(text: str) -> bytes:
    """Returns the key of an information state, 16 bytes.

    No way is known to find two texts with the same 128 bits of BLAKE2b. By chance, two of 10^9 texts have them with a
    probability of 10^-21.
    """
    return blake2b(text.encode(), digest_size=KEY_BYTES).digest()


class Keys:
    """Gives the keys of information states, as two words.

    Attributes:
        kind: What the keys are, as policy files name it.
        of_texts: Whether they are of texts, and not of what compiled rules tell a player.
        symmetry: Whether what symmetries turn into each other has one key.
    """

    kind = "hash"
    of_texts = True
    symmetry = False

    def find(self, text: str) -> tuple[int, int] | None:
        """Returns an information state's key; None where keys are not of texts."""
        low, high = _WORDS.unpack(digest_of_text(text))
        return low, high

    def of_state(self, state: pyspiel.State, player: int) -> list[tuple[int, int]]:
        """Returns the keys that a player's information state can have.

        Also of states of the simultaneous game that the game was converted from: the conversion to turn-based puts a
        line before the original's text.
        """
        text = state.information_state_string(player)
        keys = (self.find(text), self.find(f"Current player: {player}\n{text}"))
        return [key for key in keys if key is not None]

    def row_of(self, rows: list[dict[int, float] | None]) -> dict[int, float] | None:
        """Returns {action: probability} at a state, given what a policy has under each key of `of_state`."""
        return next((row for row in rows if row is not None), None)
