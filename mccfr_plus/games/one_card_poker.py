"""One-card poker: Kuhn poker with a deck of any size (rules: docs/background/games.md).

Reference: Gordon 2005, "No-regret algorithms for structured prediction problems", section 5; Lanctot et al.
2009, section 5.
"""

import numpy as np

from mccfr_plus.games.common import chance_begins, equally_likely
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import kernel

_CARD, _BETS, _NUM_BETS, _SIZE = 1, 3, 6, 7  # words of a state: cards plus 1, bets plus 1, how many bets
_PASS, _BET = 0, 1


@kernel
def _legal(parameters, table, state, actions):
    actions[0], actions[1] = _PASS, _BET
    return 2


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    count = 0
    for card in range(parameters[0]):
        if card != state[_CARD] - 1:
            actions[count] = card
            count += 1
    return equally_likely(count, probabilities)


@kernel
def _apply(parameters, table, state, action):
    if state[MOVER] == CHANCE:
        player = int(state[_CARD] > 0)
        state[_CARD + player] = action + 1
        state[MOVER] = 0 if player else CHANCE
        return
    count = state[_NUM_BETS]
    state[_BETS + count] = action + 1
    state[_NUM_BETS] = count + 1
    first_bets = state[_BETS] == _BET + 1
    over = count == 2 or (count == 1 and (first_bets or action == _PASS))
    state[MOVER] = TERMINAL if over else 1 - state[MOVER]


@kernel
def _returns(parameters, table, state, payoffs):
    count = state[_NUM_BETS]
    last, before = state[_BETS + count - 1] - 1, state[_BETS + count - 2] - 1
    if before == _BET and last == _PASS:  # a fold
        winner, amount = count % 2, 1.0
    else:
        winner, amount = int(state[_CARD + 1] > state[_CARD]), 1.0 + last
    payoffs[winner], payoffs[1 - winner] = amount, -amount


@kernel
def _look(parameters, table, state, player, view):
    view[0] = state[_CARD + player]
    for index in range(3):
        view[1 + index] = state[_BETS + index]


class OneCardPokerGame(RulesGame):
    """One-card poker; parameter: `deck_size`."""

    short_name = "one_card_poker"
    long_name = "One-Card Poker"
    defaults = {"deck_size": 500}  # noqa: RUF012
    action_names = ("pass", "bet")
    rules = Rules(start=chance_begins, legal=_legal, outcomes=_outcomes, apply=_apply, returns=_returns, look=_look)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        deck_size = parameters.whole_number("deck_size", 3, 20_000, "4.5 * deck_size**2 histories")
        return Layout(
            state_size=_SIZE,
            fields=(
                Field("card", deck_size + 1, private=True, symbols=["-", *map(str, range(deck_size))]),
                Field("bets", 3, 3, symbols=("", "p", "b")),
            ),
            num_distinct_actions=2,
            max_chance_outcomes=deck_size,
            max_game_length=3,
            max_chance_nodes=2,
            min_utility=-2.0,
            max_utility=2.0,
            parameters=[deck_size],
        )

    def outcome_text(self, outcome: int) -> str:
        """Returns which card is dealt."""
        return f"deal {outcome}"

    def state_text(self, state: np.ndarray) -> str:
        """Returns the cards and the bets, such as "cards 3 7, bets pb"."""
        cards = " ".join(str(card - 1) for card in state[_CARD : _CARD + 2] if card)
        return f"cards {cards or '-'}, bets {''.join(' pb'[bet] for bet in state[_BETS:_NUM_BETS] if bet) or '-'}"
