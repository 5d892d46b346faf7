"""OpenSpiel's `tiny_bridge_2p`: an uncontested auction with two cards each, whose payoff both players get.

The payoffs, values of double-dummy play, and the texts of hands are taken from OpenSpiel when they are first needed.
"""

import functools
from collections.abc import Sequence

import numpy as np
import pyspiel

from mccfr_plus.games.common import equally_likely, rules_in
from mccfr_plus.games.openspiel.base import OpenSpielRules
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters
from mccfr_plus.kernels.compile import kernel

# Words of a state: each player's hand plus 1; the calls made, a bit each; and the last bid, above a bit for the player
# who made it.
_HAND, _CALLS, _LAST, _SIZE = 1, 3, 4, 5
_NUM_CARDS, _NUM_HANDS, _NUM_CALLS = 8, 28, 7
_PASS = 0
_CALL_NAMES = ("Pass", "1H", "1S", "1NT", "2H", "2S", "2NT")
_DEALER = ("Us", "Pd")  # player 0, as each player calls him


@kernel
def _legal(parameters, table, state, actions):
    last = state[_LAST] >> 1
    actions[0] = _PASS
    for bid in range(last + 1, _NUM_CALLS):
        actions[bid - last] = bid
    return _NUM_CALLS - last


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    # Hands are numbered by their higher card, then by the lower one.
    dealt, count = state[_HAND] - 1, 0
    high = 1
    while dealt >= high * (high + 1) // 2:
        high += 1
    low = dealt - high * (high - 1) // 2
    for first in range(_NUM_CARDS):
        for second in range(first + 1, _NUM_CARDS):
            if dealt < 0 or (first != high and first != low and second != high and second != low):
                actions[count] = second * (second - 1) // 2 + first
                count += 1
    return equally_likely(count, probabilities)


@kernel
def _apply(parameters, table, state, action):
    mover = state[MOVER]
    if mover == CHANCE:
        player = int(state[_HAND] > 0)
        state[_HAND + player] = action + 1
        state[MOVER] = 0 if player else CHANCE
    elif action == _PASS and state[_CALLS]:
        state[MOVER] = TERMINAL
    else:
        state[_CALLS] |= 1 << action
        state[MOVER] = 1 - mover
        if action != _PASS:
            state[_LAST] = action << 1 | mover


@kernel
def _returns(parameters, table, state, payoffs):
    if state[_LAST]:
        row = (state[_HAND] - 1) * _NUM_HANDS + state[_HAND + 1] - 1
        payoffs[0] = payoffs[1] = table[row * 2 * _NUM_CALLS + state[_LAST]]


@kernel
def _look(parameters, table, state, player, view):
    if state[_HAND + player]:
        view[0] = parameters[state[_HAND + player] - 1]
    for call in range(_NUM_CALLS):
        view[1 + call] = state[_CALLS] >> call & 1


@kernel
def _observe(parameters, table, state, player, action):
    if action < 0:
        return parameters[state[_HAND + player] - 1] * _NUM_CALLS + (state[_LAST] >> 1)
    return state[_LAST] >> 1


@kernel
def _infoset_number(parameters, table, state, player):
    return parameters[state[_HAND + player] - 1] << _NUM_CALLS | state[_CALLS]


class TinyBridgeRules(OpenSpielRules):
    """The compiled rules of `tiny_bridge_2p`."""

    short_name = "tiny_bridge_2p"
    defaults = {"abstracted": False}  # noqa: RUF012
    rules = rules_in(globals())
    utility = pyspiel.GameType.Utility.IDENTICAL

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        texts = _hand_texts(parameters.switch("abstracted"))
        kinds = list(dict.fromkeys(texts))
        return Layout(
            state_size=_SIZE,
            fields=(Field("hand", len(kinds), private=True), Field("calls", 2, _NUM_CALLS)),
            num_distinct_actions=_NUM_CALLS,
            max_chance_outcomes=_NUM_HANDS,
            max_game_length=_NUM_CALLS + 1,
            max_chance_nodes=2,
            min_utility=-40.0,
            max_utility=35.0,
            utility_sum=None,
            parameters=[kinds.index(text) for text in texts],
            table=_payoffs,
            max_observations=_NUM_CALLS,
            max_first_observations=len(kinds) * _NUM_CALLS,
            max_infosets=len(kinds) << _NUM_CALLS,
        )

    def information_state(self, player: int, view: Sequence[int]) -> str:
        """Returns the hand, and the auction if it has begun, such as "HQHJ Us Pass-1NT"."""
        hand = list(dict.fromkeys(_hand_texts(self.given["abstracted"])))[view[0]]
        calls = [name for name, made in zip(_CALL_NAMES, view[1:], strict=True) if made]
        return f"{hand} {_DEALER[player]} {'-'.join(calls)}" if calls else hand


def _state_after(*history: int, abstracted: bool = False) -> pyspiel.State:
    state = pyspiel.load_game("tiny_bridge_2p", {"abstracted": abstracted}).new_initial_state()
    for action in history:
        state.apply_action(action)
    return state


def _cards(hand: int) -> tuple[int, int]:
    """Returns the higher and the lower card of a hand."""
    high = next(card for card in range(_NUM_CARDS) if hand < card * (card + 1) // 2)
    return high, hand - high * (high - 1) // 2


@functools.cache
def _hand_texts(abstracted: bool) -> list[str]:
    """Returns how OpenSpiel writes each hand; with `abstracted`, alike hands have one text."""
    texts = []
    for hand in range(_NUM_HANDS):
        other = next(each for each in range(_NUM_HANDS) if not set(_cards(each)) & set(_cards(hand)))
        texts.append(_state_after(hand, other, abstracted=abstracted).information_state_string(0))
    return texts


@functools.cache
def _payoffs() -> np.ndarray:
    """Returns the payoff for each pair of hands and each last bid with its bidder, as `_LAST` has them."""
    table = np.zeros((_NUM_HANDS, _NUM_HANDS, 2 * _NUM_CALLS))
    for first in range(_NUM_HANDS):
        for second in range(_NUM_HANDS):
            if not set(_cards(first)) & set(_cards(second)):
                for bid in range(1, _NUM_CALLS):
                    for bidder in range(2):
                        calls = [*[_PASS] * bidder, bid, _PASS]
                        table[first, second, 2 * bid + bidder] = _state_after(first, second, *calls).returns()[0]
    return table.ravel()
