"""Frames of players in games with symmetries: infosets that symmetries turn into each other are one.

Each player has a *frame* of its own, an element of the group: it turns what the player did and saw into a canonical
form. The form is made action by action: at an infoset, the symmetries that leave all of the player's actions so far
where they are, its *stabilizer*, turn some actions into each other; only the smallest one of each orbit is kept, and
the frame is turned so that the action that was played becomes that one. So a form has one way to come about, and the
table of successors leads from infoset to infoset as in games without symmetries.

An action of an infoset stands for its orbit, of which each is played with the same probability: as if chance turned
the frame. A best response to a symmetric policy can be chosen symmetric, so that values and exploitability are those
of the whole game.

A frame is a word: the element in the lower bits, the stabilizer above, a bit for each element.
"""

from __future__ import annotations

import numpy as np

from mccfr_plus.games.symmetries import Symmetries
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.random_numbers import next_double
from mccfr_plus.kernels.slots import Constant

NUM_SYMMETRIES = Constant("NUM_SYMMETRIES", 1, "How many symmetries there are, the identity included.")
NUM_TURNED = Constant("NUM_TURNED", 1, "How many actions they turn.")
NUM_VALUES = Constant("NUM_VALUES", 1, "How many values they turn.")

_ELEMENT_BITS = 8


def packed(symmetries: Symmetries | None) -> np.ndarray:
    """Returns what the kernels below read, int64; nothing without symmetries."""
    if symmetries is None:
        return np.zeros(1, np.int64)
    arrays = (symmetries.permutations, symmetries.inverses, symmetries.products, symmetries.fixing)
    return np.concatenate([array.ravel() for array in (*arrays, symmetries.values, symmetries.bases)])


@inline_kernel
def element_of(frame):
    """Returns the element of a frame."""
    return frame & ((1 << _ELEMENT_BITS) - 1)


@inline_kernel
def stabilizer_of(frame):
    """Returns the stabilizer of the infoset that a player is in, a bit for each element."""
    return frame >> _ELEMENT_BITS


@inline_kernel
def first_frame():
    """Returns the frame of a player who has not moved yet."""
    return np.int64(((1 << NUM_SYMMETRIES()) - 1) << _ELEMENT_BITS)


@inline_kernel
def turned(symmetries, element, action):
    """Returns what an element turns an action into."""
    return symmetries[element * NUM_TURNED() + action]


@inline_kernel
def inverse(symmetries, element):
    """Returns the inverse of an element."""
    return symmetries[NUM_SYMMETRIES() * NUM_TURNED() + element]


@inline_kernel
def _product(symmetries, second, first):
    return symmetries[NUM_SYMMETRIES() * (NUM_TURNED() + 1 + second) + first]


@inline_kernel
def fixing(symmetries, action):
    """Returns the elements that leave an action where it is, a bit each."""
    return symmetries[NUM_SYMMETRIES() * (NUM_TURNED() + 1 + NUM_SYMMETRIES()) + action]


@inline_kernel
def turn_view(symmetries, frame, places, view):
    """Turns what a player knows, the entries `places` of a view, into the canonical form, in place."""
    values = NUM_SYMMETRIES() * (NUM_TURNED() + 1 + NUM_SYMMETRIES()) + NUM_TURNED()
    bases = values + NUM_SYMMETRIES() * NUM_VALUES()
    for index in range(len(places)):
        base, place = symmetries[bases + index], places[index]
        view[place] = symmetries[values + element_of(frame) * NUM_VALUES() + base + view[place]]


@inline_kernel
def size_of(subgroup):
    """Returns how many elements a subgroup has."""
    count = 0
    while subgroup > 0:
        count += 1
        subgroup &= subgroup - 1
    return count


@inline_kernel
def orbit_size(symmetries, subgroup, action):
    """Returns how many actions a subgroup turns an action into."""
    return size_of(subgroup) // size_of(subgroup & fixing(symmetries, action))


@inline_kernel
def to_representative(symmetries, subgroup, action):
    """Returns the smallest action of an orbit, and an element of the subgroup that turns the action into it."""
    best, chosen = action, np.int64(0)
    for element in range(NUM_SYMMETRIES()):
        if subgroup >> element & 1 and turned(symmetries, element, action) < best:
            best, chosen = turned(symmetries, element, action), np.int64(element)
    return best, chosen


@inline_kernel
def canonical_actions(symmetries, frame, actions, count):
    """Turns `count` actions, in place, into the smallest ones of their orbits, ascending. Returns how many."""
    mask, element, stabilizer = np.int64(0), element_of(frame), stabilizer_of(frame)
    for index in range(count):
        action = turned(symmetries, element, actions[index])
        if stabilizer > 1:
            action, _ = to_representative(symmetries, stabilizer, action)
        mask |= np.int64(1) << action
    count, action = 0, 0
    while mask > 0:
        if mask & 1:
            actions[count] = action
            count += 1
        mask >>= 1
        action += 1
    return count


@inline_kernel
def draw_turn(symmetries, frame, rng):
    """Returns a random element of the stabilizer of a frame. `rng` is modified in place."""
    stabilizer = stabilizer_of(frame)
    left, element = np.int64(next_double(rng) * size_of(stabilizer)), 0
    while left > 0 or not stabilizer >> element & 1:
        left -= stabilizer >> element & 1
        element += 1
    return np.int64(element)


@inline_kernel
def after(symmetries, frame, element, action):
    """Returns a frame after an action, the smallest of its orbit, that an element of the stabilizer has turned."""
    stabilizer = stabilizer_of(frame) & fixing(symmetries, action)
    return _product(symmetries, element, element_of(frame)) | stabilizer << _ELEMENT_BITS
