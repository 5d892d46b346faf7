"""One traversal of all histories of a game by its rules: every player's gradient, or a history of each infoset.

Where chance begins, `Openings` are visited in its place. Two dice show the same in either order: what follows is
visited once, with the probability of both orders.
"""

from typing import NamedTuple

import numba
import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import load_word, pointer
from mccfr_plus.kernels.slots import Constant
from mccfr_plus.trees import expansion
from mccfr_plus.trees.by_rules.frames import NUM_SYMMETRIES, fixing, orbit_size, stabilizer_of, turn, visited
from mccfr_plus.trees.by_rules.payoff_matrix import list_leaf
from mccfr_plus.trees.by_rules.positions import first_node, has_actions, infoset_at
from mccfr_plus.trees.by_rules.rows import (
    MAX_ACTIONS,
    MAX_DEPTH,
    NUM_ABOVE,
    NUM_OPENINGS,
    NUM_PLAYERS,
    NUM_WORDS,
    OPEN,
    OPENING_CHANCE,
    OPENING_COUNTS,
    OPENING_STATES,
    PATHS,
    RULE_APPLY,
    RULE_LEGAL,
    RULE_RETURNS,
    STATE_SIZE,
    find_outcomes,
    first_strategy_of,
    high_of,
    low_of,
    outcomes_of,
    own_words,
    pair,
    parameters_of,
    payoffs_of,
    place_of_frame,
    symmetries_of,
    table_of,
    words_per_row,
)
from mccfr_plus.trees.scratch import ALL_PLAYERS, at

_MOST_OPENINGS = 4096  # positions: where there are more, as with a deck of cards, orders are left apart
_DEPTH_OF_PIECES = 4  # subtrees below this depth, in actions of players and chance, are dealt out to threads

# Columns of a node on the path: the child to visit next, the number of children, the first slot, the mover, the action
# played, and a bit each: symmetries that leave the whole history where it is, and the infoset's actions.
_NEXT, _COUNT, _FIRST, _MOVER, _ACTION, _FIXED, _OWN, _PATH_COLUMNS = range(8)

ADD_GRADIENTS = Constant("ADD_GRADIENTS", True, "Whether gradients are added up.")
RECORD_HISTORIES = Constant("RECORD_HISTORIES", False, "Whether a history of each infoset is recorded.")
LIST_LEAVES = Constant("LIST_LEAVES", False, "Whether leaves are listed, for the payoff matrix of two players.")


@inline_kernel
def words_per_depth():
    """Returns the widths of all of a thread's `_column`s together."""
    return NUM_PLAYERS() + 1 + _PATH_COLUMNS + MAX_ACTIONS()


@inline_kernel
def _column(tree, thread, first, width, dtype):
    """Returns columns of a thread's words for the path, ``[max_depth + 1, width]``, which lie one after the other."""
    depths = tree.expansion[MAX_DEPTH] + 1
    address = own_words(tree, thread) + tree.expansion[PATHS] + 8 * depths * first
    return numba.carray(pointer(address), (depths, width), dtype)


