"""What the rules of a game must say for a traversal that stores no history, and the memory of its tree."""

from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import compiled_rules, why_no_rules
from mccfr_plus.trees.arrays import INFOSET
from mccfr_plus.trees.by_rules.successors import bits_of_codes
from mccfr_plus.trees.info_states import KEY_BYTES

WORD = 8  # bytes of a word of the table of successors
_MOST_CODES_BY_WORD = 2  # of a slot: so many have a word each


def can_be_implicit(game: RulesGame) -> bool:
    """Returns whether a game's rules are enough to traverse it without storing histories."""
    sizes = game.sizes
    most_codes = max(sizes.max_observations, sizes.max_first_observations)
    has_room = (most_codes - 1).bit_length() <= bits_of_codes(sizes.num_distinct_actions)
    # With imperfect recall, infosets that a player has come to by different ways would be kept apart.
    return sizes.perfect_recall and game.rules.observe is not None and has_room


def rules_to_traverse(game: pyspiel.Game, symmetry: bool = False) -> RulesGame:
    """Returns the compiled rules that a game is traversed by.

    Raises:
        ConfigError: If there are none, or they say too little, or they must name symmetries and do not.
    """
    rules = compiled_rules(game)
    if rules is None:
        raise ConfigError(f"tree='rules': {why_no_rules(game)} Use tree='compiled' or tree='lazy'.")
    if not rules.sizes.perfect_recall:
        raise ConfigError(f"tree='rules': players of {game} have imperfect recall. Use tree='compiled' or tree='lazy'.")
    if not can_be_implicit(rules):
        raise ConfigError(
            f"tree='rules': the rules of {game} do not say what a player has learned since its last action (the kernel "
            "`observe`, see mccfr_plus.games.rules), or with too large numbers. Use tree='compiled' or tree='lazy'."
        )
    if symmetry and len(rules.sizes.symmetries) < 2:
        raise ConfigError(
            f"symmetry=True: the rules of {game} name no symmetries, as those of phantom_ttt and dark_hex do: leave it "
            "out."
        )
    return rules


class TreeBytes(NamedTuple):
    """The memory of a tree by rules."""

    infoset: int  # without its slots
    slot: int


def tree_bytes(game: RulesGame) -> TreeBytes:
    """Returns the memory of the tree of a game."""
    action = np.dtype(np.int32).itemsize
    return TreeBytes(INFOSET.itemsize + KEY_BYTES, action + (WORD << log_words_per_slot(game)))


def log_words_per_slot(game: RulesGame) -> int:
    """Returns the logarithm of the words of the table of successors per slot."""
    codes = game.sizes.max_observations
    return 0 if codes > _MOST_CODES_BY_WORD else (codes - 1).bit_length()
