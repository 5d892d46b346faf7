"""Canonical forms of infosets: those that symmetries turn into each other are one. And the keys of infosets.

Each player has a *frame*, a symmetry that turns what it did and saw into the form, action by action. Its *stabilizer*,
the symmetries that leave all of its actions so far where they are, turns some actions into each other: the smallest of
each orbit stands for all, and the frame is turned as if by chance. Thus, a form arises in one way only. A frame is a
word: the element in the lower bits, the stabilizer above, a bit for each element. A best response to a symmetric policy
can be chosen symmetric, so that values and exploitability are those of the whole game.
"""

import numpy as np
import pyspiel

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.games.rules import NOW
from mccfr_plus.games.symmetries import Symmetries
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import next_double
from mccfr_plus.kernels.slots import Constant
from mccfr_plus.trees.info_states import Keys, hash_step

NUM_SYMMETRIES = Constant("NUM_SYMMETRIES", 1, "How many symmetries there are, the identity included.")
NUM_TURNED = Constant("NUM_TURNED", 1, "How many actions they turn.")
NUM_VALUES = Constant("NUM_VALUES", 1, "How many values they turn.")

_ELEMENT_BITS = 8


def packed(symmetries: Symmetries | None) -> np.ndarray:
    """Returns what the kernels below read, int64."""
    if symmetries is None:
        return np.zeros(1, np.int64)
    arrays = (symmetries.permutations, symmetries.inverses, symmetries.products, symmetries.fixing)
    return np.concatenate([array.ravel() for array in (*arrays, symmetries.values, symmetries.bases)])


@inline_kernel
def element_of(frame):
    return frame & ((1 << _ELEMENT_BITS) - 1)


@inline_kernel
def stabilizer_of(frame):
    return frame >> _ELEMENT_BITS


@inline_kernel
def first_frame():
    """Returns the frame of a player who has not moved yet."""
    return np.int64(((1 << NUM_SYMMETRIES()) - 1) << _ELEMENT_BITS)


@inline_kernel
def turned(symmetries, element, action):
    return symmetries[element * NUM_TURNED() + action]


@inline_kernel
def inverse(symmetries, element):
    return symmetries[NUM_SYMMETRIES() * NUM_TURNED() + element]


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
def visited(symmetries, frame, fixed, actions, num_legal):
    """Keeps the `actions` to visit. Returns how many, and the infoset's actions, a bit each; 0 if it has these alone.

    Symmetries that leave the whole history where it is, the bits of `fixed`, turn children into each other: one of them
    is visited.
    """
    stabilizer, element = stabilizer_of(frame), element_of(frame)
    count, own = np.int64(0), np.int64(0)
    if stabilizer == 1:
        count = np.int64(canonical_actions(symmetries, frame, actions, num_legal))
        for index in range(count):
            actions[index] = turned(symmetries, inverse(symmetries, element), actions[index])
        return count, own
    for index in range(num_legal):
        action = actions[index]
        chosen, _ = to_representative(symmetries, stabilizer, turned(symmetries, element, action))
        own |= np.int64(1) << chosen
        smallest, _ = to_representative(symmetries, fixed, action)
        if smallest == action:
            actions[count] = action
            count += 1
    return count, own


@inline_kernel
def after(symmetries, frame, element, action):
    """Returns a frame after an action, the smallest of its orbit, that an element of the stabilizer has turned."""
    stabilizer = stabilizer_of(frame) & fixing(symmetries, action)
    product = symmetries[NUM_SYMMETRIES() * (NUM_TURNED() + 1 + element) + element_of(frame)]
    return product | stabilizer << _ELEMENT_BITS


@inline_kernel
def turn(symmetries, frame, own, action):
    """Returns which one of an infoset's actions, `own`, stands for an action, for how many, and the next frame."""
    chosen, element = to_representative(symmetries, stabilizer_of(frame), turned(symmetries, element_of(frame), action))
    place = size_of(own & ((np.int64(1) << chosen) - 1))
    return place, orbit_size(symmetries, stabilizer_of(frame), chosen), after(symmetries, frame, element, chosen)


@inline_kernel
def draw_turn(symmetries, frame, action, rng):
    """Returns an action drawn from the orbit of one of an infoset, and the next frame. `rng` is modified in place."""
    stabilizer, element = stabilizer_of(frame), np.int64(0)
    if stabilizer > 1:
        left = np.int64(next_double(rng) * size_of(stabilizer))
        while left > 0 or not stabilizer >> element & 1:
            left -= stabilizer >> element & 1
            element += 1
    frame = after(symmetries, frame, element, action)
    return turned(symmetries, inverse(symmetries, element_of(frame)), action), frame


@inline_kernel
def key_of_view(view, places):
    """Returns the key of what `look` wrote, two int64; `places` are the entries of information states."""
    low, high = np.uint64(0x2545F4914F6CDD1D), np.uint64(0x9FB21C651E98DF25)
    for index in range(len(places)):
        word = np.uint64(view[places[index]])
        low, high = hash_step(low, word), hash_step(high, word + np.uint64(0x632BE59BD9B4E019))
    return np.int64(hash_step(low, np.uint64(1))), np.int64(hash_step(high, np.uint64(2)))


def places_of(game: RulesGame) -> np.ndarray:
    """Returns which entries of what `look` writes are part of an information state, int64."""
    ranges = [np.arange(begin, begin + each.count) for begin, each in game.sizes.places(hidden=NOW)]
    return np.concatenate([np.zeros(0, np.int64), *ranges])


class RulesKeys(Keys):
    """128-bit hashes of views of compiled rules, with `symmetry` of canonical forms; ValueError without rules."""

    of_texts = False

    def __init__(self, game: pyspiel.Game, symmetry: bool = False):
        rules_game = compiled_rules(game)
        if rules_game is None:
            raise ValueError(f"{game} has no compiled rules")
        self.kind, self.symmetry = "symmetric" if symmetry else "rules", symmetry
        self._rules_game, self._places = rules_game, places_of(rules_game)
        self._symmetries = Symmetries(rules_game.sizes) if symmetry else None

    def of_state(self, state: pyspiel.State, player: int) -> list[tuple[int, int]]:
        """Returns the keys of what a player knows in a state, turned by each symmetry; see `Keys.of_state`."""
        game = self._rules_game
        return self.of_view(game.look(game.words_after(state.history()), player))

    def of_view(self, view: np.ndarray) -> list[tuple[int, int]]:
        """Returns the same of what `look` wrote, which is modified in place."""
        found = []
        images = view[None, self._places]
        if self._symmetries is not None:
            images = self._symmetries.values[:, self._symmetries.bases + images[0]]
        for image in images:
            view[self._places] = image
            low, high = key_of_view(view, self._places)
            found.append((int(low), int(high)))
        return found

    def row_of(self, rows: list[dict[int, float] | None]) -> dict[int, float] | None:
        """Returns the mean of the rows found, turned back: symmetries that change nothing here give several."""
        if self._symmetries is None:
            return rows[0]
        found: dict[int, float] = {}
        count = sum(row is not None for row in rows)
        for inverse, row in zip(self._symmetries.inverses, rows, strict=True):
            for action, probability in (row or {}).items():
                turned = int(self._symmetries.permutations[inverse, action])
                found[turned] = found.get(turned, 0.0) + probability / count
        return dict(sorted(found.items())) or None

    def find(self, text: str) -> tuple[int, int] | None:
        """Returns None: there are no texts."""
        return None
