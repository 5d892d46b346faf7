"""The kernel that makes public trees, depth first over sets of histories, of games with rules and of stored trees.

Each step holds all histories that agree in what is public. A player's hands are what its information states tell it
apart by. An outcome of chance is public as far as all players see it; what is left of it are private hands.
"""

from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.trees.by_rules.rows import (
    RULE_APPLY,
    RULE_LEGAL,
    RULE_LOOK,
    RULE_OUTCOMES,
    RULE_RETURNS,
)
from mccfr_plus.trees.info_states import KeyPlaces, hash_step, pack
from mccfr_plus.trees.public.arrays import BLOCK, HANDS, LEAVE, MATRIX, SLOT, STRIDE
from mccfr_plus.trees.scratch import at

# Why the kernel returns: it is done; it may go on; arrays are full, after which it may go on; or what is not public.
DONE, PAUSED = range(2)
FULL_HISTORIES, FULL_NODES, FULL_INFOSETS, FULL_ENDS, FULL_VALUES = range(2, 7)
DIFFERENT_MOVERS, DIFFERENT_ACTIONS, HIDDEN_ACTION, IMPERFECT_RECALL = range(7, 11)

# Columns of a frame, which is a set of histories on the path: where it begins, its size; who moves, its children, how
# many of them were taken, its node (-1: chance deals hands only), bits of the players who have decided since chance
# moved; and, for each of both players, the first hand's last slot, the distance to the next hand's, and the number of
# hands at its last node.
_BEGIN, SIZE, PLAYER, _NUM_CHILDREN, TAKEN, _NODE, _DECIDED, LAST_SLOT = range(8)
OF_PLAYER = 3
NUM_COLUMNS = LAST_SLOT + 2 * OF_PLAYER

# Entries of `Room.counts`: what was found so far, by player for infosets and slots; and the depth.
NODES, _OUTCOMES, _ACTIONS, _ENDS, _VALUES, _MATRICES, INFOSETS, SLOTS, DEPTH = 0, 1, 2, 3, 4, 5, 6, 8, 10
_STAMP, _CHECKED, IS_NEW, LEAVES, NUM_COUNTS = 11, 12, 13, 14, 15

# Histories at which what players know is compared in full. Later it is compared at the first and the last history of
# each hand, unless chance has moved since the player's last decision.
_CHECKS = 20_000_000
_EQUAL = 1e-14  # of entries that are at most about 1
_PUBLIC, _PRIVATE = 1, 0  # kinds of entries that `look` writes; -1: not in information states


class Source(NamedTuple):
    """A game as the kernel reads it: its rules, or those that read a stored tree."""

    rules: Rules
    parameters: Any
    table: Any
    first_state: np.ndarray  # [state_size] int64
    max_depth: int
    most_children: int
    kinds: np.ndarray  # [view_size] int8: whether what `look` writes is `_PUBLIC`, `_PRIVATE` or neither (-1)
    places: KeyPlaces
    num_words: int  # of a key


class Found(NamedTuple):
    """What the traversal finds; slots and infosets are numbered by player."""

    nodes: np.ndarray  # [capacity] PUBLIC_NODE
    first_action: np.ndarray  # [capacity] int64: of a decision, in `actions`
    first_slot: np.ndarray  # [capacity] int64: of a decision
    outcomes: np.ndarray  # [capacity] float64: the probability of each public outcome
    outcome_node: np.ndarray  # [capacity] int32
    actions: np.ndarray  # [capacity] int32
    parents: np.ndarray  # [capacity, 2] int32: last slots before infosets; -1: none
    keys: np.ndarray  # [capacity, 2, words] int64: what `pack` writes
    ends: np.ndarray  # [capacity, 2, 4] int32
    scales: np.ndarray  # [capacity, 2] float64
    matrices: np.ndarray  # [capacity] float64
    known: np.ndarray  # [places, 2] int64: a table of the matrices by their hash; where one begins plus 1, its hash


