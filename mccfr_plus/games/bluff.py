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

import numpy as np

from mccfr_plus.games import bluff_rounds
from mccfr_plus.games.common import rules_in
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters
from mccfr_plus.kernels.compile import kernel

# Words of a state: both rolls plus 1, the bids as bits, the last bid plus 1, and in the end who loses a die.
_ROLL, _BIDS, _LAST, _LOSER, _SIZE = 1, 3, 4, 5, 6
# Parameters: number of faces, bids and rolls of each player; then how often each roll shows each face.
_FACES, _NUM_BIDS, _NUM_ROLLS, _SHOWN = 0, 1, 2, 4
_MOST_BIDS = 62  # the bits of a word
_MOST_ROLLS = 50_000


@kernel
def _legal(parameters, table, state, actions):
    count = 0
    for bid in range(state[_LAST], parameters[_NUM_BIDS]):
        actions[count] = bid
        count += 1
    if state[_LAST] > 0:
        actions[count] = parameters[_NUM_BIDS]
        count += 1
    return count


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    # The table has two payoffs, the probabilities of player 0's rolls, and those of player 1's.
    player = int(state[_ROLL] > 0)
    first = 2 + player * parameters[_NUM_ROLLS]
    count = parameters[_NUM_ROLLS + player]
    for roll in range(count):
        actions[roll], probabilities[roll] = roll, table[first + roll]
    return count


@kernel
def _apply(parameters, table, state, action):
    if state[MOVER] == CHANCE:
        player = int(state[_ROLL] > 0)
        state[_ROLL + player] = action + 1
        state[MOVER] = 0 if player else CHANCE
    elif action == parameters[_NUM_BIDS]:
        caller = state[MOVER]
        state[_LOSER] = caller if _holds(parameters, state) else 1 - caller
        state[MOVER] = TERMINAL
    else:
        state[_BIDS] |= 1 << action
        state[_LAST] = action + 1
        state[MOVER] = 1 - state[MOVER]


@kernel
def _holds(parameters, state):
    """Returns whether the dice show the last bid."""
    faces, last = parameters[_FACES], state[_LAST] - 1
    quantity, face, wild = last // faces + 1, last % faces, faces - 1
    for player in range(2):
        roll = state[_ROLL + player] - 1 + (parameters[_NUM_ROLLS] if player == 1 else 0)
        first = _SHOWN + roll * faces
        quantity -= parameters[first + face]
        if face != wild:
            quantity -= parameters[first + wild]
    return quantity <= 0


@kernel
def _returns(parameters, table, state, payoffs):
    payoffs[0] = table[state[_LOSER]]
    payoffs[1] = -payoffs[0]


@kernel
def _look(parameters, table, state, player, view):
    view[0] = state[_ROLL + player]
    for bid in range(parameters[_NUM_BIDS]):
        view[1 + bid] = (state[_BIDS] >> bid) & 1


class BluffGame(RulesGame):
    """Bluff; parameters: `dice1`, `dice2`, `faces`, `payoff`, `starts`."""

    short_name = "bluff"
    long_name = "Bluff (one round of Liar's dice)"
    defaults = {"dice1": 2, "dice2": 1, "faces": 6, "payoff": "match", "starts": "loser"}  # noqa: RUF012
    rules = rules_in(globals())

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        dice = [parameters.whole_number(name, 1, 10) for name in ("dice1", "dice2")]
        faces = parameters.whole_number("faces", 2, 20)
        starts = parameters.one_of("starts", {"loser": "loser", "winner": "winner"})
        match = parameters.one_of("payoff", {"match": True, "round": False})
        num_bids = sum(dice) * faces
        given = f"dice1={dice[0]}, dice2={dice[1]}, faces={faces}"
        if num_bids > _MOST_BIDS:
            raise ValueError(f"{given}: {num_bids} bids, (dice1 + dice2) * faces; give at most {_MOST_BIDS}.")
        if max(math.comb(count + faces - 1, count) for count in dice) > _MOST_ROLLS:
            raise ValueError(f"{given}: more than {_MOST_ROLLS:,} rolls; give fewer dice.")
        rolls = [list(itertools.combinations_with_replacement(range(faces), count)) for count in dice]
        rounds = bluff_rounds.following(dice[0], dice[1], faces, starts) if match else None
        shown = [roll.count(face) for each in rolls for roll in each for face in range(faces)]

        def roll_text(player: int, values: Sequence[int]) -> str:
            return ".".join(str(face + 1) for face in rolls[player][values[0] - 1]) if values[0] else "-"

        def bids_text(player: int, bits: Sequence[int]) -> str:
            return " ".join(_bid_text(bid, faces) for bid, made in enumerate(bits) if made)

        def table() -> np.ndarray:
            payoffs = [-1.0, 1.0] if rounds is None else [each.value() for each in rounds]
            return np.array([*payoffs, *(_probability(roll, faces) for each in rolls for roll in each)])

        return Layout(
            state_size=_SIZE,
            fields=(
                Field("roll", max(map(len, rolls)) + 1, private=True, write=roll_text),
                Field("bids", 2, num_bids, write=bids_text),
            ),
            num_distinct_actions=num_bids + 1,
            max_chance_outcomes=max(map(len, rolls)),
            max_game_length=num_bids + 1,
            max_chance_nodes=2,
            min_utility=-1.0,
            max_utility=1.0,
            parameters=[faces, num_bids, len(rolls[0]), len(rolls[1]), *shown],
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
