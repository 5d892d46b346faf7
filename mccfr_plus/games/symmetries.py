"""Symmetries of a game: permutations of its actions that preserve legal actions and payoffs."""

from collections.abc import Callable, Sequence

import numpy as np

from mccfr_plus.games.rules import NOW, Layout

_MOST_ELEMENTS = 16
_MOST_ACTIONS = 62  # kernels keep sets of actions in a word


class Symmetries:
    """The group of a game's symmetries, as int64 arrays; ValueError if `sizes` has none.

    An element maps one *frame* to another: its permutation maps actions, `Field.turned` the values that players see.
    """

    def __init__(self, sizes: Layout):
        given = [tuple(each) for each in sizes.symmetries]
        actions = range(sizes.num_distinct_actions)
        number = {each: element for element, each in enumerate(given)}
        products = [[number.get(tuple(first[second[a]] for a in actions)) for second in given] for first in given]
        is_group = len(number) == len(given) <= _MOST_ELEMENTS and all(None not in row for row in products)
        if not given or given[0] != tuple(actions) or not is_group:
            raise ValueError("symmetries: give a group of at most 16 permutations of the actions, the identity first.")
        if sizes.max_chance_outcomes or len(actions) > _MOST_ACTIONS:
            raise ValueError(
                f"symmetries: supported only for games without chance and with at most {_MOST_ACTIONS} actions."
            )
        self.permutations = np.array(given, np.int64)  # [num_elements, num_actions]: the image of each action
        self.products = np.array(products, np.int64)  # [element, element]: the second one followed by the first
        self.inverses = np.argmax(self.products == 0, axis=1)
        bits = 1 << np.arange(len(given))
        # [num_actions]: the elements that fix an action, a bit each.
        self.fixing = ((self.permutations == np.arange(len(actions))) * bits[:, None]).sum(0)
        fields = [each for _, each in sizes.places(hidden=NOW)]
        begins = np.cumsum([0, *(each.size for each in fields)])
        # [num_places]: where each place of an information state begins in `values`, [num_elements, num_values]: images.
        self.bases = np.repeat(begins[:-1], [each.count for each in fields]).astype(np.int64)
        values = [(each.turned, value) for each in fields for value in range(each.size)]
        images = [[turned(value, image) if turned else value for turned, value in values] for image in given]
        self.values = np.array(images, np.int64)

    def __len__(self) -> int:
        return len(self.permutations)

    def representatives(self, subgroup: int) -> np.ndarray:
        """Returns the smallest action of each action's orbit, ``[num_actions]``; `subgroup` has a bit per element."""
        return self.permutations[[element for element in range(len(self)) if subgroup >> element & 1]].min(0)


def board_symmetries(rows: int, columns: int, *, reflections: bool) -> list[tuple[int, ...]]:
    """Returns the symmetries of a board as permutations of cells, which are numbered row by row; the identity first.

    Without `reflections` only half turns count; with them also quarter turns of square boards.
    """
    board = np.arange(rows * columns).reshape(rows, columns)
    boards = [board, board[::-1, ::-1]]
    if reflections:
        boards += [board[::-1], board[:, ::-1]]
        if rows == columns:
            boards += [each.T for each in boards]
    return [tuple(each.ravel().tolist()) for each in boards]


def turned_choices(first: int) -> Callable[[int, Sequence[int]], int]:
    """Returns the `Field.turned` of choices of cells, ``first + 2 * cell`` or 1 more; lower values stay."""

    def turned(value: int, permutation: Sequence[int]) -> int:
        cell, rest = divmod(value - first, 2)
        return value if value < first else first + 2 * permutation[cell] + rest

    return turned
