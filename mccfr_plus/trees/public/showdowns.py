"""Ends of poker games in O(hands): showdowns by sorted strengths, and folds, less the hands that share a card.

Instead of a matrix, an end has a *table*: the hands of both players that fit the board, by ascending strength.
"""

import numba
import numpy as np

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import STACK_FLOATS, stack_floats
from mccfr_plus.trees.public.arrays import HANDS, MATRIX, SLOT, STRIDE
from mccfr_plus.trees.scratch import at

# In the place of `HANDS` and `MATRIX`: the table, or ~table where a player has folded; where it begins in `order` that
# the hands of the table are looked up at the player's last node.
TABLE, ORDER = HANDS, MATRIX


def joined(tables: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the fields of `PublicArrays` for tables of `HAND`, both players' of each end one after the other."""
    sizes = np.array([len(table) for table in tables])
    places = np.stack([np.cumsum(sizes) - sizes, sizes], axis=1).reshape(-1, 2, 2)
    return {"hands": np.concatenate(tables), "tables": places}


# Words on the stack: the reach of all weaker, of all stronger hands by card; the reach of the other player's hands.
_WEAKER, _STRONGER, _REACH = 0, 64, 128


@inline_kernel
def add_end_by_strength(tree, reach, gradient, player, end, weight):
    """Does what `ADD_END` does by the table of an end. `gradient` is modified in place."""
    ends, hands, order, other = tree.ends, tree.hands, tree.order, 1 - player
    room, table = numba.carray(stack_floats(), STACK_FLOATS, np.float64), ends[at(end), player, TABLE]
    is_fold = table < 0
    table = ~table if is_fold else table
    begin, count = tree.tables[at(table), player, 0], tree.tables[at(table), player, 1]
    others, num_others = tree.tables[at(table), other, 0], tree.tables[at(table), other, 1]
    slot, stride = np.int64(ends[at(end), other, SLOT]), np.int64(ends[at(end), other, STRIDE])
    lookup = ends[at(end), other, ORDER]
    for number in range(num_others):
        above = reach[at(slot + order[at(lookup + number)] * stride)]
        room[at(_REACH + number)] = above * hands[at(others + number)]["chance"]
    room[at(_REACH + num_others)] = 0.0
    for card in range(_REACH):
        room[at(card)] = 0.0
    slot, stride = np.int64(ends[at(end), player, SLOT]), np.int64(ends[at(end), player, STRIDE])
    lookup, scale = ends[at(end), player, ORDER], weight * tree.scales[at(end), player]
    if is_fold:
        total = 0.0
        for number in range(num_others):
            total += _add_cards(room, hands[at(others + number)], _WEAKER, number)
        for number in range(count):
            hand = hands[at(begin + number)]
            value = total - _of_cards(room, hand, _WEAKER) + room[at(_REACH + hand["same"])]
            gradient[at(slot + order[at(lookup + number)] * stride)] += scale * hand["chance"] * value
        return
    weaker, stronger, below, above = 0.0, 0.0, 0, num_others - 1
    for number in range(count):  # up for what a hand beats, and down for what beats a hand
        hand = hands[at(begin + number)]
        while below < num_others and hands[at(others + below)]["group"] < hand["group"]:
            weaker += _add_cards(room, hands[at(others + below)], _WEAKER, below)
            below += 1
        value = scale * hand["chance"] * (weaker - _of_cards(room, hand, _WEAKER))
        gradient[at(slot + order[at(lookup + number)] * stride)] += value
        hand = hands[at(begin + count - 1 - number)]
        while above >= 0 and hands[at(others + above)]["group"] > hand["group"]:
            stronger += _add_cards(room, hands[at(others + above)], _STRONGER, above)
            above -= 1
        value = scale * hand["chance"] * (stronger - _of_cards(room, hand, _STRONGER))
        gradient[at(slot + order[at(lookup + count - 1 - number)] * stride)] -= value


@inline_kernel
def _add_cards(room, hand, sums, number):
    """Adds the reach of the other player's hand to the sums of its cards, and returns it."""
    above = room[at(_REACH + number)]
    room[at(sums + hand["low"])] += above
    room[at(sums + hand["high"])] += above
    return above


@inline_kernel
def _of_cards(room, hand, sums):
    return room[at(sums + hand["low"])] + room[at(sums + hand["high"])]
