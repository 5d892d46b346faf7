"""The positions at which the first player moves in games that chance begins, where orders of outcomes do not matter.

Two dice show the same in either order. A traversal of all histories visits what follows once, with the probability of
both orders.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER

_MOST = 4096  # positions: where there are more, as with a deck of cards, orders are left apart


class Openings(NamedTuple):
    """What chance's outcomes at the beginning of a game lead to."""

    states: np.ndarray  # [num_openings, state_size] int64, all different
    chance: np.ndarray  # [num_openings] float64: probabilities
    counts: np.ndarray  # [num_openings] int64: how many histories lead to each
    num_above: int  # histories in which chance moves before


def openings_of(game: RulesGame) -> Openings | None:
    """Returns the openings of a game, or None if each has one history, or there are too many of them."""
    rules, sizes, first = game.rules, game.sizes, game.first_state
    if rules.outcomes is None or first[MOVER] != CHANCE:
        return None
    actions, probabilities = np.zeros(sizes.max_chance_outcomes, np.int64), np.zeros(sizes.max_chance_outcomes)
    level, num_above = {first.tobytes(): (1.0, 1)}, 0
    found: dict[bytes, tuple[float, int]] = {}
    while level:
        below: dict[bytes, tuple[float, int]] = {}
        for key, (chance, count) in level.items():
            state = np.frombuffer(key, np.int64)
            num_above += count
            for index in range(rules.outcomes(game.parameters, game.table, state.copy(), actions, probabilities)):
                if probabilities[index] == 0.0:
                    continue
                child = state.copy()
                rules.apply(game.parameters, game.table, child, actions[index])
                into = below if child[MOVER] == CHANCE else found
                before = into.get(child.tobytes(), (0.0, 0))
                into[child.tobytes()] = before[0] + chance * float(probabilities[index]), before[1] + count
            if len(below) + len(found) > _MOST:
                return None
        level = below
    if all(count == 1 for _, count in found.values()):
        return None
    states = np.frombuffer(b"".join(found), np.int64).reshape(len(found), -1).copy()
    chances, counts = zip(*found.values(), strict=True)
    return Openings(states, np.array(chances), np.array(counts, np.int64), num_above)
