"""The strength of a poker hand of any size: its best five cards, found by bit operations on its ranks."""

from mccfr_plus.games.common import num_bits
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import lowest_bit

RANKS = 13  # bits per suit: 0 for a deuce, 12 for an ace
_ACE = RANKS - 1
_SUIT = (1 << RANKS) - 1

# Categories, above two sets of ranks: what makes the category, and the other cards that count.
_PAIR, _TWO_PAIR, _TRIPS, _STRAIGHT, _FLUSH, _FULL_HOUSE, _QUADS, _STRAIGHT_FLUSH = range(1, 9)


@inline_kernel
def _highest(ranks, count):
    """Returns the highest ranks of a set, at most `count` of them."""
    size = num_bits(ranks)
    while size > count:
        ranks &= ranks - 1
        size -= 1
    return ranks


@inline_kernel
def _straights(ranks):
    """Returns the lowest ranks of all straights in a set, one bit higher; an ace also counts as the lowest card."""
    ranks = ranks << 1 | ranks >> _ACE
    return ranks & ranks >> 1 & ranks >> 2 & ranks >> 3 & ranks >> 4


@inline_kernel
def _strength(category, ranks, others):
    return category << 2 * RANKS | ranks << RANKS | others


@kernel
def hand_strength(cards):
    """Returns a number that is larger for a better hand of the same size; `cards` have a bit each, 13 bits per suit."""
    a, b, c, d = cards & _SUIT, cards >> RANKS & _SUIT, cards >> 2 * RANKS & _SUIT, cards >> 3 * RANKS & _SUIT
    flush, straight_flush = 0, 0
    for suit in (a, b, c, d):
        if _highest(suit, 4) != suit:  # five cards or more
            flush = max(flush, _highest(suit, 5))
            straight_flush = max(straight_flush, _highest(_straights(suit), 1))
    if straight_flush:
        return _strength(_STRAIGHT_FLUSH, straight_flush, 0)
    # Ranks that are there at least once, twice, three times; four times.
    once, quads = a | b | c | d, a & b & c & d
    twice = (a & b) | (c & d) | ((a | b) & (c | d))
    trips = _highest((a & b & (c | d)) | (c & d & (a | b)), 1)
    if quads:
        quads = _highest(quads, 1)
        return _strength(_QUADS, quads, _highest(once ^ quads, 1))
    if trips and twice != trips:
        return _strength(_FULL_HOUSE, trips, _highest(twice ^ trips, 1))
    if flush:
        return _strength(_FLUSH, flush, 0)
    straight = _highest(_straights(once), 1)
    if straight:
        return _strength(_STRAIGHT, straight, 0)
    if trips:
        return _strength(_TRIPS, trips, _highest(once ^ trips, 2))
    pairs = _highest(twice, 2)
    if pairs & (pairs - 1):
        return _strength(_TWO_PAIR, pairs, _highest(once ^ pairs, 1))
    if pairs:
        return _strength(_PAIR, pairs, _highest(once ^ pairs, 3))
    return _strength(0, 0, _highest(once, 5))


@inline_kernel
def strength_of(cards, suits):
    """Returns the strength of cards of a deck, which have a bit each."""
    by_suit = 0
    while cards:
        card = lowest_bit(cards)
        by_suit |= 1 << (RANKS * (card % suits) + card // suits)
        cards &= cards - 1
    return hand_strength(by_suit)


@kernel
def hand_strengths(hands, board, suits, strengths):
    """Writes the strength of each hand, ``[num_hands, 2]`` numbers of cards, with a board that has a bit per card."""
    for hand in range(len(hands)):
        strengths[hand] = strength_of(board | 1 << hands[hand, 0] | 1 << hands[hand, 1], suits)
