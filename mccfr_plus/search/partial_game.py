"""Games in which part of a player's strategy is fixed: trunks, subgames, and the gadgets of safe subgame solving.

What is fixed becomes part of chance: payoffs of ends are multiplied by the reach of the fixed player's hands. So such a
game is a public tree like any other, which all minimizers solve and all evaluations judge.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.rules import TERMINAL
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.search.ends import EMPTY, Ends, Side
from mccfr_plus.trees.arrays import INFOSET, NUM_EXPANSION, OUTCOME, Shape, read_only
from mccfr_plus.trees.public.arrays import PUBLIC_NODE, SLOT, PublicArrays
from mccfr_plus.trees.public.public_tree import PublicTree


class Subgame(NamedTuple):
    """The part of a public tree below one of its decisions, as ranges of what the tree's arrays have."""

    node: int
    ends: slice
    infosets: tuple[slice, slice]  # by player
    slots: tuple[slice, slice]


class Hands(NamedTuple):
    """A player's hands where a subgame begins: the last slot before it of the first one, and the distance between."""

    slot: int
    stride: int
    num_hands: int

    @property
    def slots(self) -> np.ndarray:
        return self.slot + self.stride * np.arange(self.num_hands)


def subgame_at(tree: PublicTree, node: int) -> Subgame:
    """Returns the subgame whose first decision is a node of the tree."""
    arrays, nodes = tree.arrays, tree.arrays.nodes
    before, inside = nodes[:node], nodes[node : nodes[node]["last"]]
    infosets, slots = list[slice](), list[slice]()
    for player in range(2):
        begin = int(arrays.infoset_range[player] + before["num_hands"][before["kind"] == player].sum())
        end = begin + int(inside["num_hands"][inside["kind"] == player].sum())
        infosets.append(slice(begin, end))
        first = int(arrays.infosets["num_actions"][:begin].sum())
        slots.append(slice(first, first + int(arrays.infosets["num_actions"][begin:end].sum())))
    first_end, num_ends = (int((part["kind"] == TERMINAL).sum()) for part in (before, inside))
    return Subgame(node, slice(first_end, first_end + num_ends), (infosets[0], infosets[1]), (slots[0], slots[1]))


def whole(tree: PublicTree) -> Subgame:
    """Returns the whole game as a subgame."""
    infosets, slots = (
        (slice(int(found[0]), int(found[1])), slice(int(found[1]), int(found[2])))
        for found in (tree.arrays.infoset_range, tree.arrays.slot_range)
    )
    return Subgame(0, slice(0, len(tree.arrays.ends)), infosets, slots)


def hands_before(tree: PublicTree, subgame: Subgame, player: int) -> Hands:
    """Returns the player's hands where the subgame begins: a single one if the player has not moved before."""
    arrays, slots = tree.arrays, subgame.slots[player]
    before = arrays.nodes[: subgame.node]
    above = np.flatnonzero((before["kind"] == player) & (before["last"] > subgame.node))
    if len(above) == 0:
        return Hands(tree.num_slots + player, 0, 1)
    last = before[above[-1]]
    lasts = np.append(arrays.ends[subgame.ends, player, SLOT], arrays.infosets["parent_slot"][subgame.infosets[player]])
    any_slot = lasts[(lasts < slots.start) | (lasts >= slots.stop)][0]
    first, stride = int(arrays.infosets[last["first"]]["first_slot"]), int(last["num_children"])
    return Hands(first + int(any_slot - first) % stride, stride, int(last["num_hands"]))


def kept(tree: PublicTree, player: int, subgames: Sequence[Subgame], reach: np.ndarray | None = None) -> Side:
    """Returns a side that decides in some subgames only, and has come to them with the `reach` of fixed play.

    Without a reach payoffs count fully, as for a player who chooses where to enter.
    """
    records, size = tree.arrays.infosets, tree.num_slots + 2
    slot_of, weights = np.full(size, EMPTY), np.ones(size) if reach is None else np.array(reach, np.float64)
    found, count = [np.zeros(0, INFOSET)], 0
    for subgame in subgames:
        slots, own = subgame.slots[player], records[subgame.infosets[player]].copy()
        slot_of[slots] = count + np.arange(slots.stop - slots.start)
        _pass_down(own, weights)
        own["first_slot"], own["parent_slot"] = slot_of[own["first_slot"]], slot_of[own["parent_slot"]]
        found.append(own)
        count += slots.stop - slots.start
    return Side(slot_of, weights, np.concatenate(found))


@kernel
def _pass_down(infosets, weights):
    """Gives the slots of infosets the weights of their parents, which come first. `weights` is modified in place."""
    for record in infosets:
        for slot in range(record["first_slot"], record["first_slot"] + record["num_actions"]):
            weights[slot] = weights[record["parent_slot"]]


def entering(tree: PublicTree, subgame: Subgame, player: int, hands: Hands, *, per_hand: bool) -> Side:
    """Returns a side that chooses at the root: for each hand whether to enter (`per_hand`), or the hand to enter with.

    With `per_hand` the second action of each of the first infosets ends the game.
    """
    inside = kept(tree, player, [subgame])
    width = 2 if per_hand else 1
    top = np.zeros(hands.num_hands if per_hand else 1, INFOSET)
    top["num_actions"] = 2 if per_hand else hands.num_hands
    top["first_slot"], top["parent_slot"], top["player"] = 2 * np.arange(len(top)), EMPTY, player
    shift = width * hands.num_hands
    slot_of, below = np.where(inside.slot_of >= 0, inside.slot_of + shift, EMPTY), inside.infosets
    slot_of[hands.slots] = width * np.arange(hands.num_hands)
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
        self.arrays = PublicArrays(
            nodes=read_only(nodes),
            chance=read_only(np.zeros(0, OUTCOME)),
            outcome_node=read_only(np.zeros(0, np.int32)),
            infosets=read_only(np.concatenate(records)),
            infoset_range=read_only(np.cumsum([0, *map(len, records)])),
            slot_range=read_only(np.cumsum([0, *ends.sizes])),
            **ends.arrays(),
            segments=read_only(np.zeros((0, 7), np.int64)),
            expansion=read_only(np.zeros(NUM_EXPANSION, np.int64)),
        )
        self.shape = Shape(tree.shape.max_depth, tree.shape.max_depth + 1, perfect_recall=True)
        self.num_nodes = self.node_capacity = len(nodes)
        self.num_infosets, self.found_infosets = len(self.arrays.infosets), self.arrays.infosets
