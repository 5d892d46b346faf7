"""Traversals a game by its compiled rules, depth first, and writes its tree: no Python per node.

The kernel keeps its whole state in arrays. It returns when it is done, when an array is full, when it has visited as
many nodes as it was asked to, or when the rules contradict themselves, and goes on where it stopped when called again.

The names `rule_legal` and so on stand for a game's kernels: `mccfr_plus.kernels.compile.compose` puts them there. What
comes out is, but for the numbers of slots, what `mccfr_plus.tree.layout` makes of a traversal through pyspiel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus.games.rules import CHANCE as CHANCE_MOVES
from mccfr_plus.games.rules import MOVER
from mccfr_plus.games.rules import TERMINAL as NOBODY_MOVES
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.interning import EMPTY, hash_end, hash_step, place_of_row
from mccfr_plus.tree.key_layout import pack

# Why the kernel returns.
(
    DONE,
    PAUSED,
    MORE_NODES,
    MORE_INFOSETS,
    MORE_SLOTS,
    MORE_PAYOFFS,
    MORE_OUTCOMES,
    TOO_DEEP,
    BAD_MOVER,
    BAD_LEGAL,
    BAD_VIEW,
    BAD_CHANCE,
    BAD_RETURNS,
    DIFFERENT_LEGAL,
) = range(14)

# Entries of `Traversal.counts`.
(
    NODE,  # where the node stands whose state is in `states[depth]`
    DEPTH,
    VISITED,
    NUM_NODES,
    NUM_INFOSETS,
    NUM_SLOTS,
    NUM_PAYOFFS,
    NUM_DISTRIBUTIONS,
    NUM_OUTCOMES,
    MAX_DEPTH,
    MAX_STACK,
    IMPERFECT,
) = range(12)
NUM_COUNTS = 12

# While the traversal is on its way, an infoset's player has a checksum of its legal actions above it.
PLAYER_BITS = 8
_CHECKSUM_BITS = 22

FRAME = np.dtype(
    [
        ("first", np.int32),  # the first child
        ("next", np.int32),  # the child to visit next
        ("last", np.int32),
        ("width", np.int32),  # nodes that a traversal down to here has waiting
        ("mover", np.int32),  # the player, or CHANCE
        ("first_slot", np.int32),
        ("saved_slot", np.int32),  # the player's last slot before the node
    ]
)


class Traversal(NamedTuple):
    """What the traversal keeps while it is on its way. Its size is known before it starts."""

    counts: np.ndarray  # [NUM_COUNTS] int64
    states: np.ndarray  # [max_depth + 1, state_size] int64
    actions: np.ndarray  # [max_depth, most actions] int64
    frames: np.ndarray  # [max_depth] FRAME
    last_slot: np.ndarray  # [num_players] int64; -1 - p is the empty sequence of player p
    seen: np.ndarray  # [view_size] int64
    key: np.ndarray  # [words] int64
    payoff: np.ndarray  # [num_players] float64
    probabilities: np.ndarray  # [most outcomes] float64


class Grown(NamedTuple):
    """What the traversal finds. The arrays grow; slots are numbered by first visit, all players together."""

    nodes: np.ndarray  # [capacity] NODE
    infosets: np.ndarray  # [capacity] INFOSET; the parent's slot is -1 - player for the empty sequence; PLAYER_BITS
    keys: np.ndarray  # [capacity, words] int64
    infoset_table: np.ndarray  # of `interning`
    slot_action: np.ndarray  # [capacity] int64
    payoffs: np.ndarray  # [capacity, num_players] int64, the bits of floats
    payoff_table: np.ndarray
    distribution: np.ndarray  # [capacity, 2] int64: first outcome, number of outcomes
    distribution_table: np.ndarray
    outcome_action: np.ndarray  # [capacity] int64
    outcome_probability: np.ndarray  # [capacity] float64


@kernel
def rule_legal(parameters, table, state, actions):
    """Stands for the game's `legal`."""
    return 0