class Room(NamedTuple):
    """Scratch memory of the traversal."""

    counts: np.ndarray  # [NUM_COUNTS] int64
    frames: np.ndarray  # [max_depth + 2, NUM_COLUMNS] int64
    actions: np.ndarray  # [max_depth + 2, most_children] int64
    shown: np.ndarray  # [most_children] int64: the hash of what is public after each action
    states: np.ndarray  # [capacity, state_size] int64: the histories of all frames
    chance: np.ndarray  # [capacity] float64: the probability of each by chance
    hands: np.ndarray  # [capacity, 2] int32: the hand at each player's last node
    marks: np.ndarray  # [capacity] int64: bits of the players for whom a history is the first or last of its hand
    group: np.ndarray  # [capacity] int32: the public outcome that a history belongs to
    labels: np.ndarray  # [places, 3] int64: a table from hashes to numbers; stamp, hash, number
    choices: np.ndarray  # [most_children] int64
    probabilities: np.ndarray  # [most_children] float64
    payoffs: np.ndarray  # [2] float64
    seen: np.ndarray  # [view_size] int64
    key: np.ndarray  # [num_words] int64


@inline_kernel
def _hash_of_seen(source, room, state, player, kind):
    """Returns the hash of what a player knows, of its public or its private part; it stays in `room.seen`."""
    seen, result = room.seen, np.uint64(0x2545F4914F6CDD1D)
    for entry in range(len(seen)):
        seen[entry] = 0
    RULE_LOOK(source.parameters, source.table, state, player, seen)
    for entry in range(len(seen)):
        if source.kinds[entry] == kind:
            result = hash_step(result, np.uint64(seen[entry]))
    return np.int64(hash_step(result, np.uint64(1)))


@inline_kernel
def _label(room, hashed, count):
    """Returns the number of a hash among those since the last stamp, of which there are `count`."""
    labels, stamp, mask = room.labels, room.counts[_STAMP], len(room.labels) - 1
    place = (hashed ^ (hashed >> 32)) & mask
    while labels[at(place), 0] == stamp:
        if labels[at(place), 1] == hashed:
            return labels[at(place), 2]
        place = (place + 1) & mask
    labels[at(place), 0], labels[at(place), 1], labels[at(place), 2] = stamp, hashed, count
    return count


@inline_kernel
def _copy_history(room, source, target):
    for word in range(room.states.shape[1]):
        room.states[at(target), at(word)] = room.states[at(source), at(word)]
    room.chance[at(target)] = room.chance[at(source)]
    room.marks[at(target)] = room.marks[at(source)]
    room.hands[at(target), 0], room.hands[at(target), 1] = room.hands[at(source), 0], room.hands[at(source), 1]


@kernel
def _sort_hands(source, room, found, frame, actions, is_known):
    """Gives each history the hand of the player to move, with an infoset for each hand. Returns a status, and how many.

    With `is_known` the hands are those of the player's last decision, of which the marked histories are compared.
    """
    counts, begin, mover, hands = room.counts, frame[_BEGIN], frame[PLAYER], 0
    last, infoset, end = LAST_SLOT + OF_PLAYER * mover, counts[INFOSETS + mover], begin + frame[SIZE]
    count = RULE_LEGAL(source.parameters, source.table, room.states[begin], actions)
    counts[_STAMP] += 1
    for history in range(begin, end):
        if is_known and room.marks[history] >> mover & 1 == 0:
            continue
        if RULE_LEGAL(source.parameters, source.table, room.states[history], room.choices) != count:
            return DIFFERENT_ACTIONS, hands
        for index in range(count):
            if room.choices[index] != actions[index]:
                return DIFFERENT_ACTIONS, hands
        hand = _label(room, _hash_of_seen(source, room, room.states[history], mover, _PRIVATE), hands)
        if is_known and hand != room.hands[history, mover]:
            return PAUSED, hands  # something was shown without chance
        parent = frame[last] + room.hands[history, mover] * frame[last + 1]
        if hand == hands:
            pack(source.places, mover, room.seen, room.key)
            for word in range(len(room.key)):
                found.keys[infoset + hand, mover, word] = room.key[word]
            found.parents[infoset + hand, mover] = parent
            hands += 1
        elif found.parents[infoset + hand, mover] != parent:
            return IMPERFECT_RECALL, hands
        room.hands[history, mover] = hand
    return DONE, hands


