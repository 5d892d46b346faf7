"""OpenSpiel's `universal_poker`: limit and no-limit poker with any deck, and bets as `bettingAbstraction` allows.

An information state contains the hole cards and the board as sets, and all bets. It does not tell the round of a board
card: if two rounds deal board cards, players have imperfect recall.
"""

import itertools
import math
import operator
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mccfr_plus.games.common import equally_likely, list_bits
from mccfr_plus.games.deal import Deal, board_of, card_text, cards_of_hands, masses, weights_of
from mccfr_plus.games.game import OpenSpielRules
from mccfr_plus.games.openspiel.betting_tree import ALL_FOLDED, SHOWDOWN, Betting, Node, numbers_of, sequences_of
from mccfr_plus.games.openspiel.hand_strength import RANKS, strength_of
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import lowest_bit

# Words of a state: the betting sequence; the number of cards dealt; the board and each player's hole cards, a bit each.
NODE, DEALT, BOARD, HOLE = 1, 2, 3, 4
# Parameters; then, for each count, "card choose count" for all cards; then, from `_NODES` on, a row for each betting
# sequence; then the actions of all sequences. Of subgames also: how many hole cards an outcome of chance deals (an
# outcome is their numbers as digits to the base of the deck); the board at the beginning, a bit each, and its size. Of
# an abstraction by `HandBuckets`: the address of their index.
_PLAYERS, SUITS, DECK, _NUM_HOLE, _MOST_BOARD, _NODES, _MOST_NEXT, _MOST_FIRST = range(8)
_AT_ONCE, GIVEN, NUM_GIVEN, BUCKETS, _BINOMIALS = range(8, 13)
# Of each row: who is to move; board cards to be dealt before; first child; actions; their place; the number of the
# first infoset; which one it is of the sequences that the player can meet next, and whether there are board cards that
# are new to the player; a bit per player who has folded; chips of each player.
_PLAYER, _NUM_BOARD, _CHILD, _COUNT, _ACTIONS, _NEXT, _HAS_NEW_BOARD, _FOLDED, _SPENT = range(9)
_MAX_BOARD = 7


@inline_kernel
def _row(parameters, state):
    return parameters[_NODES] + state[NODE] * (_SPENT + parameters[_PLAYERS])


@inline_kernel
def _set_number(parameters, cards):
    """Returns the number of a set among all sets of as many cards: the combinatorial number system."""
    number, row = 0, _BINOMIALS
    while cards:
        row += parameters[DECK] + 1
        number += parameters[row + lowest_bit(cards)]
        cards &= cards - 1
    return number


@kernel
def _start(parameters, table, state):
    state[MOVER], state[BOARD] = CHANCE, parameters[GIVEN]


@kernel
def _legal(parameters, table, state, actions):
    row = _row(parameters, state)
    for index in range(parameters[row + _COUNT]):
        actions[index] = parameters[parameters[row + _ACTIONS] + index]
    return parameters[row + _COUNT]


@inline_kernel
def _pairs_of_hands(parameters, table, actions, probabilities):
    """Lists all pairs of hands with a weight. The table has the weights of player 0's hands, then of player 1's."""
    deck, count = parameters[DECK], 0
    hands = deck * (deck - 1) // 2
    first = 0
    for low in range(deck):
        for high in range(low + 1, deck):
            second = 0
            for other_low in range(deck):
                for other_high in range(other_low + 1, deck):
                    weight = table[first] * table[hands + second]
                    cards = (1 << other_low) | (1 << other_high)
                    if weight > 0.0 and cards & (1 << low | 1 << high) == 0:
                        actions[count] = ((low * deck + high) * deck + other_low) * deck + other_high
                        probabilities[count] = weight
                        count += 1
                    second += 1
            first += 1
    return count


@kernel
def outcomes(parameters, table, state, actions, probabilities):
    if state[DEALT] < parameters[_AT_ONCE] - 1:
        return _pairs_of_hands(parameters, table, actions, probabilities)
    dealt = state[BOARD]
    for player in range(parameters[_PLAYERS]):
        dealt |= state[HOLE + player]
    return equally_likely(list_bits(~dealt & ((1 << parameters[DECK]) - 1), actions), probabilities)


