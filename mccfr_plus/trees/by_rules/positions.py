"""Positions of a game with compiled rules, in the place of stored nodes: the functions of `access` for them.

A node is the address of a row of words that belongs to a thread: the state, each player's last slot and last action,
and the infoset of the player to move. The first row is the root; the children of a node that is opened take the rows
after those that wait. A node is moved on, and waits, where it was made. So a history takes no memory once it has been
visited.

All children are made when their parent is opened, and what their infosets have in memory is fetched then, in parallel:
DRAM takes hundreds of nanoseconds to answer, which is longer than all that is computed at a node.
"""

import numba
import numpy as np

from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import load_word, pointer
from mccfr_plus.trees.access import ALL_PLAYERS
from mccfr_plus.trees.by_rules.frames import (
    NUM_SYMMETRIES,
    after,
    draw_turn,
    element_of,
    first_frame,
    inverse,
    stabilizer_of,
    turned,
)
from mccfr_plus.trees.by_rules.new_infosets import fetch_infoset, infoset_at, known_infoset, uniform_infoset
from mccfr_plus.trees.by_rules.rows import (
    FIRST_STATE,
    FIRST_UNIFORM,
    MOVED,
    NUM_PLAYERS,
    OPEN,
    STATE_SIZE,
    actions_of,
    find_outcomes,
    high_of,
    low_of,
    outcomes_of,
    own_words,
    pair,
    parameters_of,
    payoffs_of,
    place_of_end,
    place_of_frame,
    place_of_infoset,
    place_of_last,
    row_at,
    slot_actions_of,
    state_at,
    symmetries_of,
    table_of,
    traverser_of,
    words_before_rows,
    words_per_row,
)
from mccfr_plus.trees.by_rules.rule_slots import RULE_APPLY, RULE_LEGAL, RULE_RETURNS
from mccfr_plus.trees.by_rules.successors import fetch_block, fetch_word
from mccfr_plus.trees.expansion import EXPANDING, MAX_SLOTS, STATUS
from mccfr_plus.trees.scratch import at


@inline_kernel
def first_node(tree, scratch, player):
    """Returns the root, moved on; see `access.first_node`."""
    traverser_of(tree, scratch)[0] = player
    node = own_words(tree, scratch) + 8 * words_before_rows()
    row = row_at(node)
    first = numba.carray(pointer(tree.expansion[FIRST_STATE]), STATE_SIZE(), np.int64)
    for word in range(STATE_SIZE()):
        row[at(word)] = first[at(word)]
    for player in range(NUM_PLAYERS()):
        row[place_of_last(player)] = pair(tree.expansion[MAX_SLOTS] + player, -1)
        if NUM_SYMMETRIES() > 1:
            row[place_of_frame(player)] = first_frame()
    row[place_of_infoset()] = 0
    row[place_of_end()] = node + 8 * words_per_row()
    return node


@inline_kernel
def head(tree, scratch, node):
    """Returns the kind and the number of children of the moved node; 0 children if its infoset has no room."""
    row, state = row_at(node), state_at(node)
    mover = state[MOVER]
    if mover == TERMINAL:
        return TERMINAL, 0
    if mover == CHANCE:
        return CHANCE, find_outcomes(tree, scratch, state, MOVED)
    found = row[place_of_infoset()]
    if found == 0:  # or it was found when the parent was opened
        traverser = traverser_of(tree, scratch)[0]
        if traverser in (mover, ALL_PLAYERS):
            found = infoset_at(tree, scratch, row, state, mover)
        else:
            found = known_infoset(tree, row, state, mover)
            if found == 0:
                found = uniform_infoset(tree, scratch, state)
        fetch_infoset(tree, scratch, found, mover)
        for player in range(NUM_PLAYERS()):
            if player != mover:
                fetch_block(tree.expansion, low_of(row[place_of_last(player)]))
    if found == 0 or load_word(tree.expansion, STATUS) != EXPANDING:
        return mover, 0
    row[place_of_infoset()] = found
    return mover, high_of(found)


@inline_kernel
def payload_of(tree, scratch, node):
    """Returns the first slot of the moved node's infoset."""
    return low_of(row_at(node)[place_of_infoset()])


@inline_kernel
def step(tree, scratch, node, payload, index):
    """Moves the node on to a child."""
    mover = state_at(node)[MOVER]
    if mover >= 0:
        _list_actions(tree, scratch, node, payload)
    _move(tree, scratch, node, payload, index, MOVED, actions_of(tree, scratch))
    if mover >= 0:
        fetch_word(tree.expansion, low_of(row_at(node)[place_of_last(mover)]))
    return node


