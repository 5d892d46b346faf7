"""Games in which part of a player's strategy is fixed: trunks, subgames, and the gadgets of safe subgame solving.

What is fixed becomes part of chance: the matrices of ends are multiplied by the reach of the fixed player's hands. So
such a game is a public tree like any other, which all minimizers solve and all evaluations judge.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.rules import TERMINAL
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.trees.arrays import INFOSET, NUM_EXPANSION, OUTCOME, Shape, read_only
from mccfr_plus.trees.public.arrays import BLOCK, HANDS, MATRIX, PUBLIC_NODE, SLOT, PublicArrays
from mccfr_plus.trees.public.public_tree import PublicTree
from mccfr_plus.trees.public.showdowns import NO_TABLES


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


class Side(NamedTuple):
    """What becomes of a player's sequences in a game that is made from a part of another one."""

    slot_of: np.ndarray  # [num_slots + 2] int64: the slot of each in the new game; `EMPTY`: the empty sequence
    weights: np.ndarray  # [num_slots + 2] float64: what the fixed part of the strategy multiplies payoffs by
    infosets: np.ndarray  # [any] INFOSET: of the new game, with slots from 0 on; `EMPTY` as a parent

    @property
    def num_slots(self) -> int:
        return int(self.infosets["num_actions"].sum())


EMPTY = -1


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


class Payment(NamedTuple):
    """An end that pays a player a value for each hand, whatever the other one does."""

    player: int
    slot: int  # of the first hand, in the player's part of the new game
    stride: int
    values: np.ndarray  # [num_hands] float64


class PartialGame(PublicTree):
    """A two-player zero-sum game made from a part of a public tree, whose ends are those of `ends`, and payments."""

    def __init__(self, tree: PublicTree, sides: Sequence[Side], ends: slice, payments: Sequence[Payment] = ()):
        self.game, self.num_players, self.is_converted, self.perfect_recall = tree.game, 2, tree.is_converted, True
        self.bindings = tree.bindings
        sizes = [side.num_slots for side in sides]
        self.num_slots = self.slot_capacity = sum(sizes)
        records = [side.infosets.copy() for side in sides]
        records[1]["first_slot"] += sizes[0]
        for player, own in enumerate(records):
            own["parent_slot"] = self._renumbered(own["parent_slot"], player, sizes[0])
        infosets = np.concatenate(records)
        self._blocks, self._places, self._length = list[np.ndarray](), dict[bytes, int](), 0
        table = [self._end(tree, sides, end, sizes[0]) for end in range(ends.start, ends.stop)]
        table += [self._payment(payment, sizes[0]) for payment in payments]
        nodes = np.zeros(len(table), PUBLIC_NODE)  # no estimator but `full` goes over them
        nodes["kind"], nodes["first"] = TERMINAL, np.arange(len(table))
        self.arrays = PublicArrays(
            nodes=read_only(nodes),
            chance=read_only(np.zeros(0, OUTCOME)),
            outcome_node=read_only(np.zeros(0, np.int32)),
            infosets=read_only(infosets),
            infoset_range=read_only(np.cumsum([0, *map(len, records)])),
            slot_range=read_only(np.cumsum([0, *sizes])),
            ends=read_only(np.array(table, np.int32).reshape(-1, 2, 4)),
            scales=read_only(np.tile([1.0, -1.0], (len(table), 1))),
            matrices=read_only(np.concatenate([np.zeros(0), *self._blocks])),
            row_start=read_only(np.zeros(1, np.int64)),
            change_hand=read_only(np.zeros(0, np.int32)),
            change=read_only(np.zeros(0)),
            **NO_TABLES,
            segments=read_only(np.zeros((0, 7), np.int64)),
            expansion=read_only(np.zeros(NUM_EXPANSION, np.int64)),
        )
        self.shape = Shape(tree.shape.max_depth, tree.shape.max_depth + 1, perfect_recall=True)
        self.num_nodes = self.node_capacity = len(table)
        self.num_infosets, self.found_infosets = len(infosets), self.arrays.infosets

    def _renumbered(self, slots: np.ndarray, player: int, first: int) -> np.ndarray:
        """Returns slots of the whole game for those of a player."""
        return np.where(slots == EMPTY, self.num_slots + player, slots + first * player)

    def _store(self, payoffs: np.ndarray) -> int:
        """Returns where a matrix, ``[own hands, hands of the other player]``, begins; equal ones are stored once."""
        own, others = payoffs.shape
        padded = np.zeros((-(-own // BLOCK) * BLOCK, others))
        padded[:own] = payoffs
        block = np.ascontiguousarray(padded.reshape(-1, BLOCK, others).transpose(0, 2, 1)).reshape(-1)
        place = self._places.setdefault(block.tobytes(), self._length)
        if place == self._length:
            self._blocks.append(block)
            self._length += len(block)
        return place

    def _end(self, tree: PublicTree, sides: Sequence[Side], end: int, first: int) -> list[list[int]]:
        rows = list[list[int]]()
        payoffs = tree.arrays.scales[end, 0] * matrix_of(tree.arrays, end, 0)
        for player, side in enumerate(sides):
            slots = last_slots(tree, end, player)
            weights, found = side.weights[slots], self._renumbered(side.slot_of[slots], player, first)
            payoffs = payoffs * (weights[:, None] if player == 0 else weights)
            rows.append([int(found[0]), int(found[1] - found[0]) if len(found) > 1 else 0, len(found), 0])
        rows[0][MATRIX], rows[1][MATRIX] = self._store(payoffs), self._store(payoffs.T)
        return rows

    def _payment(self, payment: Payment, first: int) -> list[list[int]]:
        player, count = payment.player, len(payment.values)
        payoffs = (payment.values if player == 0 else -payment.values).reshape(-1, 1)
        row = [payment.slot + first * player, payment.stride, count, self._store(payoffs)]
        other = [self.num_slots + 1 - player, 0, 1, self._store(payoffs.T)]
        return [row, other] if player == 0 else [other, row]


def last_slots(tree: PublicTree, end: int, player: int) -> np.ndarray:
    """Returns the player's last slot before an end for each hand, ``[num_hands]`` int64."""
    slot, stride, hands = tree.arrays.ends[end, player, :MATRIX].tolist()
    return slot + stride * np.arange(hands)


def matrix_of(arrays: PublicArrays, end: int, player: int) -> np.ndarray:
    """Returns the matrix of an end, without its scale, ``[own hands, hands of the other player]`` float64."""
    own, others = int(arrays.ends[end, player, HANDS]), int(arrays.ends[end, 1 - player, HANDS])
    begin, blocks = int(arrays.ends[end, player, MATRIX]), -(-own // BLOCK)
    if begin >= 0:
        block = arrays.matrices[begin : begin + blocks * others * BLOCK].reshape(blocks, others, BLOCK)
        return block.transpose(0, 2, 1).reshape(-1, others)[:own]
    starts = arrays.row_start[~begin : ~begin + own + 1]
    change = np.zeros((own, others))
    change[np.repeat(np.arange(own), np.diff(starts)), arrays.change_hand[starts[0] : starts[-1]]] = arrays.change[
        starts[0] : starts[-1]
    ]
    return change.cumsum(axis=0)