@kernel
def rule_outcomes(parameters, table, state, actions, probabilities):
    """Stands for the game's `outcomes`."""
    return 0


@kernel
def rule_apply(parameters, table, state, action):
    """Stands for the game's `apply`."""


@kernel
def rule_returns(parameters, table, state, payoffs):
    """Stands for the game's `returns`."""


@kernel
def rule_look(parameters, table, state, player, view):
    """Stands for the game's `look`."""


@kernel
def _hash_of_distribution(actions, bits, first, count):
    state = np.uint64(count)
    for outcome in range(first, first + count):
        state = hash_step(hash_step(state, np.uint64(actions[outcome])), np.uint64(bits[outcome]))
    return hash_end(state)


@kernel
def _find_distribution(lazy, actions, probabilities, count):
    """Returns where in `lazy.distribution_table` these outcomes stand, or belong if they are new."""
    bits, known = probabilities.view(np.int64), lazy.outcome_probability.view(np.int64)
    state = _hash_of_distribution(actions, bits, 0, count)
    mask = np.uint64(len(lazy.distribution_table) - 1)
    place = state & mask
    while True:
        found = lazy.distribution_table[place]
        if found == EMPTY:
            return place
        first = lazy.distribution[found, 0]
        same = lazy.distribution[found, 1] == count
        for index in range(count if same else 0):
            if lazy.outcome_action[first + index] != actions[index] or known[first + index] != bits[index]:
                same = False
                break
        if same:
            return place
        place = (place + np.uint64(1)) & mask


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    """Writes the possible outcomes of chance; returns how many, 0 if there are too many or they do not sum to 1."""
    given = rule_outcomes(parameters, table, state, actions, probabilities)
    if given > len(probabilities):
        return 0
    count, total = 0, 0.0
    for index in range(given):
        if probabilities[index] < 0.0:
            return 0
        total += probabilities[index]
        if probabilities[index] > 0.0:  # outcomes of probability 0 would be histories that no play reaches
            actions[count], probabilities[count] = actions[index], probabilities[index]
            count += 1
    return count if abs(total - 1.0) <= 1e-6 else 0


