"""Goofspiel in which every bid is a move, the forced last ones included (rules: docs/background/games.md).

Reference: Lanctot et al. 2009, section 5 (seven cards, descending, results); Farina, Kroer and Sandholm 2020, section 5
(four cards, random, bids).
"""

from dataclasses import replace

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import goofspiel
from mccfr_plus.games.openspiel.goofspiel import BIDS, CARDS, ORDER, POINT_CARDS, RANDOM, TURN, entry, points_of
from mccfr_plus.games.rules import Field, Layout, Parameters
from mccfr_plus.kernels.compile import kernel


@kernel
def _look(parameters, table, state, player, view):
    num_cards, turn, at = parameters[CARDS], state[TURN], 2 * parameters[CARDS]
    if parameters[goofspiel.HIDDEN]:
        goofspiel.look(parameters, table, state, player, view)
    else:
        for index in range(turn):
            view[index], view[num_cards + index] = entry(state[BIDS], index), entry(state[BIDS + 1], index)
        if turn < num_cards:
            view[at] = entry(state[BIDS + player], turn)
        at += 1
        if parameters[ORDER] == RANDOM:
            for index in range(min(turn + 1, num_cards)):
                view[at + index] = entry(state[POINT_CARDS], index)
    if parameters[ORDER] == RANDOM:
        at += num_cards
    view[at], view[at + 1] = points_of(state, 0), points_of(state, 1)


class BidGoofspielGame(RulesGame):
    """Goofspiel with explicit bids; parameters: `num_cards`, `reveal`, `prizes`, `utility`."""

    short_name = "bid_goofspiel"
    long_name = "Goofspiel With Explicit Bids"
    defaults = {"num_cards": 7, "reveal": "results", "prizes": "descending", "utility": "win_loss"}  # noqa: RUF012
    rules = replace(goofspiel.RULES, look=_look)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        num_cards = parameters.whole_number("num_cards", 2, goofspiel.MOST_CARDS, "four bits per bid in a word of 64")
        bids_seen = parameters.one_of("reveal", {"results": False, "bids": True})
        order = parameters.one_of("prizes", goofspiel.ORDERS)
        kind = parameters.one_of("utility", {"win_loss": goofspiel.WIN_LOSS, "point_difference": goofspiel.LEAD})
        points = num_cards * (num_cards + 1) // 2
        # The winner of a round with a higher card loses another one, at least that for prize 1.
        most = points - 2.0 if kind == goofspiel.LEAD else 1.0

        def cards(name: str, count: int = num_cards, private: bool = False) -> Field:
            return Field(name, num_cards + 1, count, private, symbols=["", *map(str, range(1, num_cards + 1))])

        if bids_seen:
            fields = [cards("bids_0"), cards("bids_1"), cards("hidden_bid", 1, private=True)]
        else:
            fields = [cards("bids", private=True), Field("results", 4, num_cards, symbols=("", "0", "1", "="))]
        if order == RANDOM:
            fields.append(cards("prizes"))
        return goofspiel.goofspiel_layout(
            [2, num_cards, num_cards, order, not bids_seen, kind, True],
            fields=(*fields, Field("points", points + 1, 2, when="now")),
            max_game_length=2 * num_cards,
            max_chance_nodes=num_cards - 1 if order == RANDOM else 0,
            min_utility=-most,
            max_utility=most,
        )

    def action_text(self, player: int, action: int) -> str:
        """Returns the card, such as "bid 7"."""
        return f"bid {action + 1}"

    def outcome_text(self, outcome: int) -> str:
        """Returns the prize, such as "prize 7"."""
        return f"prize {outcome + 1}"
