"""The kernel that makes public trees, depth first over sets of histories, of games with rules and of stored trees.

Each step holds all histories that agree in what is public. A player's hands are what its information states tell it
apart by. An outcome of chance is public as far as all players see it; what is left of it are private hands.
`builder` has the arrays.
"""

import numpy as np

from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.trees.by_rules.rows import RULE_APPLY, RULE_LEGAL, RULE_LOOK, RULE_OUTCOMES, RULE_RETURNS
from mccfr_plus.trees.info_states import hash_step, pack
from mccfr_plus.trees.public.arrays import BLOCK, HANDS, LEAVE, MATRIX
from mccfr_plus.trees.scratch import at

# Why the kernel returns: it is done; it may go on; arrays are full, after which it may go on; or what is not public.
DONE, PAUSED = range(2)
FULL_HISTORIES, FULL_NODES, FULL_INFOSETS, FULL_MATRICES = range(2, 6)
DIFFERENT_MOVERS, DIFFERENT_ACTIONS, HIDDEN_ACTION, IMPERFECT_RECALL = range(6, 10)

# Columns of a frame, which is a set of histories on the path: where it begins, its size; who moves, its children, how
# many of them were taken, its node (-1: chance deals hands only) and first slot; bits of the players who have decided
# since chance moved; and, for each of both players, the first three columns of an end.
_BEGIN, SIZE, PLAYER, _NUM_CHILDREN, TAKEN, _NODE, _FIRST_SLOT, _DECIDED, LAST_SLOT = range(9)
OF_PLAYER = 3
NUM_COLUMNS = LAST_SLOT + 2 * OF_PLAYER

# Entries of `Room.counts`: what was found so far, by player for infosets and slots; the depth; histories visited.
NODES, OUTCOMES, ACTIONS, ENDS, VALUES, _MATRICES, INFOSETS, SLOTS, DEPTH = 0, 1, 2, 3, 4, 5, 6, 8, 10
_STAMP, IS_NEW, LEAVES, VISITED, NUM_COUNTS = 11, 12, 13, 14, 15

# Histories at which what players know is compared in full. Later, unless chance has moved since the player's last
# decision, it is compared at the first history of each hand, and at one in 16 others.
_CHECKS, _ONE_IN = 50_000_000, 16
_EQUAL = 1e-14  # of entries that are at most about 1
_PUBLIC, _PRIVATE = 1, 0  # kinds of entries that `look` writes; -1: not in information states


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
    room.hands[at(target), 0], room.hands[at(target), 1] = room.hands[at(source), 0], room.hands[at(source), 1]


@kernel
def _sort_hands(source, room, found, frame, actions, is_known):
    """Gives each history the hand of the player to move, with an infoset for each hand. Returns a status, and how many.

    With `is_known` the hands are those of the player's last decision, which a part of the histories confirms.
    """
    counts, begin, mover, hands = room.counts, frame[_BEGIN], frame[PLAYER], 0
    last, infoset, end = LAST_SLOT + OF_PLAYER * mover, counts[INFOSETS + mover], begin + frame[SIZE]
    count = RULE_LEGAL(source.parameters, source.table, room.states[begin], actions)
    counts[_STAMP] += 1
    for history in range(begin, end):
        if is_known and room.hands[history, mover] < hands and (history + counts[NODES]) % _ONE_IN != 0:
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


@kernel
def _decide(source, room, found, frame, actions):
    """Enters a decision with its infosets, and sets the hand of each history. Returns a status."""
    counts, begin, mover, shown, node = room.counts, frame[_BEGIN], frame[PLAYER], room.choices, room.counts[NODES]
    top = begin + frame[SIZE]
    if top == len(room.states):
        return FULL_HISTORIES
    if counts[INFOSETS + mover] + frame[SIZE] > len(found.parents):
        return FULL_INFOSETS
    status, hands = PAUSED, 0
    if frame[_DECIDED] >> mover & 1 and counts[VISITED] > _CHECKS:
        status, hands = _sort_hands(source, room, found, frame, actions, True)
    if status == PAUSED:
        status, hands = _sort_hands(source, room, found, frame, actions, False)
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
    frame[TAKEN], frame[_NODE], frame[_NUM_CHILDREN], frame[_FIRST_SLOT] = 0, node, count, counts[SLOTS + mover]
    frame[_DECIDED] |= 1 << mover
    record = found.nodes[node]
    record["kind"], record["num_children"], record["num_hands"] = mover, count, hands
    record["first"] = counts[INFOSETS + mover]
    for index in range(count):
        found.actions[counts[ACTIONS] + index] = actions[index]
    counts[NODES] += 1
    counts[ACTIONS] += count
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
            room.chance[top] *= room.probabilities[index]
            RULE_APPLY(source.parameters, source.table, room.states[top], room.choices[index])
            is_end = is_end and room.states[top, MOVER] == TERMINAL
            group = _label(room, _hash_of_seen(source, room, room.states[top], 0, _PUBLIC), groups)
            groups += group == groups
            room.group[top] = group
            top += 1
    groups = 1 if is_end else groups  # at the end of the game it does not matter what chance shows
    if groups > 1:
        node, first = counts[NODES], counts[OUTCOMES]
        if first + groups > len(found.outcomes):
            return FULL_NODES
        for history in range(begin + size, top):
            found.outcomes[first + room.group[history]] += room.chance[history]
        record, frame[_NODE] = found.nodes[node], node
        record["kind"], record["num_children"], record["first"] = CHANCE, groups, first
        counts[NODES] += 1
        counts[OUTCOMES] += groups
    frame[_BEGIN], frame[SIZE], frame[_DECIDED], frame[_NUM_CHILDREN] = begin + size, top - begin - size, 0, groups
    return DONE