@kernel
def apply(parameters, table, state, action):
    num_hole = parameters[_NUM_HOLE]
    if state[MOVER] == CHANCE:
        count = parameters[_AT_ONCE] if state[DEALT] < parameters[_PLAYERS] * num_hole else 1
        for place in range(state[DEALT] + count - 1, state[DEALT] - 1, -1):
            player = place // num_hole
            state[HOLE + player if player < parameters[_PLAYERS] else BOARD] |= 1 << action % parameters[DECK]
            action //= parameters[DECK]
        state[DEALT] += count
    else:
        row, index = _row(parameters, state), 0
        while parameters[parameters[row + _ACTIONS] + index] != action:
            index += 1
        state[NODE] = parameters[row + _CHILD] + index
    row = _row(parameters, state)
    player = parameters[row + _PLAYER]
    if player == ALL_FOLDED:
        state[MOVER] = TERMINAL
    elif state[DEALT] < parameters[_PLAYERS] * num_hole + parameters[row + _NUM_BOARD] - parameters[NUM_GIVEN]:
        state[MOVER] = CHANCE
    else:
        state[MOVER] = TERMINAL if player == SHOWDOWN else player


@inline_kernel
def _strength(parameters, state, player):
    return strength_of(state[HOLE + player] | state[BOARD], parameters[SUITS])


@kernel
def _returns(parameters, table, state, payoffs):
    row, num_players = _row(parameters, state), parameters[_PLAYERS]
    spent, folded = row + _SPENT, parameters[row + _FOLDED]
    is_showdown = parameters[row + _PLAYER] == SHOWDOWN
    if not is_showdown:  # the pot goes to the player who has not folded
        winner = lowest_bit(~folded)
        for player in range(num_players):
            payoffs[player] -= parameters[spent + player]
            payoffs[winner] += parameters[spent + player]
        return
    # Side pots, the smallest first: from `paid` to `level` chips of each player who has spent that much.
    paid, level = 0, -1
    while level != 0:
        level, num_paying, best, num_winners = 0, 0, -1, 0
        for player in range(num_players):
            chips = parameters[spent + player]
            if chips > paid:
                num_paying += 1
                level = min(level, chips) if level else chips
                if not folded >> player & 1:
                    strength = _strength(parameters, state, player)
                    num_winners = num_winners + 1 if strength == best else (1 if strength > best else num_winners)
                    best = max(best, strength)
        for player in range(num_players):
            if parameters[spent + player] > paid:
                if not folded >> player & 1 and _strength(parameters, state, player) == best:
                    payoffs[player] += (level - paid) * (num_paying - num_winners) / num_winners
                else:
                    payoffs[player] -= level - paid
        paid = level


@inline_kernel
def list_cards(cards, view, begin):
    while cards:
        view[begin] = lowest_bit(cards) + 1
        cards &= cards - 1
        begin += 1


@kernel
def look(parameters, table, state, player, view):
    list_cards(state[HOLE + player], view, 0)
    list_cards(state[BOARD], view, parameters[_NUM_HOLE])
    view[parameters[_NUM_HOLE] + parameters[_MOST_BOARD]] = state[NODE]


@inline_kernel
def _hand_and_board(parameters, state, player):
    deck, num_board = parameters[DECK], parameters[_row(parameters, state) + _NUM_BOARD]
    num_boards = parameters[_BINOMIALS + num_board * (deck + 1) + deck]
    return _set_number(parameters, state[HOLE + player]) * num_boards + _set_number(parameters, state[BOARD])


@kernel
def _observe(parameters, table, state, player, action):
    row, cards = _row(parameters, state), 0
    if action < 0:
        return _hand_and_board(parameters, state, player) * parameters[_MOST_FIRST] + parameters[row + _NEXT]
    if parameters[row + _HAS_NEW_BOARD]:
        cards = _set_number(parameters, state[BOARD])
    return cards * parameters[_MOST_NEXT] + parameters[row + _NEXT]


RULES = Rules(_start, _legal, apply, _returns, look, outcomes, _observe)


