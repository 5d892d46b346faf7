"""Turns a recording into the flat arrays of a tree: children contiguous, infosets player by player."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.tree.arrays import INFOSET, NODE, OUTCOME, TERMINAL, TreeArrays
from mccfr_plus.tree.expansion import NUM_EXPANSION
from mccfr_plus.tree.recording import Recording

_UNSEEN = -1


class Shape(NamedTuple):
    """What a traversal over the tree needs to know before it starts."""

    max_depth: int  # longest history, in actions of players and chance
    max_stack: int  # pending nodes of a depth-first traversal that visits everything
    perfect_recall: bool


def lay_out(recording: Recording) -> tuple[TreeArrays, np.ndarray, Shape]:
    """Returns the arrays, the order of the infosets and the shape of the recorded tree.

    The order is ``[num_infosets]`` int64: entry i is the recorded number of the infoset that is now number i.
    """
    num_players = recording.num_players
    players = np.asarray(recording.infoset_player, np.int32)
    order = np.argsort(players, kind="stable")  # first-visit order is kept within a player
    num_infosets = len(order)
    infosets = np.zeros(num_infosets, INFOSET)
    infosets["num_actions"] = [len(recording.infoset_actions[i]) for i in order]
    infosets["first_slot"] = np.cumsum(infosets["num_actions"]) - infosets["num_actions"]
    infosets["parent_slot"] = _UNSEEN
    infosets["player"] = players[order]
    num_slots = int(infosets["num_actions"].sum(dtype=np.int64))
    infoset_range = np.searchsorted(players[order], np.arange(num_players + 1)).astype(np.int64)
    slot_range = np.append(infosets["first_slot"], num_slots).astype(np.int64)[infoset_range]
    renumbered = np.empty(num_infosets, np.int32)
    renumbered[order] = np.arange(num_infosets, dtype=np.int32)

    chance_count = np.array([len(d) for d in recording.distributions], np.int32)
    chance_first = (np.cumsum(chance_count) - chance_count).astype(np.int32)
    tables = [alias_table(np.array([p for _, p in d])) for d in recording.distributions]

    nodes = np.empty(len(recording.kinds), NODE)
    with announce_compilation(_link, "the layout of trees", 1):  # the first kernel that a process needs
        max_depth, max_stack, perfect_recall = _link(
            np.frombuffer(recording.kinds, np.int8),
            np.frombuffer(recording.payloads, np.int32),
            renumbered,
            chance_first,
            chance_count,
            num_players,
            num_slots,
            infosets,
            nodes,
        )
    arrays = TreeArrays(
        nodes=nodes,
        payoffs=np.array(recording.payoffs, np.float64).reshape(-1, num_players),
        chance=np.concatenate(tables) if tables else np.zeros(0, OUTCOME),
        infosets=infosets,
        infoset_range=infoset_range,
        slot_range=slot_range,
        leaf_range=np.zeros(num_players + 1, np.int64),
        leaf_start=np.zeros(1, np.int64),
        leaf_row=np.zeros(0, np.int32),
        leaf_others=np.zeros(0, np.int32),
        leaf_value=np.zeros(0),
        expansion=np.zeros(NUM_EXPANSION, np.int64),
    )
    return arrays, order, Shape(int(max_depth), int(max_stack), bool(perfect_recall))


def chance_actions(recording: Recording) -> np.ndarray:
    """Returns the action of every row of `TreeArrays.chance`, ``[num_outcomes]`` int64."""
    actions = itertools.chain.from_iterable(recording.distributions)
    return np.array([action for action, _ in actions], np.int64)


def alias_table(probabilities: np.ndarray) -> np.ndarray:
    """Returns the rows of `TreeArrays.chance` for one distribution, ``[num_outcomes]`` OUTCOME.

    Reference: Vose 1991, "A linear algorithm for generating random numbers with a given distribution".
    """
    table = np.empty(len(probabilities), OUTCOME)
    table["probability"] = probabilities / probabilities.sum()
    _fill_alias_table(table)
    return table


@kernel
def _fill_alias_table(table):
    """Fills acceptance and alias of a table whose probabilities are there. Modified in place."""
    count = len(table)
    scaled = np.empty(count)
    small, large = np.empty(count, np.int64), np.empty(count, np.int64)
    num_small, num_large = 0, 0
    for outcome in range(count):
        table[outcome]["accept"] = 1.0
        table[outcome]["alias"] = outcome
        scaled[outcome] = table[outcome]["probability"] * count
        if scaled[outcome] < 1.0:
            small[num_small] = outcome
            num_small += 1
        else:
            large[num_large] = outcome
            num_large += 1
    while num_small > 0 and num_large > 0:
        num_small -= 1
        num_large -= 1
        low, high = small[num_small], large[num_large]
        table[low]["accept"] = scaled[low]
        table[low]["alias"] = high
        scaled[high] -= 1.0 - scaled[low]
        if scaled[high] < 1.0:
            small[num_small] = high
            num_small += 1
        else:
            large[num_large] = high
            num_large += 1
    # What is left over on either side is 1 up to rounding.


@kernel
def _link(kinds, payloads, renumbered, chance_first, chance_count, num_players, num_slots, infosets, nodes):
    """Fills `nodes` and the parents in `infosets` from the depth-first stream. Both are modified in place.

    Returns the depth of the tree, the size of a traversal's stack, and whether every player has perfect recall: whether
    each infoset is always entered through the same last slot of its player.
    """
    depth_limit = 64
    begin_child = np.empty(depth_limit, np.int64)
    next_child = np.empty(depth_limit, np.int64)
    last_child = np.empty(depth_limit, np.int64)
    width = np.empty(depth_limit, np.int64)  # pending siblings down to here
    mover = np.empty(depth_limit, np.int64)  # the player of the frame, or -1
    first_slot = np.empty(depth_limit, np.int64)
    saved_slot = np.empty(depth_limit, np.int64)  # the mover's last slot before the frame
    last_slot = num_slots + np.arange(num_players)
    perfect_recall = True
    max_depth, max_stack, depth = 0, 1, 0
    free = 1
    node = 0
    for position in range(len(kinds)):
        kind, payload = kinds[position], payloads[position]
        nodes[node]["kind"] = kind
        if kind == TERMINAL:
            nodes[node]["num_children"] = 0
            nodes[node]["first_child"] = 0
            nodes[node]["payload"] = payload
            while depth > 0 and next_child[depth - 1] > last_child[depth - 1]:
                depth -= 1
                if mover[depth] >= 0:
                    last_slot[mover[depth]] = saved_slot[depth]
            if depth == 0:
                break
        else:
            slot = -1
            if kind >= 0:
                infoset = renumbered[payload]
                count = infosets[infoset]["num_actions"]
                slot = infosets[infoset]["first_slot"]
                payload = slot
                if infosets[infoset]["parent_slot"] == _UNSEEN:
                    infosets[infoset]["parent_slot"] = last_slot[kind]
                elif infosets[infoset]["parent_slot"] != last_slot[kind]:
                    perfect_recall = False
            else:
                count = chance_count[payload]
                payload = chance_first[payload]
            nodes[node]["num_children"] = count
            nodes[node]["first_child"] = free
            nodes[node]["payload"] = payload
            if depth == depth_limit:
                depth_limit *= 2
                begin_child = np.append(begin_child, begin_child)
                next_child = np.append(next_child, next_child)
                last_child = np.append(last_child, last_child)
                width = np.append(width, width)
                mover = np.append(mover, mover)
                first_slot = np.append(first_slot, first_slot)
                saved_slot = np.append(saved_slot, saved_slot)
            begin_child[depth] = free
            next_child[depth] = free
            last_child[depth] = free + count - 1
            width[depth] = count - 1 + (width[depth - 1] if depth > 0 else 1)
            mover[depth] = kind if kind >= 0 else -1
            first_slot[depth] = slot
            saved_slot[depth] = last_slot[kind] if kind >= 0 else -1
            max_stack = max(max_stack, width[depth])
            free += count
            depth += 1
            max_depth = max(max_depth, depth)
        top = depth - 1
        node = next_child[top]
        next_child[top] += 1
        if mover[top] >= 0:
            last_slot[mover[top]] = first_slot[top] + node - begin_child[top]
    return max_depth, max_stack, perfect_recall
