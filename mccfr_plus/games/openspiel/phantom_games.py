"""OpenSpiel's phantom games `phantom_ttt` and `dark_hex`: players do not see each other's marks.

The information states of `dark_hex` contain the number of all choices so far, whatever `obstype` is. With
``obstype=reveal-nothing`` they do not contain the earlier numbers, so that players have imperfect recall.
`perfect_recall_dark_hex` leaves this number out, as OpenSpiel's information state tensor does.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from mccfr_plus.games import phantom
from mccfr_plus.games.openspiel.base import OpenSpielRules
from mccfr_plus.games.phantom import LINES, MOST_CELLS, NOTHING, NUMBER, TURNS
from mccfr_plus.games.rules import Field, Layout, Parameters
from mccfr_plus.games.symmetries import board_symmetries, turned_choices

_SYMBOLS = "xo"


class _PhantomRules(OpenSpielRules):
    """Fields and information states of a phantom game.

    Attributes:
        shows_number: Whether information states have the number of all choices on a line.
        columns: Number of columns of the board.
    """

    rules = phantom.RULES
    shows_number: ClassVar[bool] = False
    columns: int

    @staticmethod
    def layout_of(kernels: np.ndarray, shown: int, symmetries: Sequence[Sequence[int]]) -> Layout:
        """Returns the sizes of a phantom game from its kernels' parameters and its board's symmetries."""
        cells = len(symmetries[0])
        if shown == TURNS:
            fields = [Field("turns", 2 * cells + 2, 2 * cells - 1, private=True, turned=turned_choices(2))]
        else:
            fields = [Field("choices", 2 * cells + 1, cells, private=True, turned=turned_choices(1))]
        if shown == NUMBER:
            fields.append(Field("number", 2 * cells))
        return phantom.phantom_layout(kernels, fields, symmetries)

    def tensor_cells(self, player: int, place: int, value: int) -> Sequence[int]:
        """Returns the cells of an empty board, or of a choice: its mark instead of the empty cell, and in the order."""
        cells, turns = self.sizes.num_distinct_actions, self._shows_turns
        begin = (9 if self.shows_number else 3) * cells + place * (cells + 2 * turns)
        if place < 0:
            return [self._board_cell(cell, 0) for cell in range(cells)]
        if value == 0 or place >= self.sizes.fields[0].count:
            return []
        if turns and value == 1:
            return [*[begin] * (1 - player), begin + cells + 1]
        cell, placed = divmod(value - 1 - turns, 2)
        sign = 1 if player != placed else -1
        order = [*[begin] * (player * turns), begin + turns + cell]
        return [~self._board_cell(cell, 0), self._board_cell(cell, sign), *order]

    def _board_cell(self, cell: int, mark: int) -> int:
        """Returns the entry of OpenSpiel's tensor for a mark: 1 of player 0, -1 of player 1, 0 for none."""
        # Dark hex has nine kinds of marks, some of them for connections to edges, which information states lack.
        return 9 * cell + 4 + mark if self.shows_number else (0, 2, 1)[mark] * self.sizes.num_distinct_actions + cell

    @property
    def _shows_turns(self) -> bool:
        return self.sizes.fields[0].name == "turns"

    def information_state(self, player: int, view: Sequence[int]) -> str:
        """Returns the board that the player knows, the number of choices if it is shown, and the known choices."""
        num_cells, columns = self.sizes.num_distinct_actions, self.columns
        board, turns = ["."] * num_cells, []
        for entry in view if self._shows_turns else view[:num_cells]:
            choice = entry - 1 - self._shows_turns
            if entry and choice < 0:
                turns.append(f"{1 - player},? ")
            elif entry:
                cell, placed = divmod(choice, 2)
                board[cell] = _SYMBOLS[player if placed else 1 - player]
                turns.append(f"{player},{cell} ")
        rows = ["".join(board[first : first + columns]) for first in range(0, num_cells, columns)]
        if self.shows_number or self._shows_turns:
            rows.append(str(len(turns) if self._shows_turns else view[num_cells]))
        return "\n".join([*rows, "".join(turns)])


class PhantomTicTacToeRules(_PhantomRules):
    """The compiled rules of `phantom_ttt`."""

    short_name = "phantom_ttt"
    defaults = {"obstype": "reveal-nothing", "gameversion": "classical"}  # noqa: RUF012
    columns = 3

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        abrupt = parameters.one_of("gameversion", {"classical": False, "abrupt": True})
        shown = parameters.one_of("obstype", {"reveal-nothing": NOTHING, "reveal-numturns": TURNS})
        kernels = phantom.parameters_of(9, abrupt, shown, lambda marks: any(marks & line == line for line in LINES))
        return cls.layout_of(kernels, shown, board_symmetries(3, 3, reflections=True))


class DarkHexRules(_PhantomRules):
    """The compiled rules of `dark_hex`."""

    short_name = "dark_hex"
    defaults = {  # noqa: RUF012
        "board_size": 3,
        "gameversion": "cdh",
        "num_cols": 3,
        "num_rows": 3,
        "obstype": "reveal-nothing",
    }
    shows_number = True

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        """Returns the sizes of the game; OpenSpiel has already applied `board_size` to rows and columns."""
        shown = parameters.one_of("obstype", {"reveal-nothing": NUMBER, "reveal-numturns": TURNS})
        kernels, symmetries = dark_hex(parameters, shown)
        return cls.layout_of(kernels, shown, symmetries)

    @property
    def columns(self) -> int:  # type: ignore[override]
        """Number of columns of the board."""
        return self.given["num_cols"]


def dark_hex(parameters: Parameters, shown: int) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Returns the kernels' parameters and the symmetries of the board for dark hex; `shown` is as for these kernels.

    Raises:
        ValueError: If the board is too large, or has one row or column: OpenSpiel's game does not end there.
    """
    rows = parameters.whole_number("num_rows", 2, MOST_CELLS // 2)
    columns = parameters.whole_number("num_cols", 2, MOST_CELLS // 2)
    abrupt = parameters.one_of("gameversion", {"cdh": False, "adh": True})
    if rows * columns > MOST_CELLS:
        raise ValueError(f"num_rows={rows}, num_cols={columns}: give a board of at most {MOST_CELLS} cells.")
    kernels = phantom.parameters_of_hex(rows * columns, abrupt, shown, columns)
    return kernels, board_symmetries(rows, columns, reflections=False)
