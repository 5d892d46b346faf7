"""The words of a game that is traversed by rules: those that lead kernels to its arrays, and each thread's own.

A thread's words are the outcomes of the open and of the moved node, payoffs, actions, what `look` writes, whose
traversal it is, and rows. A row is a node: the state, each player's last slot and last action, the infoset of the
player to move, and the address of the row after it and its siblings. The words of `TreeArrays.expansion` that follow
those of `successors` hold the addresses.
"""

import numba
import numpy as np

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import pointer
from mccfr_plus.kernels.slots import Constant
from mccfr_plus.trees.by_rules.frames import NUM_SYMMETRIES
from mccfr_plus.trees.by_rules.rule_slots import RULE_OUTCOMES, keep_possible
from mccfr_plus.trees.by_rules.successors import NUM_BLOCK_WORDS
from mccfr_plus.trees.expansion import MAX_SLOTS, SLOT_ACTIONS
from mccfr_plus.trees.scratch import at

# Further words of `TreeArrays.expansion`.
(
    ROWS,  # address of all threads' rows
    BYTES_PER_THREAD,
    PARAMETERS,  # addresses of what the rules' kernels get,
    TABLE_OF_RULES,
    FIRST_STATE,
    FIRST_UNIFORM,  # first of the last slots, which are no infoset's; see `new_infosets.uniform_infoset`
    NUM_PARAMETERS,
    NUM_TABLE,
    PLACES,  # address of which entries of what `look` writes make an information state
    NUM_PLACES,
    NUM_PRIOR,  # infosets of the policy that new infosets take their strategy from; 0: it is uniform
    PRIOR_RANGE,  # addresses of its arrays, as in `KeyedTable`: the first infoset of each player,
    PRIOR_KEYS,
    PRIOR_FIRST,
    PRIOR_PROBABILITIES,
    SYMMETRIES,  # address of what `frames` reads
    THREADS,  # threads that make one gradient together
    PATHS,  # where in a thread's words those of `histories` begin, in bytes
    MAX_DEPTH,
    NUM_HISTORIES,  # of the game, once they are counted
    NUM_OPENINGS,  # 0: chance's outcomes are followed one by one
    NUM_ABOVE,  # histories before them
    OPENING_STATES,  # addresses of the arrays of `Openings`
    OPENING_CHANCE,
    OPENING_COUNTS,
    MATRIX,  # addresses of the parts of the `payoff_matrix`, or 0 where there is none; its number of entries; its bits
) = range(NUM_BLOCK_WORDS + 1, NUM_BLOCK_WORDS + 27)
NUM_WORDS = MATRIX + 5

# The sizes of a game.
STATE_SIZE = Constant("STATE_SIZE", 1, "Words of a state.")
NUM_PLAYERS = Constant("NUM_PLAYERS", 2, "Number of players.")
MAX_ACTIONS = Constant("MAX_ACTIONS", 1, "Legal actions, at most.")
MAX_OUTCOMES = Constant("MAX_OUTCOMES", 1, "Outcomes of a chance node, at most.")
VIEW_SIZE = Constant("VIEW_SIZE", 1, "Entries that `look` writes.")
OPEN, MOVED = 0, 1  # lists of outcomes: those of the node that was opened last, and of the one that was moved last
_LOW = 0xFFFFFFFF  # the lower half of a word


@inline_kernel
def pair(low, high):
    """Returns two numbers in one word; the lower one must not be negative."""
    return np.int64(high) << 32 | np.int64(low)


@inline_kernel
def low_of(word):
    """Returns the lower number of a pair."""
    return word & _LOW


@inline_kernel
def high_of(word):
    """Returns the higher number of a pair."""
    return word >> 32


@inline_kernel
def words_per_row():
    """Returns the length of a row.

    These are the state, a pair of last slot and action per player, a pair for the infoset, the end of the row and its
    siblings, and a frame per player.
    """
    return STATE_SIZE() + NUM_PLAYERS() + 2 + (NUM_PLAYERS() if NUM_SYMMETRIES() > 1 else 0)


@inline_kernel
def place_of_last(player):
    """Returns where in a row a player's last slot and action stand."""
    return at(STATE_SIZE() + player)


