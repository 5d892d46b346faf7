"""Games of the papers, registered with OpenSpiel, and the contract for compiled rules."""

from mccfr_plus.games.bid_goofspiel import BidGoofspielGame
from mccfr_plus.games.bluff import BluffGame
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.hand_buckets import HandBuckets
from mccfr_plus.games.holdem_subgame import HoldemSubgame
from mccfr_plus.games.latent_tic_tac_toe import LatentTicTacToeGame
from mccfr_plus.games.leduc_ranks import LeducRanksGame
from mccfr_plus.games.libratus import load_libratus_endgame
from mccfr_plus.games.nl_holdem_buckets import NoLimitHoldemBucketsGame
from mccfr_plus.games.one_card_poker import OneCardPokerGame
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.games.perfect_recall_dark_hex import PerfectRecallDarkHexGame
from mccfr_plus.games.princess_and_monster import PrincessAndMonsterGame
from mccfr_plus.games.pyspiel_game import PyspielGame, PyspielState, register_game
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.games.search_game import SearchGame

__all__ = [
    "CHANCE",
    "GAMES",
    "MOVER",
    "TERMINAL",
    "Field",
    "HandBuckets",
    "Layout",
    "Parameters",
    "PyspielGame",
    "PyspielState",
    "Rules",
    "RulesGame",
    "compiled_rules",
    "load_libratus_endgame",
    "register_game",
]

GAMES = (
    OneCardPokerGame,
    BidGoofspielGame,
    LatentTicTacToeGame,
    PrincessAndMonsterGame,
    BluffGame,
    NoLimitHoldemBucketsGame,
    LeducRanksGame,
    SearchGame,
    PerfectRecallDarkHexGame,
    HoldemSubgame,
)

for _game in GAMES:
    register_game(_game)
