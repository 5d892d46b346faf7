"""From a pyspiel game to flat arrays: recorder -> recording -> layout -> GameTree (-> leaves, statistics)."""

from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.game_tree import GameTree, compile_game
from mccfr_plus.tree.statistics import Statistics

__all__ = ["GameTree", "Statistics", "compile_game", "load_game"]