@inline_kernel
def place_of_infoset():
    """Returns where in a row the infoset of the player to move stands."""
    return at(STATE_SIZE() + NUM_PLAYERS())


@inline_kernel
def place_of_end():
    """Returns where in a row the address of the row after it and its siblings stands."""
    return at(STATE_SIZE() + NUM_PLAYERS() + 1)


@inline_kernel
def place_of_frame(player):
    """Returns where in a row a player's frame stands."""
    return at(STATE_SIZE() + NUM_PLAYERS() + 2 + player)


@inline_kernel
def words_before_rows():
    """Returns how many words a thread has before its rows."""
    return 4 * MAX_OUTCOMES() + NUM_PLAYERS() + MAX_ACTIONS() + VIEW_SIZE() + 1


@inline_kernel
def own_words(tree, scratch):
    """Returns the address of a thread's words."""
    return tree.expansion[ROWS] + scratch.counts[0]["thread"] * tree.expansion[BYTES_PER_THREAD]


@inline_kernel
def row_at(address):
    """Returns the row at an address."""
    return numba.carray(pointer(address), words_per_row(), np.int64)


@inline_kernel
def state_at(address):
    """Returns the state of the row at an address."""
    return numba.carray(pointer(address), STATE_SIZE(), np.int64)


@inline_kernel
def outcomes_of(tree, scratch, number):
    """Returns the outcomes and probabilities of row 0 or 1."""
    address = own_words(tree, scratch) + 16 * MAX_OUTCOMES() * number
    actions = numba.carray(pointer(address), MAX_OUTCOMES(), np.int64)
    return actions, numba.carray(pointer(address + 8 * MAX_OUTCOMES()), MAX_OUTCOMES(), np.float64)


@inline_kernel
def outcome_probabilities(tree, scratch):
    """Returns the probabilities of the moved node's outcomes."""
    return outcomes_of(tree, scratch, MOVED)[1]


@inline_kernel
def payoffs_of(tree, scratch):
    """Returns room for the payoffs of a leaf."""
    return numba.carray(pointer(own_words(tree, scratch) + 32 * MAX_OUTCOMES()), NUM_PLAYERS(), np.float64)


@inline_kernel
def actions_of(tree, scratch):
    """Returns room for legal actions."""
    address = own_words(tree, scratch) + 32 * MAX_OUTCOMES() + 8 * NUM_PLAYERS()
    return numba.carray(pointer(address), MAX_ACTIONS(), np.int64)


@inline_kernel
def view_of(tree, scratch):
    """Returns room for what `look` writes."""
    address = own_words(tree, scratch) + 32 * MAX_OUTCOMES() + 8 * (NUM_PLAYERS() + MAX_ACTIONS())
    return numba.carray(pointer(address), VIEW_SIZE(), np.int64)


@inline_kernel
def traverser_of(tree, scratch):
    """Returns whose infosets are numbered, as an array of one number; `ALL_PLAYERS` for all."""
    return numba.carray(pointer(own_words(tree, scratch) + 8 * (words_before_rows() - 1)), 1, np.int64)


@inline_kernel
def parameters_of(tree):
    """Returns the whole numbers that the rules' kernels get."""
    return numba.carray(pointer(tree.expansion[PARAMETERS]), tree.expansion[NUM_PARAMETERS], np.int64)


@inline_kernel
def table_of(tree):
    """Returns the real numbers that they get."""
    return numba.carray(pointer(tree.expansion[TABLE_OF_RULES]), tree.expansion[NUM_TABLE], np.float64)


@inline_kernel
def slot_actions_of(expansion):
    """Returns the action of each slot."""
    return numba.carray(pointer(expansion[SLOT_ACTIONS]), expansion[MAX_SLOTS], np.int32)


@inline_kernel
def symmetries_of(expansion):
    """Returns what `frames` reads."""
    return numba.carray(pointer(expansion[SYMMETRIES]), 1, np.int64)  # kernels do not check lengths


@inline_kernel
def find_outcomes(tree, scratch, state, number):
    """Lists the outcomes of positive probability for row 0 or 1, and returns how many there are."""
    actions, probabilities = outcomes_of(tree, scratch, number)
    given = RULE_OUTCOMES(parameters_of(tree), table_of(tree), state, actions, probabilities)
    return keep_possible(actions, probabilities, given)
