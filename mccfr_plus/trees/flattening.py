"""Flattens a depth-first traversal into the arrays of a tree: children contiguous, infosets player by player."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.rules import CHANCE
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.trees.arrays import NODE, OUTCOME, Shape, TreeArrays, rows_of

_UNSEEN = -1

_NODE, _CHILD, _LAST_SLOT = range(3)  # columns of the path: a node, its child there, the mover's last slot before it


class FlatTree(NamedTuple):
    """A tree as arrays."""

    arrays: TreeArrays
    shape: Shape
    order: np.ndarray  # [num_infosets] int64: the recorded number of each infoset
    slot_action: np.ndarray  # [num_slots] int64
    outcome_action: np.ndarray  # of each row of `TreeArrays.chance`, int64


def flatten(
    max_depth: int,
    kinds: np.ndarray,
    payloads: np.ndarray,
    infosets: np.ndarray,
    slot_action: np.ndarray,
    distributions: Sequence[Sequence[tuple[int, float]]],
    payoffs: np.ndarray,
) -> FlatTree:
    """Returns the tree of a depth-first traversal, in which all is numbered by first visit.

    Args:
        max_depth: The longest history, in actions of players and chance.
        kinds: ``[num_nodes]`` int8.
        payloads: ``[num_nodes]`` int32: the number of the infoset, distribution or row of payoffs.
        infosets: ``[num_infosets]`` INFOSET, in which `player`, `num_actions` and `first_slot` count.
        slot_action: ``[num_slots]`` int64.
        distributions: Actions and probabilities of each distribution of chance.
        payoffs: ``[num_distinct_payoffs, num_players]`` float64.
    """
    num_players = payoffs.shape[1]
    order = np.argsort(infosets["player"].astype(np.int8), kind="stable")  # first-visit order within a player
    infosets = infosets[order]
    slot_action = slot_action[rows_of(infosets["first_slot"], infosets["num_actions"])]
    ends = np.cumsum(infosets["num_actions"], dtype=np.int64)
    infosets["first_slot"], infosets["parent_slot"] = ends - infosets["num_actions"], _UNSEEN
    infoset_range = np.searchsorted(infosets["player"], np.arange(num_players + 1))
    slot_range = np.append(0, ends)[infoset_range]
    renumbered = np.empty(len(order), np.int32)
    renumbered[order] = np.arange(len(order), dtype=np.int32)
    chance_count = np.array([len(d) for d in distributions], np.int32)
    tables = [alias_table(np.array([p for _, p in d])) for d in distributions]
    nodes = np.empty(len(kinds), NODE)
    with announce_compilation(_link, "the layout of trees", 1.0):  # the first kernel that a process needs
        max_stack, max_moves, perfect_recall = _link(
            kinds,
            payloads,
            renumbered,
            (np.cumsum(chance_count) - chance_count).astype(np.int32),
            chance_count,
            slot_range[-1] + np.arange(num_players),
            np.zeros((max_depth, 3), np.int64),
            infosets,
            nodes,
        )
    arrays = TreeArrays(
        nodes=nodes,
        payoffs=payoffs,
        chance=np.concatenate(tables) if tables else np.zeros(0, OUTCOME),
        infosets=infosets,
        infoset_range=infoset_range,
        slot_range=slot_range,
    )
    outcome_action = np.array([action for d in distributions for action, _ in d], np.int64)
    shape = Shape(max_depth, int(max_stack), bool(perfect_recall), int(max_moves))
    return FlatTree(arrays, shape, order, slot_action, outcome_action)


def alias_table(probabilities: np.ndarray) -> np.ndarray:
    """Returns the rows of `TreeArrays.chance` for one distribution, ``[num_outcomes]`` OUTCOME.

    Reference: Vose 1991, "A linear algorithm for generating random numbers with a given distribution".
    """
    count = len(probabilities)
    table = np.empty(count, OUTCOME)
    table["probability"] = probabilities / probabilities.sum()
    scaled = (table["probability"] * count).tolist()
    accept, alias = [1.0] * count, list(range(count))
    small = [outcome for outcome in alias if scaled[outcome] < 1.0]
    large = [outcome for outcome in alias if scaled[outcome] >= 1.0]
    while small and large:
        low, high = small.pop(), large.pop()
        accept[low], alias[low] = scaled[low], high
        scaled[high] -= 1.0 - scaled[low]
        (small if scaled[high] < 1.0 else large).append(high)
    table["accept"], table["alias"] = accept, alias  # what is left over on either side is 1 up to rounding
    return table


@kernel
def _link(kinds, payloads, renumbered, chance_first, chance_count, last_slot, path, infosets, nodes):
    """Fills `nodes` and the parents in `infosets` from the depth-first stream. Both are modified in place.

    `last_slot` holds the empty sequences, and `path` is scratch memory. Returns the size of a traversal's stack, the
    most moves of players in a history, and whether every player has perfect recall: whether each infoset is always
    entered through one last slot of its player.
    """
    perfect_recall, waiting, max_stack, moves, max_moves, depth, free, node = True, 1, 1, 0, 0, 0, 1, 0
    for position in range(len(kinds)):
        kind, payload, count = kinds[position], payloads[position], 0
        if kind == CHANCE:
            count, payload = chance_count[payload], chance_first[payload]
        elif kind >= 0:
            infoset = renumbered[payload]
            count, payload = infosets[infoset]["num_actions"], infosets[infoset]["first_slot"]
            if infosets[infoset]["parent_slot"] == _UNSEEN:
                infosets[infoset]["parent_slot"] = last_slot[kind]
            elif infosets[infoset]["parent_slot"] != last_slot[kind]:
                perfect_recall = False
            moves += 1
            max_moves = max(max_moves, moves)
        nodes[node]["kind"], nodes[node]["num_children"] = kind, count
        nodes[node]["first_child"], nodes[node]["payload"] = free if count else 0, payload
        if count:
            path[depth, _NODE], path[depth, _CHILD] = node, -1
            path[depth, _LAST_SLOT] = last_slot[max(kind, 0)]
            depth += 1
            free += count
            waiting += count - 1
            max_stack = max(max_stack, waiting)
        while depth > 0 and path[depth - 1, _CHILD] + 1 == nodes[path[depth - 1, _NODE]]["num_children"]:
            depth -= 1
            above = nodes[path[depth, _NODE]]
            waiting -= above["num_children"] - 1
            if above["kind"] >= 0:
                moves -= 1
                last_slot[above["kind"]] = path[depth, _LAST_SLOT]
        if depth == 0:
            break
        path[depth - 1, _CHILD] += 1
        above, child = nodes[path[depth - 1, _NODE]], path[depth - 1, _CHILD]
        node = above["first_child"] + child
        if above["kind"] >= 0:
            last_slot[above["kind"]] = above["payload"] + child
    return max_stack, max_moves, perfect_recall
