"""The names and units of the paper's games, and what uniform play is worth in them."""

MILLI_BIG_BLINDS = 500.0  # per chip: the big blind is 2
MBB = "exploitability ((b1 + b2) / 2, mbb/g)"
PLAIN = "exploitability ((b1 + b2) / 2, a win is 1)"

# By stack; tests count them anew.
INFOSETS = {8: 2_640, 12: 20_600, 16: 112_920, 20: 505_840}


def length_of(stack: int, nodes: float) -> str:
    """Says how long runs are beside the paper's."""
    return (
        f"Here: 2-NL Hold'em({stack}), {nodes:.0e} histories, {nodes / INFOSETS[stack]:,.2g} per information set; 1e12 "
        "in the paper's game of 36 chips, which has 68 million of them, are 1.5e+04. The buckets of cards are ours "
        "(`docs/background/games.md`)."
    )


def stack_of(game: str) -> int:
    return int(game.partition("stack=")[2].rstrip(")"))


def scale_of(game: str) -> float:
    """Returns what exploitability is multiplied by, for the paper's unit."""
    return MILLI_BIG_BLINDS if game.startswith("nl_holdem") else 1.0


def title(game: str) -> str:
    """Returns what the paper calls a game."""
    return f"2-NL Hold'em({stack_of(game)})" if game.startswith("nl_holdem") else BLUFF.get(game, game)


BLUFF = {
    "bluff(dice1=1,dice2=1)": "Bluff(1, 1)",
    "bluff(dice1=2,dice2=1,faces=4)": "Bluff(2, 1), dice of four faces",
    "bluff": "Bluff(2, 1)",
}

# (b1 + b2) / 2 of uniform play, in the game's payoffs; tests compute it anew.
UNIFORM = {
    "nl_holdem_buckets(stack=16)": 5.301990335169428,
    "nl_holdem_buckets(stack=20)": 6.922002893345559,
    "nl_holdem_buckets(stack=36)": 13.629135432916183,
    "bluff(dice1=1,dice2=1)": 0.78074432319224,
    "bluff(dice1=2,dice2=1,faces=4)": 0.36562117319259657,
    "bluff": 0.454270,
}
