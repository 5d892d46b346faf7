"""OpenSpiel's `dark_hex`: hex in which players do not see each other's marks.

The information state has the number of all choices so far, whatever `obstype` is. With ``obstype=reveal-nothing`` it
does not have the earlier numbers, so that players have imperfect recall. `perfect_recall_dark_hex` is the game without
that number, which is what OpenSpiel's information state tensor tells.
"""

from mccfr_plus.games.openspiel.phantom_rules import PhantomRules
from mccfr_plus.games.phantom import MOST_CELLS, NUMBER, TURNS, Phantom, parameters_of_hex
from mccfr_plus.games.rules import Layout, Parameters
from mccfr_plus.games.symmetries import board_symmetries


class DarkHexRules(PhantomRules):
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
        """Returns the sizes of the game; OpenSpiel has used `board_size` for the other two by now."""
        shown = parameters.one_of("obstype", {"reveal-nothing": NUMBER, "reveal-numturns": TURNS})
        game, columns = dark_hex(parameters, shown)
        symmetries = board_symmetries(game.num_cells // columns, columns, reflections=False)
        return cls.layout_of(game, parameters_of_hex(game, columns), symmetries)

    @property
    def columns(self) -> int:  # type: ignore[override]
        """Number of columns of the board."""
        return self.given["num_cols"]


def dark_hex(parameters: Parameters, shown: int) -> tuple[Phantom, int]:
    """Returns a game of dark hex and the number of columns of its board.

    Args:
        parameters: `num_rows`, `num_cols` and `gameversion`.
        shown: What players see of the opponent's choices.

    Raises:
        ValueError: If the board is too large, or has one row or column: OpenSpiel's game does not end there.
    """
    rows = parameters.whole_number("num_rows", 2, MOST_CELLS // 2)
    columns = parameters.whole_number("num_cols", 2, MOST_CELLS // 2)
    abrupt = parameters.one_of("gameversion", {"cdh": False, "adh": True})
    if rows * columns > MOST_CELLS:
        raise ValueError(f"num_rows={rows}, num_cols={columns}: give a board of at most {MOST_CELLS} cells.")
    return Phantom(rows * columns, abrupt, shown), columns
