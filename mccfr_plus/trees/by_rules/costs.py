"""The memory of a game that is traversed by its rules, in bytes."""

from mccfr_plus.games.game import RulesGame
from mccfr_plus.trees.arrays import INFOSET
from mccfr_plus.trees.by_rules.requirements import WORD, uses_numbers

_KEY_COST = 16
_ACTION = 4  # of a slot
MOST_CODES_BY_WORD = 2  # of a slot: so many have a word each


def infoset_cost() -> int:
    """Returns the bytes of an infoset without its slots."""
    return INFOSET.itemsize + _KEY_COST


def slot_cost(game: RulesGame) -> int:
    """Returns the bytes of a slot in the tree."""
    return _ACTION + (0 if uses_numbers(game) else WORD << log_words_per_slot(game))


def log_words_per_slot(game: RulesGame) -> int:
    """Returns the logarithm of the words of the table of successors per slot."""
    codes = game.sizes.max_observations
    return 0 if uses_numbers(game) or codes > MOST_CODES_BY_WORD else (codes - 1).bit_length()


def fixed_cost(game: RulesGame) -> int:
    """Returns the bytes of the table of successors, if its length does not depend on what is found."""
    return WORD * game.sizes.num_players * game.sizes.max_infosets if uses_numbers(game) else 0
