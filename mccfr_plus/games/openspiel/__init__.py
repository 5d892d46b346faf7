"""Compiled rules for OpenSpiel's own games, so that they are traversed without pyspiel."""

import functools
from collections.abc import Mapping
from typing import Any

import pyspiel

from mccfr_plus.games.game import OpenSpielRules, RulesGame
from mccfr_plus.games.openspiel.goofspiel import GoofspielRules
from mccfr_plus.games.openspiel.kuhn_poker import KuhnPokerRules
from mccfr_plus.games.openspiel.leduc_poker import LeducPokerRules
from mccfr_plus.games.openspiel.liars_dice import LiarsDiceRules
from mccfr_plus.games.openspiel.phantom_games import DarkHexRules, PhantomTicTacToeRules
from mccfr_plus.games.openspiel.universal_poker import UniversalPokerRules

__all__ = ["GAMES", "compiled_rules", "why_no_rules"]

GAMES: Mapping[str, type[OpenSpielRules]] = {
    rules.short_name: rules
    for rules in (
        KuhnPokerRules,
        LeducPokerRules,
        PhantomTicTacToeRules,
        LiarsDiceRules,
        DarkHexRules,
        GoofspielRules,
        UniversalPokerRules,
    )
}

TURN_BASED = "turn_based_simultaneous_game"  # OpenSpiel's conversion


def compiled_rules(game: pyspiel.Game) -> RulesGame | None:
    """Returns the compiled rules of a game of this package or of OpenSpiel, or None if it has none.

    Args:
        game: A turn-based game. Convert games with simultaneous moves by `pyspiel.convert_to_turn_based`.

    Examples:
        >>> import pyspiel
        >>> compiled_rules(pyspiel.load_game("kuhn_poker(players=3)"))
        kuhn_poker(players=3)
    """
    found = _rules_or_reason(game)
    return None if isinstance(found, str) else found


def why_no_rules(game: pyspiel.Game) -> str:
    """Returns why a game has no compiled rules, and which games have them; empty if the game has rules."""
    found = _rules_or_reason(game)
    return found if isinstance(found, str) else ""


def _rules_or_reason(game: pyspiel.Game) -> RulesGame | str:
    """Returns the compiled rules of a game, or why there are none."""
    if hasattr(game, "rules_game"):  # of this package, or an abstraction
        return game.rules_game or f"{game} has no rules: give abstract a kernel as bucket."
    kind = game.get_type()
    name, given = kind.short_name, game.get_parameters()
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        return f"{name} has simultaneous moves: give its turn-based form (pyspiel.convert_to_turn_based)."
    if name == TURN_BASED:
        given = dict(given["game"])
        name = given.pop("name")
    if name not in GAMES:
        return f"there are no compiled rules of {name}: OpenSpiel's games with rules are {', '.join(GAMES)}."
    known: dict[str, Any] = {} if kind.short_name == TURN_BASED else dict(kind.parameter_specification)
    return _made(GAMES[name], tuple(sorted({**known, **given}.items())))


@functools.lru_cache(maxsize=16)  # tables of large games take seconds, as does finding out that they are too large
def _made(rules: type[OpenSpielRules], given: tuple[tuple[str, Any], ...]) -> OpenSpielRules | str:
    try:
        return rules(dict(given))
    except ValueError as error:
        return f"there are no compiled rules of {rules.short_name} with these parameters: {error}"
