"""OpenSpiel's `phantom_ttt`: tic-tac-toe in which players do not see each other's marks."""

from mccfr_plus.games.openspiel.phantom_rules import PhantomRules
from mccfr_plus.games.phantom import NOTHING, TURNS, Phantom
from mccfr_plus.games.rules import Layout, Parameters
from mccfr_plus.games.symmetries import board_symmetries

_NUM_CELLS = 9
_LINES = (0b111, 0b111000, 0b111000000, 0b1001001, 0b10010010, 0b100100100, 0b100010001, 0b1010100)


def _has_line(marks: int) -> bool:
    return any(marks & line == line for line in _LINES)


class PhantomTicTacToeRules(PhantomRules):
    """The compiled rules of `phantom_ttt`."""

    short_name = "phantom_ttt"
    defaults = {"obstype": "reveal-nothing", "gameversion": "classical"}  # noqa: RUF012
    columns = 3

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        abrupt = parameters.one_of("gameversion", {"classical": False, "abrupt": True})
        shown = parameters.one_of("obstype", {"reveal-nothing": NOTHING, "reveal-numturns": TURNS})
        game = Phantom(_NUM_CELLS, abrupt, shown)
        symmetries = board_symmetries(_NUM_CELLS // cls.columns, cls.columns, reflections=True)
        return cls.layout_of(game, game.parameters_of(_has_line), symmetries)
