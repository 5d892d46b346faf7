"""Permutations of suits that change neither the first board nor the ranges: what they map to each other is one.

A *group* are those that also leave each deal of later cards as it is. It decides which hands of a node are one.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from mccfr_plus.games.deal import Deal, mapped_hands

Group = tuple[int, ...]  # numbers of symmetries
NONE: Group = (0,)  # but the identity
_CARDS, _BLOCK = 64, 1 << 18  # more than a deck has; infosets at once


def suit_symmetries(deal: Deal) -> np.ndarray:
    """Returns what each card becomes, ``[num_symmetries, deck]`` int64, the identity first."""
    given, found = [card for card in range(deal.deck) if deal.given >> card & 1], []
    for order in itertools.permutations(range(deal.suits)):
        mapped = np.arange(deal.deck) // deal.suits * deal.suits + np.tile(order, deal.deck // deal.suits)
        is_range = (deal.weights[:, mapped_hands(mapped)] == deal.weights).all()
        if is_range and {*mapped[given].tolist()} == {*given}:
            found.append(mapped)
    return np.array(found)


def representatives(symmetries: np.ndarray, group: Group, deals: list[tuple[int, ...]]) -> Iterator[tuple]:
    """Yields the first one of deals that the group maps to each other, with the group that is left after it."""
    numbers = _number(np.sort(symmetries[list(group)][:, np.array(deals)], axis=2))
    for index in np.flatnonzero(numbers[0] == numbers.min(0)).tolist():
        yield deals[index], tuple(itertools.compress(group, numbers[:, index] == numbers[0, index]))


def _number(cards: np.ndarray) -> np.ndarray:
    """Returns a number per row of cards, in lexicographic order."""
    return cards @ _CARDS ** np.arange(cards.shape[-1])[::-1]


def representative_infosets(deal: Deal, info_states: Any) -> np.ndarray:
    """Returns a number per information set, equal for those that symmetries map to each other, ``[num_infosets]``."""
    given, found = deal.given.bit_count(), np.full(len(info_states), np.iinfo(np.int64).max)
    later = [count for count in deal.boards if count > given]
    rounds = [-2, 0, *((given, *later) if deal.is_ordered else deal.boards[-1:])]
    for begin in range(0, len(found), _BLOCK):
        least = found[begin : begin + _BLOCK]
        views = info_states.views(range(begin, begin + len(least)))
        for symmetry in suit_symmetries(deal):
            cards = np.append(0, symmetry + 1)[views[:, :-1]]
            for first, last in itertools.pairwise(rounds):  # the hand and the cards of each round are sets
                cards[:, 2 + first : 2 + last].sort(axis=1)
            least[:] = np.minimum(least, _number(np.column_stack([views[:, -1], cards[:, 2:], cards[:, :2]])))
    return found
