"""Imperfect recall: infosets that a player enters after different own pasts are refined to one per past.

The refined sets give a game of perfect recall, with the same histories. Those of one infoset are *tied*: they share one
strategy and one set of regrets.
"""

from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.trees.arrays import INFOSET, NODE, TreeArrays, read_only
from mccfr_plus.trees.flattening import rows_of, with_leaves
from mccfr_plus.trees.recall import absent_minded


class Refinement(NamedTuple):
    """The tree of the game with perfect recall: players know all that they saw and did.

    Attributes:
        arrays: Its arrays, with leaf tables. Histories are numbered as in the tree that was refined.
        infoset_of: ``[num_refined]`` int64, the infoset of each refined set.
        slot_of: ``[num_refined_slots]`` int64, the slot of each refined slot: strategies become ``strategy[slot_of]``.
    """

    arrays: TreeArrays
    infoset_of: np.ndarray
    slot_of: np.ndarray

    @property
    def entries(self) -> tuple[int, int]:
        """The most refined sets of a player, and the number of refined slots; see `scratch.new_scratch`."""
        return int(np.diff(self.arrays.infoset_range).max(initial=1)), len(self.slot_of)


def refine(tree: Any) -> Refinement:
    """Returns the refinement of a compiled tree; GameError if a history enters an infoset twice (absent-mindedness)."""
    arrays = tree.arrays
    nodes, num_players = arrays.nodes, len(arrays.slot_range) - 1
    decisions = np.flatnonzero(nodes["kind"] >= 0)
    records, size = np.zeros(len(decisions), INFOSET), num_players + int(nodes["num_children"][decisions].sum())
    owner, after = np.zeros(size, np.int32), np.zeros(len(decisions), np.int32)
    last, payload = np.zeros((len(nodes), num_players), np.int32), nodes["payload"].copy()
    first_of, behind = np.zeros(len(decisions), np.int32), np.zeros(size, np.int32)
    count = _refine(nodes, last, payload, records, first_of, behind, after, owner)
    if count < 0:
        node = -count - 1
        player, infoset = int(nodes["kind"][node]), tree.infoset_of_slot[nodes["payload"][node]]
        raise absent_minded(tree.game, tree.history_of(node), player, tree.info_states[infoset])
    order = np.argsort(records["player"][:count], kind="stable")  # parents come first, and stay first
    records, first_of = records[:count][order], first_of[:count][order]
    ends = np.cumsum(records["num_actions"], dtype=np.int64)
    firsts = ends - records["num_actions"]
    new_slot = np.zeros(num_players + (int(ends[-1]) if count else 0), np.int64)  # of each slot as found, or empty one
    new_slot[:num_players] = len(new_slot) - num_players + np.arange(num_players)
    new_slot[rows_of(records["first_slot"], records["num_actions"])] = np.arange(len(new_slot) - num_players)
    refined_nodes = np.array(nodes, NODE)
    refined_nodes["payload"][decisions] = new_slot[payload[decisions]]
    records["first_slot"], records["parent_slot"] = firsts, new_slot[records["parent_slot"]]
    infoset_range = np.searchsorted(records["player"], np.arange(num_players + 1))
    slot_range = np.append(0, ends)[infoset_range]
    found = arrays._replace(
        nodes=refined_nodes, infosets=records, infoset_range=infoset_range, slot_range=slot_range.astype(np.int64)
    )
    slot_of = rows_of(first_of, records["num_actions"])
    with_tables = with_leaves(TreeArrays(*map(read_only, found)), tree.shape.max_stack)
    infoset_of = tree.infoset_of_slot[first_of].astype(np.int64)
    return Refinement(TreeArrays(*map(read_only, with_tables)), infoset_of, slot_of)


@kernel
def _refine(nodes, last, payload, records, first_of, behind, after, owner):
    """Finds the refined sets, in the order of nodes; slots come after the empty sequences, as they are found.

    `payload` becomes the first slot of each decision node. The sets behind a slot are a list, `behind` and `after`.
    Returns their number; or -1 - (a node that enters an infoset again).
    """
    num_players, count = last.shape[1], 0
    free = num_players
    for player in range(num_players):
        last[0, player] = player
    for node in range(len(nodes)):  # parents come before children
        kind, first, width = nodes[node]["kind"], nodes[node]["payload"], nodes[node]["num_children"]
        if kind >= 0:
            parent = last[node, kind]
            number = behind[parent]
            while number > 0 and first_of[number - 1] != first:
                number = after[number - 1]
            if number == 0:
                above = parent
                while above >= num_players:
                    if first_of[owner[above]] == first:
                        return -1 - node
                    above = records[owner[above]]["parent_slot"]
                records[count]["first_slot"], records[count]["num_actions"] = free, width
                records[count]["parent_slot"], records[count]["player"] = parent, kind
                first_of[count], after[count] = first, behind[parent]
                owner[free : free + width] = count
                count, free = count + 1, free + width
                number = behind[parent] = count
            payload[node] = records[number - 1]["first_slot"]
        for index in range(width):
            child = nodes[node]["first_child"] + index
            for player in range(num_players):
                last[child, player] = last[node, player]
            if kind >= 0:
                last[child, kind] = payload[node] + index
    return count