@kernel
def traverse_histories(tree, thread, strategy, player, piece, num_pieces):
    """Adds gradients of a piece of the game, and numbers infosets that are met for the first time.

    For one player, what the others do not reach is left out; for `ALL_PLAYERS`, what two do not reach. Histories at
    `_DEPTH_OF_PIECES`, with all below, are dealt out to pieces in turn; those above belong to piece 0, and nothing to
    piece `num_pieces`. `thread` is a `Scratch` or an `evaluation.by_rules.Thread`. Beyond `strategy`, play is what new
    infosets begin with. Returns whether it has come to the end, and the number of histories visited; see `times`.
    """
    gradient, symmetries = thread.gradient, symmetries_of(tree.expansion)
    reach = _column(tree, thread, 0, NUM_PLAYERS() + 1, np.float64)  # of the players; last of chance, or of all others
    path = _column(tree, thread, NUM_PLAYERS() + 1, _PATH_COLUMNS, np.int64)
    actions = _column(tree, thread, NUM_PLAYERS() + 1 + _PATH_COLUMNS, MAX_ACTIONS(), np.int64)
    for each in range(NUM_PLAYERS() + 1):
        reach[0, each] = 1.0
    path[0, _FIXED] = (1 << NUM_SYMMETRIES()) - 1
    parameters, table, known = parameters_of(tree), table_of(tree), len(strategy)
    first_strategy, payoffs = first_strategy_of(tree.expansion), payoffs_of(tree, thread)
    root = first_node(tree, thread, ALL_PLAYERS)
    rows = numba.carray(pointer(root), (len(path), words_per_row()), np.int64)
    # Where chance begins and orders do not matter, its outcomes are visited together.
    num_openings = 0 if RECORD_HISTORIES() else tree.expansion[NUM_OPENINGS]
    room = max(num_openings, 1)
    openings = numba.carray(pointer(tree.expansion[OPENING_STATES]), (room, STATE_SIZE()), np.int64)
    opening_chance = numba.carray(pointer(tree.expansion[OPENING_CHANCE]), room, np.float64)
    opening_counts = numba.carray(pointer(tree.expansion[OPENING_COUNTS]), room, np.int64)
    times = tree.expansion[NUM_ABOVE] if num_openings > 0 else np.int64(1)  # how many histories a visit stands for
    depth, is_new, number, histories = 0, True, 0, np.int64(0)
    while depth >= 0:
        row, here = rows[at(depth)], path[at(depth)]
        state = row[: STATE_SIZE()]
        if is_new:
            is_new = False
            mover = state[MOVER]
            is_own = depth >= _DEPTH_OF_PIECES or piece == 0
            histories += is_own * times
            if mover == TERMINAL:
                if is_own and (ADD_GRADIENTS() or LIST_LEAVES()):
                    for each in range(NUM_PLAYERS()):
                        payoffs[at(each)] = 0.0
                    RULE_RETURNS(parameters, table, state, payoffs)
                    if LIST_LEAVES():
                        first, second = low_of(row[STATE_SIZE()]), low_of(row[STATE_SIZE() + 1])
                        chance = reach[at(depth), NUM_PLAYERS()]
                        list_leaf(thread.leaves, tree.slot_range[-1], first, second, chance, payoffs)
                    for each in range(NUM_PLAYERS() if ADD_GRADIENTS() else 0):
                        if player not in (each, ALL_PLAYERS):
                            continue
                        weight = reach[at(depth), NUM_PLAYERS()]
                        for other in range(NUM_PLAYERS()):
                            if other != each:
                                weight *= reach[at(depth), at(other)]
                        gradient[at(low_of(row[at(STATE_SIZE() + each)]))] += weight * payoffs[at(each)]
                depth -= 1
                continue
            here[_NEXT], here[_MOVER] = 0, mover
            if mover == CHANCE and depth == 0 and num_openings > 0:
                here[_COUNT] = num_openings
            elif mover == CHANCE:
                here[_COUNT] = find_outcomes(tree, thread, state, OPEN)
            else:
                known_slots = load_word(tree.expansion, expansion.NUM_SLOTS) if RECORD_HISTORIES() else 0
                found = infoset_at(tree, thread, row, state, mover)
                if found == 0 or load_word(tree.expansion, expansion.STATUS) != expansion.EXPANDING:
                    return False, histories
                if RECORD_HISTORIES() and low_of(found) >= known_slots:
                    own = row[place_of_frame(mover)] if NUM_SYMMETRIES() > 1 else 0
                    _record_history(tree, thread.found, path, low_of(found), depth, own)
                here[_FIRST], here[_COUNT] = low_of(found), high_of(found)
                # In the cache, as the slots' actions are not.
                num_legal = RULE_LEGAL(parameters, table, state, actions[at(depth)])
                if not has_actions(tree, root + 8 * words_per_row() * depth, actions[at(depth)], num_legal, found):
                    return False, histories
                if NUM_SYMMETRIES() > 1:
                    own = row[place_of_frame(mover)]
                    here[_COUNT], here[_OWN] = visited(symmetries, own, here[_FIXED], actions[at(depth)], num_legal)
        index, mover = here[_NEXT], here[_MOVER]
        if index == here[_COUNT]:
            depth -= 1
            continue
        here[_NEXT] = index + 1
        for each in range(NUM_PLAYERS() + 1 if ADD_GRADIENTS() or LIST_LEAVES() else 0):
            reach[at(depth + 1), at(each)] = reach[at(depth), at(each)]
        slot, is_opening = np.int64(-1), depth == 0 and num_openings > 0
        if is_opening:
            action, probability, times = index, opening_chance[at(index)], opening_counts[at(index)]
            reach[at(depth + 1), NUM_PLAYERS()] *= probability
        elif mover == CHANCE:
            find_outcomes(tree, thread, state, OPEN)
            outcomes, probabilities = outcomes_of(tree, thread, OPEN)
            action, probability = outcomes[at(index)], probabilities[at(index)]
            reach[at(depth + 1), NUM_PLAYERS()] *= probability
        else:
            slot, action = here[_FIRST] + index, actions[at(depth), at(index)]
            own = row[place_of_frame(mover)] if NUM_SYMMETRIES() > 1 else 0
            if NUM_SYMMETRIES() > 1 and stabilizer_of(own) > 1:
                place, orbit, own = turn(symmetries, own, here[_OWN], action)
                slot = here[_FIRST] + place
                # This child is visited for its orbit under the symmetries of the history.
                reach[at(depth + 1), NUM_PLAYERS()] *= orbit_size(symmetries, here[_FIXED], action) / orbit
            probability = 1.0
            if ADD_GRADIENTS() and mover != player:  # a player's own reach is not part of its gradient
                probability = strategy[at(slot)] if slot < known else first_strategy[at(slot)]
                reach[at(depth + 1), at(mover if player == ALL_PLAYERS else NUM_PLAYERS())] *= probability
        if RECORD_HISTORIES():
            here[_ACTION] = action
        if ADD_GRADIENTS() and probability == 0.0:
            zeros = 0
            for each in range(NUM_PLAYERS()):
                zeros += reach[at(depth + 1), at(each)] == 0.0
            if zeros > 1 or mover == CHANCE or player != ALL_PLAYERS:
                continue
        if depth + 1 == _DEPTH_OF_PIECES:
            number += 1
            if (number - 1) % num_pieces != piece:
                continue
        child = rows[at(depth + 1)]
        for word in range(STATE_SIZE() + NUM_PLAYERS() if NUM_SYMMETRIES() == 1 else words_per_row()):
            child[at(word)] = row[at(word)]
        if slot >= 0:
            child[at(STATE_SIZE() + mover)] = pair(slot, action)
            if NUM_SYMMETRIES() > 1:
                child[place_of_frame(mover)] = own
                path[at(depth + 1), _FIXED] = here[_FIXED] & fixing(symmetries, action)
        elif NUM_SYMMETRIES() > 1:
            path[at(depth + 1), _FIXED] = here[_FIXED]
        if is_opening:
            for word in range(STATE_SIZE()):
                child[at(word)] = openings[at(index), at(word)]
        else:
            RULE_APPLY(parameters, table, child[: STATE_SIZE()], action)
        depth, is_new = depth + 1, True
    return True, histories


