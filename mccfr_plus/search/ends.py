"""Ends of partial games: payoffs times the reach of fixed play, as matrices or as tables of poker hands."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mccfr_plus.trees.arrays import read_only
from mccfr_plus.trees.public.arrays import BLOCK, HANDS, MATRIX, SLOT, STRIDE, PublicArrays
from mccfr_plus.trees.public.public_tree import PublicTree
from mccfr_plus.trees.public.showdowns import HAND, NO_MATRICES, NO_TABLES, ORDER, TABLE, joined

Decoded: TypeAlias = dict[tuple[int, ...], np.ndarray]  # matrices of a tree that were read, for the next partial game

EMPTY = -1  # in the place of a slot: the empty sequence
_OWN_CARD, _OTHER_CARD = 62, 63  # of hands that are paid, and of what pays them: no card of a deck


class Side(NamedTuple):
    """What becomes of a player's sequences in a game that is made from a part of another one."""

    slot_of: np.ndarray  # [num_slots + 2] int64: the slot of each in the new game; `EMPTY`: the empty sequence
    weights: np.ndarray  # [num_slots + 2] float64: what the fixed part of the strategy multiplies payoffs by
    infosets: np.ndarray  # [any] INFOSET: of the new game, with slots from 0 on; `EMPTY` as a parent

    @property
    def num_slots(self) -> int:
        return int(self.infosets["num_actions"].sum())


class Payment(NamedTuple):
    """An end that pays a player a value for each hand, whatever the other one does."""

    player: int
    slot: int  # of the first hand, in the player's part of the new game
    stride: int
    values: np.ndarray  # [num_hands] float64


