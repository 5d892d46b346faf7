"""OpenSpiel's `goofspiel` in its turn-based form, with 2 to 10 players.

The turn in which all players have one card left is played automatically; in `mccfr_plus.games.bid_goofspiel`, which
uses these kernels as well, the last bids are moves. With `imp_info`, players see who has won. Without it they see all
hands, but information states do not have the order of a player's own bids: players have imperfect recall.
"""

from collections.abc import Sequence
from typing import Any

import pyspiel

from mccfr_plus.games.common import equally_likely, list_bits
from mccfr_plus.games.game import OpenSpielRules
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import lowest_bit

# Words of a state: turns played; then sequences with four bits per turn, the first turn in the lowest ones: point cards
# plus 1, winners plus 1 (`players` plus 1: none), and each player's bids plus 1; then each player's hand, a mask.
TURN, POINT_CARDS, WINNERS, BIDS = 1, 2, 3, 4
# Parameters: the last one says whether the turn in which all have one card left consists of moves.
_PLAYERS, CARDS, _TURNS, ORDER, HIDDEN, _RETURNS, _ALL_MOVES = range(7)
MOST_CARDS = 15  # four bits per card in a word
_DESCENDING, _ASCENDING, RANDOM = range(3)
ORDERS = {"descending": _DESCENDING, "ascending": _ASCENDING, "random": RANDOM}
_TIE = int(pyspiel.PlayerId.INVALID)
WIN_LOSS, _DIFFERENCE, _TOTAL, LEAD = range(4)  # the last one: over the other player


@inline_kernel
def entry(sequence, turn):
    return sequence >> 4 * turn & 15


@inline_kernel
def points_of(state, player):
    points = 0
    for turn in range(state[TURN]):
        if entry(state[WINNERS], turn) == player + 1:
            points += entry(state[POINT_CARDS], turn)
    return points


@inline_kernel
def _cards_left(parameters, state):
    """Returns the point cards that are left, as a mask."""
    left = (1 << parameters[CARDS]) - 1
    for turn in range(parameters[CARDS]):
        left &= ~((1 << entry(state[POINT_CARDS], turn)) >> 1)
    return left


@inline_kernel
def _next_turn(parameters, state):
    turn, order = state[TURN], parameters[ORDER]
    card = parameters[CARDS] - turn if order == _DESCENDING else turn + 1
    if order == RANDOM:
        left = _cards_left(parameters, state)
        if left & (left - 1) or not parameters[_ALL_MOVES]:
            state[MOVER] = CHANCE
            return
        card = lowest_bit(left) + 1
    state[POINT_CARDS] |= card << 4 * turn
    state[MOVER] = 0


@inline_kernel
def _finish_turn(parameters, state):
    players, turn = parameters[_PLAYERS], state[TURN]
    best, winner = 0, players + 1
    for player in range(players):
        bid = entry(state[BIDS + player], turn)
        if bid > best:
            best, winner = bid, player + 1
        elif bid == best:
            winner = players + 1
    state[WINNERS] |= winner << 4 * turn
    state[TURN] = turn + 1


@inline_kernel
def _play_last_turn(parameters, state):
    """Plays the turn in which each player has one card left, and one point card is left."""
    players, turn = parameters[_PLAYERS], state[TURN]
    state[POINT_CARDS] |= (lowest_bit(_cards_left(parameters, state)) + 1) << 4 * turn
    for player in range(players):
        state[BIDS + player] |= (lowest_bit(state[BIDS + players + player]) + 1) << 4 * turn
    _finish_turn(parameters, state)


@kernel
def _start(parameters, table, state):
    players = parameters[_PLAYERS]
    for player in range(players):
        state[BIDS + players + player] = (1 << parameters[CARDS]) - 1
    _next_turn(parameters, state)


@kernel
def _legal(parameters, table, state, actions):
    return list_bits(state[BIDS + parameters[_PLAYERS] + state[MOVER]], actions)


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    return equally_likely(list_bits(_cards_left(parameters, state), actions), probabilities)


@kernel
def _apply(parameters, table, state, action):
    players, mover, turn = parameters[_PLAYERS], state[MOVER], state[TURN]
    if mover == CHANCE:
        state[POINT_CARDS] |= (action + 1) << 4 * turn
        state[MOVER] = 0
        return
    state[BIDS + mover] |= (action + 1) << 4 * turn
    state[BIDS + players + mover] &= ~(1 << action)
    if mover + 1 < players:
        state[MOVER] = mover + 1
        return
    _finish_turn(parameters, state)
    if state[TURN] == parameters[CARDS] - 1 and not parameters[_ALL_MOVES]:
        _play_last_turn(parameters, state)
    if state[TURN] == parameters[_TURNS]:
        state[MOVER] = TERMINAL
    else:
        _next_turn(parameters, state)


@kernel
def _returns(parameters, table, state, payoffs):
    players, kind = parameters[_PLAYERS], parameters[_RETURNS]
    total, most, num_winners = 0.0, 0.0, 0
    for player in range(players):
        payoffs[player] = points_of(state, player)
        total += payoffs[player]
        if payoffs[player] > most:
            most, num_winners = payoffs[player], 0
        num_winners += int(payoffs[player] == most)
    for player in range(players):
        if kind == _DIFFERENCE:
            payoffs[player] -= total / players
        elif kind == LEAD:
            payoffs[player] = 2.0 * payoffs[player] - total
        elif kind == WIN_LOSS and num_winners == players:
            payoffs[player] = 0.0
        elif kind == WIN_LOSS:
            payoffs[player] = 1.0 / num_winners if payoffs[player] == most else -1.0 / (players - num_winners)


