"""The table of infosets, by what leads to them: a slot and what the player learns next, a code, give the infoset.

There is a word per slot, or one for each of the codes where these are few. It is 0 where no infoset follows, an entry
where one does, and the place of a block where several do. A block is an array of 2, 4, 8, ... entries with linear
probing (Knuth 1998, TAOCP 3, section 6.4, algorithm L); a full one is copied to one of twice the length. Thus, most
look-ups read one word or two. An entry is a word, too: the infoset's first slot in 32 bits, its number of actions in
`COUNT_BITS`, four bits that are 0, and the code, up to bit 62.

Writers hold the tree's lock. Readers do not: an entry is published at once, and a block when it is complete. Blocks are
not used again, so that a reader may go on in one that was copied: what it misses there it looks up under the lock.

Where rules have no codes, or players have imperfect recall, infosets are found by their keys (`KEYED`). The blocks then
are one hash table, at most half full, whose places are half of a key and an entry with a part of the other half as its
code. A table of n places begins at place n: the smaller ones before it stay for readers.
"""

import numba
import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import load_word, pointer, prefetch, publish_word
from mccfr_plus.kernels.slots import Constant
from mccfr_plus.trees.arrays import NUM_EXPANSION
from mccfr_plus.trees.expansion import NUM_INFOSETS
from mccfr_plus.trees.info_states import num_places

# Further words of `TreeArrays.expansion`: addresses of the slots' words and of the blocks; words of these in use.
WORDS, BLOCKS, NUM_BLOCK_WORDS = range(NUM_EXPANSION, NUM_EXPANSION + 3)

COUNT_BITS = Constant("COUNT_BITS", 1, "Bits of a number of actions.")
LOG_WORDS_PER_SLOT = Constant("LOG_WORDS_PER_SLOT", 0, "Logarithm of the number of words of a slot.")
KEYED = Constant("KEYED", False, "Whether infosets are found by their keys, and not by slots and codes.")

ENTRIES_PER_LINE = 8  # of the cache, of eight bytes each

_FIRST_BITS, _SPARE_BITS, _ENTRY_BITS = 32, 4, 63
_LOG_FETCHED = 5  # of a block: longer ones are too many lines of the cache to fetch where one is read
_LOG_BITS = 6  # for the logarithm of a block's length, where a word tells its place

_BLOCK_WORDS_PER_INFOSET = 4  # at most: a block is at most twice as long as what it holds, as are all its predecessors
_WORDS_PER_PLACE = 4  # of a hash table: two, and as many in all smaller ones
FIRST_TABLE_WORDS = 1024 * _WORDS_PER_PLACE


def bits_of_codes(most_actions: int) -> int:
    """Returns how many bits a code can have where infosets have so many actions."""
    return _ENTRY_BITS - _FIRST_BITS - _SPARE_BITS - most_actions.bit_length()


def most_block_words(max_infosets: int, is_keyed: bool) -> int:
    """Returns how many words blocks, or hash tables, of so many infosets take at most."""
    if is_keyed:
        return max(num_places(max_infosets) * _WORDS_PER_PLACE, FIRST_TABLE_WORDS)
    return _BLOCK_WORDS_PER_INFOSET * max_infosets


@inline_kernel
def _words(address):
    return numba.carray(pointer(address), 1, np.int64)  # kernels do not check lengths


@inline_kernel
def _place(slot, code):
    return (slot << LOG_WORDS_PER_SLOT()) + (code & ((1 << LOG_WORDS_PER_SLOT()) - 1))


@inline_kernel
def _code_of(entry):
    return entry >> (_FIRST_BITS + COUNT_BITS() + _SPARE_BITS)


@inline_kernel
def _infoset_of(entry):
    return entry & ((1 << (_FIRST_BITS + COUNT_BITS() + _SPARE_BITS)) - 1)


@inline_kernel
def _log_length(block):
    return ~block & ((1 << _LOG_BITS) - 1)


@inline_kernel
def _first_of(block):
    return ~block >> _LOG_BITS


@inline_kernel
def find(expansion, slot, code):
    """Returns the infoset that follows a slot and a code, a pair of first slot and number of actions; 0 for none.

    If infosets are found by keys, `slot` and `code` are the two words of the key.
    """
    if KEYED():
        return _find_key(expansion, slot, code)
    word = load_word(_words(expansion[WORDS]), _place(slot, code))
    code >>= LOG_WORDS_PER_SLOT()
    if word >= 0:
        return _infoset_of(word) if _code_of(word) == code else np.int64(0)
    blocks, first, length = _words(expansion[BLOCKS]), _first_of(word), np.int64(1) << _log_length(word)
    for step in range(length):
        entry = load_word(blocks, first + ((code + step) & (length - 1)))
        if entry == 0:
            break
        if _code_of(entry) == code:
            return _infoset_of(entry)
    return np.int64(0)


@inline_kernel
def fetch_ahead(array, first, count=1):
    """Fills `access.FETCH_AHEAD`, without a branch for `count`."""
    prefetch(array, first)
    for index in range(ENTRIES_PER_LINE, count, ENTRIES_PER_LINE):
        prefetch(array, first + index)
    prefetch(array, first + count - 1)


