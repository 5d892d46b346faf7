"""From a game to flat arrays: recorded game or rules_tree -> layout -> GameTree (-> statistics); or a LazyTree."""

from mccfr_plus.trees.game_tree import GameTree, Statistics, compile_game
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.size_estimate import SizeEstimate, estimate_size

__all__ = ["GameTree", "SizeEstimate", "Statistics", "compile_game", "estimate_size", "load_game"]
