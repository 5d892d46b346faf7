"""OpenSpiel's `leduc_poker` with 2 to 10 players; `mccfr_plus.games.leduc_ranks` has more ranks.

With `suit_isomorphism`, chance deals ranks. With `action_mapping`, all three actions are always legal, and a fold or a
raise that the rules do not allow is a call, also in the infosets that follow: players have imperfect recall.
"""

from collections.abc import Sequence
from typing import Any

from mccfr_plus.games.common import num_bits
from mccfr_plus.games.game import OpenSpielRules
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel

# Words of a state: the public card plus 1; the actions of each round, two bits per action plus 1 above five bits for
# their number; a bit per player who has folded; calls and raises in this round; what a player must have in the pot to
# stay in the game; the number of actions so far when each player acted last, six bits per player; then each player's
# card plus 1, and what each player has in the pot.
PUBLIC, _BETS, _FOLDED, _CALLS, _RAISES, _STAKES, _LAST, CARDS = 1, 2, 4, 5, 6, 7, 8, 9
# Parameters: cards that differ, copies of each in the deck, and how many of them have the same rank.
_PLAYERS, NUM_CARDS, COPIES, _PER_RANK, _MAPPED, _FIRST = range(6)
_FOLD, _CALL, _RAISE = range(3)
_PLACE_OF_BETS = 2  # in what `look` writes, where a bet is an action plus 1
_ANTE, _MOST_RAISES, _RAISE_BY = 1, 2, 2  # the amount doubles in the second round
MOST_MONEY = _ANTE + _MOST_RAISES * _RAISE_BY * 3
_STARTING_MONEY = 100


@inline_kernel
def money_of(parameters, state, player):
    return state[CARDS + parameters[_PLAYERS] + player]


@inline_kernel
def _num_remaining(num_players, state):
    return num_players - num_bits(state[_FOLDED])


@inline_kernel
def _next_player(num_players, state, player):
    """Returns the first player from this one on who has not folded."""
    while state[_FOLDED] >> player & 1:
        player = (player + 1) % num_players
    return player


@inline_kernel
def _num_dealt(num_players, state):
    count = 0
    while count < num_players and state[CARDS + count] > 0:
        count += 1
    return count


@kernel
def _start(parameters, table, state):
    state[MOVER] = CHANCE
    state[_STAKES] = _ANTE
    for player in range(parameters[_PLAYERS]):
        state[CARDS + parameters[_PLAYERS] + player] = _ANTE


@kernel
def _legal(parameters, table, state, actions):
    mapped, count = parameters[_MAPPED], 0
    if mapped or state[_STAKES] > money_of(parameters, state, state[MOVER]):
        actions[count] = _FOLD
        count += 1
    actions[count] = _CALL
    count += 1
    if mapped or state[_RAISES] < _MOST_RAISES:
        actions[count] = _RAISE
        count += 1
    return count


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    num_cards, copies, count = parameters[NUM_CARDS], parameters[COPIES], 0
    num_dealt = _num_dealt(parameters[_PLAYERS], state)
    one = 1.0 / (num_cards * copies - num_dealt)
    for card in range(num_cards):
        left = copies
        for player in range(num_dealt):
            left -= int(state[CARDS + player] == card + 1)
        if left:
            actions[count], probabilities[count] = card, one * left
            count += 1
    return count


@inline_kernel
def _deal(parameters, state, card):
    num_players = parameters[_PLAYERS]
    num_dealt = _num_dealt(num_players, state)
    if num_dealt == num_players:
        state[PUBLIC] = card + 1
    else:
        state[CARDS + num_dealt] = card + 1
    if num_dealt + 1 >= num_players:
        state[MOVER] = _next_player(num_players, state, parameters[_FIRST])


@kernel
def apply(parameters, table, state, action):
    num_players, mover = parameters[_PLAYERS], state[MOVER]
    if mover == CHANCE:
        _deal(parameters, state, action)
        return
    money, is_second = CARDS + num_players + mover, int(state[PUBLIC] > 0)
    if (action == _FOLD and state[_STAKES] <= state[money]) or (action == _RAISE and state[_RAISES] >= _MOST_RAISES):
        action = _CALL  # legal with `action_mapping` only
    bets = state[_BETS + is_second]
    state[_BETS + is_second] = (bets + 1) | (action + 1) << (5 + 2 * (bets & 31))
    num_actions = (state[_BETS] & 31) + (state[_BETS + 1] & 31)
    state[_LAST] = (state[_LAST] & ~(63 << 6 * mover)) | num_actions << 6 * mover
    if action == _FOLD:
        state[_FOLDED] |= 1 << mover
    elif action == _RAISE:
        state[_STAKES] += _RAISE_BY << is_second
        state[_CALLS] = 0
        state[_RAISES] += 1
    else:
        state[_CALLS] += 1
    if action != _FOLD:
        state[money] = state[_STAKES]
    remaining = _num_remaining(num_players, state)
    is_over = state[_CALLS] == remaining - int(state[_RAISES] > 0)
    if is_over:
        state[_CALLS] = state[_RAISES] = 0
    if remaining == 1 or (is_over and is_second):
        state[MOVER] = TERMINAL
    elif is_over:
        state[MOVER] = CHANCE
    else:
        state[MOVER] = _next_player(num_players, state, (mover + 1) % num_players)


@inline_kernel
def _strength(parameters, state, player):
    num_cards, per_rank = parameters[NUM_CARDS], parameters[_PER_RANK]
    first, second = (state[PUBLIC] - 1) // per_rank, (state[CARDS + player] - 1) // per_rank
    if first == second:
        return num_cards * num_cards + first
    return max(first, second) * num_cards + min(first, second)