@inline_kernel
def _mark(room, begin, end, mover):
    """Marks the first and the last history of each of the player's hands."""
    for direction in range(2):
        room.counts[_STAMP] += 1
        found = 0
        for number in range(end - begin):
            history = begin + number if direction == 0 else end - 1 - number
            if _label(room, np.int64(room.hands[history, mover]), found) == found:
                room.marks[history] |= 1 << mover
                found += 1


@kernel
def _decide(source, room, found, frame, actions):
    """Enters a decision with its infosets, and sets the hand of each history. Returns a status."""
    counts, begin, mover, shown, node = room.counts, frame[_BEGIN], frame[PLAYER], room.shown, room.counts[NODES]
    top = begin + frame[SIZE]
    if top == len(room.states):
        return FULL_HISTORIES
    if counts[INFOSETS + mover] + frame[SIZE] > len(found.parents):
        return FULL_INFOSETS
    is_known, status, hands = frame[_DECIDED] >> mover & 1 and counts[_CHECKED] > _CHECKS, PAUSED, 0
    if is_known:
        status, hands = _sort_hands(source, room, found, frame, actions, True)
    if status == PAUSED:
        counts[_CHECKED] += frame[SIZE]
        status, hands = _sort_hands(source, room, found, frame, actions, False)
        if status == DONE:
            _mark(room, begin, top, mover)
    if status != DONE:
        return status
    count = RULE_LEGAL(source.parameters, source.table, room.states[begin], actions)
    for index in range(count):
        frame[TAKEN] = index + 1
        _copy_history(room, begin, top)
        RULE_APPLY(source.parameters, source.table, room.states[top], actions[index])
        shown[index] = index
        if room.states[top, MOVER] != TERMINAL:
            shown[index] = _hash_of_seen(source, room, room.states[top], 1 - mover, _PUBLIC)
            for other in range(index):
                if shown[other] == shown[index]:
                    return HIDDEN_ACTION
    frame[TAKEN], frame[_NODE], frame[_NUM_CHILDREN] = 0, node, count
    frame[_DECIDED] |= 1 << mover
    record = found.nodes[node]
    record["kind"], record["num_children"], record["num_hands"] = mover, count, hands
    record["first"] = counts[INFOSETS + mover]
    found.first_action[node], found.first_slot[node] = counts[_ACTIONS], counts[SLOTS + mover]
    for index in range(count):
        found.actions[counts[_ACTIONS] + index] = actions[index]
    counts[NODES] += 1
    counts[_ACTIONS] += count
    counts[INFOSETS + mover] += hands
    counts[SLOTS + mover] += hands * count
    return DONE


@kernel
def _deal(source, room, found, frame):
    """Makes the histories after chance, at the end of the stack, and sorts them by what is public. Returns a status."""
    counts, begin, size = room.counts, frame[_BEGIN], frame[SIZE]
    top, groups, is_end = begin + size, 0, True
    counts[_STAMP] += 1
    for history in range(begin, begin + size):
        given = RULE_OUTCOMES(source.parameters, source.table, room.states[history], room.choices, room.probabilities)
        for index in range(given):
            if room.probabilities[index] <= 0.0:
                continue
            if top == len(room.states):
                return FULL_HISTORIES
            _copy_history(room, history, top)
            room.marks[top] = 0
            room.chance[top] *= room.probabilities[index]
            RULE_APPLY(source.parameters, source.table, room.states[top], room.choices[index])
            is_end = is_end and room.states[top, MOVER] == TERMINAL
            group = _label(room, _hash_of_seen(source, room, room.states[top], 0, _PUBLIC), groups)
            groups += group == groups
            room.group[top] = group
            top += 1
    frame[_BEGIN], frame[SIZE], frame[_DECIDED] = begin + size, top - begin - size, 0
    frame[_NUM_CHILDREN] = 1 if is_end else groups  # at the end of the game it does not matter what chance shows
    if frame[_NUM_CHILDREN] > 1:
        if counts[_OUTCOMES] + groups > len(found.outcomes):
            return FULL_NODES
        node, total = counts[NODES], 0.0
        record = found.nodes[node]
        record["kind"], record["num_children"], record["first"] = CHANCE, groups, counts[_OUTCOMES]
        for history in range(begin + size, top):
            found.outcomes[counts[_OUTCOMES] + room.group[history]] += room.chance[history]
            total += room.chance[history]
        for outcome in range(counts[_OUTCOMES], counts[_OUTCOMES] + groups):
            found.outcomes[outcome] /= total
        frame[_NODE] = node
        counts[NODES] += 1
        counts[_OUTCOMES] += groups
    return DONE