@inline_kernel
def fetch_rows_ahead(tables, first, count):
    for row in range(len(tables)):
        for index in range(0, count, ENTRIES_PER_LINE):
            prefetch(tables, (row, np.int64(first + index)))
        prefetch(tables, (row, np.int64(first + count - 1)))


@inline_kernel
def fetch_word(expansion, slot):
    """Begins to fetch what `find` reads first, if it follows from the slot alone."""
    if not KEYED():
        prefetch(_words(expansion[WORDS]), slot << LOG_WORDS_PER_SLOT())


@inline_kernel
def fetch_block(expansion, slot):
    """Begins to fetch what `find` reads next, where a slot has one word."""
    if LOG_WORDS_PER_SLOT() == 0 and not KEYED():
        word = load_word(_words(expansion[WORDS]), slot)
        if word < 0 and _log_length(word) <= _LOG_FETCHED:
            for index in range(0, np.int64(1) << _log_length(word), ENTRIES_PER_LINE):
                prefetch(_words(expansion[BLOCKS]), _first_of(word) + index)


@inline_kernel
def enter(expansion, slot, code, infoset):
    """Enters an infoset, as `find` returns it; under the tree's lock, with a writable `expansion`."""
    if KEYED():
        _enter_key(expansion, slot, code, infoset)
        return
    words, blocks, place = _words(expansion[WORDS]), _words(expansion[BLOCKS]), _place(slot, code)
    entry = infoset | (code >> LOG_WORDS_PER_SLOT()) << (_FIRST_BITS + COUNT_BITS() + _SPARE_BITS)
    word = words[place]
    if word == 0:
        publish_word(words, place, entry)
    elif word > 0:
        block = _new_block(expansion, 1)
        _put(blocks, block, word)
        _put(blocks, block, entry)
        publish_word(words, place, block)
    elif not _put(blocks, word, entry):
        block, first = _new_block(expansion, _log_length(word) + 1), _first_of(word)
        for index in range(first, first + (np.int64(1) << _log_length(word))):
            _put(blocks, block, blocks[index])
        _put(blocks, block, entry)
        publish_word(words, place, block)


@kernel
def _new_block(expansion, log_length):
    """Returns the word of a new block."""
    first = expansion[NUM_BLOCK_WORDS]
    expansion[NUM_BLOCK_WORDS] += 1 << log_length
    return ~(first << _LOG_BITS | log_length)


@kernel
def _put(blocks, block, entry):
    """Writes an entry into a block. Returns False if that is full."""
    first, length = _first_of(block), np.int64(1) << _log_length(block)
    for step in range(length):
        index = first + ((_code_of(entry) + step) & (length - 1))
        if blocks[index] == 0:
            publish_word(blocks, index, entry)
            return True
    return False


# --- infosets that are found by their keys ---


@inline_kernel
def words_for_one_more(expansion):
    """Returns how many words of blocks are in use after `enter`, at most if there are no keys."""
    words = expansion[NUM_BLOCK_WORDS]
    return 2 * words if KEYED() and 2 * (expansion[NUM_INFOSETS] + 1) * _WORDS_PER_PLACE > words else words


@inline_kernel
def _entry_of(high, infoset):
    """Returns the entry of an infoset, with what it has room for of the key's second word."""
    shift = _FIRST_BITS + COUNT_BITS() + _SPARE_BITS
    return infoset | np.int64(np.uint64(high) >> np.uint64(64 - _ENTRY_BITS + shift)) << shift


@inline_kernel
def _find_key(expansion, low, high):
    tables, size = _words(expansion[BLOCKS]), load_word(expansion, NUM_BLOCK_WORDS) // _WORDS_PER_PLACE
    code, place = _code_of(_entry_of(high, np.int64(0))), low & (size - 1)
    while True:
        entry = load_word(tables, 2 * (size + place) + 1)
        if entry == 0:
            return np.int64(0)
        if tables[2 * (size + place)] == low and _code_of(entry) == code:
            return _infoset_of(entry)
        place = (place + 1) & (size - 1)


@kernel
def _enter_key(expansion, low, high, infoset):
    """Does what `enter` does; `expansion` has counted the infoset. A table that is half full is copied to a larger."""
    tables, words = _words(expansion[BLOCKS]), expansion[NUM_BLOCK_WORDS]
    size = words // _WORDS_PER_PLACE
    if 2 * expansion[NUM_INFOSETS] > size:
        for place in range(size, 2 * size):
            if tables[2 * place + 1] != 0:
                _put_key(tables, 2 * size, tables[2 * place], tables[2 * place + 1])
        size, words = 2 * size, 2 * words
    _put_key(tables, size, low, _entry_of(high, infoset))
    publish_word(expansion, NUM_BLOCK_WORDS, words)


@kernel
def _put_key(tables, size, low, entry):
    place = low & (size - 1)
    while tables[2 * (size + place) + 1] != 0:
        place = (place + 1) & (size - 1)
    tables[2 * (size + place)] = low
    publish_word(tables, 2 * (size + place) + 1, entry)
