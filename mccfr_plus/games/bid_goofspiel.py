"""Goofspiel in which every bid is a move, the forced last ones included (rules: docs/background/games.md).

Each round one prize is up, in descending, ascending or random order; player 0 bids a card, then player 1 without seeing
it. The higher card wins the prize, equal cards lose it. Then both players learn the result or both cards
(``reveal=results`` or ``bids``). The winner of more points gets 1, or the difference in points.

Reference: Lanctot et al. 2009, section 5 (seven cards, descending, results); Farina, Kroer and Sandholm 2020, section 5
(four cards, random, bids).
"""

import numpy as np

from mccfr_plus.games.common import equally_likely, list_bits
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel

# Words of a state. Sets of cards are masks; sequences have four bits per round, the first round in the lowest ones.
_ROUND = 1  # rounds played
_PRIZE = 2  # the prize that is up, 0: chance has not dealt it
_PRIZES_LEFT = 3  # those that have not been up
_POINTS, _HANDS, _BIDS = 4, 6, 8  # one word per player
_RESULTS, _PRIZES = 10, 11  # sequences
_SIZE = 12

_MOST_CARDS = 15  # 1 .. 15 fit into four bits, 15 rounds into a word
_RESULT_OF_0, _RESULT_OF_1, _TIE = 1, 2, 3
_DESCENDING, _ASCENDING, _RANDOM = 0, 1, 2


@inline_kernel
def _entry(sequence, turn):
    return (sequence >> (4 * turn)) & 15


@inline_kernel
def _put_up(state, prize):
    state[_PRIZE] = prize
    state[_PRIZES_LEFT] &= ~(1 << (prize - 1))
    state[_PRIZES] |= prize << (4 * state[_ROUND])
    state[MOVER] = 0


@inline_kernel
def _next_prize(num_cards, order, state):
    left = num_cards - state[_ROUND]
    if order == _RANDOM and left > 1:
        state[_PRIZE] = 0
        state[MOVER] = CHANCE
        return
    prize = left if order == _DESCENDING else state[_ROUND] + 1
    if order == _RANDOM:
        prize = 1
        while state[_PRIZES_LEFT] >> prize:
            prize += 1
    _put_up(state, prize)


@kernel
def _start(parameters, table, state):
    num_cards, order = parameters[0], parameters[2]
    state[_PRIZES_LEFT] = state[_HANDS] = state[_HANDS + 1] = (1 << num_cards) - 1
    _next_prize(num_cards, order, state)


@kernel
def _legal(parameters, table, state, actions):
    return list_bits(state[_HANDS + state[MOVER]], actions)


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    return equally_likely(list_bits(state[_PRIZES_LEFT], actions), probabilities)


@kernel
def _apply(parameters, table, state, action):
    mover, turn = state[MOVER], state[_ROUND]
    if mover == CHANCE:
        _put_up(state, action + 1)
        return
    state[_HANDS + mover] &= ~(1 << action)
    state[_BIDS + mover] |= (action + 1) << (4 * turn)
    if mover == 0:
        state[MOVER] = 1
        return
    other = _entry(state[_BIDS], turn) - 1
    result = _TIE
    if action != other:
        result = _RESULT_OF_1 if action > other else _RESULT_OF_0
        state[_POINTS + result - _RESULT_OF_0] += state[_PRIZE]
    state[_RESULTS] |= result << (4 * turn)
    state[_ROUND] = turn + 1
    if turn + 1 == parameters[0]:
        state[MOVER] = TERMINAL
    else:
        _next_prize(parameters[0], parameters[2], state)


@kernel
def _returns(parameters, table, state, payoffs):
    lead = state[_POINTS] - state[_POINTS + 1]
    if not parameters[3]:
        lead = min(max(lead, -1), 1)
    payoffs[0], payoffs[1] = lead, -lead


