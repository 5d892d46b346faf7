"""Positions of a game with compiled rules, in the place of stored nodes: the functions of `access` for them.

A node is a row of words that belongs to a thread: the state, each player's last slot and last action, and the infoset
of the player to move. Row 0 is the open node, row 1 the root and what it becomes as it is moved on, then come the
children of the open node, of which one is moved on, and the others wait on the stack. So a history takes no memory once
it has been visited.

All children are made when their parent is opened, and what their infosets have in memory is fetched then, in parallel:
DRAM takes hundreds of nanoseconds to answer, which is longer than all that is computed at a node.

Infosets are numbered when they are first met, or only those of the player for whom a traversal is made: the others'
strategy is uniform before their own traversals have come to an infoset, and no table needs a place for it. `observe`,
of the game's rules, tells what a player has learned since its own last action, as a small number, and `successors`
leads from a slot and such a number to the infoset that follows. With `infoset_number` the rules give the place in that
table themselves.

The words of `TreeArrays.expansion` that follow those of `successors` hold the addresses.
"""

import numba
import numpy as np

from mccfr_plus.games.rules import CHANCE as CHANCE_MOVES
from mccfr_plus.games.rules import MOVER
from mccfr_plus.games.rules import TERMINAL as GAME_OVER
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import load_word, pointer, prefetch, publish_word, swap_word, unlikely
from mccfr_plus.kernels.scratch import THREAD
from mccfr_plus.tree.access import ALL_PLAYERS
from mccfr_plus.tree.arrays import CHANCE, INFOSET, TERMINAL
from mccfr_plus.tree.expansion import (
    EXPANDING,
    INFOSET_COST,
    INFOSETS,
    INFOSETS_FULL,
    KEYS,
    LOCK,
    MAX_COST,
    MAX_INFOSETS,
    MAX_SLOTS,
    NUM_INFOSETS,
    NUM_SLOTS,
    ONES,
    SELF,
    SLOT_ACTIONS,
    SLOT_COST,
    STATUS,
    STRATEGY,
)
from mccfr_plus.tree.frames import (
    NUM_SYMMETRIES,
    after,
    canonical_actions,
    draw_turn,
    element_of,
    first_frame,
    inverse,
    orbit_size,
    stabilizer_of,
    turn_view,
    turned,
)
from mccfr_plus.tree.rules_keys import key_of_view
from mccfr_plus.tree.rules_traversal import (
    keep_possible,
    rule_apply,
    rule_legal,
    rule_look,
    rule_outcomes,
    rule_returns,
)
from mccfr_plus.tree.successors import NUM_BLOCK_WORDS, enter, fetch_word, find, num_words

