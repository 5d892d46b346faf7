"""Turns a depth-first traversal into the flat arrays of a tree: children contiguous, infosets player by player."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.tree.arrays import NODE, OUTCOME, TERMINAL, Shape, TreeArrays

_UNSEEN = -1

# An inner node on the path of a depth-first traversal.
_FRAME = np.dtype(
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


class Layout(NamedTuple):
    """A tree as arrays."""

    arrays: TreeArrays
    shape: Shape
    order: np.ndarray  # [num_infosets] int64: the recorded number of each infoset
    slot_action: np.ndarray  # [num_slots] int64
    outcome_action: np.ndarray  # of each row of `TreeArrays.chance`, int64


def lay_out(
    max_depth: int,
    kinds: np.ndarray,
    payloads: np.ndarray,
    infosets: np.ndarray,
    slot_action: np.ndarray,
    distributions: Sequence[Sequence[tuple[int, float]]],
    payoffs: np.ndarray,
) -> Layout:
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
    old_slot = infosets["first_slot"].copy()
    infosets["parent_slot"] = _UNSEEN
    infoset_range, slot_range = number_slots(infosets, num_players)
    num_slots = int(slot_range[-1])
    old_slot = np.repeat(old_slot - infosets["first_slot"], infosets["num_actions"])
    old_slot += np.arange(num_slots, dtype=np.int32)
    slot_action = slot_action[old_slot]
    del old_slot
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
            num_slots + np.arange(num_players),
            np.zeros(max_depth, _FRAME),
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
    return Layout(arrays, shape, order, slot_action, outcome_action)


def number_slots(infosets: np.ndarray, num_players: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ranges of players' infosets and slots, ``[num_players + 1]`` int64."""
    ends = np.cumsum(infosets["num_actions"], dtype=np.int64)
    np.subtract(ends, infosets["num_actions"], out=infosets["first_slot"], casting="unsafe")
    infoset_range = np.searchsorted(infosets["player"], np.arange(num_players + 1)).astype(np.int64)
    return infoset_range, np.array([ends[last - 1] if last else 0 for last in infoset_range], np.int64)


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
def _link(kinds, payloads, renumbered, chance_first, chance_count, last_slot, frames, infosets, nodes):
    """Fills `nodes` and the parents in `infosets` from the depth-first stream. Both are modified in place.

    `last_slot` holds the empty sequences, and `frames` is scratch memory. Returns the size of a traversal's stack, the
    most moves of players in a history, and whether every player has perfect recall: whether each infoset is always
    entered through one last slot of its player.
    """
    perfect_recall, max_stack, depth, free, node, moves, max_moves = True, 1, 0, 1, 0, 0, 0
    for position in range(len(kinds)):
        kind, payload = kinds[position], payloads[position]
        nodes[node]["kind"] = kind
        if kind == TERMINAL:
            nodes[node]["num_children"] = 0
            nodes[node]["first_child"] = 0
            nodes[node]["payload"] = payload
            while depth > 0 and frames[depth - 1]["next"] > frames[depth - 1]["last"]:
                depth -= 1
                if frames[depth]["mover"] >= 0:
                    moves -= 1
                    last_slot[frames[depth]["mover"]] = frames[depth]["saved_slot"]
            if depth == 0:
                break
        else:
            frame = frames[depth]
            frame["mover"] = kind
            if kind >= 0:
                infoset = renumbered[payload]
                count = infosets[infoset]["num_actions"]
                payload = infosets[infoset]["first_slot"]
                moves += 1
                max_moves = max(max_moves, moves)
                frame["first_slot"], frame["saved_slot"] = payload, last_slot[kind]
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
            frame["first"] = frame["next"] = free
            frame["last"] = free + count - 1
            frame["width"] = count - 1 + (frames[depth - 1]["width"] if depth > 0 else 1)
            max_stack = max(max_stack, frame["width"])
            free += count
            depth += 1
        top = frames[depth - 1]
        node = top["next"]
        top["next"] += 1
        if top["mover"] >= 0:
            last_slot[top["mover"]] = top["first_slot"] + node - top["first"]
    return max_stack, max_moves, perfect_recall
