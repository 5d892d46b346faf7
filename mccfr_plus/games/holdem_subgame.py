"""Endgames of no-limit hold'em: a board, a pot, and ranges of both players, with bets as fractions of the pot.

Player 0 acts first in each round. Bets of a round depend on how many actions there were in it; all-in is always one.
"""

import functools
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.deal import Deal, board_of, card_text, masses, weights_of
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import universal_poker as poker
from mccfr_plus.games.openspiel.betting_tree import ALL_FOLDED, CALL, FOLD, SHOWDOWN, Node, sequences_from
from mccfr_plus.games.openspiel.hand_strength import RANKS
from mccfr_plus.games.rules import CHANCE, MOVER, Layout, Parameters
from mccfr_plus.kernels.compile import kernel

_BOARDS = (3, 4, 5)  # cards by rounds

Bets = tuple[tuple[tuple[float, ...], ...], ...]  # fractions of the pot, by round and by number of the action


class _Betting(NamedTuple):
    """What the betting sequences depend on."""

    rounds: int
    pot: int
    stack: int
    bets: Bets


_LATER = poker.HOLE + 2  # the word of a state with later cards of the board, plus 1, 6 bits each


# --- dealing whole hands, one player after the other, and the order of later cards ---


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    """Deals a hand in proportion to its weight, given the other player's hand; later a card of the board."""
    if state[poker.DEALT] >= 4:
        return poker.outcomes(parameters, table, state, actions, probabilities)
    deck, dealt, count, total = parameters[poker.DECK], state[poker.HOLE], 0, 0.0
    begin = 0 if dealt == 0 else deck * (deck - 1) // 2
    for high in range(1, deck):
        for low in range(high):
            weight = table[begin + low * (2 * deck - low - 3) // 2 + high - 1]
            if weight > 0.0 and dealt & (1 << low | 1 << high) == 0:
                actions[count], probabilities[count] = high * deck + low, weight
                total += weight
                count += 1
    for index in range(count):
        probabilities[index] /= total
    return count


@kernel
def _apply(parameters, table, state, action):
    is_board = state[MOVER] == CHANCE and state[poker.DEALT] >= 4
    poker.apply(parameters, table, state, action)
    if is_board:
        state[_LATER] = state[_LATER] << 6 | action + 1


@kernel
def _look(parameters, table, state, player, view):
    """Writes later cards of the board in their order, behind those of the beginning: so players have perfect recall."""
    poker.look(parameters, table, state, player, view)
    poker.list_cards(parameters[poker.GIVEN], view, 2)
    later, place = state[_LATER], 2 + parameters[poker.NUM_GIVEN] + state[poker.DEALT] - 4
    while later:
        place -= 1
        view[place] = later & 63
        later >>= 6


class HoldemSubgame(RulesGame):
    """A river, turn or flop of no-limit hold'em.

    Args:
        board: Three to five cards, such as "Ks7h4d2c9s".
        pot: Chips in the pot, an even number, half of them from each player.
        stack: Chips that each player has left.
        ranges: Weights of all hands for player 0, then for player 1, in the order of OpenSpiel's ``handReaches``: 2s2h,
            2s2d, ..., AdAc. Empty: all hands have the same weight.
        bets: Fractions of the pot after a call, as "0.5 1" or "50% 100%"; a lone one as "100%", since OpenSpiel reads 1
            as a number. Those of a further action of the same round follow a semicolon, and those of the next round a
            "|"; the last ones hold from there on.
        ranks: Ranks of the deck, from the deuce on.
        suits: Suits of the deck.
    """

    short_name = "holdem_subgame"
    long_name = "Subgame of No-Limit Hold'em"
    defaults = {  # noqa: RUF012
        "board": "Ks7h4d2c9s", "pot": 200, "stack": 900, "ranges": "", "bets": "0.5 1;0.5 1;1", "ranks": 13, "suits": 4,
    }  # fmt: skip
    rules = replace(poker.RULES, apply=_apply, look=_look, outcomes=_outcomes)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        deal, stack = _deal_of(parameters), parameters["stack"] + parameters["pot"] // 2
        cards = ("", *(card_text(card, deal.suits) for card in range(deal.deck)))
        return poker.layout_of(
            deal.nodes,
            deal.deck,
            deal.suits,
            2,
            deal.boards,
            at_once=2,
            given=deal.given,
            symbols=(cards, [node.text for node in deal.nodes]),
            table=np.concatenate([deal.weights[0] * masses(deal.cards, deal.weights[1]), deal.weights[1]]),
            state_size=_LATER + 1,
            perfect_recall=True,
            max_chance_outcomes=deal.deck**2,
            num_distinct_actions=stack + 1,
            min_utility=-float(stack),
            max_utility=float(stack),
        )

    @cached_property
    def deal(self) -> Deal:  # type: ignore[override]
        """The hands with their weights, and the betting sequences."""
        return _deal_of(self.given)

    def action_text(self, player: int, action: int) -> str:
        """Returns "fold", "call" or a raise, such as "raise to 600": chips of the player, with half of the pot."""
        return ("fold", "call")[action] if action in (FOLD, CALL) else f"raise to {action}"

    def outcome_text(self, outcome: int) -> str:
        """Returns a card of the board, or a hand, such as "Ks7h"; its number has both cards as digits."""
        deck, suits = self.given["ranks"] * self.given["suits"], self.given["suits"]
        cards = divmod(outcome, deck) if outcome >= deck else (outcome,)
        return "".join(card_text(card, suits) for card in cards)


def _deal_of(parameters: Parameters) -> Deal:
    suits, ranks = parameters.whole_number("suits", 1, 4), parameters.whole_number("ranks", 2, RANKS)
    pot, stack = parameters.whole_number("pot", 2, 1 << 24), parameters.whole_number("stack", 1, 1 << 24)
    parameters.require(pot % 2 == 0, "half of it is each player's: give an even number of chips", "pot")
    deck = ranks * suits
    given = board_of(parameters, "board", deck, suits)
    parameters.require(given.bit_count() in _BOARDS, "give three, four or five cards, such as Ks7h4d2c", "board")
    parameters.require(deck >= 9, "the deck has too few cards for a board and two hands", "ranks", "suits")
    bets = _bets_of(parameters, pot, stack)
    rounds = len(_BOARDS) - _BOARDS.index(given.bit_count())
    return Deal(
        deck=deck,
        suits=suits,
        boards=_BOARDS[-rounds:],
        given=given,
        weights=weights_of(parameters, "ranges", deck, suits, given),
        nodes=_sequences(_Betting(rounds, pot, stack, bets)),
        is_ordered=True,
    )


def _fraction(word: str) -> float:
    return float(word[:-1]) / 100 if word.endswith("%") else float(word)


def _bets_of(parameters: Parameters, pot: int, stack: int) -> Bets:
    text = parameters["bets"]
    try:
        rounds = [[tuple(map(_fraction, action.split())) for action in each.split(";")] for each in text.split("|")]
    except ValueError:
        rounds = [[(0.0,)]]  # not a fraction
    bets = tuple(map(tuple, rounds))
    sizes = [size for each in bets for action in each for size in action]
    parameters.require(all(0 < size < 1e9 for size in sizes), "give fractions such as 0.5 1;1|75%", "bets")
    largest = max(bets[0][0], default=0.0)
    message = f"a first bet of {largest:g} pots is {int(pot * largest):,} chips, above the stack of {stack:,}"
    parameters.require(int(pot * largest) <= stack, f"{message}: give fractions up to {stack / pot:g}", "bets")
    return bets


@functools.lru_cache(maxsize=32)
def _sequences(betting: _Betting) -> list[Node]:
    """Returns all betting sequences; children follow one another."""
    first = Node(0, 0, (betting.pot // 2,) * 2, frozenset(), 0, betting.pot // 2)
    return sequences_from(
        first,
        lambda node: ((action, f"r{action}", _after(betting, node, action)) for action in _choices(betting, node)),
    )


def _choices(betting: _Betting, node: Node) -> list[int]:
    """Returns the legal actions, ascending: a raise is the number of chips that the player has then put in."""
    called, left = max(node.spent), betting.stack + betting.pot // 2 - max(node.spent)
    to_call = called - node.spent[node.player]
    of_round = betting.bets[min(node.round, len(betting.bets) - 1)]
    sizes = of_round[min(node.num_actions, len(of_round) - 1)]
    raises = {min(int(2 * called * size), left) for size in sizes} | {left}
    return [*([FOLD] if to_call else []), CALL, *sorted(called + each for each in raises if each >= max(to_call, 1))]


def _after(betting: _Betting, node: Node, action: int) -> Node:
    player, spent, called = node.player, list(node.spent), max(node.spent)
    if action == FOLD:
        return node._replace(player=ALL_FOLDED, folded=frozenset({player}))
    spent[player] = called if action == CALL else action
    found = node._replace(player=1 - player, spent=tuple(spent), num_actions=node.num_actions + 1)
    if action != CALL or node.num_actions == 0:
        return found
    is_over = called == betting.stack + betting.pot // 2 or node.round == betting.rounds - 1
    if is_over:
        return found._replace(player=SHOWDOWN, round=betting.rounds - 1)
    return found._replace(player=0, round=node.round + 1, num_actions=0)