def _table_of(
    nodes: Sequence[Node], begin: int, boards: Sequence[int], hands: int, num_boards: list[int]
) -> tuple[list[int], int, int, dict[str, Any]]:
    """Returns a row for each betting sequence and then the actions of all, to be put at `begin` of the parameters.

    Also the most sequences at which a player can act next after one of its actions, or first; and sizes of the layout.
    """
    players = len(nodes[0].spent)
    first_action = begin + len(nodes) * (_SPENT + players)
    rows: list[int] = []
    actions: list[int] = []
    most_seen, most_new, depths = 1, 1, [0]
    last = [(-1,) * players]  # of each sequence, for each player, the one that its last action led to
    counts: Counter[tuple[int, int]] = Counter()  # of the sequences at which a player acts next after one of these
    for index, node in enumerate(nodes):
        if index:
            mover, before = nodes[node.parent].player, last[node.parent]
            last.append((*before[:mover], index, *before[mover + 1 :]))
            depths.append(depths[node.parent] + 1)
        number, is_new, children = 0, True, node.children
        if node.player >= 0:
            found, after = num_boards[node.round], last[index][node.player]
            number = counts[node.player, after]
            counts[node.player, after] += 1
            if after < 0:
                most_seen = max(most_seen, found)
            else:
                is_new = boards[nodes[nodes[after].parent].round] < boards[node.round]
                most_new = max(most_new, found if is_new else 1)
        place, folded = first_action + len(actions), sum(1 << player for player in node.folded)
        row = [node.player, boards[node.round], children.start, len(children), place, number, is_new, folded]
        rows += [*row, *node.spent]
        actions += [nodes[child].action for child in children]
    most_first = max(count for (_, after), count in counts.items() if after < 0)
    most_next = max((count for (_, after), count in counts.items() if after >= 0), default=1)
    sizes = {
        "max_game_length": max(depths),
        "max_observations": most_next * most_new,
        "max_first_observations": most_first * hands * most_seen,
    }
    return rows + actions, most_next, most_first, sizes


def layout_of(
    nodes: Sequence[Node],
    deck: int,
    suits: int,
    num_hole: int,
    boards: Sequence[int],
    *,
    at_once: int = 1,
    given: int = 0,
    symbols: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None),
    **more: Any,
) -> Layout:
    """Returns the layout of a poker game with these betting sequences, and as many board cards by rounds as `boards`.

    `given` are the cards on the board at the beginning; `symbols` are those of cards and of betting sequences.
    """
    players, counts = len(nodes[0].spent), range(max(num_hole, boards[-1]) + 1)
    coefficients = [math.comb(card, count) for count in counts for card in range(deck + 1)]
    first_row, hands = _BINOMIALS + len(coefficients), math.comb(deck, num_hole)
    num_boards = [math.comb(deck, count) for count in boards]
    table, most_next, most_first, sizes = _table_of(nodes, first_row, boards, hands, num_boards)
    header = [players, suits, deck, num_hole, boards[-1], first_row, most_next, most_first]
    header += [at_once, given, given.bit_count(), 0]
    sizes |= {"state_size": HOLE + players}
    sizes |= {"perfect_recall": len({count for count in boards if count > given.bit_count()}) < 2}
    return Layout(
        fields=(
            Field("hole", deck + 1, num_hole, private=True, symbols=symbols[0]),
            Field("board", deck + 1, boards[-1], symbols=symbols[0]),
            Field("bets", len(nodes), symbols=symbols[1]),
        ),
        max_chance_nodes=players * num_hole // at_once + boards[-1] - given.bit_count(),
        num_players=players,
        parameters=np.array([*header, *coefficients, *table]),
        **(sizes | more),
    )


