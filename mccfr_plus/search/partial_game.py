"""Games in which part of a player's strategy is fixed: trunks, subgames, and the gadgets of safe subgame solving.

What is fixed becomes part of chance: payoffs of ends are multiplied by the reach of the fixed player's hands. Such a
game is a public tree like any other, which all minimizers solve and all evaluations judge.
"""

from bisect import bisect
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.search.ends import EMPTY, Ends, Side
from mccfr_plus.trees.arrays import INFOSET, Shape, read_only
from mccfr_plus.trees.public.arrays import PUBLIC_NODE
from mccfr_plus.trees.public.public_tree import PublicTree
from mccfr_plus.trees.scratch import pass_reach


class Subgame(NamedTuple):
    """The part of a public tree below one of its decisions, as ranges of what the tree's arrays have."""

    node: int
    ends: slice
    infosets: tuple[slice, slice]  # by player
    slots: tuple[slice, slice]


def subgame_at(tree: PublicTree, node: int) -> Subgame:
    """Returns the subgame whose first decision is a node of the tree; 0: the whole game."""
    arrays, nodes = tree.arrays, tree.arrays.nodes
    before, inside = nodes[:node], nodes[node : nodes[node]["last"]]
    infosets, slots = list[slice](), list[slice]()
    first_slots = np.append(arrays.infosets["first_slot"], tree.num_slots)
    for player in range(2):
        above, count = (int(part["num_hands"][part["kind"] == player].sum()) for part in (before, inside))
        begin = int(arrays.infoset_range[player]) + above
        infosets.append(slice(begin, begin + count))
        slots.append(slice(int(first_slots[begin]), int(first_slots[begin + count])))
    first_end, num_ends = (int((part["kind"] == TERMINAL).sum()) for part in (before, inside))
    return Subgame(node, slice(first_end, first_end + num_ends), (infosets[0], infosets[1]), (slots[0], slots[1]))


def outermost(tree: PublicTree, nodes: Iterable[int]) -> list[Subgame]:
    """Returns the subgames that begin at ascending nodes of the tree, without those that lie inside of others."""
    found, end = list[Subgame](), 0
    for node in nodes:
        if node >= end:
            found.append(subgame_at(tree, node))
            end = int(tree.arrays.nodes[node]["last"])
    return found


def children(tree: PublicTree, node: int) -> list[int]:
    """Returns the nodes after each action of a decision, or after each public outcome of a chance node."""
    nodes, record = tree.arrays.nodes, tree.arrays.nodes[node]
    if record["kind"] == CHANCE:
        return tree.arrays.outcome_node[record["first"] : record["first"] + record["num_children"]].tolist()
    found = [node + 1]
    while len(found) < record["num_children"]:
        found.append(max(int(nodes[found[-1]]["last"]), found[-1] + 1))
    return found


def decisions(tree: PublicTree, player: int, begin: int, end: int) -> list[int]:
    """Returns the nodes among begin .. end - 1 at which the player has a choice."""
    nodes = tree.arrays.nodes[begin:end]
    return (begin + np.flatnonzero((nodes["kind"] == player) & (nodes["num_children"] > 1))).tolist()


def slots_before(tree: PublicTree, subgame: Subgame, player: int) -> np.ndarray:
    """Returns the player's last slot before a subgame for each hand, ``[num_hands]`` int64.

    A player who has not moved yet has one hand here, and the empty sequence.
    """
    before = tree.arrays.nodes[: subgame.node]
    above = np.flatnonzero((before["kind"] == player) & (before["last"] > subgame.node))
    if len(above) == 0:
        return np.array([tree.num_slots + player])
    last, action = before[above[-1]], bisect(children(tree, int(above[-1])), subgame.node) - 1
    first = int(tree.arrays.infosets[last["first"]]["first_slot"])
    return first + action + int(last["num_children"]) * np.arange(last["num_hands"])


def kept(tree: PublicTree, player: int, subgames: Sequence[Subgame], reach: np.ndarray | None = None) -> Side:
    """Returns a side that decides in some subgames only, and has come to them with the `reach` of fixed play.

    Without a reach payoffs count fully, as for a player who chooses where to enter.
    """
    records, size = tree.arrays.infosets, tree.num_slots + 2
    slot_of, weights = np.full(size, EMPTY), np.ones(size) if reach is None else np.array(reach, np.float64)
    found, count = [np.zeros(0, INFOSET)], 0
    for subgame in subgames:
        slots, infosets = subgame.slots[player], subgame.infosets[player]
        slot_of[slots], own = count + np.arange(slots.stop - slots.start), records[infosets].copy()
        pass_reach(records, np.ones(size), weights, infosets.start, infosets.stop)  # as they were on entering
        own["first_slot"], own["parent_slot"] = slot_of[own["first_slot"]], slot_of[own["parent_slot"]]
        found.append(own)
        count += slots.stop - slots.start
    return Side(slot_of, weights, np.concatenate(found))


def entering(tree: PublicTree, subgame: Subgame, player: int, *, per_hand: bool) -> Side:
    """Returns a side that chooses at the root: for each hand whether to enter (`per_hand`), or the hand to enter with.

    With `per_hand` the second action of each of the first infosets ends the game.
    """
    inside, slots = kept(tree, player, [subgame]), slots_before(tree, subgame, player)
    width = 2 if per_hand else 1
    top = np.zeros(len(slots) if per_hand else 1, INFOSET)
    top["num_actions"] = 2 if per_hand else len(slots)
    top["first_slot"], top["parent_slot"], top["player"] = 2 * np.arange(len(top)), EMPTY, player
    shift = width * len(slots)
    slot_of, below = np.where(inside.slot_of >= 0, inside.slot_of + shift, EMPTY), inside.infosets
    slot_of[slots] = width * np.arange(len(slots))
    below["first_slot"] += shift
    below["parent_slot"] = slot_of[tree.arrays.infosets["parent_slot"][subgame.infosets[player]]]
    return Side(slot_of, inside.weights, np.concatenate([top, below]))


class PartialGame(PublicTree):
    """A two-player zero-sum game made from a part of a public tree: its ends, and the infosets of their sides."""

    def __init__(self, ends: Ends):
        tree = ends.tree
        self.game, self.num_players, self.is_converted, self.perfect_recall = tree.game, 2, tree.is_converted, True
        self.bindings = tree.bindings
        self.num_slots = self.slot_capacity = sum(ends.sizes)
        records = ends.infosets()
        nodes = np.zeros(len(ends.rows), PUBLIC_NODE)  # no estimator but `full` goes over them
        nodes["kind"], nodes["first"] = TERMINAL, np.arange(len(nodes))
        self.arrays = tree.arrays._replace(
            nodes=read_only(nodes),
            infosets=read_only(np.concatenate(records)),
            infoset_range=read_only(np.cumsum([0, *map(len, records)])),
            slot_range=read_only(np.cumsum([0, *ends.sizes])),
            **ends.arrays(),
        )
        self.shape = Shape(tree.shape.max_depth, tree.shape.max_depth + 1, perfect_recall=True)
        self.num_nodes = self.node_capacity = len(nodes)
        self.num_infosets, self.found_infosets = len(self.arrays.infosets), self.arrays.infosets
