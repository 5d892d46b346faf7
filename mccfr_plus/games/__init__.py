"""Games of the papers, registered with OpenSpiel, and the contract for compiled rules."""

from mccfr_plus.games.game import RulesGame, register_game
from mccfr_plus.games.one_card_poker import OneCardPokerGame
from mccfr_plus.games.parameters import Parameters
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Rules
from mccfr_plus.games.state import RulesState

__all__ = [
    "CHANCE",
    "GAMES",
    "MOVER",
    "TERMINAL",
    "Field",
    "Layout",
    "Parameters",
    "Rules",
    "RulesGame",
    "RulesState",
    "register_game",
]

GAMES = (OneCardPokerGame,)

for _game in GAMES:
    register_game(_game)