class UniversalPokerRules(OpenSpielRules):
    short_name = "universal_poker"
    defaults = {  # noqa: RUF012
        "betting": "nolimit", "bettingAbstraction": "fcpa", "blind": "100 100", "boardCards": "", "calcOddsNumSims": 0,
        "firstPlayer": "1 1", "handReaches": "", "maxRaises": "", "numBoardCards": "0 1", "numHoleCards": 1,
        "numPlayers": 2, "numRanks": 6, "numRounds": 2, "numSuits": 4, "potSize": 0, "raiseSize": "100 100",
        "stack": "1200 1200",
    }  # fmt: skip
    rules = RULES

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        betting = Betting.of(parameters)
        suits, ranks = parameters.whole_number("numSuits", 1, 4), parameters.whole_number("numRanks", 1, RANKS)
        num_hole = parameters.whole_number("numHoleCards", 1, 3)
        board = numbers_of(parameters, "numBoardCards", parameters["numRounds"])
        parameters.require(sum(board) <= _MAX_BOARD, f"give at most {_MAX_BOARD} in all", "numBoardCards")
        deck = suits * ranks
        is_enough = betting.num_players * num_hole + sum(board) <= deck
        parameters.require(is_enough, "there are not enough cards for hands and board", "numSuits", "numRanks")
        boards, players = list(itertools.accumulate(board)), betting.num_players
        given, reaches = board_of(parameters, "boardCards", deck, suits), parameters["handReaches"]
        parameters.require(given.bit_count() <= boards[-1], f"give at most {boards[-1]} cards", "boardCards")
        is_full = (deck, players, num_hole) == (52, 2, 2)
        parameters.require(is_full or not reaches, "give none but with two players, 52 cards and 2 each", "handReaches")
        most = max(betting.blinds) + sum(map(operator.mul, betting.max_raises, betting.raise_sizes))
        second, richest = sorted(betting.stacks)[-2:]
        return layout_of(
            sequences_of(betting),
            deck,
            suits,
            num_hole,
            boards,
            at_once=4 if reaches else 1,
            given=given,
            table=_joint_weights(parameters, given) if reaches else (),
            max_chance_outcomes=math.comb(deck, 4) * 6 if reaches else deck,
            num_distinct_actions=_num_actions(parameters),
            min_utility=-float(most if betting.is_limit else second),
            max_utility=float(most * (players - 1) if betting.is_limit else sum(betting.stacks) - richest),
        )

    @cached_property
    def deal(self) -> Deal | None:  # type: ignore[override]
        """The hands with their weights, of games of two players with two cards each."""
        given, suits, board = self.given, self.given["numSuits"], int(self.first_state[BOARD])
        if (given["numPlayers"], given["numHoleCards"]) != (2, 2):
            return None
        deck, boards = suits * given["numRanks"], numbers_of(given, "numBoardCards", given["numRounds"])
        weights, is_ordered = weights_of(given, "handReaches", deck, suits, board), not self.sizes.perfect_recall
        return Deal(
            deck, suits, list(itertools.accumulate(boards)), board, weights, sequences_of(self._betting), is_ordered
        )

    def view_after(self, history: Sequence[int], player: int) -> np.ndarray:
        """Returns the output of `look`, with the board in the order of rounds where several rounds deal it."""
        words, boards = self.first_state.copy(), [int(self.first_state[BOARD])]
        for action in history:
            self.rules.apply(self.parameters, self.table, words, action)
            boards += [] if words[MOVER] == CHANCE else [int(words[BOARD])]
        view = self.look(words, player)
        if not self.sizes.perfect_recall:
            board = view[self.given["numHoleCards"] : -1]
            board = board[: np.count_nonzero(board)]
            board[:] = sorted(board.tolist(), key=lambda card: (sum(not each >> card - 1 & 1 for each in boards), card))
        return view

    def view_text(self, player: int, view: Sequence[int], places: Any = None) -> str:
        """Returns the player's information state, such as "[Round 0][Player: 0][Pot: 200][Money: 1100 1100]..."."""
        (*cards, number), num_hole = view, self.given["numHoleCards"]
        node, hole, board = sequences_of(self._betting)[number], cards[:num_hole], cards[num_hole:]
        pot = node.highest * (len(node.spent) - len(node.folded))
        money = " ".join(str(stack - spent) for stack, spent in zip(self._betting.stacks, node.spent, strict=True))
        return (
            f"[Round {node.round}][Player: {player}][Pot: {pot}][Money: {money}][Private: {self._cards_text(hole)}]"
            f"[Public: {self._cards_text(board)}][Sequences: {node.text}]"
        )

    @cached_property
    def _betting(self) -> Betting:
        return Betting.of(self.given)

    def _cards_text(self, cards: Sequence[int]) -> str:
        """Returns the cards, which are numbers plus 1, the highest first, such as "4h4c"."""
        suits = self.given["numSuits"]
        return "".join(card_text(card - 1, suits) for card in sorted(cards, reverse=True) if card)


def _joint_weights(parameters: Parameters, given: int) -> np.ndarray:
    """Returns the weights of both players' hands, such that the products of all pairs sum to 1."""
    cards, weights = cards_of_hands(52), weights_of(parameters, "handReaches", 52, 4, given)
    weights[0] /= weights[0] @ masses(cards, weights[1])
    return weights.reshape(-1)


def _num_actions(parameters: Parameters) -> int:
    """Returns OpenSpiel's number of distinct actions."""
    if parameters["bettingAbstraction"] == "fullgame":
        return max(numbers_of(parameters, "stack")) + 1
    return 5 if parameters["bettingAbstraction"] == "fchpa" else 3 if parameters["betting"] == "limit" else 4
