"""Keys of infosets by compiled rules: 128-bit hashes of what the player knows, found without a text."""

from __future__ import annotations

import numpy as np
import pyspiel

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.games.rules import NOW
from mccfr_plus.games.symmetries import Symmetries
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.trees.info_states import Keys, hash_step


@inline_kernel
def key_of_view(view, places, key):
    """Writes the key of what `look` wrote to `key`, ``[2]`` int64; `places` are the entries of information states."""
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
        symmetry: Whether the keys are those of canonical forms; see `frames`.

    Raises:
        ValueError: If the game has no compiled rules, or these name no symmetries that are needed.
    """

    of_texts = False

    def __init__(self, game: pyspiel.Game, symmetry: bool = False):
        rules_game = compiled_rules(game)
        if rules_game is None:
            raise ValueError(f"{game} has no compiled rules")
        self.kind, self.symmetry = "symmetric" if symmetry else "rules", symmetry
        self._game, self._rules_game, self._places = game, rules_game, places_of(rules_game)
        self._symmetries = Symmetries(rules_game.sizes) if symmetry else None

    def of_state(self, state: pyspiel.State, player: int) -> list[tuple[int, int]]:
        """Returns the keys of what a player knows in a state, turned by each symmetry.

        The state may be of the simultaneous game that the game was converted from.
        """
        game, words = self._rules_game, self._rules_game.first_state.copy()
        for action in state.history():
            game.rules.apply(game.parameters, game.table, words, action)
        view, key, found = game.look(words, player), np.empty(2, np.int64), []
        images = view[None, self._places]
        if self._symmetries is not None:
            images = self._symmetries.values[:, self._symmetries.bases + images[0]]
        for image in images:
            view[self._places] = image
            key_of_view(view, self._places, key)
            found.append((int(key[0]), int(key[1])))
        return found

    def row_of(self, rows: list[dict[int, float] | None]) -> dict[int, float] | None:
        """Returns the mean of the rows found, turned back: symmetries that change nothing here give several."""
        if self._symmetries is None:
            return rows[0]
        found: dict[int, float] = {}
        count = sum(row is not None for row in rows)
        for inverse, row in zip(self._symmetries.inverses, rows, strict=True):
            for action, probability in (row or {}).items():
                turned = int(self._symmetries.permutations[inverse, action])
                found[turned] = found.get(turned, 0.0) + probability / count
        return dict(sorted(found.items())) or None

    def find(self, text: str) -> tuple[int, int] | None:
        """Returns None: there are no texts."""
        return None
