"""Bluff, also known as Liar's dice: one round of it, whose payoff is the value of the rounds that follow.

Both players roll their dice unseen; a roll is a multiset. They bid a quantity and a face in turn, each bid higher than
the last (by quantity, then by face), or call "bluff"; the highest face is wild. If the dice of both show the bid, the
caller loses a die, otherwise the bidder does. With ``payoff="match"``, the payoff is 1 against a player without dice,
or the value of the next round, which the loser (``starts="loser"``) or the winner begins; with ``payoff="round"`` every
round is worth 1, as in OpenSpiel's `liars_dice`, which Bluff(1, 1) equals. docs/background/games.md has the rules.

Reference: Gibson, Burch, Lanctot, Szafron 2012; the order of bids and the wild face as in OpenSpiel.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mccfr_plus.games import bluff_rounds
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel.liars_dice import MATCHES, MOST_BIDS, NEXT, ROLL, RULES, SECOND, bidding_layout
from mccfr_plus.games.rules import MOVER, TERMINAL, Field, Layout, Parameters
from mccfr_plus.kernels.compile import kernel

# The parameters are those of liar's dice, where a first roll is of all dice: player 0's rolls come before player 1's.
# Before the numbers of dice that match a face, there is how many rolls player 1 has.
_MOST_ROLLS = 50_000


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    # The table has two payoffs, the probabilities of player 0's rolls, and those of player 1's.
    first, count = 2, parameters[SECOND]
    if state[ROLL] > 0:
        first, count = 2 + count, parameters[parameters[MATCHES] - 1]
    for roll in range(count):
        actions[roll], probabilities[roll] = roll, table[first + roll]
    return count


class BluffGame(RulesGame):
    """Bluff; parameters: `dice1`, `dice2`, `faces`, `payoff`, `starts`."""

    short_name = "bluff"
    long_name = "Bluff (one round of Liar's dice)"
    defaults = {"dice1": 2, "dice2": 1, "faces": 6, "payoff": "match", "starts": "loser"}  # noqa: RUF012
    rules = replace(RULES, outcomes=_outcomes)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        dice = [parameters.whole_number(name, 1, 10) for name in ("dice1", "dice2")]
        faces = parameters.whole_number("faces", 2, 20)
        starts = parameters.one_of("starts", {name: name for name in ("loser", "winner")})
        match = parameters.one_of("payoff", {"match": True, "round": False})
        num_bids = sum(dice) * faces
        given = f"dice1={dice[0]}, dice2={dice[1]}, faces={faces}"
        if num_bids > MOST_BIDS:
            raise ValueError(f"{given}: {num_bids} bids, (dice1 + dice2) * faces; give at most {MOST_BIDS}.")
        if max(math.comb(count + faces - 1, count) for count in dice) > _MOST_ROLLS:
            raise ValueError(f"{given}: more than {_MOST_ROLLS:,} rolls; give fewer dice.")
        rolls = [list(itertools.combinations_with_replacement(range(faces), count)) for count in dice]
        rounds = bluff_rounds.following(dice[0], dice[1], faces, starts) if match else None
        every_roll = [roll for each in rolls for roll in each]
        matches = [sum(die in (face, faces - 1) for die in roll) for roll in every_roll for face in range(faces)]
        most_rolls = max(map(len, rolls))

        def roll_text(player: int, values: Sequence[int]) -> str:
            return ".".join(str(face + 1) for face in rolls[player][values[0] - 1]) if values[0] else "-"

        def bids_text(player: int, bits: Sequence[int]) -> str:
            return " ".join(_bid_text(bid, faces) for bid, made in enumerate(bits) if made)

        def table() -> np.ndarray:
            payoffs = [-1.0, 1.0] if rounds is None else [each.value() for each in rounds]
            return np.array([*payoffs, *(_probability(roll, faces) for roll in every_roll)])

        return bidding_layout(
            most_rolls,
            num_bids,
            fields=(
                Field("roll", most_rolls + 1, private=True, write=roll_text),
                Field("bids", 2, num_bids, write=bids_text),
            ),
            max_chance_outcomes=most_rolls,
            max_chance_nodes=2,
            parameters=[
                *(faces, num_bids, 1, False, NEXT + most_rolls + 1, len(rolls[0])),
                *(*range(1, most_rolls + 1), len(rolls[1]), *matches),
            ],
            table=table,
        )

    def action_text(self, player: int, action: int) -> str:
        """Returns a bid, such as "2-6" for two sixes, or "bluff"."""
        return "bluff" if action == self.sizes.num_distinct_actions - 1 else _bid_text(action, self.given["faces"])

    def outcome_text(self, outcome: int) -> str:
        """Returns the number of a roll."""
        return f"roll {outcome}"

    def state_text(self, state: np.ndarray) -> str:
        """Returns rolls and bids, such as "rolls 1.6 | 3, bids 1-3 2-6"."""
        roll, bids = self.sizes.fields
        views = [self.look(state, player).tolist() for player in range(2)]
        rolls = " | ".join(roll.text(player, views[player][:1]) for player in range(2))
        called = " bluff" if state[MOVER] == TERMINAL else ""
        return f"rolls {rolls}, bids {bids.text(0, views[0][1:]) or '-'}{called}"


def _bid_text(bid: int, faces: int) -> str:
    return f"{bid // faces + 1}-{bid % faces + 1}"


def _probability(roll: Sequence[int], faces: int) -> float:
    """Returns the multinomial probability of a multiset of dice."""
    orders = math.factorial(len(roll)) // math.prod(math.factorial(roll.count(face)) for face in set(roll))
    return orders / faces ** len(roll)
