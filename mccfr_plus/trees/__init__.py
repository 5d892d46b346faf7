"""From a game to flat arrays: recorded game or rules_tree -> layout -> GameTree (-> statistics); or a LazyTree."""

from mccfr_plus.trees.game_tree import GameTree, compile_game
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.size_estimate import SizeEstimate, estimate_size
from mccfr_plus.trees.statistics import Statistics

__all__ = ["GameTree", "SizeEstimate", "Statistics", "compile_game", "estimate_size", "load_game"]
