"""OpenSpiel's `liars_dice` with any number of dice and sides.

`mccfr_plus.games.bluff` uses these kernels as well; there, a player rolls all dice at once.
"""

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mccfr_plus.games.common import chance_begins, equally_likely
from mccfr_plus.games.game import OpenSpielRules
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.intrinsics import at

# Words of a state: the number of what each player has rolled so far; the bids, a bit each; and the last bid plus 1,
# with the player who made it in the lowest bit.
ROLL, _BIDS, _LAST, _SIZE = 1, 3, 4, 5
# Parameters; then for each set of less than all dice the set with one more die of each face; then, from `MATCHES` on,
# for each set of all dice how many match each face; `SECOND` is where player 1's sets begin, if they differ. The table
# has player 0's payoff if it loses, and if it wins.
_NUM_SIDES, _NUM_BIDS, _FIRST_ROLL, _BY_FACE, MATCHES, SECOND, NEXT = range(7)
MOST_BIDS = 62  # the bits of a word


@kernel
def _legal(parameters, table, state, actions):
    first = state[_LAST] >> 1
    count = parameters[_NUM_BIDS] - first + int(first > 0)
    for index in range(count):
        actions[at(index)] = first + index
    return count


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    for face in range(parameters[_NUM_SIDES]):
        actions[face] = face
    return equally_likely(parameters[_NUM_SIDES], probabilities)


@kernel
def _apply(parameters, table, state, action):
    mover = state[MOVER]
    if mover == CHANCE:
        player = int(state[ROLL] >= parameters[_FIRST_ROLL])
        rolled = parameters[at(NEXT + state[at(ROLL + player)] * parameters[_NUM_SIDES] + action)]
        state[at(ROLL + player)] = rolled
        if player == 1 and rolled >= parameters[_FIRST_ROLL]:
            state[MOVER] = 0
    elif action == parameters[_NUM_BIDS]:
        state[MOVER] = TERMINAL
    else:
        state[_BIDS] |= 1 << action
        state[_LAST] = (action + 1) << 1 | mover
        state[MOVER] = 1 - mover


@kernel
def _returns(parameters, table, state, payoffs):
    num_sides, num_bids, bidder = parameters[_NUM_SIDES], parameters[_NUM_BIDS], state[_LAST] & 1
    bid = (state[_LAST] >> 1) - 1
    if parameters[_BY_FACE]:
        num_dice = num_bids // num_sides
        quantity, face = bid % num_dice + 1, bid // num_dice
    else:
        quantity, face = bid // num_sides + 1, bid % num_sides
    for player in range(2):
        roll = state[at(ROLL + player)] - parameters[_FIRST_ROLL] + player * parameters[SECOND]
        quantity -= parameters[at(parameters[MATCHES] + roll * num_sides + face)]
    payoffs[0] = table[1 - bidder if quantity <= 0 else bidder]  # by who loses the round
    payoffs[1] = -payoffs[0]


@kernel
def _look(parameters, table, state, player, view):
    view[0] = state[ROLL + player]
    for bid in range(parameters[_NUM_BIDS]):
        view[1 + bid] = state[_BIDS] >> bid & 1


@kernel
def _observe(parameters, table, state, player, action):
    last = state[_LAST] >> 1
    if action < 0:
        return (state[at(ROLL + player)] - parameters[_FIRST_ROLL]) * (parameters[_NUM_BIDS] + 1) + last
    return last


RULES = Rules(chance_begins, _legal, _apply, _returns, _look, _outcomes, _observe)


def bidding_layout(rolls: int, bids: int, **others: Any) -> Layout:
    return Layout(
        state_size=_SIZE,
        num_distinct_actions=bids + 1,
        max_game_length=bids + 1,
        min_utility=-1.0,
        max_utility=1.0,
        max_observations=bids + 1,
        max_first_observations=rolls * (bids + 1),
        **others,
    )


class LiarsDiceRules(OpenSpielRules):
    short_name = "liars_dice"
    defaults = {"players": 2, "numdice": 1, "dice_sides": 6, "bidding_rule": "reset-face"}  # noqa: RUF012
    rules = RULES

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        parameters.whole_number("players", 2, 2, "as in OpenSpiel")
        dice = parameters.whole_number("numdice", 1, MOST_BIDS // 2)
        sides = parameters.whole_number("dice_sides", 1, MOST_BIDS // 2)
        by_face = parameters.one_of("bidding_rule", {"reset-face": False, "reset-quantity": True})
        num_bids = 2 * dice * sides
        what = f"{num_bids} bids; give at most {MOST_BIDS}"
        parameters.require(num_bids <= MOST_BIDS, what, "numdice", "dice_sides")
        rolls = _rolls(dice, sides)
        first = sum(len(roll) < dice for roll in rolls)
        number = {roll: index for index, roll in enumerate(rolls)}
        following = [number[tuple(sorted((*roll, face)))] for roll in rolls[:first] for face in range(sides)]
        # The highest face matches any bid, once.
        matches = [sum(die in (face, sides - 1) for die in roll) for roll in rolls[first:] for face in range(sides)]
        return bidding_layout(
            len(rolls) - first,
            num_bids,
            fields=(Field("roll", len(rolls), private=True), Field("bids", 2, num_bids)),
            max_chance_outcomes=sides,
            max_chance_nodes=2 * dice,
            table=(-1.0, 1.0),
            parameters=np.array([sides, num_bids, first, by_face, NEXT + len(following), 0, *following, *matches]),
        )

    def tensor_cells(self, player: int, place: int, value: int) -> Sequence[int]:
        """Returns the cells of the player, of the faces of its dice, or of a bid."""
        dice, sides = self.given["numdice"], self.given["dice_sides"]
        if place < 0:
            return [player]
        if place == 0:
            return [2 + die * sides + face for die, face in enumerate(self._faces[value])]
        return [1 + dice * sides + place] if value else []

    def view_text(self, player: int, view: Sequence[int], places: Any = None) -> str:
        """Returns the dice and the bids, such as "26 1-3 2-2"."""
        dice, sides = self.given["numdice"], self.given["dice_sides"]
        text = "".join(str(face + 1) for face in self._faces[view[0]])
        for bid, made in enumerate(view[1:]):
            if made and self.given["bidding_rule"] == "reset-face":
                text += f" {bid // sides + 1}-{bid % sides + 1}"
            elif made:
                text += f" {bid % (2 * dice) + 1}-{bid // (2 * dice) + 1}"
        return text

    @cached_property
    def _faces(self) -> list[tuple[int, ...]]:
        return _rolls(self.given["numdice"], self.given["dice_sides"])


def _rolls(dice: int, sides: int) -> list[tuple[int, ...]]:
    """Returns all sets of up to that many dice, smaller ones first, each as its faces in ascending order."""
    return [roll for count in range(dice + 1) for roll in itertools.combinations_with_replacement(range(sides), count)]
