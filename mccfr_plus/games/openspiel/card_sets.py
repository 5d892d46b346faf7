"""Sets of cards: sorted in a word, six bits each, the lowest card in the lowest bits; and their numbers.

A set's number is the sum of "card choose place" over its cards in ascending order, with places from 1 on: the sets of
as many cards are numbered without gaps (the combinatorial number system).
"""

import math

from mccfr_plus.kernels.compile import inline_kernel

_BITS, _CARD = 6, 63


def binomials(deck: int, most: int) -> list[int]:
    """Returns binomials for the kernels: for each count up to `most`, "card choose count" for cards 0 .. `deck`."""
    return [math.comb(card, count) for count in range(most + 1) for card in range(deck + 1)]


@inline_kernel
def card_at(cards, index):
    """Returns a card of a set."""
    return cards >> _BITS * index & _CARD


@inline_kernel
def with_card(cards, count, card):
    """Returns a set of `count` cards with one more card."""
    below = 0
    while below < count and card_at(cards, below) < card:
        below += 1
    low = cards & ((1 << _BITS * below) - 1)
    return low | card << _BITS * below | (cards ^ low) << _BITS


@inline_kernel
def num_sets(parameters, begin, deck, count):
    """Returns the number of sets of `count` cards; the binomials begin at `begin` of the parameters."""
    return parameters[begin + count * (deck + 1) + deck]


@inline_kernel
def set_number(parameters, begin, deck, cards, count):
    """Returns the number of a set among all sets of `count` cards."""
    number = 0
    for index in range(count):
        number += parameters[begin + (index + 1) * (deck + 1) + card_at(cards, index)]
    return number