@kernel
def traversal(parameters, table, places, walk_state, lazy, num_players, max_visits):
    """Goes on with the traversal and returns why it stopped.

    Args:
        parameters: The game's.
        table: The game's.
        places: `KeyLayout`.
        walk_state: `Traversal`. Modified in place.
        lazy: `Grown`. Modified in place.
        num_players: Number of players.
        max_visits: How many nodes to visit at most.
    """
    parameters, table, places = no_refcount(parameters), no_refcount(table), no_refcount(places)
    walk_state, lazy = no_refcount(walk_state), no_refcount(lazy)
    counts, states, actions, frames = walk_state.counts, walk_state.states, walk_state.actions, walk_state.frames
    last_slot, view, key = walk_state.last_slot, walk_state.seen, walk_state.key
    payoff, probabilities = walk_state.payoff, walk_state.probabilities
    payoff_bits = payoff.view(np.int64)
    nodes, infosets, slot_action = lazy.nodes, lazy.infosets, lazy.slot_action
    most_actions, state_size = actions.shape[1], states.shape[1]
    node, depth, free = counts[NODE], counts[DEPTH], counts[NUM_NODES]
    num_infosets, num_slots = counts[NUM_INFOSETS], counts[NUM_SLOTS]
    visits, status = 0, PAUSED
    while visits < max_visits:
        if free + most_actions > len(nodes):
            status = MORE_NODES
            break
        if num_infosets == len(infosets):
            status = MORE_INFOSETS
            break
        if num_slots + most_actions > len(slot_action):
            status = MORE_SLOTS
            break
        state = states[depth]
        mover = state[MOVER]
        if mover == NOBODY_MOVES:
            if counts[NUM_PAYOFFS] == len(lazy.payoffs):
                status = MORE_PAYOFFS
                break
            for player in range(num_players):
                payoff[player] = 0.0
            rule_returns(parameters, table, state, payoff)
            for player in range(num_players):
                payoff[player] += 0.0  # -0.0 becomes 0.0
                if not abs(payoff[player]) < np.inf:  # NaN is wrong, too
                    status = BAD_RETURNS
            if status == BAD_RETURNS:
                break
            place = place_of_row(lazy.payoff_table, lazy.payoffs, payoff_bits)
            index = lazy.payoff_table[place]
            if index == EMPTY:
                index = counts[NUM_PAYOFFS]
                lazy.payoff_table[place] = index
                for player in range(num_players):
                    lazy.payoffs[index, player] = payoff_bits[player]
                counts[NUM_PAYOFFS] += 1
            nodes[node]["kind"] = TERMINAL
            nodes[node]["num_children"] = 0
            nodes[node]["first_child"] = 0
            nodes[node]["payload"] = index
            visits += 1
            while depth > 0 and frames[depth - 1]["next"] > frames[depth - 1]["last"]:
                depth -= 1
                if frames[depth]["mover"] >= 0:
                    last_slot[frames[depth]["mover"]] = frames[depth]["saved_slot"]
            if depth == 0:
                status = DONE
                break
        else:
            if depth == len(frames):
                status = TOO_DEEP
                break
            choices = actions[depth]
            kind, first_slot, saved_slot = CHANCE, -1, -1
            if mover == CHANCE_MOVES:
                if counts[NUM_OUTCOMES] + most_actions > len(lazy.outcome_action) or counts[NUM_DISTRIBUTIONS] == len(
                    lazy.distribution
                ):
                    status = MORE_OUTCOMES
                    break
                count = _outcomes(parameters, table, state, choices, probabilities)
                if count == 0:
                    status = BAD_CHANCE
                    break
                place = _find_distribution(lazy, choices, probabilities, count)
                index = lazy.distribution_table[place]
                if index == EMPTY:
                    index = counts[NUM_DISTRIBUTIONS]
                    lazy.distribution_table[place] = index
                    lazy.distribution[index, 0] = counts[NUM_OUTCOMES]
                    lazy.distribution[index, 1] = count
                    for outcome in range(count):
                        lazy.outcome_action[counts[NUM_OUTCOMES] + outcome] = choices[outcome]
                        lazy.outcome_probability[counts[NUM_OUTCOMES] + outcome] = probabilities[outcome]
                    counts[NUM_DISTRIBUTIONS] += 1
                    counts[NUM_OUTCOMES] += count
                payload = lazy.distribution[index, 0]
            elif mover < 0 or mover >= num_players:
                status = BAD_MOVER
                break
            else:
                kind = mover
                count = rule_legal(parameters, table, state, choices)
                if count < 1 or count > most_actions:
                    status = BAD_LEGAL
                    break
                # Comparing all actions with those of the first visit would be one more cache miss per node.
                checksum = np.uint64(count)
                for choice in range(count):
                    checksum = hash_step(checksum, np.uint64(choices[choice]))
                owner = mover + (np.int64(checksum >> np.uint64(64 - _CHECKSUM_BITS)) << PLAYER_BITS)
                for entry in range(len(view)):
                    view[entry] = 0
                rule_look(parameters, table, state, mover, view)
                if not pack(places, mover, view, key):
                    status = BAD_VIEW
                    break
                place = place_of_row(lazy.infoset_table, lazy.keys, key)
                infoset = lazy.infoset_table[place]
                if infoset == EMPTY:
                    infoset = num_infosets
                    lazy.infoset_table[place] = infoset
                    for word in range(len(key)):
                        lazy.keys[infoset, word] = key[word]
                    infosets[infoset]["first_slot"] = num_slots
                    infosets[infoset]["num_actions"] = count
                    infosets[infoset]["parent_slot"] = last_slot[mover]
                    infosets[infoset]["player"] = owner
                    for choice in range(count):
                        slot_action[num_slots + choice] = choices[choice]
                    num_infosets += 1
                    num_slots += count
                elif infosets[infoset]["parent_slot"] != last_slot[mover]:
                    counts[IMPERFECT] = 1
                first_slot, saved_slot = infosets[infoset]["first_slot"], last_slot[mover]
                if infosets[infoset]["player"] != owner or infosets[infoset]["num_actions"] != count:
                    status = DIFFERENT_LEGAL
                    break
                payload = first_slot
            nodes[node]["kind"] = kind
            nodes[node]["num_children"] = count
            nodes[node]["first_child"] = free
            nodes[node]["payload"] = payload
            visits += 1
            frame = frames[depth]
            frame["first"] = free
            frame["next"] = free
            frame["last"] = free + count - 1
            frame["width"] = count - 1 + (frames[depth - 1]["width"] if depth > 0 else 1)
            frame["mover"] = kind
            frame["first_slot"] = first_slot
            frame["saved_slot"] = saved_slot
            counts[MAX_STACK] = max(counts[MAX_STACK], frame["width"])
            free += count
            depth += 1
            counts[MAX_DEPTH] = max(counts[MAX_DEPTH], depth)
        top = frames[depth - 1]
        node = top["next"]
        top["next"] += 1
        child = node - top["first"]
        if top["mover"] >= 0:
            last_slot[top["mover"]] = top["first_slot"] + child
        for word in range(state_size):
            states[depth, word] = states[depth - 1, word]
        rule_apply(parameters, table, states[depth], actions[depth - 1, child])
    counts[NODE], counts[DEPTH], counts[NUM_NODES] = node, depth, free
    counts[NUM_INFOSETS], counts[NUM_SLOTS] = num_infosets, num_slots
    counts[VISITED] += visits
    return status


