"""What a poker game of two players deals: hands of two cards with weights, a board, and the betting between.

Public trees are made from it without going through pairs of hands.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.openspiel.betting_tree import Node
from mccfr_plus.games.openspiel.hand_strength import hand_strengths


class Deal(NamedTuple):
    """Chance deals a pair of hands without a card in common in proportion to the product of their weights."""

    deck: int
    suits: int
    boards: Sequence[int]  # cards on the board by rounds
    given: int  # the board at the beginning, a bit per card
    weights: np.ndarray  # [2, num_hands] float64: of each player's hands
    nodes: Sequence[Node]  # all betting sequences, the empty one first

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


def cards_of_hands(deck: int) -> np.ndarray:
    """Returns both cards of each hand, ascending, ``[deck choose 2, 2]`` int64."""
    return np.stack(np.triu_indices(deck, 1), axis=1).astype(np.int64)


def masses(cards: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns, per hand, the total weight of the other player's hands without its cards, ``[num_hands]``."""
    has_others = _without(cards, (weights > 0) * 1.0) > 0.5  # counted, as sums of weights leave rounding
    return np.where(has_others, _without(cards, weights), 0.0)


def _without(cards: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns all weights but those of hands with the first card or the second one; the hand itself has both."""
    by_card = np.bincount(cards.reshape(-1), np.repeat(weights, 2))
    return weights.sum() - by_card[cards].sum(1) + weights
