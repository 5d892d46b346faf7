"""What a poker game of two players deals: hands of two cards with weights, a board, and the betting between.

Public trees are made from it without going through pairs of hands.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.openspiel.betting_tree import Node
from mccfr_plus.games.openspiel.hand_strength import hand_strengths
from mccfr_plus.games.rules import Parameters

_RANK_NAMES, _SUIT_NAMES = "23456789TJQKA", "cdhs"


class Deal(NamedTuple):
    """Chance deals a pair of hands without a card in common in proportion to the product of their weights."""

    deck: int
    suits: int
    boards: Sequence[int]  # cards on the board by rounds
    given: int  # the board at the beginning, a bit per card
    weights: np.ndarray  # [2, num_hands] float64: of each player's hands
    nodes: Sequence[Node]  # all betting sequences, the empty one first
    is_ordered: bool = False  # whether players see later cards of the board in their order, and not as a set

    @property
    def cards(self) -> np.ndarray:
        """The cards of each hand, ascending, ``[num_hands, 2]`` int64."""
        return cards_of_hands(self.deck)

    def strengths(self, board: int) -> np.ndarray:
        """Returns a number per hand that is larger for a better one on this board, ``[num_hands]`` int64."""
        cards = self.cards
        strengths = np.zeros(len(cards), np.int64)
        hand_strengths(cards, board, self.suits, strengths)
        return strengths


def card_text(card: int, suits: int) -> str:
    """Returns the name of a card, such as "Ks"."""
    return _RANK_NAMES[card // suits] + _SUIT_NAMES[card % suits]


def board_of(parameters: Parameters, name: str, deck: int, suits: int) -> int:
    """Returns the cards of a text such as "Ks7h4d2c", a bit each; a ValueError if one is impossible or repeated."""
    text, names = parameters[name], [card_text(card, suits) for card in range(deck)]
    cards = [text[begin : begin + 2] for begin in range(0, len(text), 2)]
    for card in cards:
        allowed = f"ranks {_RANK_NAMES[: deck // suits]} with suits {_SUIT_NAMES[:suits]}"
        parameters.require(card in names, f"{card!r} is not a card of the deck, which has {allowed}", name)
        parameters.require(cards.count(card) == 1, f"{card!r} is there twice", name)
    return sum(1 << names.index(card) for card in cards)


@functools.cache
def cards_of_hands(deck: int) -> np.ndarray:
    """Returns both cards of each hand, ascending, ``[deck choose 2, 2]`` int64."""
    return np.stack(np.triu_indices(deck, 1), axis=1).astype(np.int64)


def order_of_ranges(deck: int, suits: int) -> np.ndarray:
    """Returns the place of each hand in a range, in the order of OpenSpiel's handReaches: 2s2h, 2s2d, ..., AdAc."""
    cards = np.arange(deck)
    return mapped_hands(cards // suits * suits + suits - 1 - cards % suits)


def mapped_hands(cards: np.ndarray) -> np.ndarray:
    """Returns the number of what each hand becomes if cards become these, ``[num_hands]``."""
    low, high = np.sort(cards[cards_of_hands(len(cards))], axis=1).T
    return low * (2 * len(cards) - low - 3) // 2 + high - 1


def weights_of(parameters: Parameters, name: str, deck: int, suits: int, given: int) -> np.ndarray:
    """Returns the weights of both players' hands, which are 0 where a card is on the board, ``[2, num_hands]``.

    Raises:
        ValueError: If the range is not of this deck, or leaves no pair of hands.
    """
    cards, order = cards_of_hands(deck), order_of_ranges(deck, suits)
    weights = np.ones((2, len(order)))
    if parameters[name]:
        try:
            numbers = np.array(parameters[name].split(), float)
        except ValueError:
            numbers = np.zeros(0)
        is_allowed = len(numbers) == 2 * len(order) and np.isfinite(numbers).all() and (numbers >= 0).all()
        message = f"give {2 * len(order):,} weights of at least 0, those of player 0 first"
        parameters.require(is_allowed, message, name)
        weights = numbers.reshape(2, -1)[:, order]
    weights[:, ((given >> cards) & 1).any(1)] = 0.0
    for player in range(2):
        parameters.require(weights[player].any(), f"player {player} has no hand that fits the board", name)
    is_possible = (weights[0] * masses(cards, (weights[1] > 0) * 1.0)).any()
    parameters.require(is_possible, "each hand of player 0 shares a card with each hand of player 1", name)
    return weights


def masses(cards: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns, per hand, the total weight of the other player's hands without its cards, ``[num_hands]``."""
    has_others = _without(cards, (weights > 0) * 1.0) > 0.5  # counted, as sums of weights leave rounding
    return np.where(has_others, _without(cards, weights), 0.0)


def _without(cards: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns all weights but those of hands with the first card or the second one; the hand itself has both."""
    by_card = np.bincount(cards.reshape(-1), np.repeat(weights, 2))
    return weights.sum() - by_card[cards].sum(1) + weights
