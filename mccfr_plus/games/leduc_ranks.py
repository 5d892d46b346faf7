"""Leduc poker with any number of ranks, on the level of ranks: suits never matter, so they are not dealt.

A deck has `ranks` ranks in `suits` copies each. Both players ante 1; one chance node deals both private ranks. Before
and after the board is dealt there is a betting round with at most two raises, of 2 and of 4. Player 0 acts first. A
pair with the board wins, then the higher rank; equal ranks split. The payoff is the other player's money in the pot.

Reference: Southey et al. 2005, "Bayes' bluff" (Leduc, 3 ranks); Farina, Kroer, Sandholm 2020 (13 ranks).
"""

import numpy as np

from mccfr_plus.games.common import rules_in
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters
from mccfr_plus.kernels.compile import kernel

# Words of a state: both cards plus 1, the board plus 1, round 0 or 1, actions and raises in it, both players' money in
# the pot, who has folded plus 1, and the actions plus 1, four places a round.
_CARD, _BOARD, _ROUND, _COUNT, _RAISES, _MONEY, _FOLDED, _BETS, _SIZE = 1, 3, 4, 5, 6, 7, 9, 10, 18
_FOLD, _CALL, _RAISE = range(3)

_MOST_IN_ROUND = 4  # check, raise, raise, call
_MOST_RAISES, _RAISE_BY = 2, 2  # the amount doubles in the second round
_MOST_MONEY = 1 + 2 * _RAISE_BY + 4 * _RAISE_BY


@kernel
def _start(parameters, table, state):
    state[MOVER] = CHANCE
    state[_MONEY] = state[_MONEY + 1] = 1


@kernel
def _legal(parameters, table, state, actions):
    mover, may_raise = state[MOVER], state[_RAISES] < _MOST_RAISES
    first = _FOLD if state[_MONEY + mover] < state[_MONEY + 1 - mover] else _CALL
    count = int(may_raise) + _RAISE - first
    for index in range(count):
        actions[index] = first + index
    return count


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    ranks, suits, count = parameters[0], parameters[1], 0
    cards = ranks * suits
    private = state[_CARD] == 0
    for outcome in range(ranks * ranks) if private else range(ranks * ranks, ranks * ranks + ranks):
        first, second = outcome // ranks, outcome % ranks
        if private:
            ways, all_ways = suits * (suits - int(first == second)), cards * (cards - 1)
        else:
            ways = suits - int(state[_CARD] == second + 1) - int(state[_CARD + 1] == second + 1)
            all_ways = cards - 2
        if ways > 0:
            actions[count], probabilities[count] = outcome, ways / all_ways
            count += 1
    return count


@kernel
def _apply(parameters, table, state, action):
    ranks, mover = parameters[0], state[MOVER]
    if mover == CHANCE:
        if state[_CARD] == 0:
            state[_CARD], state[_CARD + 1] = action // ranks + 1, action % ranks + 1
        else:
            state[_BOARD], state[_ROUND] = action - ranks * ranks + 1, 1
            state[_COUNT] = state[_RAISES] = 0
        state[MOVER] = 0
        return
    count = state[_COUNT]
    state[_BETS + _MOST_IN_ROUND * state[_ROUND] + count] = action + 1
    state[_COUNT] = count + 1
    if action == _FOLD:
        state[_FOLDED] = mover + 1
        state[MOVER] = TERMINAL
        return
    state[_MONEY + mover] = state[_MONEY + 1 - mover]
    state[MOVER] = 1 - mover
    if action == _RAISE:
        state[_MONEY + mover] += _RAISE_BY * (1 + state[_ROUND])
        state[_RAISES] += 1
    elif count > 0:
        state[MOVER] = CHANCE if state[_ROUND] == 0 else TERMINAL


@kernel
def _returns(parameters, table, state, payoffs):
    first, second = state[_CARD], state[_CARD + 1]
    if state[_FOLDED]:
        winner = 2 - state[_FOLDED]
    elif first == second:
        return
    else:
        winner = int(second == state[_BOARD] or (second > first != state[_BOARD]))
    payoffs[winner] = state[_MONEY + 1 - winner]
    payoffs[1 - winner] = -payoffs[winner]


@kernel
def _look(parameters, table, state, player, view):
    view[0] = state[_CARD + player]
    view[1] = state[_BOARD]
    for index in range(2 * _MOST_IN_ROUND):
        view[2 + index] = state[_BETS + index]
    view[10], view[11] = state[_MONEY], state[_MONEY + 1]


@kernel
def _observe(parameters, table, state, player, action):
    # Who is in front of a raise is so since the last action.
    dealt = state[_CARD + player] - 1 if action < 0 else state[_BOARD]
    return 2 * dealt + int(state[_MONEY + player] < state[_MONEY + 1 - player])


class LeducRanksGame(RulesGame):
    """Leduc poker on the level of ranks; parameters: `ranks` and `suits`, the copies of each rank.

    Actions are 0 fold, 1 call or check, 2 raise. Outcomes of chance are ``first * ranks + second`` for the pair of
    private ranks and ``ranks**2 + rank`` for the board.
    """

    short_name = "leduc_ranks"
    long_name = "Leduc Poker on Ranks"
    defaults = {"ranks": 13, "suits": 2}  # noqa: RUF012
    action_names = ("fold", "call", "raise")
    rules = rules_in(globals())

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        ranks = parameters.whole_number("ranks", 2, 100, "76 * ranks**3 histories")
        suits = parameters.whole_number("suits", 1, 100)
        if ranks * suits < 3:
            raise ValueError(f"ranks={ranks}, suits={suits}: give a deck of at least 3 cards, ranks * suits.")
        cards = ["-", *map(str, range(ranks))]
        bets = ("", "f", "c", "r")
        return Layout(
            state_size=_SIZE,
            fields=(
                Field("card", ranks + 1, private=True, symbols=cards),
                Field("board", ranks + 1, symbols=cards),
                Field("bets", 4, _MOST_IN_ROUND, symbols=bets),
                Field("bets2", 4, _MOST_IN_ROUND, symbols=bets),
                Field("money", _MOST_MONEY + 1, 2, when="now"),
            ),
            num_distinct_actions=3,
            max_chance_outcomes=ranks * ranks + ranks,
            max_game_length=2 * _MOST_IN_ROUND,
            max_chance_nodes=2,
            min_utility=-float(_MOST_MONEY),
            max_utility=float(_MOST_MONEY),
            parameters=[ranks, suits],
            max_observations=2 * (ranks + 1),
            max_first_observations=2 * ranks,
        )

    def outcome_text(self, outcome: int) -> str:
        """Returns the cards that are dealt, such as "deal 3 7" for the private cards and "board 3"."""
        ranks = self.sizes.parameters[0]
        board = outcome - ranks * ranks
        return f"board {board}" if board >= 0 else f"deal {outcome // ranks} {outcome % ranks}"

    def state_text(self, state: np.ndarray) -> str:
        """Returns the cards, the money in the pot and the bets, such as "cards 3 7, board 3, pot 5 5, bets rrc c"."""
        first, second, board = (str(card - 1) if card else "-" for card in state[_CARD : _BOARD + 1])
        bets = " ".join("".join("-fcr"[bet] for bet in each if bet) for each in np.split(state[_BETS:], 2)).strip()
        return f"cards {first} {second}, board {board}, pot {state[_MONEY]} {state[_MONEY + 1]}, bets {bets or '-'}"