# Further words of `TreeArrays.expansion`.
(
    ROWS,  # address of all threads' rows
    BYTES_PER_THREAD,
    PARAMETERS,  # addresses of what the rules' kernels get,
    TABLE_OF_RULES,
    FIRST_STATE,
    FIRST_UNIFORM,  # first of the last slots, which are no infoset's; see `_uniform_infoset`
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

# What a game's sizes are, composed in.
STATE_SIZE, NUM_PLAYERS, MAX_ACTIONS, MAX_OUTCOMES, VIEW_SIZE, NUM_NUMBERS = 1, 2, 1, 1, 1, 0

OPEN, MOVED, FIRST_CHILD = 0, 1, 2
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
def rule_observe(parameters, table, state, player, action):
    """Stands for the game's `observe`."""
    return 0


@inline_kernel
def rule_number(parameters, table, state, player):
    """Stands for the game's `infoset_number`."""
    return 0


# --- a thread's words: outcomes of the open and of the moved node, payoffs, actions, view, the traverser; its rows ---


@inline_kernel
def first_waiting():
    """Returns the number of the first row that waits."""
    return FIRST_CHILD + max(MAX_ACTIONS, MAX_OUTCOMES)


@inline_kernel
def words_per_row():
    """Returns the length of a row.

    These are the state, a pair of last slot and action per player, a pair for the infoset, and a frame per player.
    """
    return STATE_SIZE + NUM_PLAYERS + 1 + (NUM_PLAYERS if NUM_SYMMETRIES > 1 else 0)


@inline_kernel
def place_of_frame(player):
    """Returns where in a row a player's frame stands."""
    return STATE_SIZE + NUM_PLAYERS + 1 + player


@inline_kernel
def words_before_rows():
    """Returns how many words a thread has before its rows."""
    return 4 * MAX_OUTCOMES + NUM_PLAYERS + MAX_ACTIONS + VIEW_SIZE + 1


@inline_kernel
def own_words(tree, scratch):
    return tree.expansion[ROWS] + scratch.counts[THREAD] * tree.expansion[BYTES_PER_THREAD]


@inline_kernel
def _row(tree, scratch, number):
    address = own_words(tree, scratch) + 8 * (words_before_rows() + number * words_per_row())
    return numba.carray(pointer(address), words_per_row(), np.int64)


@inline_kernel
def _state_of(row):
    return row[:STATE_SIZE]


@inline_kernel
def outcomes_of(tree, scratch, number):
    """Returns the outcomes and probabilities of row 0 or 1."""
    address = own_words(tree, scratch) + 16 * MAX_OUTCOMES * number
    actions = numba.carray(pointer(address), MAX_OUTCOMES, np.int64)
    return actions, numba.carray(pointer(address + 8 * MAX_OUTCOMES), MAX_OUTCOMES, np.float64)


@inline_kernel
def outcome_probabilities(tree, scratch):
    """Returns the probabilities of the moved node's outcomes."""
    return outcomes_of(tree, scratch, MOVED)[1]


@inline_kernel
def payoffs_of(tree, scratch):
    return numba.carray(pointer(own_words(tree, scratch) + 32 * MAX_OUTCOMES), NUM_PLAYERS, np.float64)


@inline_kernel
def actions_of(tree, scratch):
    address = own_words(tree, scratch) + 32 * MAX_OUTCOMES + 8 * NUM_PLAYERS
    return numba.carray(pointer(address), MAX_ACTIONS, np.int64)


@inline_kernel
def _view(tree, scratch):
    address = own_words(tree, scratch) + 32 * MAX_OUTCOMES + 8 * (NUM_PLAYERS + MAX_ACTIONS)
    return numba.carray(pointer(address), VIEW_SIZE, np.int64)


@inline_kernel
def _traverser_of(tree, scratch):
    """Returns whose infosets are numbered, as an array of one number; `ALL_PLAYERS` for all."""
    return numba.carray(pointer(own_words(tree, scratch) + 8 * (words_before_rows() - 1)), 1, np.int64)


@inline_kernel
def parameters_of(tree):
    return numba.carray(pointer(tree.expansion[PARAMETERS]), tree.expansion[NUM_PARAMETERS], np.int64)


@inline_kernel
def table_of(tree):
    return numba.carray(pointer(tree.expansion[TABLE_OF_RULES]), tree.expansion[NUM_TABLE], np.float64)


@inline_kernel
def _slot_actions(expansion):
    return numba.carray(pointer(expansion[SLOT_ACTIONS]), expansion[MAX_SLOTS], np.int32)


@inline_kernel
def symmetries_of(expansion):
    """Returns what `frames` reads."""
    return numba.carray(pointer(expansion[SYMMETRIES]), 1, np.int64)  # kernels do not check lengths


@inline_kernel
def num_successor_words(max_slots):
    """Returns the length of the table of successors, without blocks. Players' empty sequences are the last slots."""
    return num_words(NUM_PLAYERS * NUM_NUMBERS if NUM_NUMBERS > 0 else max_slots + NUM_PLAYERS)


# --- the functions of `access` ---


@inline_kernel
def first_node(tree, scratch, player):
    """Returns the root, moved on; see `access.first_node`."""
    _traverser_of(tree, scratch)[0] = player
    row = _row(tree, scratch, MOVED)
    first = numba.carray(pointer(tree.expansion[FIRST_STATE]), STATE_SIZE, np.int64)
    for word in range(STATE_SIZE):
        row[word] = first[word]
    for player in range(NUM_PLAYERS):
        row[STATE_SIZE + player] = pair(tree.expansion[MAX_SLOTS] + player, -1)
        if NUM_SYMMETRIES > 1:
            row[place_of_frame(player)] = first_frame()
    row[STATE_SIZE + NUM_PLAYERS] = 0
    return MOVED


@inline_kernel
def head(tree, scratch, node):
    """Returns the kind and the number of children of the moved node; 0 children if its infoset has no room."""
    row = _row(tree, scratch, node)
    state = _state_of(row)
    mover = state[MOVER]
    if mover == GAME_OVER:
        return TERMINAL, 0
    if mover == CHANCE_MOVES:
        return CHANCE, find_outcomes(tree, scratch, state, MOVED)
    found = row[STATE_SIZE + NUM_PLAYERS]
    if found == 0:  # or it was found when the parent was opened
        traverser = _traverser_of(tree, scratch)[0]
        if traverser in (mover, ALL_PLAYERS):
            found = infoset_at(tree, scratch, row, state, mover)
        else:
            found = _known_infoset(tree, row, state, mover)
            if found == 0:
                found = _uniform_infoset(tree, scratch, state)
        _fetch_infoset(tree, scratch, found)
    if found == 0 or load_word(tree.expansion, STATUS) != EXPANDING:
        return mover, 0
    row[STATE_SIZE + NUM_PLAYERS] = found
    return mover, high_of(found)


@inline_kernel
def payload_of(tree, scratch, node):
    """Returns the first slot of the moved node's infoset."""
    return low_of(_row(tree, scratch, node)[STATE_SIZE + NUM_PLAYERS])


@inline_kernel
def step(tree, scratch, node, payload, index):
    """Moves the node on to a child."""
    _move(tree, scratch, _row(tree, scratch, node), payload, index, MOVED)
    return node


@inline_kernel
def payoff(tree, scratch, node, player):
    """Returns a player's payoff at the moved node."""
    payoffs = payoffs_of(tree, scratch)
    for each in range(NUM_PLAYERS):
        payoffs[each] = 0.0
    rule_returns(parameters_of(tree), table_of(tree), _state_of(_row(tree, scratch, node)), payoffs)
    return payoffs[player]


@inline_kernel
def keep(tree, scratch, node, position):
    """Copies the moved node to a row that waits, and returns that row's number."""
    _copy(tree, scratch, node, first_waiting() + position)
    row = _row(tree, scratch, node)
    for player in range(NUM_PLAYERS):
        fetch_word(tree.expansion, low_of(row[STATE_SIZE + player]))
    return first_waiting() + position


@inline_kernel
def resume(tree, scratch, kept):
    """Returns a node that has waited, as the moved one."""
    _copy(tree, scratch, kept, MOVED)
    return MOVED


@inline_kernel
def reopen(tree, scratch, kept):
    """Opens a node that has waited, and makes its children; see `access.reopen`."""
    _copy(tree, scratch, kept, OPEN)
    row = _row(tree, scratch, OPEN)
    mover = row[MOVER]
    if mover == CHANCE_MOVES:
        kind, count, payload = np.int64(CHANCE), find_outcomes(tree, scratch, _state_of(row), OPEN), np.int64(0)
    else:
        found = row[STATE_SIZE + NUM_PLAYERS]
        kind, count, payload = mover, high_of(found), low_of(found)
        if payload >= tree.expansion[FIRST_UNIFORM]:
            _uniform_infoset(tree, scratch, _state_of(row))  # lists the actions
    for index in range(count):
        _make_child(tree, scratch, payload, index)
    return kind, count, payload, OPEN


@inline_kernel
def _make_child(tree, scratch, payload, index):
    """Makes a child of the open node, and fetches what is known of its infoset."""
    _copy(tree, scratch, OPEN, FIRST_CHILD + index)
    row = _row(tree, scratch, FIRST_CHILD + index)
    _move(tree, scratch, row, payload, index, OPEN)
    state = _state_of(row)
    if state[MOVER] >= 0:
        found = _known_infoset(tree, row, state, state[MOVER])
        row[STATE_SIZE + NUM_PLAYERS] = found
        _fetch_infoset(tree, scratch, found)


@inline_kernel
def child_of(tree, scratch, opened, payload, index):
    """Returns a child of the open node, as the moved one."""
    return FIRST_CHILD + index


@inline_kernel
def outcome_probability(tree, scratch, payload, index):
    """Returns the probability of an outcome of the open node."""
    return outcomes_of(tree, scratch, OPEN)[1][index]


@inline_kernel
def fetch_ahead(array, index):
    """Begins to fetch an entry of a large array."""
    prefetch(array, index)


@inline_kernel
def cannot_expand(expansion, node, thread):
    """Takes the place of `expand`: what is unknown here stays so until there is room. Returns False."""
    return False


@inline_kernel
def _copy(tree, scratch, source, target):
    old, new = _row(tree, scratch, source), _row(tree, scratch, target)
    for word in range(words_per_row()):
        new[word] = old[word]


@inline_kernel
def _move(tree, scratch, row, payload, index, outcomes):
    """Plays an action, or the outcome of chance that is listed for a row. `row` is modified in place."""
    state = _state_of(row)
    mover = state[MOVER]
    if mover == CHANCE_MOVES:
        action = outcomes_of(tree, scratch, outcomes)[0][index]
    else:
        slot = np.int64(payload + index)
        if payload < tree.expansion[FIRST_UNIFORM]:
            action = np.int64(_slot_actions(tree.expansion)[slot])
            if NUM_SYMMETRIES > 1:
                action = _turn(tree, scratch, row, mover, action)
        else:
            action = actions_of(tree, scratch)[index]
        row[STATE_SIZE + mover] = pair(slot, action)
    rule_apply(parameters_of(tree), table_of(tree), state, action)
    row[STATE_SIZE + NUM_PLAYERS] = 0


@inline_kernel
def _turn(tree, scratch, row, mover, action):
    """Returns the action that is played for one of an infoset, and turns the player's frame with it."""
    symmetries, frame, element = symmetries_of(tree.expansion), row[place_of_frame(mover)], np.int64(0)
    if stabilizer_of(frame) > 1:
        element = draw_turn(symmetries, frame, scratch.rng)
    row[place_of_frame(mover)] = after(symmetries, frame, element, action)
    return turned(symmetries, inverse(symmetries, element_of(row[place_of_frame(mover)])), action)


@inline_kernel
def find_outcomes(tree, scratch, state, number):
    """Lists the outcomes of positive probability for row 0 or 1, and returns how many there are."""
    actions, probabilities = outcomes_of(tree, scratch, number)
    given = rule_outcomes(parameters_of(tree), table_of(tree), state, actions, probabilities)
    return keep_possible(actions, probabilities, given)


# --- infosets ---


@inline_kernel
def _place_of(tree, row, state, player):
    """Returns slot and code that lead to the infoset of a row's player to move; see `successors`."""
    if NUM_NUMBERS > 0:
        number = rule_number(parameters_of(tree), table_of(tree), state, player)
        return np.int64(player * NUM_NUMBERS + number), np.int64(0)
    last = row[STATE_SIZE + player]
    code = rule_observe(parameters_of(tree), table_of(tree), state, player, high_of(last))
    return low_of(last), np.int64(code)


@inline_kernel
def _known_infoset(tree, row, state, player):
    """Returns the infoset of a row's player to move, or 0 if it has no number."""
    last = low_of(row[STATE_SIZE + player])
    if NUM_NUMBERS == 0 and tree.expansion[FIRST_UNIFORM] <= last < tree.expansion[MAX_SLOTS]:
        return np.int64(0)
    slot, code = _place_of(tree, row, state, player)
    return find(tree.expansion, slot, code)


@inline_kernel
def _uniform_infoset(tree, scratch, state):
    """Returns what stands for an infoset without a number: slots with a uniform strategy. Lists its actions.

    There are such slots for every number of actions; see `num_uniform`.
    """
    count = np.int64(rule_legal(parameters_of(tree), table_of(tree), state, actions_of(tree, scratch)))
    return pair(tree.expansion[FIRST_UNIFORM] + num_uniform(count - 1), count)


@inline_kernel
def num_uniform(count):
    """Returns how many slots there are for up to so many actions, of which each number has slots of its own."""
    return count * (count + 1) // 2


@inline_kernel
def infoset_at(tree, scratch, row, state, player):
    """Returns the infoset of a row's player to move, a pair of first slot and actions; 0 if there is no room for it."""
    slot, code = _place_of(tree, row, state, player)
    found = find(tree.expansion, slot, code)
    if unlikely(found == 0):
        found = new_infoset(tree, scratch, row, player, slot, code)
    return found


@inline_kernel
def _fetch_infoset(tree, scratch, infoset):
    """Begins to fetch what traversals read of an infoset."""
    first = low_of(infoset)
    prefetch(numba.carray(pointer(tree.expansion[STRATEGY]), tree.expansion[MAX_SLOTS], np.float64), first)
    prefetch(_slot_actions(tree.expansion), first)
    prefetch(scratch.mark, first)
    prefetch(scratch.gradient, first)
    fetch_word(tree.expansion, first)


@kernel
def new_infoset(tree, scratch, row, player, slot, code):
    """Numbers an infoset that is met for the first time. Returns it, or 0 if there is no room; see `infoset_at`.

    The arrays that ``tree.expansion`` points at are modified in place.
    """
    expansion = numba.carray(pointer(tree.expansion[SELF]), NUM_WORDS, np.int64)
    actions = actions_of(tree, scratch)
    num_legal = rule_legal(parameters_of(tree), table_of(tree), _state_of(row), actions)
    count, frame = num_legal, np.int64(0)
    if NUM_SYMMETRIES > 1:
        frame = row[place_of_frame(player)]
        count = canonical_actions(symmetries_of(expansion), frame, actions, num_legal)
    view = _view(tree, scratch)
    for index in range(VIEW_SIZE):
        view[index] = 0
    rule_look(parameters_of(tree), table_of(tree), _state_of(row), player, view)
    if NUM_SYMMETRIES > 1:
        places = numba.carray(pointer(expansion[PLACES]), expansion[NUM_PLACES], np.int64)
        turn_view(symmetries_of(expansion), frame, places, view)
    while swap_word(expansion, LOCK, 1) != 0:
        pass
    found = find(expansion, slot, code)
    if found == 0:
        found = _new_record(expansion, row, player, actions, count, num_legal, frame, view)
        if found != 0:
            enter(expansion, slot, code, found)
    publish_word(expansion, LOCK, 0)
    return found


@inline_kernel
def _new_record(expansion, row, player, actions, count, num_legal, frame, view):
    infoset, first = expansion[NUM_INFOSETS], expansion[NUM_SLOTS]
    cost = (infoset + 1) * expansion[INFOSET_COST] + (first + count) * expansion[SLOT_COST]
    cost += 8 * expansion[NUM_BLOCK_WORDS]
    if infoset == expansion[MAX_INFOSETS] or first + count > expansion[FIRST_UNIFORM] or cost > expansion[MAX_COST]:
        publish_word(expansion, STATUS, INFOSETS_FULL)
        return np.int64(0)
    record = numba.carray(pointer(expansion[INFOSETS]), expansion[MAX_INFOSETS], INFOSET)[infoset]
    record["first_slot"] = first
    record["num_actions"] = count
    record["parent_slot"] = low_of(row[STATE_SIZE + player])
    record["player"] = player
    keys = numba.carray(pointer(expansion[KEYS]), (expansion[MAX_INFOSETS], 2), np.int64)
    places = numba.carray(pointer(expansion[PLACES]), expansion[NUM_PLACES], np.int64)
    key_of_view(view, places, keys[infoset])
    slot_actions = _slot_actions(expansion)
    strategy = numba.carray(pointer(expansion[STRATEGY]), expansion[MAX_SLOTS], np.float64)
    for index in range(count):
        slot_actions[first + index] = np.int32(actions[index])
        strategy[first + index] = 1.0 / num_legal
        if NUM_SYMMETRIES > 1 and stabilizer_of(frame) > 1:
            strategy[first + index] *= orbit_size(symmetries_of(expansion), stabilizer_of(frame), actions[index])
    if expansion[NUM_PRIOR] > 0:
        _take_prior(expansion, player, keys[infoset], strategy, first, count)
    if expansion[ONES] != 0:
        numba.carray(pointer(expansion[ONES]), expansion[MAX_SLOTS], np.float64)[first] = 1.0
    expansion[NUM_INFOSETS] += 1
    expansion[NUM_SLOTS] += count
    return pair(first, count)


@kernel
def _take_prior(expansion, player, key, strategy, first, count):
    """Gives a new infoset the probabilities of the prior policy, if that has some. `strategy` is modified in place."""
    bounds = numba.carray(pointer(expansion[PRIOR_RANGE]), NUM_PLAYERS + 1, np.int64)
    keys = numba.carray(pointer(expansion[PRIOR_KEYS]), (expansion[NUM_PRIOR], 2), np.int64)
    starts = numba.carray(pointer(expansion[PRIOR_FIRST]), expansion[NUM_PRIOR] + 1, np.int64)
    low, high = bounds[player], bounds[player + 1]
    while low < high:
        middle = (low + high) // 2
        if keys[middle, 0] < key[0] or (keys[middle, 0] == key[0] and keys[middle, 1] < key[1]):
            low = middle + 1
        else:
            high = middle
    if low == bounds[player + 1] or keys[low, 0] != key[0] or keys[low, 1] != key[1]:
        return
    row = starts[low]
    if starts[low + 1] - row != count:
        return
    probabilities = numba.carray(pointer(expansion[PRIOR_PROBABILITIES]), starts[expansion[NUM_PRIOR]], np.float64)
    for index in range(count):
        strategy[first + index] = probabilities[row + index]