class Ends:
    """The ends of a partial game; subclasses write payoffs as the tree has them.

    Attributes:
        met: ``[num_slots + 2]`` bool: after which slots of the tree the player, with its hand, can meet the other one.
    """

    _add: Any  # (end): adds an end of the tree
    _pay: Any  # (player, values): completes the rows of a payment
    _payoffs: Any  # (): returns the other fields

    def __init__(self, tree: PublicTree, sides: Sequence[Side], ends: slice):
        self.tree, self.sides = tree, sides
        self.sizes = [side.num_slots for side in sides]
        self.met = np.zeros(tree.num_slots + 2, bool)
        self.rows, self.scales = list[list[list[int]]](), list[tuple[float, float]]()
        for end in range(ends.start, ends.stop):
            self._add(end)

    def renumbered(self, slots: np.ndarray, player: int) -> np.ndarray:
        """Returns slots of the whole new game for those of a player."""
        return np.where(slots == EMPTY, sum(self.sizes) + player, slots + self.sizes[0] * player)

    def infosets(self) -> list[np.ndarray]:
        """Returns the records of the new game, by player."""
        found = [side.infosets.copy() for side in self.sides]
        for player, own in enumerate(found):
            own["first_slot"] += self.sizes[0] * player
            own["parent_slot"] = self.renumbered(own["parent_slot"], player)
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the fields of `PublicArrays` that have to do with ends."""
        made = {"ends": np.array(self.rows, np.int32).reshape(-1, 2, 4), "scales": np.array(self.scales).reshape(-1, 2)}
        return {name: read_only(array) for name, array in (made | self._payoffs()).items()}

    def pay(self, payment: Payment) -> None:
        """Adds an end that pays a player."""
        player = payment.player
        own = [payment.slot + self.sizes[0] * player, payment.stride, 0, 0]
        other = [sum(self.sizes) + 1 - player, 0, 0, 0]
        self.scales.append((1.0, -1.0) if player == 0 else (-1.0, 1.0))
        self.rows.append([own, other] if player == 0 else [other, own])
        self._pay(player, payment.values)

    def _place(self, end: int, player: int) -> list[int]:
        """Returns the row of an end for a player, with the columns that are the same in all trees."""
        slot, stride = self.tree.arrays.ends[end, player, [SLOT, STRIDE]].tolist()
        first, second = self.renumbered(self.sides[player].slot_of[[slot, slot + stride]], player).tolist()
        return [first, second - first, 0, 0]


class MatrixEnds(Ends):
    """Ends with a matrix each; equal ones are stored once, and those of the tree are decoded once."""

    def __init__(self, tree: PublicTree, sides: Sequence[Side], ends: slice, decoded: Decoded):
        self._blocks, self._places, self._length, self._decoded = [np.zeros(0)], dict[bytes, int](), 0, decoded
        super().__init__(tree, sides, ends)

    def _add(self, end: int) -> None:
        arrays, rows = self.tree.arrays, [self._place(end, player) for player in range(2)]
        key = tuple(arrays.ends[end, :, [HANDS, MATRIX]].reshape(-1).tolist())
        if key not in self._decoded:
            self._decoded[key] = matrix_of(arrays, end, 0)
        slots = [last_slots(self.tree, end, player) for player in range(2)]
        weights = [side.weights[own] for side, own in zip(self.sides, slots, strict=True)]
        payoffs = arrays.scales[end, 0] * self._decoded[key] * weights[0][:, None] * weights[1]
        for player, own in enumerate(slots):
            self.met[own] |= (payoffs != 0).any(1 - player)
        self._set(rows, payoffs)
        self.rows.append(rows)
        self.scales.append((1.0, -1.0))

    def _pay(self, player: int, values: np.ndarray) -> None:
        self._set(self.rows[-1], values.reshape(-1, 1) if player == 0 else values.reshape(1, -1))

    def _set(self, rows: list[list[int]], payoffs: np.ndarray) -> None:
        for row, own in zip(rows, (payoffs, payoffs.T), strict=True):
            row[HANDS], row[MATRIX] = len(own), self._store(own)

    def _store(self, payoffs: np.ndarray) -> int:
        """Returns where a matrix, ``[own hands, hands of the other player]``, begins."""
        own, others = payoffs.shape
        padded = np.zeros((-(-own // BLOCK) * BLOCK, others))
        padded[:own] = payoffs
        block = np.ascontiguousarray(padded.reshape(-1, BLOCK, others).transpose(0, 2, 1)).reshape(-1)
        place = self._places.setdefault(block.tobytes(), self._length)
        if place == self._length:
            self._blocks.append(block)
            self._length += len(block)
        return place

    def _payoffs(self) -> dict[str, np.ndarray]:
        return NO_TABLES | NO_MATRICES | {"row_start": np.zeros(1, np.int64), "matrices": np.concatenate(self._blocks)}


class TableEnds(Ends):
    """Ends with a table of poker hands each, whose chance is multiplied by the reach of fixed play."""

    def __init__(self, tree: PublicTree, sides: Sequence[Side], ends: slice):
        self._tables: list[np.ndarray] = []  # both players', one after the other
        self._places, self._met = dict[tuple[int, bytes, bytes], int](), list[np.ndarray]()
        super().__init__(tree, sides, ends)

    def _add(self, end: int) -> None:
        arrays, rows = self.tree.arrays, [self._place(end, player) for player in range(2)]
        table, slots, weights = int(arrays.ends[end, 0, TABLE]), list[np.ndarray](), list[np.ndarray]()
        both = arrays.tables[~table if table < 0 else table].tolist()  # where each one's hands begin, and their number
        for player, side in enumerate(self.sides):
            slot, stride, _, lookup = arrays.ends[end, player].tolist()
            slots.append(slot + stride * arrays.order[lookup : lookup + both[player][1]])
            weights.append(side.weights[slots[-1]])
            rows[player][ORDER] = lookup
        key = both[0][0], weights[0].tobytes(), weights[1].tobytes()
        if key not in self._places:
            self._places[key] = len(self._tables) // 2
            own, other = (arrays.hands[begin : begin + count].copy() for begin, count in both)
            own["chance"] *= weights[0]
            other["chance"] *= weights[1]
            self._tables += [own, other]
            self._met += [_can_meet(own, other), _can_meet(other, own)]
        place = self._places[key]
        for player, row in enumerate(rows):
            row[TABLE] = ~place if table < 0 else place
            np.logical_or.at(self.met, slots[player], self._met[2 * place + player])
        self.rows.append(rows)
        self.scales.append(tuple(arrays.scales[end].tolist()))

    def _pay(self, player: int, values: np.ndarray) -> None:
        """A payment is a fold to a hand without cards."""
        own, other = np.zeros(len(values), HAND), np.zeros(1, HAND)
        own["low"] = own["high"] = _OWN_CARD
        other["low"] = other["high"] = _OTHER_CARD
        own["same"], other["same"], own["chance"], other["chance"] = 1, len(own), values, 1.0
        for row in self.rows[-1]:
            row[TABLE], row[ORDER] = ~(len(self._tables) // 2), len(self.tree.arrays.order)
        self._tables += [own, other] if player == 0 else [other, own]

    def _payoffs(self) -> dict[str, np.ndarray]:
        in_order = np.arange(max(map(len, self._tables)), dtype=np.int32)
        order = np.concatenate([self.tree.arrays.order, in_order])
        return NO_MATRICES | {"matrices": np.zeros(0), "order": order} | joined(self._tables)


def ends_of(tree: PublicTree, sides: Sequence[Side], ends: slice, decoded: Decoded | None = None) -> Ends:
    """Returns some ends of a tree, for a game with these sides."""
    if len(tree.arrays.tables):
        return TableEnds(tree, sides, ends)
    return MatrixEnds(tree, sides, ends, {} if decoded is None else decoded)


def _can_meet(own: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Returns which hands of a table have chance, and another hand of chance beside them without a common card."""
    counted = np.append(others["chance"] > 0, False).astype(np.int64)
    by_card = np.zeros(_OTHER_CARD, np.int64)
    for card in ("low", "high"):
        np.add.at(by_card, others[card], counted[:-1])
    return (own["chance"] > 0) & (counted.sum() > by_card[own["low"]] + by_card[own["high"]] - counted[own["same"]])


def last_slots(tree: PublicTree, end: int, player: int) -> np.ndarray:
    """Returns the player's last slot before an end that has a matrix, for each hand, ``[num_hands]`` int64."""
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