@kernel
def look(parameters, table, state, player, view):
    """Writes the own bids, or all hands; the winners; and the point cards if their order is random."""
    players, turn, turns = parameters[_PLAYERS], state[TURN], parameters[_TURNS]
    at = players
    if parameters[HIDDEN]:
        at = turns
        for index in range(min(turn + 1, turns)):
            view[index] = entry(state[BIDS + player], index)
    else:
        for each in range(players):
            bid = entry(state[BIDS + each], turn) if turn < turns else 0  # not seen before the end of the turn
            view[each] = state[BIDS + players + each] | 1 << bid >> 1
    for index in range(turn):
        view[at + index] = entry(state[WINNERS], index)
    if parameters[ORDER] == RANDOM:
        for index in range(min(turn + 1, turns)):
            view[at + turns + index] = entry(state[POINT_CARDS], index)


@kernel
def _observe(parameters, table, state, player, action):
    players, cards, turn = parameters[_PLAYERS], parameters[CARDS], state[TURN]
    code = 0
    if action >= 0 and parameters[HIDDEN]:
        code = entry(state[WINNERS], turn - 1) - 1
    elif action >= 0:
        for each in range(players):
            if each != player:
                code = code * cards + entry(state[BIDS + each], turn - 1) - 1
    if parameters[ORDER] == RANDOM:
        code = code * cards + entry(state[POINT_CARDS], turn) - 1
    return code


RULES = Rules(_start, _legal, _apply, _returns, look, _outcomes, _observe)


def goofspiel_layout(parameters: Sequence[int], **others: Any) -> Layout:
    players, cards, _, order, hidden, *_ = parameters
    outcomes = cards if order == RANDOM else 0
    return Layout(
        state_size=BIDS + 2 * players,
        num_distinct_actions=cards,
        max_chance_outcomes=outcomes,
        num_players=players,
        parameters=parameters,
        max_observations=max(outcomes, 1) * (players + 1 if hidden else cards ** (players - 1)),
        max_first_observations=max(outcomes, 1),
        **others,
    )


class GoofspielRules(OpenSpielRules):
    short_name = "goofspiel"
    defaults = {  # noqa: RUF012
        "players": 2, "num_cards": 13, "num_turns": -1, "points_order": "random", "returns_type": "win_loss",
        "imp_info": False, "egocentric": False,
    }  # fmt: skip
    rules = RULES

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        """Returns the sizes of the game; `egocentric` is for tensors only."""
        players = parameters.whole_number("players", 2, 10)
        cards = parameters.whole_number("num_cards", 1, MOST_CARDS, "four bits per card in a word of 64")
        turns = cards if parameters["num_turns"] == -1 else parameters.whole_number("num_turns", 1, cards)
        what = "OpenSpiel's game does not end where one card is left"
        parameters.require(turns != cards - 1, what, "num_turns", "num_cards")
        hidden = parameters.switch("imp_info")
        kinds = {"win_loss": WIN_LOSS, "point_difference": _DIFFERENCE, "total_points": _TOTAL}
        kind = parameters.one_of("returns_type", kinds)
        order = parameters.one_of("points_order", ORDERS)
        points = cards * (cards + 1) // 2
        chosen = turns - 1 if turns == cards > 1 else turns  # turns that are not played by themselves
        fields = [Field("bids", cards + 1, turns, private=True) if hidden else Field("hands", 1 << cards, players)]
        fields.append(Field("winners", players + 2, turns))
        if order == RANDOM:
            fields.append(Field("point_cards", cards + 1, turns))
        return goofspiel_layout(
            [players, cards, turns, order, hidden, kind, False],
            fields=tuple(fields),
            max_game_length=chosen * players,
            max_chance_nodes=chosen if order == RANDOM else 0,
            min_utility=(-1.0, -points / players, 0.0)[kind],
            max_utility=(1.0, points - points / players, float(points))[kind],
            utility_sum=None if kind == _TOTAL else 0.0,
            perfect_recall=hidden,
        )

    def view_text(self, player: int, view: Sequence[int], places: Any = None) -> str:
        """Returns what the player knows, with a line for each item."""
        players, cards, turns, order, hidden, *_ = self.sizes.parameters
        at = turns if hidden else players
        winners = [winner for winner in view[at : at + turns] if winner]
        if order == RANDOM:
            prizes = [card for card in view[at + turns :] if card]
        else:
            prizes = [cards - turn if order == _DESCENDING else turn + 1 for turn in range(len(winners) + 1)]
        points = [sum(p for p, w in zip(prizes, winners, strict=False) if w == each + 1) for each in range(players)]
        lines = [
            ("Point card sequence", prizes),
            ("Win sequence", [winner - 1 if winner <= players else _TIE for winner in winners]),
            ("Points", points),
        ]
        if hidden:
            bids = [bid - 1 for bid in view[: len(winners)]]
            hand = [card + 1 for card in range(cards) if card not in bids]
            lines = [(f"P{player} hand", hand), (f"P{player} action sequence", bids), *lines]
        else:
            masks = enumerate(view[:players])
            hands = [(f"P{each} hand", [card + 1 for card in range(cards) if mask >> card & 1]) for each, mask in masks]
            lines[1:1] = hands
        texts = [f"Current player: {player}\n"]
        texts += [f"{name}: {''.join(f'{value} ' for value in values)}\n" for name, values in lines]
        return "".join([*texts, "Terminal?: 0\n" if hidden else ""])
