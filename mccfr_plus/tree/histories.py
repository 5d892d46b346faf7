"""One traversal of all histories of a game by its rules: every player's gradient, for exact values."""

import numba
import numpy as np

from mccfr_plus.games.rules import CHANCE as CHANCE_MOVES
from mccfr_plus.games.rules import MOVER
from mccfr_plus.games.rules import TERMINAL as GAME_OVER
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.intrinsics import load_word, pointer
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import at
from mccfr_plus.tree.access import ALL_PLAYERS
from mccfr_plus.tree.expansion import EXPANDING, STATUS
from mccfr_plus.tree.positions import (
    NUM_PLAYERS,
    OPEN,
    STATE_SIZE,
    find_outcomes,
    first_node,
    first_waiting,
    high_of,
    infoset_at,
    keep,
    low_of,
    outcomes_of,
    own_words,
    pair,
    parameters_of,
    payoffs_of,
    table_of,
    words_before_rows,
    words_per_row,
)
from mccfr_plus.tree.rules_traversal import rule_apply, rule_legal, rule_returns

_NEXT, _COUNT, _FIRST, _MOVER = range(4)  # columns of the frames
FRAME_COLUMNS = 4


@kernel
def add_gradients(tree, thread, strategy, depth_of_pieces, piece, num_pieces):
    """Adds all players' gradients of a piece of the game. Returns False if it had to stop.

    Histories at `depth_of_pieces` are counted; those whose number leaves the remainder `piece` belong to it, with all
    that is below. Histories above belong to piece 0. Nothing belongs to piece `num_pieces`.

    Args:
        tree: `TreeArrays`.
        thread: What the thread writes, see `mccfr_plus.evaluation.by_rules.Thread`. Modified in place.
        strategy: ``[known slots]``; at other slots play is uniform.
        depth_of_pieces: In actions of players and chance.
        piece: Which one.
        num_pieces: How many there are.
    """
    tree, thread, strategy = no_refcount(tree), no_refcount(thread), no_refcount(strategy)
    gradient, reach, frames, actions = thread.gradient, thread.reach, thread.frames, thread.actions
    parameters, table, known = parameters_of(tree), table_of(tree), len(strategy)
    payoffs = payoffs_of(tree, thread)
    keep(tree, thread, first_node(tree, thread, ALL_PLAYERS), 0)
    address = own_words(tree, thread) + 8 * (words_before_rows() + first_waiting() * words_per_row())
    rows = numba.carray(pointer(address), (len(frames), words_per_row()), np.int64)
    depth, is_new, number, histories, leaves = 0, True, 0, 0, 0
    while depth >= 0:
        row, frame = rows[at(depth)], frames[at(depth)]
        state = row[:STATE_SIZE]
        if is_new:
            is_new = False
            mover = state[MOVER]
            is_own = depth >= depth_of_pieces or piece == 0
            histories += is_own
            if mover == GAME_OVER:
                if is_own:
                    leaves += 1
                    for player in range(NUM_PLAYERS):
                        payoffs[at(player)] = 0.0
                    rule_returns(parameters, table, state, payoffs)
                    for player in range(NUM_PLAYERS):
                        weight = reach[at(depth), NUM_PLAYERS]
                        for other in range(NUM_PLAYERS):
                            if other != player:
                                weight *= reach[at(depth), at(other)]
                        gradient[at(low_of(row[at(STATE_SIZE + player)]))] += weight * payoffs[at(player)]
                depth -= 1
                continue
            frame[_NEXT], frame[_MOVER] = 0, mover
            if mover == CHANCE_MOVES:
                frame[_COUNT] = find_outcomes(tree, thread, state, OPEN)
            else:
                found = infoset_at(tree, thread, row, state, mover)
                if found == 0 or load_word(tree.expansion, STATUS) != EXPANDING:
                    return False
                frame[_FIRST], frame[_COUNT] = low_of(found), high_of(found)
                rule_legal(parameters, table, state, actions[at(depth)])  # in the cache, as the slots' actions are not
        index, mover = frame[_NEXT], frame[_MOVER]
        if index == frame[_COUNT]:
            depth -= 1
            continue
        frame[_NEXT] = index + 1
        for player in range(NUM_PLAYERS + 1):
            reach[at(depth + 1), at(player)] = reach[at(depth), at(player)]
        slot = np.int64(-1)
        if mover == CHANCE_MOVES:
            find_outcomes(tree, thread, state, OPEN)
            outcomes, probabilities = outcomes_of(tree, thread, OPEN)
            action, probability = outcomes[at(index)], probabilities[at(index)]
            reach[at(depth + 1), NUM_PLAYERS] *= probability
        else:
            slot, action = frame[_FIRST] + index, actions[at(depth), at(index)]
            probability = strategy[at(slot)] if slot < known else 1.0 / frame[_COUNT]
            reach[at(depth + 1), at(mover)] *= probability
        if probability == 0.0:
            zeros = 0
            for player in range(NUM_PLAYERS):
                zeros += reach[at(depth + 1), at(player)] == 0.0
            if zeros > 1 or mover == CHANCE_MOVES:
                continue
        if depth + 1 == depth_of_pieces:
            number += 1
            if (number - 1) % num_pieces != piece:
                continue
        child = rows[at(depth + 1)]
        for word in range(STATE_SIZE + NUM_PLAYERS):
            child[at(word)] = row[at(word)]
        if slot >= 0:
            child[at(STATE_SIZE + mover)] = pair(slot, action)
        rule_apply(parameters, table, child[:STATE_SIZE], action)
        depth, is_new = depth + 1, True
    thread.visited[0] += histories
    thread.visited[1] += leaves
    return True
