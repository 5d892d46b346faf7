"""Buckets of poker hands: percentiles of expected hand strength squared, in tables on disk.

Boards count up to a permutation of suits. A board is a set of ranks per suit, and has the number of these sets, in
descending order, among all descending sequences with as many cards. A table has a row per board and a byte per hand.
"""

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import ConfigError, GameError, shortened
from mccfr_plus.files.atomic_write import atomic_write
from mccfr_plus.games.abstract_rules import AbstractRules
from mccfr_plus.games.common import num_bits
from mccfr_plus.games.deal import Deal
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import compiled_rules, why_no_rules
from mccfr_plus.games.openspiel.hand_strength import RANKS, hand_strength
from mccfr_plus.games.openspiel.universal_poker import BUCKETS, DECK, SUITS
from mccfr_plus.kernels.compile import allocating_kernel, cache_folder, inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import address_of, at, pointer
from mccfr_plus.parameters import check_whole

_VERSION = 1  # of the tables
_MOST_BYTES = 1 << 31
_BLOCK = 256  # boards between two updates of a progress bar
_SET = (1 << RANKS) - 1
_BLOCKED = 1 << 62  # above all strengths: of a hand with a card of the board

# Words of an index: the address of the tables; buckets per bucket of the hole cards if they are nested, else 0; how
# many sets of ranks there are, plus 1; where the table for so many cards begins; the bit of each card, `RANKS` per
# suit. Then, by numbers of suits, of cards and a set: how many descending sequences of sets begin with a smaller one.
_TABLE, _NESTED, _SETS, _BEGIN, _BITS, _COUNTS = 0, 1, 2, 3, 11, 75
_CARDS = 8  # numbers of cards on a board, 0 included


def _index_of(deck: int, suits: int) -> np.ndarray:
    """Returns an index without tables."""
    num_sets, cards = 1 << deck // suits, np.arange(deck)
    sizes = np.array([each.bit_count() for each in range(num_sets)])
    counts = np.zeros((suits + 1, _CARDS, num_sets + 1), np.int64)
    counts[0, 0] = 1
    for number, size in itertools.product(range(1, suits + 1), range(_CARDS)):
        left, last = size - sizes, np.arange(1, num_sets + 1)  # no later set is larger
        counts[number, size, 1:] = np.cumsum(np.where(left < 0, 0, counts[number - 1, np.maximum(left, 0), last]))
    index = np.zeros(_COUNTS, np.int64)
    index[_SETS], index[_BITS : _BITS + deck] = num_sets + 1, RANKS * (cards % suits) + cards // suits
    return np.concatenate([index, counts.ravel()])


@inline_kernel
def _place(index, board, suits):
    """Returns the number of a board, `RANKS` bits per suit, and the place of each suit in it, two bits each."""
    # Sets with two bits below that tell suits apart.
    a, b = (board & _SET) << 2 | 3, (board >> RANKS & _SET) << 2 | 2
    c, d = (board >> 2 * RANKS & _SET) << 2 | 1, (board >> 3 * RANKS & _SET) << 2
    a, b, c, d = max(a, b), min(a, b), max(c, d), min(c, d)
    a, b, c, d = max(a, c), max(b, d), min(a, c), min(b, d)
    b, c = max(b, c), min(b, c)
    places = 1 << 2 * (3 - (b & 3)) | 2 << 2 * (3 - (c & 3)) | 3 << 2 * (3 - (d & 3))
    number, left = 0, num_bits(board)
    for ranks in (a >> 2, b >> 2, c >> 2, d >> 2):
        if left > 0:
            number += index[at(_COUNTS + (suits * _CARDS + left) * index[_SETS] + ranks)]
            left -= num_bits(ranks)
            suits -= 1
    return number, places


@inline_kernel
def _moved(index, card, places, suits):
    """Returns the card of the same rank in the suit's place."""
    bit = index[at(_BITS + card)]
    suit = bit // RANKS
    return (bit - RANKS * suit) * suits + (places >> 2 * suit & 3)


@inline_kernel
def _hand(first, second, deck):
    """Returns the number of a hand, as in `Deal.cards`."""
    low, high = min(first, second), max(first, second)
    return low * (2 * deck - low - 3) // 2 + high - 1