@inline_kernel
def payoff(tree, scratch, node, player):
    """Returns a player's payoff at the moved node."""
    payoffs = payoffs_of(tree, scratch)
    for each in range(NUM_PLAYERS()):
        payoffs[at(each)] = 0.0
    RULE_RETURNS(parameters_of(tree), table_of(tree), state_at(node), payoffs)
    return payoffs[at(player)]


@inline_kernel
def keep(tree, scratch, node):
    """Returns where the moved node's row, which waits in its place, is among the thread's words."""
    return (node - own_words(tree, scratch)) >> 3


@inline_kernel
def resume(tree, scratch, kept):
    """Returns a node that has waited, as the moved one."""
    return own_words(tree, scratch) + 8 * kept


@inline_kernel
def reopen(tree, scratch, kept):
    """Opens a node that has waited, and makes its children; see `access.reopen`.

    The node was the last one that waited, so that all rows after it and its siblings are free.
    """
    node = own_words(tree, scratch) + 8 * kept
    row = row_at(node)
    mover = row[MOVER]
    if mover == CHANCE:
        kind, count, payload = np.int64(CHANCE), find_outcomes(tree, scratch, state_at(node), OPEN), np.int64(0)
    else:
        found = row[place_of_infoset()]
        kind, count, payload = mover, high_of(found), low_of(found)
        _list_actions(tree, scratch, node, payload)
    first, actions = row[place_of_end()], actions_of(tree, scratch)
    end = first + 8 * words_per_row() * count
    for index in range(count):
        _make_child(tree, scratch, node, first + 8 * words_per_row() * index, end, payload, index, actions)
    return kind, count, payload, first


@inline_kernel
def _make_child(tree, scratch, parent, node, end, payload, index, actions):
    """Makes a child of the open node, and fetches what is known of its infoset."""
    row, above = row_at(node), row_at(parent)
    for word in range(STATE_SIZE() + NUM_PLAYERS()):
        row[at(word)] = above[at(word)]
    if NUM_SYMMETRIES() > 1:
        for player in range(NUM_PLAYERS()):
            row[place_of_frame(player)] = above[place_of_frame(player)]
    row[place_of_end()] = end
    _move(tree, scratch, node, payload, index, OPEN, actions)
    state = state_at(node)
    mover = state[MOVER]
    if mover >= 0:
        found = known_infoset(tree, row, state, mover)
        row[place_of_infoset()] = found
        fetch_infoset(tree, scratch, found, mover)


@inline_kernel
def child_of(tree, scratch, opened, payload, index):
    """Returns a child of the open node, as the moved one."""
    return opened + 8 * words_per_row() * index


@inline_kernel
def outcome_probability(tree, scratch, payload, index):
    """Returns the probability of an outcome of the open node."""
    return outcomes_of(tree, scratch, OPEN)[1][at(index)]


@inline_kernel
def cannot_expand(expansion, node, thread):
    """Takes the place of `expand`: what is unknown here stays so until there is room. Returns False."""
    return False


@inline_kernel
def _list_actions(tree, scratch, node, payload):
    """Lists the actions of a node, unless `_move` reads them with the infoset's slots.

    The rules list them faster than memory gives them.
    """
    if NUM_SYMMETRIES() == 1 or payload >= tree.expansion[FIRST_UNIFORM]:
        RULE_LEGAL(parameters_of(tree), table_of(tree), state_at(node), actions_of(tree, scratch))


@inline_kernel
def _move(tree, scratch, node, payload, index, outcomes, actions):
    """Plays an action, or the outcome of chance that is listed, at a node. Its row is modified in place."""
    row, state = row_at(node), state_at(node)
    mover = state[MOVER]
    if mover == CHANCE:
        action = outcomes_of(tree, scratch, outcomes)[0][at(index)]
    else:
        slot = np.int64(payload + index)
        if NUM_SYMMETRIES() > 1 and payload < tree.expansion[FIRST_UNIFORM]:
            action = _turn(tree, scratch, row, mover, np.int64(slot_actions_of(tree.expansion)[at(slot)]))
        else:
            action = actions[at(index)]
        row[place_of_last(mover)] = pair(slot, action)
    RULE_APPLY(parameters_of(tree), table_of(tree), state, action)
    row[place_of_infoset()] = 0


@inline_kernel
def _turn(tree, scratch, row, mover, action):
    """Returns the action that is played for one of an infoset, and turns the player's frame with it."""
    symmetries, frame, element = symmetries_of(tree.expansion), row[place_of_frame(mover)], np.int64(0)
    if stabilizer_of(frame) > 1:
        element = draw_turn(symmetries, frame, scratch.rng)
    row[place_of_frame(mover)] = after(symmetries, frame, element, action)
    return turned(symmetries, inverse(symmetries, element_of(row[place_of_frame(mover)])), action)
