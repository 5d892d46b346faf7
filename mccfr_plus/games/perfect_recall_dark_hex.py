"""Dark hex with perfect recall: hex in which players do not see each other's marks (rules: docs/background/games.md).

Information states are what OpenSpiel's tensor tells. Its text also has the number of all choices, not earlier ones.

Reference: Rudolph et al. 2025, "Reevaluating policy gradient methods for imperfect-information games".
"""

from dataclasses import replace

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel.phantom_games import NOTHING, RULES, dark_hex, look, owner, phantom_layout
from mccfr_plus.games.rules import RECALLED, Field, Layout, Parameters
from mccfr_plus.games.symmetries import turned_choices
from mccfr_plus.kernels.compile import kernel


@kernel
def _look(parameters, table, state, player, view):
    look(parameters, table, state, player, view)
    num_cells = len(view) // 2
    for index in range(num_cells):
        if view[index]:
            view[num_cells + (view[index] - 1) // 2] = 2 - (view[index] - 1) % 2


class PerfectRecallDarkHexGame(RulesGame):
    """Dark hex with perfect recall; parameters: `num_rows`, `num_cols`, `gameversion`."""

    short_name = "perfect_recall_dark_hex"
    long_name = "Dark Hex With Perfect Recall"
    defaults = {"num_rows": 3, "num_cols": 3, "gameversion": "cdh"}  # noqa: RUF012
    rules = replace(RULES, look=_look)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        kernels, symmetries = dark_hex(parameters, NOTHING)
        num_cells, columns = len(symmetries[0]), parameters["num_cols"]
        # A choice of an occupied cell has an asterisk.
        names = (f"{_cell(cell, columns)}{mark}" for cell in range(num_cells) for mark in ("*", ""))
        choices = Field("choices", 2 * num_cells + 1, num_cells, True, RECALLED, ["", *names], turned=turned_choices(1))
        board = Field("board", 3, num_cells, private=True, when="now", symbols=".o*")
        return phantom_layout(kernels, symmetries, (choices, board))

    def action_text(self, player: int, action: int) -> str:
        """Returns the column as a letter and the row as a number, as OpenSpiel's `dark_hex` does, such as "a1"."""
        return _cell(action, self.given["num_cols"])

    def state_text(self, state: np.ndarray) -> str:
        """Returns the true board, a line per row, each shifted as on a hex board."""
        columns, cells = self.given["num_cols"], self.sizes.num_distinct_actions
        board = [".xo"[owner(state, cell)] for cell in range(cells)]
        rows = [" ".join(board[first : first + columns]) for first in range(0, cells, columns)]
        return "\n".join(" " * number + row for number, row in enumerate(rows))


def _cell(cell: int, columns: int) -> str:
    return f"{chr(ord('a') + cell % columns)}{cell // columns + 1}"
