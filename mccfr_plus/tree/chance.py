"""What pyspiel says about a chance node, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyspiel

from mccfr_plus.errors import GameError

Outcomes = tuple[tuple[int, float], ...]


def checked_outcomes(game: pyspiel.Game, outcomes: Sequence[tuple[int, float]]) -> Outcomes:
    """Returns the outcomes that can happen; those of probability 0 would be histories that no play reaches.

    Raises:
        GameError: If the probabilities do not sum to 1.
    """
    possible = tuple((action, probability) for action, probability in outcomes if probability != 0)
    total = math.fsum(probability for _, probability in possible)
    if not possible or abs(total - 1.0) > 1e-6 or any(probability < 0 for _, probability in possible):
        raise GameError(
            f"{game.get_type().short_name} has a chance node whose probabilities sum to {total:.9g} instead of 1."
        )
    return possible