@kernel
def bucket_of_view(parameters, table, view, player):
    """Returns the bucket of what `look` writes: both hole cards, the board, the betting."""
    deck, suits = parameters[at(DECK)], parameters[at(SUITS)]
    index = numba.carray(pointer(parameters[at(BUCKETS)]), 1, np.int64)  # kernels do not check lengths
    buckets = numba.carray(pointer(index[_TABLE]), 1, np.uint8)
    first, second, board, num_cards, place = view[at(0)] - 1, view[at(1)] - 1, 0, 0, 2
    while place < len(view) - 1 and view[at(place)] > 0:
        board |= 1 << index[at(_BITS + view[at(place)] - 1)]
        num_cards, place = num_cards + 1, place + 1
    above = index[_NESTED] * buckets[at(_hand(first, second, deck))] if num_cards > 0 else 0
    number, places = _place(index, board, suits)
    hand = _hand(_moved(index, first, places, suits), _moved(index, second, places, suits), deck)
    return above + buckets[at(index[at(_BEGIN + num_cards)] + number * (deck * (deck - 1) // 2) + hand)]


# --- making tables; boards and hands have a bit per card, as in `_BITS` ---


@kernel
def _add_card(index, deck, suits, boards, weights, next_boards, next_weights):
    """Writes the boards with one more card, and adds up how many boards each stands for, and orders of their cards."""
    for row in range(len(boards)):
        for card in range(deck):
            taken = boards[row] | 1 << index[_BITS + card]
            if taken != boards[row]:
                number, places = _place(index, taken, suits)
                next_boards[number] = 0
                for suit in range(suits):
                    next_boards[number] |= (taken >> RANKS * suit & _SET) << RANKS * (places >> 2 * suit & 3)
                next_weights[number] += weights[row]


@kernel
def _add_values(index, deck, suits, cards, hands, boards, is_last, after, values):
    """Adds the values of hands after one more card on the board; their squares, if it is the last one."""
    for row in range(len(boards)):
        for card in range(deck):
            taken = boards[row] | 1 << index[_BITS + card]
            if taken == boards[row]:
                continue
            number, places = _place(index, taken, suits)
            for hand in range(len(hands)):
                if hands[hand] & taken == 0:
                    first, second = (
                        _moved(index, cards[hand, 0], places, suits),
                        _moved(index, cards[hand, 1], places, suits),
                    )
                    value = np.int64(after[number, _hand(first, second, deck)])
                    values[row, hand] += value * value if is_last else value


@allocating_kernel
def _compare_hands(cards, hands, boards, values):
    """Writes twice the wins plus the ties of each hand against all others."""
    strengths, weaker, equal = np.zeros(len(hands), np.int64), np.zeros(64, np.int64), np.zeros(64, np.int64)
    for row in range(len(boards)):
        for hand in range(len(hands)):
            is_blocked = hands[hand] & boards[row] != 0
            strengths[hand] = _BLOCKED if is_blocked else hand_strength(hands[hand] | boards[row])
        order, begin = np.argsort(strengths), 0
        weaker[:] = 0  # hands by card, as are the equal ones
        while begin < len(order) and strengths[order[begin]] < _BLOCKED:
            end = begin
            while end < len(order) and strengths[order[end]] == strengths[order[begin]]:
                equal[cards[order[end], 0]] += 1
                equal[cards[order[end], 1]] += 1
                end += 1
            for place in range(begin, end):
                low, high = cards[order[place], 0], cards[order[place], 1]
                wins, ties = begin - weaker[low] - weaker[high], end - begin + 1 - equal[low] - equal[high]
                values[row, order[place]] = 2 * wins + ties
            weaker += equal
            equal[:] = 0
            begin = end


def _blocks(boards: np.ndarray, text: str, progress: bool | None) -> Iterator[slice]:
    """Yields slices of boards, with a progress bar."""
    disable = None if progress is None else not progress
    with tqdm(desc=text, total=len(boards), unit=" boards", delay=1.0, disable=disable, leave=False) as bar:
        for begin in range(0, len(boards), _BLOCK):
            yield slice(begin, begin + _BLOCK)
            bar.update(min(_BLOCK, len(boards) - begin))


def _num_boards(index: np.ndarray, suits: int, number: int) -> int:
    """Returns how many boards of so many cards there are up to a permutation of suits."""
    return int(index[_COUNTS + (suits * _CARDS + number + 1) * index[_SETS] - 1])


def _values(index: np.ndarray, deal: Deal, hands: np.ndarray, progress: bool | None) -> list[tuple[np.ndarray, ...]]:
    """Returns boards, their weights and values, by the number of cards on the board.

    A weight is in proportion to how many boards one stands for. Values, ``[boards, hands]``, are 0 if hand and board
    share a card, on full boards 2 wins + ties, uint16, and E[HS^2] times a factor before, int64.
    """
    most, given = deal.boards[-1], (index, deal.deck, deal.suits)
    found: list[Any] = [(np.zeros(1, np.int64), np.ones(1, np.int64))]
    for number in range(1, most + 1):
        found.append(tuple(np.zeros(_num_boards(index, deal.suits, number), np.int64) for _ in range(2)))
        _add_card(*given, *found[number - 1], *found[number])
    after = np.zeros((0, 0))
    for number in range(most, -1, -1):
        boards, is_full = found[number][0], number == most
        values = np.zeros((len(boards), len(hands)), np.uint16 if is_full else np.int64)
        for block in _blocks(boards, f"hands with {number} cards", progress):
            if is_full:
                _compare_hands(deal.cards, hands, boards[block], values[block])
            else:
                _add_values(*given, deal.cards, hands, boards[block], number + 1 == most, after, values[block])
        found[number], after = (*found[number], values), values
    return found


def _write_percentiles(
    found: tuple[np.ndarray, ...], hands: np.ndarray, mine: np.ndarray, buckets: int, progress: bool | None,
    table: np.ndarray,
) -> None:  # fmt: skip
    """Writes floor(buckets * (worse + equal / 2) / all) for the hands `mine` on all boards into a table."""
    boards, weights, values = found
    distinct = np.unique(np.concatenate([np.unique(values[block][:, mine]) for block in _blocks(boards, "", False)]))
    counts = np.zeros(len(distinct))
    for block in _blocks(boards, "counting hands", progress):
        numbers = np.searchsorted(distinct, values[block][:, mine])
        of_each = np.where(boards[block, None] & hands[mine], 0, weights[block, None])
        counts += np.bincount(numbers.ravel(), of_each.ravel(), len(distinct))
    middle, total = 2 * np.cumsum(counts) - counts, 2 * counts.sum()
    percentiles = (buckets * middle // total).astype(np.uint8)
    for block in _blocks(boards, "sorting hands", progress):
        table[block, mine] = percentiles[np.searchsorted(distinct, values[block][:, mine])]


def _tables(index: np.ndarray, deal: Deal, buckets: int, nested: bool, progress: bool | None) -> np.ndarray:
    """Returns the tables of hole cards alone and of all rounds, one after another, uint8."""
    hands = (1 << index[_BITS + deal.cards]).sum(axis=1)
    found, tables = _values(index, deal, hands, progress), list[np.ndarray]()
    for number in sorted({0, *deal.boards}):
        above = tables[0][0] if nested and tables else np.zeros(len(hands), np.uint8)
        tables.append(np.zeros(found[number][2].shape, np.uint8))
        for bucket in np.unique(above):
            _write_percentiles(found[number], hands, np.flatnonzero(above == bucket), buckets, progress, tables[-1])
    return np.concatenate([table.ravel() for table in tables])


class HandBuckets:
    """Buckets of hands for `abstract`: percentiles of expected hand strength squared, E[HS^2], in each round.

    HS is the probability of winning against a uniformly random hand at the end, plus half that of a tie; the
    expectation is over the cards of the board to come. In each round, all pairs of a hand and a board are sorted by
    this value and divided into buckets of equal size; equal pairs stay together. In the abstract game, a player knows
    its bucket and the betting, but no cards. The tables are made once and kept in the user's cache folder: with 52
    cards and four rounds, they take about a minute and 202 MB.

    Args:
        game: A game of `universal_poker` for two players with two hole cards each. The buckets fit all games with the
            same deck and as many cards on the board in each round.
        buckets: Number of buckets in each round, 2 to 256.
        nested: Whether hands are divided again within each bucket of the hole cards, so that players also know these.
            Buckets of earlier boards cannot be known, as OpenSpiel's information states have the board as a set.
        progress: Whether to show progress bars. Default: only if standard error is a terminal.

    Raises:
        ConfigError: If the game has other hands or too many boards, or a number is out of range.
        GameError: If the tables cannot be written or read.

    Examples:
        >>> import mccfr_plus
        >>> from mccfr_plus.games import HandBuckets
        >>> game = "universal_poker(numHoleCards=2,numRanks=4,numBoardCards=0 2,stack=300 300)"
        >>> buckets = HandBuckets(game, buckets=5)
        >>> state = mccfr_plus.load_game(game).new_initial_state()
        >>> for card in (15, 14, 4, 3):  # player 0 gets a pair of the highest rank
        ...     state.apply_action(card)
        >>> buckets(state, 0), buckets(state, 1)
        (4, 0)

    Reference: Gibson et al. 2012, section 6, with five buckets, after Zinkevich, Johanson, Bowling and Piccione 2007.
    """

    hidden = ("board",)  # public fields that a bucket replaces

    def __init__(self, game: pyspiel.Game | str, buckets: int = 50, nested: bool = False, progress: bool | None = None):
        check_whole("buckets", buckets, 2, 256)
        self._given, loaded = (str(game), buckets, nested), pyspiel.load_game(game) if isinstance(game, str) else game
        rules = compiled_rules(loaded)
        if rules is None or rules.deal is None:
            reason = why_no_rules(loaded) or f"{shortened(game)} does not deal two cards to each of two players."
            raise ConfigError(f"{reason} Give a universal_poker game with buckets of hands.")
        self.kernel, self._deal = bucket_of_view, rules.deal
        self._index, size = _index_of(self._deal.deck, self._deal.suits), 0
        for number in sorted({0, *self._deal.boards}):
            self._index[_BEGIN + number] = size
            size += _num_boards(self._index, self._deal.suits, number) * len(self._deal.cards)
        if size > _MOST_BYTES:
            raise ConfigError(
                f"{shortened(game)}: its tables would take {size:,} bytes, more than the {_MOST_BYTES:,} allowed: use "
                "fewer cards."
            )
        digest = hashlib.sha256(repr((_VERSION, _cards_of(self._deal), buckets, nested)).encode()).hexdigest()[:16]
        path = cache_folder().parent / "hand_buckets" / f"{digest}.npy"
        try:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                tables = _tables(self._index, self._deal, buckets, nested, progress)
                with atomic_write(path, GameError) as file:
                    np.save(file, tables)
            self._tables = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise GameError(f"{path} cannot be used: {error}. Delete the file, or free up disk space.") from None
        if (self._tables.dtype, self._tables.shape) != (np.uint8, (size,)):
            raise GameError(f"{path} is damaged: delete it.")
        self._index[_TABLE], self._index[_NESTED] = address_of(self._tables), buckets if nested else 0

    def __reduce__(self) -> tuple:
        return HandBuckets, self._given

    def __repr__(self) -> str:
        return "HandBuckets({!r}, buckets={}, nested={})".format(*self._given)

    def __call__(self, state: pyspiel.State, player: int) -> int:
        """Returns the bucket of a player in a state of a game that the buckets fit."""
        rules = compiled_rules(state.get_game())
        assert rules is not None
        return AbstractRules(rules, self, recalls=False).bucket_after(state.history(), player)

    def parameters(self, rules: RulesGame) -> np.ndarray:
        """Returns the parameters of rules, with the tables; ConfigError if the game has other cards."""
        own, given = _cards_of(self._deal), _cards_of(rules.deal)
        if own != given:
            raise ConfigError(
                f"buckets for {own} do not fit {shortened(rules)}, which has {given}: make buckets for this game."
            )
        parameters = rules.parameters.copy()
        parameters[BUCKETS] = address_of(self._index)
        return parameters


def _cards_of(deal: Deal | None) -> str:
    """Returns the cards of a game as a text."""
    if deal is None:
        return "other hands"
    return f"{deal.deck} cards in {deal.suits} suits, {' '.join(map(str, deal.boards))} of them on the board by rounds"