@kernel
def renumber(nodes, infosets, slot_map):
    """Puts the final numbers of slots, `slot_map`, into nodes and parents of infosets. Both are modified in place."""
    for node in range(len(nodes)):
        if nodes[node]["kind"] >= 0:
            nodes[node]["payload"] = slot_map[nodes[node]["payload"]]
    for infoset in range(len(infosets)):
        parent = infosets[infoset]["parent_slot"]
        infosets[infoset]["parent_slot"] = slot_map[parent] if parent >= 0 else len(slot_map) - 1 - parent


@kernel
def table_of_distributions(lazy, count, places):
    """Returns the hash table of the first `count` distributions with that many places."""
    table = np.full(places, EMPTY, np.int32)
    bits = lazy.outcome_probability.view(np.int64)
    for index in range(count):
        first, length = lazy.distribution[index, 0], lazy.distribution[index, 1]
        place = _hash_of_distribution(lazy.outcome_action, bits, first, length) & np.uint64(places - 1)
        while table[place] != EMPTY:
            place = (place + np.uint64(1)) & np.uint64(places - 1)
        table[place] = index
    return table


@kernel
def move_slots(old_first_slot, infosets, action, slot_map, moved_action):
    """Writes for each slot its final number, and the actions in that order. The last two are outputs.

    Args:
        old_first_slot: ``[num_infosets]`` int32, in the final order of infosets: where slots stood by first visit.
        infosets: ``[num_infosets]`` INFOSET, in the final order.
        action: ``[num_slots]``, of slots in the order of first visit.
        slot_map: ``[num_slots]`` int32.
        moved_action: ``[num_slots]`` int64.
    """
    for infoset in range(len(infosets)):
        old, new = old_first_slot[infoset], infosets[infoset]["first_slot"]
        for offset in range(infosets[infoset]["num_actions"]):
            slot_map[old + offset] = new + offset
            moved_action[new + offset] = action[old + offset]
