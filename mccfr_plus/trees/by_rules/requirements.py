"""What the rules of a game must say, for a traversal that stores no history."""

import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import compiled_rules, why_no_rules
from mccfr_plus.trees.by_rules.successors import bits_of_codes

WORD = 8  # bytes of a word of the table of successors
_MOST_BYTES_OF_NUMBERS = 1 << 28


def uses_numbers(game: RulesGame) -> bool:
    """Returns whether infosets are found by the numbers that the rules give them, and not by what players learn.

    A table of all numbers is touched here and there, so that a large one takes a page of memory per infoset.
    """
    rules, sizes = game.rules, game.sizes
    is_small = WORD * sizes.num_players * sizes.max_infosets <= _MOST_BYTES_OF_NUMBERS
    return rules.infoset_number is not None and (is_small or rules.observe is None)


def can_be_implicit(game: RulesGame) -> bool:
    """Returns whether a game's rules are enough to traverse it without storing histories."""
    if not game.sizes.perfect_recall:  # infosets that a player has come to by different ways would be kept apart
        return False
    rules, sizes = game.rules, game.sizes
    if uses_numbers(game):
        return True
    most_codes = max(sizes.max_observations, sizes.max_first_observations)
    has_room = (most_codes - 1).bit_length() <= bits_of_codes(sizes.num_distinct_actions)
    return rules.observe is not None and has_room


def rules_to_traverse(game: pyspiel.Game) -> RulesGame:
    """Returns the compiled rules that a game is traversed by.

    Raises:
        ConfigError: If there are none, or not enough of them.
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
    return rules
