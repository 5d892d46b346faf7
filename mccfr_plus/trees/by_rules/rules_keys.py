"""Keys of infosets by compiled rules: 128-bit hashes of what the player knows, found without a text."""

from __future__ import annotations

import numpy as np
import pyspiel

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.games.rules import NOW
from mccfr_plus.games.symmetries import Symmetries
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.trees.interning import hash_step
from mccfr_plus.trees.keys import Keys


@inline_kernel
def key_of_view(view, places, key):
    """Writes the key of what a player knows.

    Args:
        view: What `look` wrote.
        places: ``[n]`` int64, which of its entries are part of the information state.
        key: ``[2]`` int64, an output.
    """
    low, high = np.uint64(0x2545F4914F6CDD1D), np.uint64(0x9FB21C651E98DF25)
    for index in range(len(places)):
        word = np.uint64(view[places[index]])
        low, high = hash_step(low, word), hash_step(high, word + np.uint64(0x632BE59BD9B4E019))
    key[0], key[1] = np.int64(hash_step(low, np.uint64(1))), np.int64(hash_step(high, np.uint64(2)))


def places_of(game: RulesGame) -> np.ndarray:
    """Returns which entries of what `look` writes are part of the information state, int64."""
    ranges = [np.arange(begin, begin + each.count) for begin, each in game.sizes.places(hidden=NOW)]
    return np.concatenate([np.zeros(0, np.int64), *ranges])


class RulesKeys(Keys):
    """Gives the keys of a game's states by its compiled rules.

    Args:
        game: The game.

    Raises:
        ValueError: If it has no compiled rules.
    """

    kind = "rules"

    def __init__(self, game: pyspiel.Game):
        rules_game = compiled_rules(game)
        if rules_game is None:
            raise ValueError(f"{game} has no compiled rules")
        self._game, self._rules_game, self._places = game, rules_game, places_of(rules_game)

    def of_state(self, state: pyspiel.State, player: int) -> list[tuple[int, int]]:
        """Returns the key of what a player knows in a state; also of the simultaneous game, if it was converted."""
        key = np.empty(2, np.int64)
        key_of_view(self._view(state, player), self._places, key)
        return [(int(key[0]), int(key[1]))]

    def _view(self, state: pyspiel.State, player: int) -> np.ndarray:
        game, words = self._rules_game, self._rules_game.first_state.copy()
        for action in state.history():
            game.rules.apply(game.parameters, game.table, words, action)
        return game.look(words, player)

    def find(self, text: str) -> tuple[int, int] | None:
        """Returns None: there are no texts."""
        return None


class SymmetricKeys(RulesKeys):
    """Gives the keys of the canonical forms of a game's states; see `frames`.

    Args:
        game: The game.

    Raises:
        ValueError: If it has no compiled rules, or these name no symmetries.
    """

    kind = "symmetric"

    def __init__(self, game: pyspiel.Game):
        super().__init__(game)
        self._symmetries = Symmetries(self._rules_game.sizes)

    def of_state(self, state: pyspiel.State, player: int) -> list[tuple[int, int]]:
        """Returns the keys of what a player knows in a state, turned by each symmetry."""
        view, key, found = self._view(state, player), np.empty(2, np.int64), []
        values = self._symmetries.bases + view[self._places]
        for turned in self._symmetries.values:
            view[self._places] = turned[values]
            key_of_view(view, self._places, key)
            found.append((int(key[0]), int(key[1])))
        return found

    def row_of(self, rows: list[dict[int, float] | None]) -> dict[int, float] | None:
        """Returns the mean of the rows found, turned back: symmetries that change nothing here give several."""
        found: dict[int, float] = {}
        count = sum(row is not None for row in rows)
        for inverse, row in zip(self._symmetries.inverses, rows, strict=True):
            for action, probability in (row or {}).items():
                turned = int(self._symmetries.permutations[inverse, action])
                found[turned] = found.get(turned, 0.0) + probability / count
        return dict(sorted(found.items())) or None
