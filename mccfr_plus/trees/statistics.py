"""Sizes of a game tree, in the terms of the papers' tables."""

from dataclasses import asdict, dataclass

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.tree import Tree


@dataclass(frozen=True)
class Statistics:
    """Counts of a tree; a list has one entry per player.

    Attributes:
        histories: Number of nodes: the root, chance and terminal nodes included.
        sequences: Number of sequences, the empty one included.
        max_actions: Most actions at one infoset.
        max_history_length: Longest history, in actions of players and chance.
        max_moves: The same in actions of players alone.
        m_values: M_i of Lanctot et al. 2009, section 4.
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


def statistics_of(tree: Tree) -> Statistics:
    """Returns the statistics of a compiled tree."""
    arrays, kinds, players = tree.arrays, tree.arrays.nodes["kind"], range(tree.num_players)
    owns = [arrays.infosets[slice(*arrays.infoset_range[player : player + 2])] for player in players]
    blocks = [np.bincount(action_sequences(tree, player)) for player in players]
    return Statistics(
        histories=len(kinds),
        decision_nodes=[int(np.count_nonzero(kinds == player)) for player in players],
        chance_nodes=int(np.count_nonzero(kinds == CHANCE)),
        terminal_nodes=int(np.count_nonzero(kinds == TERMINAL)),
        infosets=[len(own) for own in owns],
        sequences=[int(count) + 1 for count in np.diff(arrays.slot_range)],
        max_actions=[int(own["num_actions"].max(initial=0)) for own in owns],
        max_history_length=tree.shape.max_depth,
        max_moves=tree.shape.max_moves,
        m_values=[float(np.sqrt(sizes).sum()) for sizes in blocks],
        perfect_recall=tree.shape.perfect_recall,
        tree_bytes=arrays.nodes.nbytes + arrays.chance.nbytes + arrays.payoffs.nbytes,
        infoset_bytes=arrays.infosets.nbytes + tree.slot_action.nbytes,
    )


def action_sequences(tree: Tree, player: int) -> np.ndarray:
    """Returns the number of each own infoset's action sequence, 0, 1, ... without gaps, ``[infosets of the player]``.

    An action sequence is a list of actions, whatever the infosets they were taken at, so that infosets that differ in
    what others did share one (Lanctot et al. 2009, section 4). M_i is the sum over them of sqrt(number of infosets).
    """
    infosets = tree.arrays.infosets[slice(*tree.arrays.infoset_range[player : player + 2])]
    begin, end = tree.arrays.slot_range[player : player + 2]
    actions = np.unique(tree.slot_action[begin:end], return_inverse=True)[1]
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
