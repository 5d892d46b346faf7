"""Sizes of a game tree, in the terms of the papers' tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.tree.arrays import CHANCE, TERMINAL, TreeArrays
from mccfr_plus.tree.interning import EMPTY, num_places, place_of_row
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
    first, last = (int(bound) for bound in arrays.infoset_range[player : player + 2])
    begin, end = (int(bound) for bound in arrays.slot_range[player : player + 2])
    count = last - first
    owner = np.repeat(np.arange(count, dtype=np.int32), arrays.infosets["num_actions"][first:last])
    sizes = np.zeros(count + 1, np.int32)
    # Room for as many action sequences as infosets, and the empty one.
    _count_by_sequence(
        arrays.infosets[first:last],
        begin,
        owner,
        slot_action[begin:end],
        np.full(num_places(count + 1), EMPTY, np.int32),
        np.empty((count + 1, 2), np.int64),
        np.empty(count, np.int32),
        np.empty(2, np.int64),
        sizes,
    )
    return float(np.sqrt(sizes).sum())


@kernel
def _count_by_sequence(infosets, begin, owner, action, table, rows, sequence, row, sizes):
    """Counts a player's infosets by the action sequence that leads to them.

    Args:
        infosets: ``[num_infosets]`` INFOSET, the player's; parents come first.
        begin: The player's first slot.
        owner: ``[num_slots]`` int32, the infoset of each of the player's slots.
        action: ``[num_slots]``, the action of each.
        table: Empty, see `interning`. Scratch.
        rows: ``[num_infosets + 1, 2]`` int64, scratch: each sequence's last action and what comes before it.
        sequence: ``[num_infosets]`` int32, scratch: the number of each infoset's action sequence.
        row: ``[2]`` int64, scratch.
        sizes: ``[num_infosets + 1]`` int32 zeros, an output: number of infosets per action sequence.
    """
    used = 1  # 0 is the empty sequence
    rows[0, 0], rows[0, 1] = -1, 0
    for infoset in range(len(infosets)):
        parent = infosets[infoset]["parent_slot"] - begin
        number = 0
        if parent < len(owner):
            row[0], row[1] = sequence[owner[parent]], action[parent]
            place = place_of_row(table, rows, row)
            number = table[place]
            if number == EMPTY:
                number = used
                table[place] = number
                rows[number, 0], rows[number, 1] = row[0], row[1]
                used += 1
        sequence[infoset] = number
        sizes[number] += 1
