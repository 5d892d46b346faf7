"""OpenSpiel's `kuhn_poker` with 2 to 10 players; `mccfr_plus.games.one_card_poker` has more cards.

After the first bet, each other player passes or bets once more. The highest card among those who bet wins, or the
highest card if all have passed.
"""

from collections.abc import Sequence
from typing import Any

from mccfr_plus.games.common import chance_begins, equally_likely
from mccfr_plus.games.game import OpenSpielRules
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel

# Words of a state: each player's card plus 1, a fixed number of bits per player; a bit per action of a player, 1 for a
# bet; the number of outcomes and actions so far.
_CARDS, _BETS, _COUNT, _SIZE = 1, 2, 3, 4
_PLAYERS, _DECK, _BITS = range(3)  # parameters


@inline_kernel
def _card(parameters, state, player):
    bits = parameters[_BITS]
    return (state[_CARDS] >> bits * player & ((1 << bits) - 1)) - 1


@inline_kernel
def _did_bet(num_players, state, player):
    # Before the first bet all pass, so that a player's first action and the one after that bet are never both bets.
    return (state[_BETS] >> player | state[_BETS] >> (num_players + player)) & 1


@kernel
def _legal(parameters, table, state, actions):
    actions[0], actions[1] = 0, 1
    return 2


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    count = 0
    for card in range(parameters[_DECK]):
        is_left = True
        for player in range(state[_COUNT]):
            is_left &= _card(parameters, state, player) != card
        if is_left:
            actions[count] = card
            count += 1
    return equally_likely(count, probabilities)


@kernel
def _apply(parameters, table, state, action):
    num_players, count = parameters[_PLAYERS], state[_COUNT]
    state[_COUNT] = count + 1
    if count < num_players:
        state[_CARDS] |= (action + 1) << parameters[_BITS] * count
        state[MOVER] = 0 if count + 1 == num_players else CHANCE
        return
    bets = state[_BETS] | action << (count - num_players)
    state[_BETS] = bets
    made = 1 << (count + 1 - num_players)  # the number of actions, as a bit
    first_bet = bets & -bets
    if made == (first_bet if bets else 1) << num_players:
        state[MOVER] = TERMINAL
    else:
        state[MOVER] = (count + 1) % num_players


@kernel
def _returns(parameters, table, state, payoffs):
    num_players, has_bet, winner, pot = parameters[_PLAYERS], int(state[_BETS] > 0), -1, 0
    for player in range(num_players):
        bet = _did_bet(num_players, state, player)
        payoffs[player] = -1.0 - bet
        pot += 1 + bet
        if bet == has_bet and (winner < 0 or _card(parameters, state, player) > _card(parameters, state, winner)):
            winner = player
    payoffs[winner] += pot


@kernel
def _look(parameters, table, state, player, view):
    num_players = parameters[_PLAYERS]
    view[0] = 1 + _card(parameters, state, player)
    for index in range(state[_COUNT] - num_players):
        view[1 + index] = 1 + (state[_BETS] >> index & 1)


@kernel
def _observe(parameters, table, state, player, action):
    num_players, made = parameters[_PLAYERS], state[_COUNT] - parameters[_PLAYERS]
    if action < 0:
        return _card(parameters, state, player) << (num_players - 1) | state[_BETS]
    return (state[_BETS] >> (made + 1 - num_players)) & ((1 << (num_players - 1)) - 1)


RULES = Rules(chance_begins, _legal, _apply, _returns, _look, _outcomes, _observe)


def kuhn_layout(players: int, deck: int) -> Layout:
    return Layout(
        state_size=_SIZE,
        fields=(Field("card", deck + 1, private=True), Field("bets", 3, 2 * players - 1)),
        num_distinct_actions=2,
        max_chance_outcomes=deck,
        max_game_length=2 * players - 1,
        max_chance_nodes=players,
        min_utility=-2.0,
        max_utility=2.0 * (players - 1),
        num_players=players,
        parameters=[players, deck, deck.bit_length()],
        max_observations=1 << (players - 1),
        max_first_observations=deck << (players - 1),
    )


class KuhnPokerRules(OpenSpielRules):
    short_name = "kuhn_poker"
    defaults = {"players": 2}  # noqa: RUF012
    rules = RULES

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        players = parameters.whole_number("players", 2, 10)
        return kuhn_layout(players, players + 1)

    def tensor_cells(self, player: int, place: int, value: int) -> Sequence[int]:
        """Returns the cells of the player, of its card, or of a pass or bet."""
        players = self.sizes.num_players
        if place < 0:
            return [player]
        return [(players if place == 0 else 2 * players - 1 + 2 * place) + value - 1] if value else []

    def view_text(self, player: int, view: Sequence[int], places: Any = None) -> str:
        """Returns the card and the bets, such as "1pb"."""
        return f"{view[0] - 1}{''.join(' pb'[bet] for bet in view[1:] if bet)}"