@inline_kernel
def _number_of_matrix(found, counts, begin, end):
    """Divides what was written to begin .. end - 1 by its first entry but 0. Returns where it is known from; a scale.

    It stays where it is if it is new.
    """
    values, scale = found.matrices, 0.0
    for entry in range(begin, end):
        if values[at(entry)] != 0.0:
            scale = values[at(entry)]
            break
    hashed = np.uint64(end - begin)
    for entry in range(begin, end):
        if scale != 0.0:
            values[at(entry)] /= scale
        hashed = hash_step(hashed, np.uint64(np.int64(np.rint(values[at(entry)] * 2.0**24))))
    mask, key = len(found.known) - 1, np.int64(hash_step(hashed, np.uint64(1)) >> np.uint64(1))
    place = key & mask
    while found.known[at(place), 0] != 0:
        other, is_same = found.known[at(place), 0] - 1, found.known[at(place), 1] == key
        if is_same:
            for entry in range(end - begin):
                is_same &= abs(values[at(other + entry)] - values[at(begin + entry)]) <= _EQUAL
            if is_same:
                return other, scale
        place = (place + 1) & mask
    found.known[at(place), 0], found.known[at(place), 1] = begin + 1, key
    counts[_MATRICES] += 1
    return begin, scale


@kernel
def _end(source, room, found, frame):
    """Enters an end with the matrices of both players. Returns a status."""
    counts, begin, size = room.counts, frame[_BEGIN], frame[SIZE]
    hands_0, hands_1 = frame[LAST_SLOT + 2], frame[LAST_SLOT + OF_PLAYER + 2]
    blocks_0, blocks_1 = (hands_0 + BLOCK - 1) // BLOCK, (hands_1 + BLOCK - 1) // BLOCK
    first, second = counts[_VALUES], counts[_VALUES] + blocks_0 * hands_1 * BLOCK
    last = second + blocks_1 * hands_0 * BLOCK
    if last > len(found.matrices) or 2 * counts[_MATRICES] + 4 > len(found.known):
        return FULL_VALUES
    values = found.matrices
    for entry in range(first, last):
        values[at(entry)] = 0.0
    for history in range(begin, begin + size):
        room.payoffs[0], room.payoffs[1] = 0.0, 0.0
        RULE_RETURNS(source.parameters, source.table, room.states[history], room.payoffs)
        hand_0, hand_1, chance = room.hands[at(history), 0], room.hands[at(history), 1], room.chance[at(history)]
        entry_0 = first + (hand_0 // BLOCK * hands_1 + hand_1) * BLOCK + hand_0 % BLOCK
        entry_1 = second + (hand_1 // BLOCK * hands_0 + hand_0) * BLOCK + hand_1 % BLOCK
        values[at(entry_0)] += chance * room.payoffs[0]
        values[at(entry_1)] += chance * room.payoffs[1]
    # The second one first: where it is new and the other one is not, it moves to the front.
    matrix_0, scale_0 = _number_of_matrix(found, counts, first, second)
    if matrix_0 != first:
        for entry in range(last - second):
            values[at(first + entry)] = values[at(second + entry)]
        second, last = first, first + last - second
    matrix_1, scale_1 = _number_of_matrix(found, counts, second, last)
    counts[_VALUES] = last if matrix_1 == second else second
    end = counts[_ENDS]
    if end == len(found.ends):
        return FULL_ENDS
    counts[LEAVES] += size
    if scale_0 == 0.0 and scale_1 == 0.0:
        return DONE
    for player in range(2):
        column = LAST_SLOT + OF_PLAYER * player
        found.ends[end, player, SLOT] = frame[column]
        found.ends[end, player, STRIDE] = frame[column + 1]
        found.ends[end, player, HANDS] = frame[column + 2]
        found.ends[end, player, MATRIX] = matrix_0 if player == 0 else matrix_1
        found.scales[end, player] = scale_0 if player == 0 else scale_1
    found.nodes[counts[NODES]]["kind"], found.nodes[counts[NODES]]["first"] = TERMINAL, end
    counts[NODES] += 1
    counts[_ENDS] += 1
    return DONE


@kernel
def _next_child(source, room, found, depth, top):
    """Makes the set of histories after the next action or public outcome, one level deeper. Returns a status."""
    frame, child, counts = room.frames[depth], room.frames[depth + 1], room.counts
    begin, size, taken = frame[_BEGIN], frame[SIZE], frame[TAKEN]
    for column in range(_DECIDED, NUM_COLUMNS):
        child[column] = frame[column]
    child[_BEGIN] = top
    if frame[PLAYER] == CHANCE:
        if frame[_NODE] < 0:  # the histories stay where they are
            child[_BEGIN], child[SIZE] = begin, size
            return DONE
        for history in range(begin, begin + size):
            if room.group[history] == taken:
                if top == len(room.states):
                    return FULL_HISTORIES
                _copy_history(room, history, top)
                top += 1
        found.outcome_node[found.nodes[frame[_NODE]]["first"] + taken] = counts[NODES]
    else:
        if top + size > len(room.states):
            return FULL_HISTORIES
        action, mover = room.actions[depth, taken], frame[PLAYER]
        last, node = LAST_SLOT + OF_PLAYER * mover, frame[_NODE]
        child[last], child[last + 1] = found.first_slot[node] + taken, frame[_NUM_CHILDREN]
        child[last + 2] = found.nodes[node]["num_hands"]
        for history in range(begin, begin + size):
            _copy_history(room, history, top)
            RULE_APPLY(source.parameters, source.table, room.states[at(top)], action)
            top += 1
    child[SIZE] = top - child[_BEGIN]
    return DONE


@kernel
def traverse(source, room, found, max_visits):
    """Goes on with the traversal. Returns a status; `room` has the path."""
    counts, frames, depth, status = room.counts, room.frames, room.counts[DEPTH], DONE
    stop = counts[NODES] + max_visits
    while depth >= 0:
        frame = frames[depth]
        counts[DEPTH] = depth
        if counts[IS_NEW]:
            begin, mover = frame[_BEGIN], room.states[frame[_BEGIN], MOVER]
            frame[PLAYER], frame[TAKEN], frame[_NUM_CHILDREN], frame[_NODE] = mover, 0, 0, -1
            for history in range(begin, begin + frame[SIZE]):
                if room.states[history, MOVER] != mover:
                    return DIFFERENT_MOVERS
            no_room = counts[_ACTIONS] + room.actions.shape[1] > len(found.actions)
            if no_room or counts[NODES] + depth + 3 > len(found.nodes):  # each set on the path may enter one more
                return FULL_NODES
            if counts[NODES] > stop:
                return PAUSED
            if mover == TERMINAL:
                status = _end(source, room, found, frame)
            elif mover == CHANCE:
                status = _deal(source, room, found, frame)
            else:
                status = _decide(source, room, found, frame, room.actions[depth])
            if status != DONE:
                return status
            counts[IS_NEW] = 0
        if frame[TAKEN] < frame[_NUM_CHILDREN]:
            status = _next_child(source, room, found, depth, frame[_BEGIN] + frame[SIZE])
            if status != DONE:
                return status
            frame[TAKEN] += 1
            depth += 1
            counts[IS_NEW] = 1
            continue
        if frame[_NODE] >= 0:
            found.nodes[frame[_NODE]]["last"] = counts[NODES]
        depth -= 1
        if depth >= 0 and frames[depth, PLAYER] == CHANCE and frames[depth, _NODE] >= 0:
            found.nodes[counts[NODES]]["kind"], found.nodes[counts[NODES]]["first"] = LEAVE, frames[depth, _NODE]
            counts[NODES] += 1
    return DONE
