"""Finds the compiled rules of a game: of this package, or of OpenSpiel."""

import pyspiel

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import rules_of
from mccfr_plus.games.pyspiel_game import PyspielGame


def compiled_rules(game: pyspiel.Game) -> RulesGame | None:
    """Returns the compiled rules of a turn-based game, or None if it has none."""
    return game.rules_game if isinstance(game, PyspielGame) else rules_of(game)