@inline_kernel
def _matrix_of(found, counts, begin, end):
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
    if 2 * counts[_MATRICES] < len(found.known):  # those that are found later are not looked for
        found.known[at(place), 0], found.known[at(place), 1] = begin + 1, key
        counts[_MATRICES] += 1
    return begin, scale


@kernel
def _end(source, room, found, frame):
    """Enters an end with the matrices of both players. Returns a status."""
    counts, begin, size = room.counts, frame[_BEGIN], frame[SIZE]
    hands_0, hands_1 = frame[LAST_SLOT + HANDS], frame[LAST_SLOT + OF_PLAYER + HANDS]
    blocks_0, blocks_1 = (hands_0 + BLOCK - 1) // BLOCK, (hands_1 + BLOCK - 1) // BLOCK
    first, second = counts[VALUES], counts[VALUES] + blocks_0 * hands_1 * BLOCK
    last = second + blocks_1 * hands_0 * BLOCK
    values = found.matrices
    if last > len(values):
        return FULL_MATRICES
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
    matrix_0, scale_0 = _matrix_of(found, counts, first, second)
    if matrix_0 != first:  # the second one moves to its place
        for entry in range(last - second):
            values[at(first + entry)] = values[at(second + entry)]
        second, last = first, first + last - second
    matrix_1, scale_1 = _matrix_of(found, counts, second, last)
    counts[VALUES] = last if matrix_1 == second else second
    end = counts[ENDS]
    for player in range(2):
        for column in range(OF_PLAYER):
            found.ends[end, player, column] = frame[LAST_SLOT + OF_PLAYER * player + column]
        found.ends[end, player, MATRIX] = matrix_0 if player == 0 else matrix_1
        found.scales[end, player] = scale_0 if player == 0 else scale_1
    found.nodes[counts[NODES]]["kind"], found.nodes[counts[NODES]]["first"] = TERMINAL, end
    counts[NODES] += 1
    counts[ENDS] += 1
    counts[LEAVES] += size
    return DONE


@kernel
def _next_child(source, room, found, depth, top):
    """Makes the set of histories after the next action or public outcome, one level deeper. Returns a status."""
    frame, child, counts = room.frames[depth], room.frames[depth + 1], room.counts
    begin, size, taken, node = frame[_BEGIN], frame[SIZE], frame[TAKEN], frame[_NODE]
    for column in range(_DECIDED, NUM_COLUMNS):
        child[column] = frame[column]
    child[_BEGIN], child[SIZE] = top, size
    if node < 0:  # the histories stay where they are
        child[_BEGIN] = begin
        return DONE
    if top + size > len(room.states):
        return FULL_HISTORIES
    if frame[PLAYER] == CHANCE:
        for history in range(begin, begin + size):
            if room.group[history] == taken:
                _copy_history(room, history, top)
                top += 1
        child[SIZE] = top - child[_BEGIN]
        found.outcome_node[found.nodes[node]["first"] + taken] = counts[NODES]
        return DONE
    last, record = LAST_SLOT + OF_PLAYER * frame[PLAYER], found.nodes[node]
    child[last] = frame[_FIRST_SLOT] + taken
    child[last + 1], child[last + HANDS] = record["num_children"], record["num_hands"]
    for history in range(begin, begin + size):
        _copy_history(room, history, top)
        RULE_APPLY(source.parameters, source.table, room.states[at(top)], room.actions[depth, taken])
        top += 1
    return DONE


@kernel
def traverse(source, room, found, max_visits):
    """Goes on with the traversal, for about so many histories. Returns a status; `room` has the path."""
    counts, frames, depth, status = room.counts, room.frames, room.counts[DEPTH], DONE
    stop = counts[VISITED] + max_visits
    while depth >= 0:
        frame = frames[depth]
        counts[DEPTH] = depth
        if counts[IS_NEW]:
            begin, mover = frame[_BEGIN], room.states[frame[_BEGIN], MOVER]
            frame[PLAYER], frame[TAKEN], frame[_NUM_CHILDREN], frame[_NODE] = mover, 0, 0, -1
            for history in range(begin, begin + frame[SIZE]):
                if room.states[history, MOVER] != mover:
                    return DIFFERENT_MOVERS
            # Each set on the path may enter one more node.
            if max(counts[NODES] + depth + 3, counts[ACTIONS] + room.actions.shape[1]) > len(found.nodes):
                return FULL_NODES
            if counts[VISITED] > stop:
                return PAUSED
            if mover == TERMINAL:
                status = _end(source, room, found, frame)
            elif mover == CHANCE:
                status = _deal(source, room, found, frame)
            else:
                status = _decide(source, room, found, frame, room.actions[depth])
            if status != DONE:
                return status
            counts[VISITED] += frame[SIZE]
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
