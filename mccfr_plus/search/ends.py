"""Ends of partial games: payoffs times the reach of fixed play, as matrices or as tables of poker hands."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.trees.arrays import read_only
from mccfr_plus.trees.public.arrays import BLOCK, HAND, HANDS, MATRIX, SLOT, STRIDE, PublicArrays
from mccfr_plus.trees.public.public_tree import PublicTree
from mccfr_plus.trees.public.showdowns import ORDER, TABLE, joined

EMPTY = -1  # in the place of a slot: the empty sequence
_OWN_CARD, _OTHER_CARD = 62, 63  # of hands that are paid, and of what pays them: no card of a deck


class Side(NamedTuple):
    """What becomes of a player's sequences in a game that is made from a part of another one."""

    slot_of: np.ndarray  # [num_slots + 2] int64: the slot of each in the new game; `EMPTY`: the empty sequence
    weights: np.ndarray  # [num_slots + 2] float64: what the fixed part of the strategy multiplies payoffs by
    infosets: np.ndarray  # [any] INFOSET: of the new game, with slots from 0 on; `EMPTY` as a parent


class Ends:
    """The ends of a partial game; subclasses write payoffs as the tree has them."""

    _add: Any  # (end, rows): completes the rows of an end of the tree, and returns its scales
    _pay: Any  # (rows, player, values): completes the rows of a payment
    _payoffs: Any  # (): returns the other fields

    def __init__(self, tree: PublicTree, sides: Mapping[int, Side], ends: slice):
        self.tree, self.sides = tree, [sides[0], sides[1]]
        self.sizes = [int(side.infosets["num_actions"].sum()) for side in self.sides]
        self.rows, self.scales = list[list[list[int]]](), list[tuple[float, float]]()
        for end in range(ends.start, ends.stop):
            self.rows.append([self._row(end, player) for player in range(2)])
            self.scales.append(self._add(end, self.rows[-1]))

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

    def pay(self, player: int, slot: int, stride: int, values: np.ndarray) -> None:
        """Adds an end that pays a player a value for each hand, whatever the other player does.

        `slot` is that of the first hand, in the player's part of the new game, `stride` the distance to the next hand.
        """
        own, other = [slot + self.sizes[0] * player, stride, 0, 0], [sum(self.sizes) + 1 - player, 0, 0, 0]
        self.scales.append((1.0, -1.0) if player == 0 else (-1.0, 1.0))
        self.rows.append([own, other] if player == 0 else [other, own])
        self._pay(self.rows[-1], player, values)

    def _row(self, end: int, player: int) -> list[int]:
        """Returns the row of an end for a player, with the columns that are the same in all trees."""
        slot, stride = self.tree.arrays.ends[end, player, [SLOT, STRIDE]].tolist()
        first, second = self.renumbered(self.sides[player].slot_of[[slot, slot + stride]], player).tolist()
        return [first, second - first, 0, 0]


class MatrixEnds(Ends):
    """Ends with a matrix each; equal ones are stored once."""

    def __init__(self, tree: PublicTree, sides: Mapping[int, Side], ends: slice):
        self._blocks, self._places, self._length = [np.zeros(0)], dict[bytes, int](), 0
        super().__init__(tree, sides, ends)

    def _add(self, end: int, rows: list[list[int]]) -> tuple[float, float]:
        own, other = (side.weights[last_slots(self.tree, end, player)] for player, side in enumerate(self.sides))
        arrays = self.tree.arrays
        self._set(rows, arrays.scales[end, 0] * matrix_of(arrays, end, 0) * own[:, None] * other)
        return 1.0, -1.0

    def _pay(self, rows: list[list[int]], player: int, values: np.ndarray) -> None:
        self._set(rows, values.reshape(-1, 1) if player == 0 else values.reshape(1, -1))

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
        return {"matrices": np.concatenate(self._blocks)}


class TableEnds(Ends):
    """Ends with a table of poker hands each, whose chance is multiplied by the reach of fixed play."""

    def __init__(self, tree: PublicTree, sides: Mapping[int, Side], ends: slice):
        self._tables: list[np.ndarray] = []  # both players', one after the other
        self._places: dict[tuple[Any, ...], int] = {}
        super().__init__(tree, sides, ends)

    def _add(self, end: int, rows: list[list[int]]) -> tuple[float, float]:
        arrays, weights = self.tree.arrays, list[np.ndarray]()
        table = int(arrays.ends[end, 0, TABLE])
        both = arrays.tables[~table if table < 0 else table].tolist()  # where each one's hands begin, and their number
        for player, (_, count) in enumerate(both):
            slot, stride, _, lookup = arrays.ends[end, player].tolist()
            rows[player][ORDER] = lookup
            weights.append(self.sides[player].weights[slot + stride * arrays.order[lookup : lookup + count]])
        key = both[0][0], *(each.tobytes() for each in weights)
        if key not in self._places:
            self._places[key] = len(self._tables) // 2
            for (begin, count), own in zip(both, weights, strict=True):
                self._tables.append(arrays.hands[begin : begin + count].copy())
                self._tables[-1]["chance"] *= own
        for row in rows:
            row[TABLE] = ~self._places[key] if table < 0 else self._places[key]
        return tuple(arrays.scales[end].tolist())

    def _pay(self, rows: list[list[int]], player: int, values: np.ndarray) -> None:
        """A payment is a fold to a hand without cards."""
        own, other = np.zeros(len(values), HAND), np.zeros(1, HAND)
        own["low"] = own["high"] = _OWN_CARD
        other["low"] = other["high"] = _OTHER_CARD
        own["same"], other["same"], own["chance"], other["chance"] = 1, len(own), values, 1.0
        for row in rows:
            row[TABLE], row[ORDER] = ~(len(self._tables) // 2), len(self.tree.arrays.order)
        self._tables += [own, other] if player == 0 else [other, own]

    def _payoffs(self) -> dict[str, np.ndarray]:
        in_order = np.arange(max(map(len, self._tables)), dtype=np.int32)
        return {"order": np.concatenate([self.tree.arrays.order, in_order]), **joined(self._tables)}


def ends_of(tree: PublicTree, sides: Mapping[int, Side], ends: slice) -> Ends:
    """Returns some ends of a tree, for a game with a side for each player."""
    return (TableEnds if len(tree.arrays.tables) else MatrixEnds)(tree, sides, ends)


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
    used = slice(starts[0], starts[-1])
    change[np.repeat(np.arange(own), np.diff(starts)), arrays.change_hand[used]] = arrays.change[used]
    return change.cumsum(axis=0)
