"""What the papers print about the sizes of these games, and what the rules give.

The figures under `ours` are checked by enumeration in ``tests/games/test_catalogue.py``. Where a printed figure does
not follow from the rules as the paper tells them, the verdict says so; no rule was bent to meet one.
"""

from __future__ import annotations

from dataclasses import dataclass

LANCTOT = "Lanctot et al. 2009"
GIBSON = "Gibson et al. 2012"
FARINA = "Farina et al. 2020"


@dataclass(frozen=True)
class Size:
    """One figure of a game.

    Attributes:
        what: ``"histories"``, ``"histories without chance"``, ``"infosets"``, ``"sequences"`` (of each player, the
            empty one included), ``"l"`` (longest history in moves of players) or ``"M"`` (of each player).
        published: As the paper prints it.
        ours: By enumeration; a tuple has one entry per player.
        verdict: Whether they agree, in a few words.
    """

    what: str
    published: str
    ours: int | float | tuple[int, ...] | tuple[float, ...]
    verdict: str = "exact"


@dataclass(frozen=True)
class Published:
    """A game of a paper: its game string, the paper, and its sizes."""

    game: str
    paper: str
    sizes: tuple[Size, ...]


_ROUNDED = "agrees as printed"

CATALOGUE = (
    Published(
        "one_card_poker",
        LANCTOT,
        (
            Size("histories", "22.4 M", 2_246_001, "a tenth of the printed figure"),
            Size("infosets", "2 K", 2_000, _ROUNDED),
            Size("l", "5", 3, "5 with the two cards dealt"),
            Size("M", "45, 32", (44.72, 31.62), _ROUNDED),
        ),
    ),
    Published(
        "bid_goofspiel",
        LANCTOT,
        (
            Size("histories", "98.3 M", 98_309_835, _ROUNDED),
            Size("infosets", "3,294 K", 3_294_456, _ROUNDED),
            Size("l", "14", 14),
            Size("M", "89,884 both", (114_111.56, 114_111.56), "the printed one does not follow from its definition"),
        ),
    ),
    Published(
        "latent_tic_tac_toe",
        LANCTOT,
        (
            Size("histories", "70.4 M", 58_086_835, "not met by any reading"),
            Size("infosets", "16,039 K", 18_638_492, "not met by any reading"),
            Size("l", "18", 16, "a placed line ends the game before"),
            Size("M", "1,333,630, 1,236,660", (1_154_254.9, 928_401.6), "not met by any reading"),
        ),
    ),
    Published(
        "latent_tic_tac_toe(win=disclosure)",
        LANCTOT,
        (
            Size("histories", "70.4 M", 84_591_379, "not met by any reading"),
            Size("infosets", "16,039 K", 20_216_180, "not met by any reading"),
        ),
    ),
    Published(
        "princess_and_monster",
        LANCTOT,
        (
            Size("histories without chance", "91.8 M", 13_943_668, "not met by any reading that agrees with the text"),
            Size("infosets", "20 K", 9_098, "not met by any reading that agrees with the text"),
            Size("l", "13", 13, "without the cells dealt"),
            Size("M", "9,541, 2,930", (4_583.52, 1_500.07), "not met by any reading that agrees with the text"),
        ),
    ),
    Published(
        "bluff(dice1=1,dice2=1)",
        GIBSON,
        (
            Size("histories", "-", 294_883, "as OpenSpiel's liars_dice"),
            Size("infosets", "-", 24_576, "as OpenSpiel's liars_dice"),
        ),
    ),
    Published(
        "bluff",
        GIBSON,
        (
            Size("histories without chance", "66 million", 66_060_162, _ROUNDED),
            Size("infosets", "over 3.5 million", 3_538_944, _ROUNDED),
        ),
    ),
    Published(
        "nl_holdem_buckets",
        GIBSON,
        (
            Size("histories", "-", 173_926, "not printed for this stack"),
            Size("infosets", "-", 2_640, "not printed for this stack"),
        ),
    ),
    Published(
        "nl_holdem_buckets(stack=36)",
        GIBSON,
        (
            Size("histories", "5 billion", 5_004_989_726, _ROUNDED + "; counted, too large for a tree"),
            Size("infosets", "approximately 68 million", 67_233_560, _ROUNDED + "; counted"),
        ),
    ),
    Published(
        "leduc_ranks",
        FARINA,
        (
            Size("histories", "166,336", 166_336),
            Size("sequences", "6,007 both", (6_007, 6_007)),
        ),
    ),
    Published(
        "bid_goofspiel(num_cards=4,reveal=bids,prizes=random)",
        FARINA,
        (
            Size("histories", "54,421", 54_421),
            Size("sequences", "21,329 both", (21_329, 21_329)),
        ),
    ),
    Published(
        "search_game",
        FARINA,
        (
            Size("histories", "21,613", 213_465, "another graph: the paper does not print its own"),
            Size("sequences", "2,029, 52", (2_029, 234), "the defender's is exact, the attacker's another graph's"),
        ),
    ),
    Published(
        "search_game(moves=5)",
        FARINA,
        (
            Size("histories", "87,972", 3_829_510, "another graph"),
            Size("sequences", "11,830, 69", (11_830, 839), "the defender's is exact"),
        ),
    ),
)
