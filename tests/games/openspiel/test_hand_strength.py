"""Poker hands are ranked by their best five cards."""

import itertools
from collections import Counter

import numpy as np
import pytest

from mccfr_plus.games.openspiel.hand_strength import hand_strength

_HANDS = {  # from the worst to the best
    "high card": "2c 4d 6h 8s Td Qc Ah",
    "pair": "2c 2d 6h 8s Td Qc Ah",
    "two pair": "2c 2d 6h 6s Td Qc Ah",
    "three pairs": "2c 2d 6h 6s Td Tc Ah",
    "trips": "2c 2d 2h 6s Td Qc Ah",
    "wheel": "Ac 2d 3h 4s 5d 9c Jh",
    "straight": "2d 3h 4s 5d 6c 9c Jh",
    "flush": "2c 4c 6c 8c Jc Ad Ah",
    "full house": "2c 2d 2h 6s 6d Qc Ah",
    "two trips": "2c 2d 2h 6s 6d 6c Ah",
    "quads": "2c 2d 2h 2s 6d 6c Ah",
    "straight flush": "Ac 2c 3c 4c 5c 6d Ah",
}


def _bits(cards):
    return sum(1 << (13 * "cdhs".index(suit) + "23456789TJQKA".index(rank)) for rank, suit in cards)


def _by_definition(cards):
    """Returns a tuple that is larger for a better hand, by trying all fives."""
    return max(_five(hand) for hand in itertools.combinations(cards, min(5, len(cards))))


def _five(hand):
    ranks = sorted(("23456789TJQKA".index(rank) for rank, _ in hand), reverse=True)
    counts = sorted(Counter(ranks).items(), key=lambda item: (item[1], item[0]), reverse=True)
    shape, order = tuple(count for _, count in counts), tuple(rank for rank, _ in counts)
    is_flush = len(hand) == 5 and len({suit for _, suit in hand}) == 1
    if order == (12, 3, 2, 1, 0):
        order = (3, 2, 1, 0, -1)
    is_straight = len(order) == 5 and order[0] - order[4] == 4
    if is_flush and is_straight:
        return (8, order)
    if shape[0] == 4:
        return (7, order)
    if shape[:2] == (3, 2):
        return (6, order)
    if is_flush or is_straight:
        return (5 if is_flush else 4, order)
    return ({(3,): 3, (2, 2): 2, (2,): 1}.get(shape[:2] if shape[:2] == (2, 2) else shape[:1], 0), order)


def test_categories_are_in_order():
    strengths = [hand_strength(_bits(text.split())) for text in _HANDS.values()]
    assert strengths == sorted(set(strengths))


@pytest.mark.parametrize("size", range(1, 9))
def test_hands_are_ordered_by_definition(size):
    deck = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]
    rng = np.random.default_rng(size)
    for ranks in (52, 24):  # a short deck has more pairs, flushes and straights
        hands = [[deck[card] for card in rng.choice(ranks, size, replace=False)] for _ in range(400)]
        found = [hand_strength(_bits(hand)) for hand in hands]
        expected = [_by_definition(hand) for hand in hands]
        for i, j in itertools.pairwise(sorted(range(len(hands)), key=expected.__getitem__)):
            assert (found[i] < found[j]) == (expected[i] < expected[j]), (hands[i], hands[j])
            assert found[i] <= found[j], (hands[i], hands[j])
