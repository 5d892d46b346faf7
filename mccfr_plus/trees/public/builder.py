"""Makes public trees, depth first over sets of histories: a kernel for all games with rules, and for stored trees.

Each step holds all histories that agree in what is public. A player's hands are what its information states tell it
apart by. An outcome of chance is public as far as all players see it; what is left of it are private hands.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Rules
from mccfr_plus.kernels.compile import announce_compilation, inline_kernel, kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.by_rules.rows import (
    RULE_APPLY,
    RULE_LEGAL,
    RULE_LOOK,
    RULE_OUTCOMES,
    RULE_RETURNS,
    kernels_of,
)
from mccfr_plus.trees.info_states import KeyPlaces, hash_step, pack
from mccfr_plus.trees.public.arrays import BLOCK, HANDS, LEAVE, MATRIX, PUBLIC_NODE, SLOT, STRIDE
from mccfr_plus.trees.scratch import at

# Why the kernel returns: it is done; an array is full, the first of `_GROUPS` or a later one; or what is not public.
DONE = 0
FULL_HISTORIES, FULL_NODES, FULL_INFOSETS, FULL_ENDS, FULL_VALUES = range(1, 6)
DIFFERENT_MOVERS, DIFFERENT_ACTIONS, HIDDEN_ACTION, FORGETFUL = range(6, 10)

# Columns of a frame, which is a set of histories on the path: where it begins, its size; who moves, its children, how
# many of them were taken, its node (-1: chance deals hands only); and, for each of both players, the first hand's last
# slot, the distance to the next hand's, and the number of hands at its last node.
_BEGIN, _SIZE, _MOVER, _NUM_CHILDREN, _TAKEN, _NODE, _LAST = range(7)
_OF_PLAYER = 3
_NUM_COLUMNS = _LAST + 2 * _OF_PLAYER

# Entries of `_Room.counts`: what was found so far, by player for infosets and slots; and the depth.
_NODES, _OUTCOMES, _ACTIONS, _ENDS, _VALUES, _MATRICES, _INFOSETS, _SLOTS, _DEPTH = 0, 1, 2, 3, 4, 5, 6, 8, 10
_STAMP, _NUM_COUNTS = 11, 12

_GROWTH = 8  # of an array that is full: the traversal begins again, which then costs a seventh at most
_EQUAL = 1e-14  # of entries that are at most about 1
_PUBLIC, _PRIVATE = 1, 0  # entries of what `look` writes; others are no part of information states


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
    parents: np.ndarray  # [2, capacity] int32: last slots before infosets; -1: none
    keys: np.ndarray  # [2, capacity, words] int64: what `pack` writes
    ends: np.ndarray  # [capacity, 2, 4] int32
    scales: np.ndarray  # [capacity, 2] float64
    matrices: np.ndarray  # [capacity] float64
    known: np.ndarray  # [places, 2] int64: a table of the matrices by their hash; where one begins plus 1, its hash


class _Room(NamedTuple):
    """Scratch memory of the traversal."""

    counts: np.ndarray  # [_NUM_COUNTS] int64
    frames: np.ndarray  # [max_depth + 2, _NUM_COLUMNS] int64
    actions: np.ndarray  # [max_depth + 2, most_children] int64
    shown: np.ndarray  # [most_children] int64: the hash of what is public after each action
    states: np.ndarray  # [capacity, state_size] int64: the histories of all frames
    chance: np.ndarray  # [capacity] float64: the probability of each by chance
    hands: np.ndarray  # [2, capacity] int32: the hand at each player's last node
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
    room.hands[0, at(target)], room.hands[1, at(target)] = room.hands[0, at(source)], room.hands[1, at(source)]


@kernel
def _decide(source, room, found, frame, actions, shown):
    """Enters a decision with its infosets, and sets the hand of each history. Returns a status."""
    counts, begin, mover = room.counts, frame[_BEGIN], frame[_MOVER]
    last, infoset, node = _LAST + _OF_PLAYER * mover, counts[_INFOSETS + mover], counts[_NODES]
    if infoset + frame[_SIZE] > found.parents.shape[1]:
        return FULL_INFOSETS
    count, hands = RULE_LEGAL(source.parameters, source.table, room.states[begin], actions), 0
    counts[_STAMP] += 1
    for history in range(begin, begin + frame[_SIZE]):
        state = room.states[history]
        if RULE_LEGAL(source.parameters, source.table, state, room.choices) != count:
            return DIFFERENT_ACTIONS
        for index in range(count):
            if room.choices[index] != actions[index]:
                return DIFFERENT_ACTIONS
        parent = frame[last] + room.hands[mover, history] * frame[last + 1]
        hand = _label(room, _hash_of_seen(source, room, state, mover, _PRIVATE), hands)
        if hand == hands:
            pack(source.places, mover, room.seen, room.key)
            for word in range(len(room.key)):
                found.keys[mover, infoset + hand, word] = room.key[word]
            found.parents[mover, infoset + hand] = parent
            hands += 1
        elif found.parents[mover, infoset + hand] != parent:
            return FORGETFUL
        room.hands[mover, history] = hand
    if begin + frame[_SIZE] == len(room.states):
        return FULL_HISTORIES
    for index in range(count):
        frame[_TAKEN] = index + 1
        _copy_history(room, begin, begin + frame[_SIZE])
        state = room.states[begin + frame[_SIZE]]
        RULE_APPLY(source.parameters, source.table, state, actions[index])
        if state[MOVER] != TERMINAL:
            shown[index] = _hash_of_seen(source, room, state, 1 - mover, _PUBLIC)
            for other in range(index):
                if shown[other] == shown[index]:
                    return HIDDEN_ACTION
        else:
            shown[index] = index
    frame[_TAKEN] = 0
    record = found.nodes[node]
    record["kind"], record["num_children"], record["num_hands"], record["first"] = mover, count, hands, infoset
    found.first_action[node], found.first_slot[node] = counts[_ACTIONS], counts[_SLOTS + mover]
    for index in range(count):
        found.actions[counts[_ACTIONS] + index] = actions[index]
    frame[_NODE], frame[_NUM_CHILDREN] = node, count
    counts[_NODES] += 1
    counts[_ACTIONS] += count
    counts[_INFOSETS + mover] += hands
    counts[_SLOTS + mover] += hands * count
    return DONE


@kernel
def _deal(source, room, found, frame):
    """Makes the histories after chance, at the end of the stack, and sorts them by what is public. Returns a status."""
    counts, begin, size = room.counts, frame[_BEGIN], frame[_SIZE]
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
            room.chance[top] *= room.probabilities[index]
            RULE_APPLY(source.parameters, source.table, room.states[top], room.choices[index])
            is_end = is_end and room.states[top, MOVER] == TERMINAL
            group = _label(room, _hash_of_seen(source, room, room.states[top], 0, _PUBLIC), groups)
            groups += group == groups
            room.group[top] = group
            top += 1
    frame[_BEGIN], frame[_SIZE] = begin + size, top - begin - size
    frame[_NUM_CHILDREN] = 1 if is_end else groups  # nobody acts on what is shown at the end
    if frame[_NUM_CHILDREN] > 1:
        if counts[_OUTCOMES] + groups > len(found.outcomes):
            return FULL_NODES
        node, total = counts[_NODES], 0.0
        record = found.nodes[node]
        record["kind"], record["num_children"], record["first"] = CHANCE, groups, counts[_OUTCOMES]
        for history in range(begin + size, top):
            found.outcomes[counts[_OUTCOMES] + room.group[history]] += room.chance[history]
            total += room.chance[history]
        for outcome in range(counts[_OUTCOMES], counts[_OUTCOMES] + groups):
            found.outcomes[outcome] /= total
        frame[_NODE] = node
        counts[_NODES] += 1
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
    counts, begin, size = room.counts, frame[_BEGIN], frame[_SIZE]
    hands_0, hands_1 = frame[_LAST + 2], frame[_LAST + _OF_PLAYER + 2]
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
        hand_0, hand_1, chance = room.hands[0, at(history)], room.hands[1, at(history)], room.chance[at(history)]
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
    if scale_0 == 0.0 and scale_1 == 0.0:
        return DONE
    end = counts[_ENDS]
    if end == len(found.ends):
        return FULL_ENDS
    for player in range(2):
        column = _LAST + _OF_PLAYER * player
        found.ends[end, player, SLOT] = frame[column]
        found.ends[end, player, STRIDE] = frame[column + 1]
        found.ends[end, player, HANDS] = frame[column + 2]
        found.ends[end, player, MATRIX] = matrix_0 if player == 0 else matrix_1
        found.scales[end, player] = scale_0 if player == 0 else scale_1
    found.nodes[counts[_NODES]]["kind"], found.nodes[counts[_NODES]]["first"] = TERMINAL, end
    counts[_NODES] += 1
    counts[_ENDS] += 1
    return DONE


@kernel
def _next_child(source, room, found, depth, top):
    """Makes the set of histories after the next action or public outcome, one level deeper. Returns a status."""
    frame, child, counts = room.frames[depth], room.frames[depth + 1], room.counts
    begin, size, taken = frame[_BEGIN], frame[_SIZE], frame[_TAKEN]
    for column in range(_LAST, _NUM_COLUMNS):
        child[column] = frame[column]
    child[_BEGIN] = top
    if frame[_MOVER] == CHANCE:
        if frame[_NODE] < 0:  # the histories stay where they are
            child[_BEGIN], child[_SIZE] = begin, size
            return DONE
        for history in range(begin, begin + size):
            if room.group[history] == taken:
                if top == len(room.states):
                    return FULL_HISTORIES
                _copy_history(room, history, top)
                top += 1
        found.outcome_node[found.nodes[frame[_NODE]]["first"] + taken] = counts[_NODES]
    else:
        if top + size > len(room.states):
            return FULL_HISTORIES
        action, mover = room.actions[depth, taken], frame[_MOVER]
        last, node = _LAST + _OF_PLAYER * mover, frame[_NODE]
        child[last], child[last + 1] = found.first_slot[node] + taken, frame[_NUM_CHILDREN]
        child[last + 2] = found.nodes[node]["num_hands"]
        for history in range(begin, begin + size):
            _copy_history(room, history, top)
            RULE_APPLY(source.parameters, source.table, room.states[at(top)], action)
            top += 1
    child[_SIZE] = top - child[_BEGIN]
    return DONE


@kernel
def _traverse(source, room, found):
    """Visits the whole public tree. Returns a status; after an error `room` has the path."""
    counts, frames, depth, top, status = room.counts, room.frames, 0, 1, DONE
    is_new = True
    while depth >= 0:
        frame = frames[depth]
        counts[_DEPTH] = depth
        if is_new:
            begin, mover = frame[_BEGIN], room.states[frame[_BEGIN], MOVER]
            frame[_MOVER], frame[_TAKEN], frame[_NUM_CHILDREN], frame[_NODE] = mover, 0, 0, -1
            for history in range(begin, begin + frame[_SIZE]):
                if room.states[history, MOVER] != mover:
                    return DIFFERENT_MOVERS
            if counts[_NODES] + 3 > len(found.nodes) or counts[_ACTIONS] + room.actions.shape[1] > len(found.actions):
                return FULL_NODES
            if mover == TERMINAL:
                status = _end(source, room, found, frame)
            elif mover == CHANCE:
                status = _deal(source, room, found, frame)
            else:
                status = _decide(source, room, found, frame, room.actions[depth], room.shown)
            if status != DONE:
                return status
            is_new = False
        is_public_chance = frame[_MOVER] == CHANCE and frame[_NODE] >= 0
        if is_public_chance and frame[_TAKEN] > 0:
            found.nodes[counts[_NODES]]["kind"], found.nodes[counts[_NODES]]["first"] = LEAVE, frame[_NODE]
            counts[_NODES] += 1
        if frame[_TAKEN] == frame[_NUM_CHILDREN]:
            if is_public_chance:
                found.nodes[frame[_NODE]]["last"] = counts[_NODES]
            depth -= 1
            continue
        if counts[_NODES] + 1 > len(found.nodes):
            return FULL_NODES
        top = frame[_BEGIN] + frame[_SIZE]
        status = _next_child(source, room, found, depth, top)
        if status != DONE:
            return status
        frame[_TAKEN] += 1
        depth += 1
        is_new = True
    return DONE


@cache
def _traversal_of(rules: Rules) -> Any:
    return bind(_traverse, kernels_of(rules))


def build(source: Source) -> tuple[int, Found, np.ndarray, list[tuple[int, int]]]:
    """Returns a status, what was found, `_Room.counts`, and where it ended: the players' actions with the players."""
    traverse, sizes = _traversal_of(source.rules), {status: 1 << 12 for status in range(FULL_HISTORIES, FULL_VALUES + 1)}
    sizes[FULL_VALUES] = 1 << 16
    status = FULL_NODES
    while DONE < status <= FULL_VALUES:
        room, found = _rooms(source, sizes)
        with announce_compilation(traverse, "the public tree", 8):
            status = traverse(source._replace(rules=None), room, found)
        if status in sizes:
            sizes[status] *= _GROWTH
    path = [
        (int(frame[_MOVER]), int(actions[max(frame[_TAKEN] - 1, 0)]))
        for depth, (frame, actions) in enumerate(zip(room.frames, room.actions, strict=True))
        if depth <= room.counts[_DEPTH] and frame[_MOVER] >= 0
    ]
    return status, found, room.counts, path