@kernel
def _returns(parameters, table, state, payoffs):
    num_players, folded = parameters[_PLAYERS], state[_FOLDED]
    remaining = _num_remaining(num_players, state)
    pot, best, num_winners = 0, -1, 0
    for player in range(num_players):
        money = money_of(parameters, state, player)
        pot += money
        payoffs[player] = -money
        if not folded >> player & 1:
            strength = _strength(parameters, state, player) if remaining > 1 else 0
            num_winners = num_winners + 1 if strength == best else (1 if strength > best else num_winners)
            best = max(best, strength)
    for player in range(num_players):
        if not folded >> player & 1 and (remaining == 1 or _strength(parameters, state, player) == best):
            payoffs[player] += pot / num_winners


@kernel
def look(parameters, table, state, player, view):
    most = 3 * parameters[_PLAYERS] - 2
    view[0] = state[CARDS + player]
    view[1] = state[PUBLIC]
    for turn in range(2):
        bets = state[_BETS + turn]
        for index in range(bets & 31):
            view[_PLACE_OF_BETS + most * turn + index] = bets >> (5 + 2 * index) & 3


@kernel
def _observe(parameters, table, state, player, action):
    first, second = state[_BETS], state[_BETS + 1]
    num_first, begin = first & 31, 0 if action < 0 else state[_LAST] >> 6 * player & 63
    code = 1  # so that the number of actions that follow counts, too
    for index in range(begin, num_first + (second & 31)):
        bet = first >> (5 + 2 * index) & 3 if index < num_first else second >> (5 + 2 * (index - num_first)) & 3
        code = 3 * code + bet - 1
    if action < 0:
        return code * parameters[NUM_CARDS] + state[CARDS + player] - 1
    return code * (parameters[NUM_CARDS] + 1) + state[PUBLIC]


RULES = Rules(_start, _legal, apply, _returns, look, _outcomes, _observe)


def leduc_layout(
    players: int, num_cards: int, copies: int, per_rank: int = 1, mapped: bool = False, first: int = 0
) -> Layout:
    most_in_round = 3 * players - 2
    return Layout(
        state_size=CARDS + 2 * players,
        fields=(
            Field("card", num_cards + 1, private=True),
            Field("public", num_cards + 1),
            Field("bets", 4, most_in_round),
            Field("bets2", 4, most_in_round),
        ),
        num_distinct_actions=3,
        max_chance_outcomes=num_cards,
        max_game_length=2 * most_in_round,
        max_chance_nodes=players + 1,
        min_utility=-float(MOST_MONEY),
        max_utility=float(MOST_MONEY * (players - 1)),
        num_players=players,
        parameters=[players, num_cards, copies, per_rank, mapped, first],
        # Others act at most once more in this round, and once in the next one.
        max_observations=2 * 3 ** (2 * players - 2) * (num_cards + 1),
        max_first_observations=2 * 3 ** (players - 1) * num_cards,
        perfect_recall=not mapped,
    )


class LeducPokerRules(OpenSpielRules):
    short_name = "leduc_poker"
    defaults = {"players": 2, "action_mapping": False, "suit_isomorphism": False, "starting_player": 0}  # noqa: RUF012
    rules = RULES

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        players = parameters.whole_number("players", 2, 10)
        first = parameters.whole_number("starting_player", 0, players - 1)
        ranked, mapped = parameters.switch("suit_isomorphism"), parameters.switch("action_mapping")
        copies, per_rank = (2, 1) if ranked else (1, 2)
        return leduc_layout(players, per_rank * (players + 1), copies, per_rank, mapped, first)

    def tensor_cells(self, player: int, place: int, value: int) -> Sequence[int]:
        """Returns the cells of the player, of a card, or of a call or raise; a fold has none."""
        players, num_cards, *_ = self.sizes.parameters
        if place < 0:
            return [player]
        if place < _PLACE_OF_BETS:
            return [players + place * num_cards + value - 1] if value else []
        begin = players + 2 * num_cards + 2 * (place - _PLACE_OF_BETS)
        return [begin + value - 1 - _CALL] if value > _CALL else []

    def view_text(self, player: int, view: Sequence[int], places: Any = None) -> str:
        """Returns the player's information state, such as "[Observer: 0][Private: 2][Round 1]..."."""
        players, *_, first = self.sizes.parameters
        card, public, *bets = view
        half = len(bets) // 2
        rounds = [[bet - 1 for bet in each if bet] for each in (bets[:half], bets[half:])]
        money, folded, stakes = [_ANTE] * players, set(), _ANTE
        for turn, actions in enumerate(rounds):
            mover = first
            for action in actions:
                while mover in folded:
                    mover = (mover + 1) % players
                if action == _FOLD:
                    folded.add(mover)
                else:
                    stakes += (_RAISE_BY << turn) * (action == _RAISE)
                    money[mover] = stakes
                mover = (mover + 1) % players
        left = " ".join(str(_STARTING_MONEY - each) for each in money)
        sequences = "".join(f"[Round{turn + 1}: {' '.join(map(str, each))}]" for turn, each in enumerate(rounds))
        return (
            f"[Observer: {player}][Private: {card - 1}][Round {1 + (public > 0)}][Player: {player}][Pot: {sum(money)}]"
            f"[Money: {left}]{f'[Public: {public - 1}]' if public else ''}{sequences}"
        )