@inline_kernel
def _unpack(sequence, count, view):
    """Writes the first `count` entries of a sequence."""
    for index in range(count):
        view[index] = _entry(sequence, index)


@kernel
def _look(parameters, table, state, player, view):
    num_cards, turn, at = parameters[0], state[_ROUND], 2 * parameters[0]
    so_far = min(turn + 1, num_cards)  # with the current round
    if parameters[1]:
        _unpack(state[_BIDS], turn, view)
        _unpack(state[_BIDS + 1], turn, view[num_cards:])
        if turn < num_cards:
            view[at] = _entry(state[_BIDS + player], turn)
        at += 1
    else:
        _unpack(state[_BIDS + player], so_far, view)
        _unpack(state[_RESULTS], turn, view[num_cards:])
    if parameters[2] == _RANDOM:
        _unpack(state[_PRIZES], so_far, view[at:])
        at += num_cards
    view[at], view[at + 1] = state[_POINTS], state[_POINTS + 1]


class BidGoofspielGame(RulesGame):
    """Goofspiel with explicit bids; parameters: `num_cards`, `reveal`, `prizes`, `utility`."""

    short_name = "bid_goofspiel"
    long_name = "Goofspiel With Explicit Bids"
    defaults = {"num_cards": 7, "reveal": "results", "prizes": "descending", "utility": "win_loss"}  # noqa: RUF012
    rules = Rules(start=_start, legal=_legal, outcomes=_outcomes, apply=_apply, returns=_returns, look=_look)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        num_cards = parameters.whole_number("num_cards", 2, _MOST_CARDS, "four bits per bid in a word of 64")
        bids_seen = parameters.one_of("reveal", {"results": False, "bids": True})
        order = parameters.one_of("prizes", {"descending": _DESCENDING, "ascending": _ASCENDING, "random": _RANDOM})
        difference = parameters.one_of("utility", {"win_loss": False, "point_difference": True})
        is_random = order == _RANDOM
        points = num_cards * (num_cards + 1) // 2
        # The winner of a round with a higher card loses another one, at least that for prize 1.
        most = points - 2.0 if difference else 1.0

        def cards(name: str, count: int = num_cards, private: bool = False) -> Field:
            return Field(name, num_cards + 1, count, private, symbols=["", *map(str, range(1, num_cards + 1))])

        if bids_seen:
            fields = [cards("bids_0"), cards("bids_1"), cards("hidden_bid", 1, private=True)]
        else:
            fields = [cards("bids", private=True), Field("results", 4, num_cards, symbols=("", "0", "1", "="))]
        if is_random:
            fields.append(cards("prizes"))
        return Layout(
            state_size=_SIZE,
            fields=(*fields, Field("points", points + 1, 2, when="now")),
            num_distinct_actions=num_cards,
            max_chance_outcomes=num_cards if is_random else 0,
            max_game_length=2 * num_cards,
            max_chance_nodes=num_cards - 1 if is_random else 0,
            min_utility=-most,
            max_utility=most,
            parameters=[num_cards, bids_seen, order, difference],
        )

    def action_text(self, player: int, action: int) -> str:
        """Returns which card is bid, such as "bid 7"."""
        return f"bid {action + 1}"

    def outcome_text(self, outcome: int) -> str:
        """Returns which prize is up, such as "prize 7"."""
        return f"prize {outcome + 1}"

    def state_text(self, state: np.ndarray) -> str:
        """Returns the prizes so far, both players' bids and points, one below the other."""
        bids = [f"bids {each}: {_cards(state[_BIDS + each])}; points {state[_POINTS + each]}" for each in (0, 1)]
        return "\n".join([f"prizes: {_cards(state[_PRIZES])}", *bids])


def _cards(sequence: np.int64) -> str:
    cards = [int(sequence) >> shift & 15 for shift in range(0, 4 * _MOST_CARDS, 4)]
    return " ".join(str(card) for card in cards if card) or "-"
