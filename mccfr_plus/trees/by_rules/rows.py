"""What kernels read of a game that is traversed with compiled rules: its rules and sizes, and words of memory.

A thread's words are the outcomes of the open and of the moved node, payoffs, actions, what `look` writes, whose
traversal it is, and rows. A row is a node: the state, each player's last slot and last action, the infoset of the
player to move, the address of the row after it and its siblings, and each player's frame.
"""

from typing import Any

import numba
import numpy as np

from mccfr_plus.games.rules import Rules
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import pointer
from mccfr_plus.kernels.slots import Constant, optional_slot, required_slot
from mccfr_plus.trees.by_rules.frames import NUM_SYMMETRIES
from mccfr_plus.trees.by_rules.successors import NUM_BLOCK_WORDS
from mccfr_plus.trees.expansion import MAX_SLOTS, SLOT_ACTIONS, STRATEGY
from mccfr_plus.trees.scratch import at

# Further words of `TreeArrays.expansion`, after those of `successors`.
(
    ROWS,  # address of all threads' rows
    BYTES_PER_THREAD,
    PARAMETERS,  # addresses of what the rules' kernels get,
    TABLE_OF_RULES,
    FIRST_STATE,
    FIRST_UNIFORM,  # first of the last slots, which are no infoset's; see `positions.head`
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

STATE_SIZE = Constant("STATE_SIZE", 1, "Words of a state.")
NUM_PLAYERS = Constant("NUM_PLAYERS", 2, "Number of players.")
MAX_ACTIONS = Constant("MAX_ACTIONS", 1, "Legal actions, at most.")
MAX_OUTCOMES = Constant("MAX_OUTCOMES", 1, "Outcomes of a chance node, at most.")
VIEW_SIZE = Constant("VIEW_SIZE", 1, "Entries that `look` writes.")
OPEN, MOVED = 0, 1  # lists of outcomes: those of the node that was opened last, and of the one that was moved last


# The kernels of a game's rules; see `mccfr_plus.games.rules`.
@required_slot
def RULE_LEGAL(parameters, table, state, actions): ...
@required_slot
def RULE_APPLY(parameters, table, state, action): ...
@required_slot
def RULE_RETURNS(parameters, table, state, payoffs): ...
@required_slot
def RULE_LOOK(parameters, table, state, player, view): ...


@optional_slot
def RULE_OBSERVE(parameters, table, state, player, action):
    return 0


@optional_slot
def RULE_OUTCOMES(parameters, table, state, actions, probabilities):
    return 0


def kernels_of(rules: Rules) -> dict[Any, Any]:
    """Returns a game's kernels by the slots that they fill, without `observe`."""
    kernels = {RULE_LEGAL: rules.legal, RULE_APPLY: rules.apply, RULE_RETURNS: rules.returns, RULE_LOOK: rules.look}
    return kernels if rules.outcomes is None else {**kernels, RULE_OUTCOMES: rules.outcomes}


@inline_kernel
def keep_possible(actions, probabilities, given):
    """Drops outcomes of probability 0, which would be histories that no play reaches. Returns how many are left."""
    count = 0
    for index in range(given):
        if probabilities[index] > 0.0:
            actions[count], probabilities[count] = actions[index], probabilities[index]
            count += 1
    return count


@inline_kernel
def pair(low, high):
    """Returns two numbers in one word, of which `low` is not negative."""
    return np.int64(high) << 32 | np.int64(low)


@inline_kernel
def low_of(word):
    return word & 0xFFFFFFFF


@inline_kernel
def high_of(word):
    return word >> 32


@inline_kernel
def words_per_row():
    return STATE_SIZE() + NUM_PLAYERS() + 2 + (NUM_PLAYERS() if NUM_SYMMETRIES() > 1 else 0)


@inline_kernel
def place_of_last(player):
    return at(STATE_SIZE() + player)


@inline_kernel
def place_of_infoset():
    return at(STATE_SIZE() + NUM_PLAYERS())


@inline_kernel
def place_of_end():
    return at(STATE_SIZE() + NUM_PLAYERS() + 1)


@inline_kernel
def place_of_frame(player):
    return at(STATE_SIZE() + NUM_PLAYERS() + 2 + player)


@inline_kernel
def words_before_rows():
    return 4 * MAX_OUTCOMES() + NUM_PLAYERS() + MAX_ACTIONS() + VIEW_SIZE() + 1


@inline_kernel
def own_words(tree, scratch):
    return tree.expansion[ROWS] + scratch.counts[0]["thread"] * tree.expansion[BYTES_PER_THREAD]


@inline_kernel
def row_at(address):
    return numba.carray(pointer(address), words_per_row(), np.int64)


@inline_kernel
def state_at(address):
    return numba.carray(pointer(address), STATE_SIZE(), np.int64)


@inline_kernel
def outcomes_of(tree, scratch, number):
    """Returns the outcomes and probabilities of `OPEN` or `MOVED`."""
    address = own_words(tree, scratch) + 16 * MAX_OUTCOMES() * number
    actions = numba.carray(pointer(address), MAX_OUTCOMES(), np.int64)
    return actions, numba.carray(pointer(address + 8 * MAX_OUTCOMES()), MAX_OUTCOMES(), np.float64)


@inline_kernel
def payoffs_of(tree, scratch):
    return numba.carray(pointer(own_words(tree, scratch) + 32 * MAX_OUTCOMES()), NUM_PLAYERS(), np.float64)


@inline_kernel
def actions_of(tree, scratch):
    address = own_words(tree, scratch) + 32 * MAX_OUTCOMES() + 8 * NUM_PLAYERS()
    return numba.carray(pointer(address), MAX_ACTIONS(), np.int64)


@inline_kernel
def view_of(tree, scratch, state, player):
    """Returns what `look` writes for a player."""
    address = own_words(tree, scratch) + 32 * MAX_OUTCOMES() + 8 * (NUM_PLAYERS() + MAX_ACTIONS())
    view = numba.carray(pointer(address), VIEW_SIZE(), np.int64)
    for index in range(VIEW_SIZE()):
        view[at(index)] = 0
    RULE_LOOK(parameters_of(tree), table_of(tree), state, player, view)
    return view


@inline_kernel
def places_of(expansion):
    """Returns which entries of what `look` writes make an information state."""
    return numba.carray(pointer(expansion[PLACES]), expansion[NUM_PLACES], np.int64)


@inline_kernel
def traverser_of(tree, scratch):
    """Returns whose infosets are numbered, as an array of one number; `ALL_PLAYERS` for all."""
    return numba.carray(pointer(own_words(tree, scratch) + 8 * (words_before_rows() - 1)), 1, np.int64)


@inline_kernel
def parameters_of(tree):
    return numba.carray(pointer(tree.expansion[PARAMETERS]), tree.expansion[NUM_PARAMETERS], np.int64)


@inline_kernel
def table_of(tree):
    return numba.carray(pointer(tree.expansion[TABLE_OF_RULES]), tree.expansion[NUM_TABLE], np.float64)


@inline_kernel
def slot_actions_of(expansion):
    return numba.carray(pointer(expansion[SLOT_ACTIONS]), expansion[MAX_SLOTS], np.int32)


@inline_kernel
def first_strategy_of(expansion):
    """Returns what infosets play at first, of each slot."""
    return numba.carray(pointer(expansion[STRATEGY]), expansion[MAX_SLOTS], np.float64)


@inline_kernel
def symmetries_of(expansion):
    return numba.carray(pointer(expansion[SYMMETRIES]), 1, np.int64)  # kernels do not check lengths


@inline_kernel
def find_outcomes(tree, scratch, state, number):
    """Lists the outcomes of positive probability, and returns how many there are."""
    actions, probabilities = outcomes_of(tree, scratch, number)
    given = RULE_OUTCOMES(parameters_of(tree), table_of(tree), state, actions, probabilities)
    return keep_possible(actions, probabilities, given)
