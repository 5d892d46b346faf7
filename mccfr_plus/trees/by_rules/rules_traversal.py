"""Traverses a game by its compiled rules, depth first, and records its tree: no Python per node.

The kernel keeps its state in arrays. It returns when it is done, when an array is full, when it has visited as many
nodes as asked for, or when the rules contradict themselves. The next call continues where it stopped.

A game's kernels fill the slots `RULE_LEGAL` and so on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.slots import optional_slot, required_slot
from mccfr_plus.trees.info_states import pack
from mccfr_plus.trees.interning import hash_step, index_of_row

# Why the kernel returns.
(
    DONE,
    PAUSED,
    MORE_NODES,
    MORE_INFOSETS,
    MORE_SLOTS,
    MORE_PAYOFFS,
    MORE_DISTRIBUTIONS,
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
    DEPTH,  # of the node that is visited next, whose state is `states[depth]`
    NUM_NODES,
    NUM_INFOSETS,
    NUM_SLOTS,
    NUM_PAYOFFS,
    NUM_DISTRIBUTIONS,
    MAX_DEPTH,
) = range(7)
NUM_COUNTS = 7

# During the traversal, an infoset's player has a checksum of its legal actions in the bits above these.
PLAYER_BITS = 8
_CHECKSUM_BITS = 22


class Traversal(NamedTuple):
    """Where the traversal is, and its scratch memory."""

    counts: np.ndarray  # [NUM_COUNTS] int64
    states: np.ndarray  # [max_depth + 1, state_size] int64
    actions: np.ndarray  # [max_depth, most actions] int64
    num_actions: np.ndarray  # [max_depth + 1] int64, of the nodes on the path
    num_taken: np.ndarray  # [max_depth + 1] int64, how many of these were taken
    seen: np.ndarray  # [view_size] int64; no `view`, which Numba takes for an array's method
    key: np.ndarray  # [words] int64
    payoff: np.ndarray  # [num_players] float64
    distribution: np.ndarray  # [2 * most outcomes] int64
    probabilities: np.ndarray  # [most outcomes] float64


class FoundArrays(NamedTuple):
    """What the traversal has found; see `flattening.flatten`."""

    kinds: np.ndarray  # [capacity] int8
    payloads: np.ndarray  # [capacity] int32
    infosets: np.ndarray  # [capacity] INFOSET, without the parent's slot; PLAYER_BITS
    keys: np.ndarray  # [capacity, words] int64
    infoset_table: np.ndarray  # of `interning`
    slot_action: np.ndarray  # [capacity] int64
    payoffs: np.ndarray  # [capacity, num_players] int64, the bits of floats
    payoff_table: np.ndarray
    # [capacity, 2 * most outcomes] int64: actions, then the bits of probabilities, 0 where there is no outcome
    distributions: np.ndarray
    distribution_table: np.ndarray


@required_slot
def RULE_LEGAL(parameters, table, state, actions):
    """The `legal` of the game's rules."""


@optional_slot
def RULE_OUTCOMES(parameters, table, state, actions, probabilities):
    """The `outcomes` of the game's rules; none by default."""
    return 0


@required_slot
def RULE_APPLY(parameters, table, state, action):
    """The `apply` of the game's rules."""


@required_slot
def RULE_RETURNS(parameters, table, state, payoffs):
    """The `returns` of the game's rules."""


@required_slot
def RULE_LOOK(parameters, table, state, player, view):
    """The `look` of the game's rules."""


def kernels_of(rules: Rules) -> dict[Any, Any]:
    """Returns the kernels of a game's rules by the slots that they fill."""
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


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    """Writes the possible outcomes of chance; returns how many, 0 if there are too many or they do not sum to 1."""
    given = RULE_OUTCOMES(parameters, table, state, actions, probabilities)
    if given > len(probabilities):
        return 0
    total = 0.0
    for index in range(given):
        if probabilities[index] < 0.0:
            return 0
        total += probabilities[index]
    return keep_possible(actions, probabilities, given) if abs(total - 1.0) <= 1e-6 else 0


