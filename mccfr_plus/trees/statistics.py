"""Sizes of a game tree, in the terms of the papers' tables."""

from dataclasses import asdict, dataclass

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.arrays import Shape, TreeArrays


@dataclass(frozen=True)
class Statistics:
    """Counts of a tree; a list has one entry per player.

    Attributes:
        histories: Number of nodes: the root, chance and terminal nodes included.
        decision_nodes: Number of decision nodes, per player.
        chance_nodes: Number of chance nodes.
        terminal_nodes: Number of ends.
        infosets: Number of information sets, per player.
        sequences: Number of sequences, per player, the empty one included.
        max_actions: Most actions at one infoset, per player.
        max_history_length: Longest history, in actions of players and chance.
        max_moves: The same in actions of players alone.
        m_values: M_i of Lanctot et al. 2009, section 4.
        perfect_recall: Whether recall is perfect.
        tree_bytes: Bytes of nodes, chance and payoffs.
        infoset_bytes: Bytes of arrays per infoset and slot, without the texts.

    Examples:
        >>> import mccfr_plus
        >>> statistics = mccfr_plus.compile_game("kuhn_poker").statistics()
        >>> statistics.histories, statistics.sequences
        (58, [13, 13])
    """

    histories: int
    decision_nodes: list[int]
    chance_nodes: int
    terminal_nodes: int
    infosets: list[int]
    sequences: list[int]
    max_actions: list[int]
    max_history_length: int
    max_moves: int
    m_values: list[float]
    perfect_recall: bool
    tree_bytes: int
    infoset_bytes: int

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
        max_moves=shape.max_moves,
        m_values=[
            float(np.sqrt(np.bincount(action_sequences(arrays, slot_action, player))).sum())
            for player in range(num_players)
        ],
        perfect_recall=shape.perfect_recall,
        tree_bytes=arrays.nodes.nbytes + arrays.chance.nbytes + arrays.payoffs.nbytes,
        infoset_bytes=arrays.infosets.nbytes + slot_action.nbytes,
    )


def action_sequences(arrays: TreeArrays, slot_action: np.ndarray, player: int) -> np.ndarray:
    """Returns the number of each own infoset's action sequence, ``[infosets of the player]`` int64.

    An action sequence is a list of actions, whatever the infosets they were taken at, so that infosets that differ in
    what others did share one. Numbers are 0, 1, ... without gaps. M_i is the sum over them of sqrt(number of infosets).

    Reference: Lanctot et al. 2009, section 4.
    """
    infosets = arrays.infosets[slice(*arrays.infoset_range[player : player + 2])]
    begin, end = arrays.slot_range[player : player + 2]
    actions = np.unique(slot_action[begin:end], return_inverse=True)[1]
    owner, parent = np.repeat(np.arange(len(infosets)), infosets["num_actions"]), infosets["parent_slot"] - begin
    # The number of each infoset's action sequence, 0 for the empty one, from the root down.
    sequence, used = np.zeros(len(infosets), np.int64), 1
    is_numbered = parent >= end - begin
    waiting = np.flatnonzero(~is_numbered)
    while len(waiting):
        is_next = is_numbered[owner[parent[waiting]]]
        level, waiting = waiting[is_next], waiting[~is_next]
        pairs = sequence[owner[parent[level]]] * len(actions) + actions[parent[level]]
        found, numbers = np.unique(pairs, return_inverse=True)
        sequence[level] = used + numbers
        is_numbered[level] = True
        used += len(found)
    return sequence
