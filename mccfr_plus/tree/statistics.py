"""Sizes of a game tree, in the terms of the papers' tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from mccfr_plus._jit import kernel
from mccfr_plus.tree.arrays import CHANCE, TERMINAL, TreeArrays
from mccfr_plus.tree.layout import Shape


@dataclass(frozen=True)
class Statistics:
    """Counts of a tree; a list has one entry per player."""

    histories: int  # all nodes: the root, chance and terminal nodes included
    decision_nodes: list[int]
    chance_nodes: int
    terminal_nodes: int
    infosets: list[int]
    sequences: list[int]  # the empty sequence included
    max_actions: list[int]  # most actions at one infoset
    max_history_length: int  # in actions of players and chance
    max_moves: int  # the same in actions of players alone
    m_values: list[float]  # M_i of Lanctot 2009, section 4
    perfect_recall: bool
    tree_bytes: int  # nodes, chance and payoffs
    infoset_bytes: int  # arrays per infoset and slot, without the texts

    def as_dict(self) -> dict:
        """Returns the counts as plain Python values, ready for JSON."""
        return asdict(self)


def statistics_of(arrays: TreeArrays, slot_action: np.ndarray, shape: Shape) -> Statistics:
    """Returns the statistics of a tree; `slot_action` is ``[num_slots]``, the action of each slot."""
    num_players = len(arrays.slot_range) - 1
    kinds = np.bincount(arrays.nodes["kind"] - TERMINAL, minlength=num_players - TERMINAL)
    max_actions = [
        int(arrays.infosets["num_actions"][a:b].max(initial=0))
        for a, b in zip(arrays.infoset_range[:-1], arrays.infoset_range[1:], strict=True)
    ]
    return Statistics(
        histories=len(arrays.nodes),
        decision_nodes=[int(n) for n in kinds[-TERMINAL:]],
        chance_nodes=int(kinds[CHANCE - TERMINAL]),
        terminal_nodes=int(kinds[0]),
        infosets=[int(n) for n in np.diff(arrays.infoset_range)],
        sequences=[int(n) + 1 for n in np.diff(arrays.slot_range)],
        max_actions=max_actions,
        max_history_length=shape.max_depth,
        max_moves=int(_max_moves(arrays.nodes, np.zeros((shape.max_stack, 2), np.int32))),
        m_values=[_m_value(arrays, slot_action, player) for player in range(num_players)],
        perfect_recall=shape.perfect_recall,
        tree_bytes=arrays.nodes.nbytes + arrays.chance.nbytes + arrays.payoffs.nbytes,
        infoset_bytes=arrays.infosets.nbytes + slot_action.nbytes,
    )


@kernel
def _max_moves(nodes, stack):
    """Returns the most actions of players in one history.

    Args:
        nodes: ``[num_nodes]`` NODE.
        stack: ``[max_stack, 2]`` zeros, scratch: nodes that wait and the moves before them. The root waits first.
    """
    waiting, most = 1, 0
    while waiting > 0:
        waiting -= 1
        node, moves = stack[waiting, 0], stack[waiting, 1]
        most = max(most, moves)
        if nodes[node]["kind"] >= 0:
            moves += 1
        first = nodes[node]["first_child"]
        for child in range(first, first + nodes[node]["num_children"]):
            stack[waiting, 0], stack[waiting, 1] = child, moves
            waiting += 1
    return most


def _m_value(arrays: TreeArrays, slot_action: np.ndarray, player: int) -> float:
    """Returns M_i = sum over own action sequences of sqrt(number of infosets that are reached by just these actions).

    Reference: Lanctot et al. 2009, section 4. An action sequence is a list of actions, whatever the infosets they
    were taken at, so that infosets that differ in what others did share one.
    """
    first, last = arrays.infoset_range[player], arrays.infoset_range[player + 1]
    parents = arrays.infosets["parent_slot"][first:last].astype(np.int64)
    has_parent = parents < len(slot_action)
    above_slot = np.where(has_parent, parents, 0)
    parent_infoset = np.searchsorted(arrays.infosets["first_slot"][first:last], above_slot, side="right") - 1
    parent_infoset[~has_parent] = -1
    parent_action = np.where(has_parent, slot_action[above_slot], -1)
    sequence = np.full(last - first, -1, np.int64)  # a number for each infoset's action sequence
    level = np.flatnonzero(~has_parent)
    total, used = 0.0, 0
    children = np.argsort(parent_infoset, kind="stable")
    child_end = np.searchsorted(parent_infoset[children], np.arange(-1, last - first), side="right")
    while len(level):
        above = np.where(parent_infoset[level] >= 0, sequence[parent_infoset[level]], -1)
        keys, numbers, counts = np.unique(
            np.stack([above, parent_action[level]], axis=1), axis=0, return_inverse=True, return_counts=True
        )
        sequence[level] = used + numbers.reshape(-1)
        used += len(keys)
        total += float(np.sqrt(counts).sum())
        begins, ends = child_end[level], child_end[level + 1]
        level = np.concatenate([children[a:b] for a, b in zip(begins, ends, strict=True)] or [np.empty(0, np.int64)])
    return total