@inline_kernel
def _record_history(tree, histories, path, first_slot, depth, own_frame):
    """Records a thread's path as the history of a new infoset, unless another thread has done so."""
    low, high = np.int64(0), tree.expansion[expansion.NUM_INFOSETS]
    while high - low > 1:
        middle = (low + high) // 2
        if tree.infosets[middle]["first_slot"] <= first_slot:
            low = middle
        else:
            high = middle
    words = numba.carray(pointer(tree.expansion[expansion.SELF]), NUM_WORDS, np.int64)
    expansion.lock(words)
    if histories.lengths[low] == 0:
        for index in range(depth):
            histories.actions[low, index] = path[index, _ACTION]
        histories.lengths[low] = depth + 1
        histories.frames[low] = own_frame
    expansion.unlock(words)


class Openings(NamedTuple):
    """What chance's outcomes at the beginning of a game lead to."""

    states: np.ndarray  # [num_openings, state_size] int64, all different
    chance: np.ndarray  # [num_openings] float64: probabilities
    counts: np.ndarray  # [num_openings] int64: how many histories lead to each
    num_above: int  # histories in which chance moves before


def openings_of(game: RulesGame) -> Openings | None:
    """Returns the openings of a game, or None if each has one history, or there are too many of them."""
    first = game.first_state
    if game.rules.outcomes is None or first[MOVER] != CHANCE:
        return None
    level, num_above = {first.tobytes(): (1.0, 1)}, 0
    found: dict[bytes, tuple[float, int]] = {}
    while level:
        below: dict[bytes, tuple[float, int]] = {}
        for key, (chance, count) in level.items():
            words = np.frombuffer(key, np.int64).copy()
            num_above += count
            for action, probability in zip(*game.choices(words), strict=True):
                if probability == 0.0:
                    continue
                child = words.copy()
                game.rules.apply(game.parameters, game.table, child, action)
                into = below if child[MOVER] == CHANCE else found
                before = into.get(child.tobytes(), (0.0, 0))
                into[child.tobytes()] = before[0] + chance * probability, before[1] + count
            if len(below) + len(found) > _MOST_OPENINGS:
                return None
        level = below
    if all(count == 1 for _, count in found.values()):
        return None
    states = np.frombuffer(b"".join(found), np.int64).reshape(len(found), -1).copy()
    chances, counts = zip(*found.values(), strict=True)
    return Openings(states, np.array(chances), np.array(counts, np.int64), num_above)
