"""Games of the papers, registered with OpenSpiel, and the contract for compiled rules."""

from mccfr_plus.games.bluff import BluffGame
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.one_card_poker import OneCardPokerGame
from mccfr_plus.games.parameters import Parameters
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Rules
from mccfr_plus.games.shell import PyspielGame, PyspielState, register_game

__all__ = [
    "CHANCE",
    "GAMES",
    "MOVER",
    "TERMINAL",
    "Field",
    "Layout",
    "Parameters",
    "PyspielGame",
    "PyspielState",
    "Rules",
    "RulesGame",
    "register_game",
]

GAMES = (OneCardPokerGame, BluffGame)

for _game in GAMES:
    register_game(_game)