def _rooms(source: Source, sizes: dict[int, int]) -> tuple[_Room, Found]:
    """Returns empty arrays for the traversal, with so many entries each; memory that is not used costs nothing."""
    histories, nodes, infosets = sizes[FULL_HISTORIES], sizes[FULL_NODES], sizes[FULL_INFOSETS]
    depths, most, state_size = source.max_depth + 2, source.most_children, len(source.first_state)
    nodes = max(nodes, 4 * most)
    room = _Room(
        counts=np.zeros(_NUM_COUNTS, np.int64),
        frames=np.zeros((depths, _NUM_COLUMNS), np.int64),
        actions=np.zeros((depths, most), np.int64),
        shown=np.zeros(most, np.int64),
        states=np.zeros((histories, state_size), np.int64),
        chance=np.ones(histories),
        hands=np.zeros((2, histories), np.int32),
        group=np.zeros(histories, np.int32),
        labels=np.zeros((4 * histories, 3), np.int64),
        choices=np.zeros(most, np.int64),
        probabilities=np.zeros(most),
        payoffs=np.zeros(2),
        seen=np.zeros(len(source.kinds), np.int64),
        key=np.zeros(source.num_words, np.int64),
    )
    room.states[0] = source.first_state
    for player in range(2):
        column = _LAST + _OF_PLAYER * player
        room.frames[0, column : column + _OF_PLAYER] = -1, 0, 1  # the empty sequence
    room.frames[0, _SIZE] = 1
    found = Found(
        nodes=np.zeros(nodes, PUBLIC_NODE),
        first_action=np.zeros(nodes, np.int64),
        first_slot=np.zeros(nodes, np.int64),
        outcomes=np.zeros(nodes),
        outcome_node=np.zeros(nodes, np.int32),
        actions=np.zeros(nodes + most, np.int32),
        parents=np.zeros((2, infosets), np.int32),
        keys=np.zeros((2, infosets, source.num_words), np.int64),
        ends=np.zeros((sizes[FULL_ENDS], 2, 4), np.int32),
        scales=np.zeros((sizes[FULL_ENDS], 2)),
        matrices=np.zeros(sizes[FULL_VALUES]),
        known=np.zeros((sizes[FULL_VALUES] >> 2, 2), np.int64),
    )
    return room, found
