"""Symmetries of a game: permutations of its actions that preserve legal actions and payoffs.

`Symmetries` holds them as arrays for kernels; `board_symmetries` returns the symmetries of boards.
"""

from collections.abc import Callable, Sequence

import numpy as np

from mccfr_plus.games.rules import NOW, Layout

_MOST_ELEMENTS = 16
_MOST_ACTIONS = 62  # kernels keep sets of actions in a word


class Symmetries:
    """The group of a game's symmetries, as arrays.

    An element maps one *frame* to another: its permutation maps actions, `Field.turned` the values that players see.

    Raises:
        ValueError: If they are not a group of at most 16 permutations that begins with the identity, or if the game has
            chance or more than 62 actions.

    Attributes:
        permutations: ``[num_elements, num_actions]`` int64: the image of each action.
        inverses: ``[num_elements]`` int64.
        products: ``[num_elements, num_elements]`` int64: the second element followed by the first.
        fixing: ``[num_actions]`` int64, the elements that fix an action, a bit each.
        bases: ``[num_places]`` int64: the begin of each place of an information state in `values`.
        values: ``[num_elements, num_values]`` int64: the image of each value of a place.
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
            raise ValueError(f"symmetries: for games without chance, of at most {_MOST_ACTIONS} actions.")
        self.permutations = np.array(given, np.int64)
        self.products = np.array(products, np.int64)
        self.inverses = np.argmax(self.products == 0, axis=1)
        bits = 1 << np.arange(len(given))
        self.fixing = ((self.permutations == np.arange(len(actions))) * bits[:, None]).sum(0)
        places = sizes.places(hidden=NOW)
        begins = np.cumsum([0, *(each.size for _, each in places)])
        self.bases = np.repeat(begins[:-1], [each.count for _, each in places]).astype(np.int64)
        self.values = np.array(
            [
                [
                    value if each.turned is None else each.turned(value, permutation)
                    for _, each in places
                    for value in range(each.size)
                ]
                for permutation in given
            ],
            np.int64,
        )

    def __len__(self) -> int:
        return len(self.permutations)

    def representatives(self, subgroup: int) -> np.ndarray:
        """Returns the smallest action of each action's orbit, ``[num_actions]`` int64.

        Args:
            subgroup: The elements, a bit each.
        """
        return self.permutations[[element for element in range(len(self)) if subgroup >> element & 1]].min(0)


def board_symmetries(rows: int, columns: int, *, reflections: bool) -> list[tuple[int, ...]]:
    """Returns the symmetries of a board as permutations of cells, which are numbered row by row; the identity first.

    Args:
        reflections: Whether reflections count, and quarter turns of square boards; otherwise only half turns do.
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
