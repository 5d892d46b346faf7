"""The names and units of the paper's games, and what uniform play is worth in them."""

from mccfr_plus.evaluation.exact import nash_conv
from mccfr_plus.experiments.papers.uniform_play import uniform_holdem_exploitability
from mccfr_plus.policies.tree_policy import TreePolicy
from mccfr_plus.tree.game_tree import compile_game

MILLI_BIG_BLINDS = 500.0  # per chip: the big blind is 2
MBB = "exploitability ((b1 + b2) / 2, mbb/g)"
PLAIN = "exploitability ((b1 + b2) / 2, a win is 1)"


def holdem(game: str) -> str:
    """Returns what the paper calls a game."""
    return f"2-NL Hold'em({game.partition('stack=')[2].rstrip(')')})"


def scale_of(game: str) -> float:
    """Returns what exploitability is multiplied by, for the paper's unit."""
    return MILLI_BIG_BLINDS if game.startswith("nl_holdem") else 1.0


def title(game: str) -> str:
    """Returns what the paper calls a game."""
    return holdem(game) if game.startswith("nl_holdem") else BLUFF.get(game, game)


BLUFF = {
    "bluff(dice1=1,dice2=1)": "Bluff(1, 1)",
    "bluff(dice1=2,dice2=1,faces=4)": "Bluff(2, 1), dice of four faces",
    "bluff": "Bluff(2, 1)",
}


def uniform_exploitability(game: str) -> float:
    """Returns (b1 + b2) / 2 of uniform play, in the game's payoffs."""
    if game.startswith("nl_holdem"):
        return uniform_holdem_exploitability(int(game.partition("stack=")[2].rstrip(")")))
    tree = compile_game(game)
    return float(nash_conv(tree, TreePolicy(tree, tree.uniform_strategy()))) / 2