@kernel
def traversal(parameters, table, places, progress, arrays, num_players, max_visits):
    """Continues the traversal and returns why it stopped.

    Args:
        parameters: The game's.
        table: The game's.
        places: `KeyPlaces`.
        progress: `Traversal`. Modified in place.
        arrays: `FoundArrays`. Modified in place.
        num_players: Number of players.
        max_visits: The largest number of nodes to visit.
    """
    counts, states, actions = progress.counts, progress.states, progress.actions
    num_actions, num_taken, view, key = progress.num_actions, progress.num_taken, progress.seen, progress.key
    payoff, distribution, probabilities = progress.payoff, progress.distribution, progress.probabilities
    payoff_bits, most_outcomes = payoff.view(np.int64), len(probabilities)
    kinds, payloads, infosets, slot_action = arrays.kinds, arrays.payloads, arrays.infosets, arrays.slot_action
    most_actions, state_size = actions.shape[1], states.shape[1]
    depth, num_nodes = counts[DEPTH], counts[NUM_NODES]
    num_infosets, num_slots = counts[NUM_INFOSETS], counts[NUM_SLOTS]
    stop, status = num_nodes + max_visits, PAUSED
    while num_nodes < stop:
        if num_nodes == len(kinds):
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
        if mover == TERMINAL:
            if counts[NUM_PAYOFFS] == len(arrays.payoffs):
                status = MORE_PAYOFFS
                break
            for player in range(num_players):
                payoff[player] = 0.0
            RULE_RETURNS(parameters, table, state, payoff)
            for player in range(num_players):
                payoff[player] += 0.0  # -0.0 becomes 0.0
                if not abs(payoff[player]) < np.inf:  # NaN is wrong, too
                    status = BAD_RETURNS
            if status == BAD_RETURNS:
                break
            kind, count = TERMINAL, 0
            payload = index_of_row(arrays.payoff_table, arrays.payoffs, payoff_bits, counts[NUM_PAYOFFS])
            counts[NUM_PAYOFFS] += payload == counts[NUM_PAYOFFS]
        elif depth == len(actions):
            status = TOO_DEEP
            break
        else:
            choices = actions[depth]
            if mover == CHANCE:
                if counts[NUM_DISTRIBUTIONS] == len(arrays.distributions):
                    status = MORE_DISTRIBUTIONS
                    break
                count = _outcomes(parameters, table, state, choices, probabilities)
                if count == 0:
                    status = BAD_CHANCE
                    break
                bits = probabilities.view(np.int64)
                for outcome in range(most_outcomes):
                    distribution[outcome] = choices[outcome] if outcome < count else 0
                    distribution[most_outcomes + outcome] = bits[outcome] if outcome < count else 0
                kind, known = CHANCE, counts[NUM_DISTRIBUTIONS]
                payload = index_of_row(arrays.distribution_table, arrays.distributions, distribution, known)
                counts[NUM_DISTRIBUTIONS] += payload == known
            elif mover < 0 or mover >= num_players:
                status = BAD_MOVER
                break
            else:
                kind = mover
                count = RULE_LEGAL(parameters, table, state, choices)
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
                RULE_LOOK(parameters, table, state, mover, view)
                if not pack(places, mover, view, key):
                    status = BAD_VIEW
                    break
                payload = index_of_row(arrays.infoset_table, arrays.keys, key, num_infosets)
                if payload == num_infosets:
                    infosets[payload]["first_slot"] = num_slots
                    infosets[payload]["num_actions"] = count
                    infosets[payload]["player"] = owner
                    for choice in range(count):
                        slot_action[num_slots + choice] = choices[choice]
                    num_infosets += 1
                    num_slots += count
                elif infosets[payload]["player"] != owner or infosets[payload]["num_actions"] != count:
                    status = DIFFERENT_LEGAL
                    break
        kinds[num_nodes], payloads[num_nodes] = kind, payload
        num_nodes += 1
        counts[MAX_DEPTH] = max(counts[MAX_DEPTH], depth)
        num_actions[depth], num_taken[depth] = count, 0
        while depth >= 0 and num_taken[depth] == num_actions[depth]:
            depth -= 1
        if depth < 0:
            status = DONE
            break
        child = num_taken[depth]
        num_taken[depth] += 1
        for word in range(state_size):
            states[depth + 1, word] = states[depth, word]
        depth += 1
        RULE_APPLY(parameters, table, states[depth], actions[depth - 1, child])
    counts[DEPTH], counts[NUM_NODES] = depth, num_nodes
    counts[NUM_INFOSETS], counts[NUM_SLOTS] = num_infosets, num_slots
    return status
