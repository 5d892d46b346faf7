"""One-card poker: Kuhn poker with a deck of any size (rules: docs/background/games.md).

Reference: Gordon 2005, "No-regret algorithms for structured prediction problems", section 5; Lanctot et al.
2009, section 5.
"""

from dataclasses import replace

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel.kuhn_poker import RULES, kuhn_layout
from mccfr_plus.games.rules import Field, Layout, Parameters

_MOST_CARDS = 20_000


class OneCardPokerGame(RulesGame):
    """One-card poker; parameter: `deck_size`."""

    short_name = "one_card_poker"
    long_name = "One-Card Poker"
    defaults = {"deck_size": 500}  # noqa: RUF012
    action_names = ("pass", "bet")
    rules = RULES

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        deck_size = parameters.whole_number("deck_size", 3, _MOST_CARDS, "4.5 * deck_size**2 histories")
        card = Field("card", deck_size + 1, private=True, symbols=["-", *map(str, range(deck_size))])
        return replace(kuhn_layout(2, deck_size), fields=(card, Field("bets", 3, 3, symbols=("", "p", "b"))))

    def outcome_text(self, outcome: int) -> str:
        """Returns the card that is dealt."""
        return f"deal {outcome}"
