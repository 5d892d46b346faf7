"""OpenSpiel's phantom games `phantom_ttt` and `dark_hex`: players do not see each other's marks.

A choice of a cell that the opponent has marked places nothing. The player then chooses again or, where the game is
abrupt, loses the turn. The player with a winning set of marks wins; a full board is a draw.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.games.common import list_bits, num_bits
from mccfr_plus.games.game import OpenSpielRules
from mccfr_plus.games.rules import MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.games.symmetries import board_symmetries, turned_choices
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import at

# Words of a state: each player's marks, above 32 bits the cells that it has chosen, and at the top whether it has won;
# who made each choice so far, a bit each, above six bits for their number; then `num_words` words per player with the
# cells chosen plus 1, the last one in the lowest bits.
_BOARD, _CHOICES, _CELLS = 1, 3, 4
_TRIED = 32
_MARKS = (1 << _TRIED) - 1
_WON = 62
_COUNT_BITS = 6
_BITS, _PER_WORD = 5, 12  # of a cell, and cells in a word
_USED = (1 << _BITS * _PER_WORD) - 1

# Parameters: where the table of winning sets begins, 0 if there is none; for `_connects` each player's two edges, and
# the cells with a neighbour to the west, and to the east.
_NUM_CELLS, _ABRUPT, _SHOWN, _NUM_WORDS, _TABLE, _COLUMNS, _EDGES, _INNER = *range(7), 10
_NUM_PARAMETERS = 12
MOST_CELLS = 28  # 2 * 28 - 1 choices in a word, beside their number
_MOST_CELLS_OF_TABLE = 16
LINES = (0b111, 0b111000, 0b111000000, 0b1001001, 0b10010010, 0b100100100, 0b100010001, 0b1010100)  # of tic-tac-toe

# What a player sees of the opponent's choices: nothing, how many choices there were in all, or when each was made.
NOTHING, NUMBER, TURNS = range(3)


@inline_kernel
def _connects(parameters, marks, player):
    """Returns whether marks connect the player's edges of a hex board: north and south, or west and east."""
    columns, edge = parameters[_COLUMNS], _EDGES + 2 * player
    west, east = parameters[_INNER], parameters[_INNER + 1]
    found, reached = 0, marks & parameters[edge]
    while reached != found:
        found = reached
        near = found << columns | found >> columns
        near |= (found & east) << 1 | (found & east) >> (columns - 1)
        near |= (found & west) >> 1 | (found & west) << (columns - 1)
        reached |= near & marks
    return int((reached & parameters[edge + 1]) != 0)


@kernel
def _fill_hex_table(parameters, table):
    for marks in range(1 << parameters[_NUM_CELLS]):
        wins = _connects(parameters, marks, 0) | _connects(parameters, marks, 1) << 1
        table[marks >> 4] |= wins << 2 * (marks & 15)


@inline_kernel
def _wins(parameters, marks, player):
    if parameters[_TABLE]:
        return parameters[at(parameters[_TABLE] + (marks >> 4))] >> (2 * (marks & 15) + player) & 1
    return _connects(parameters, marks, player)


@inline_kernel
def owner(state, cell):
    """Returns 1 or 2 if player 0 or 1 has a mark on the cell, otherwise 0."""
    return (state[_BOARD] >> cell & 1) + 2 * (state[_BOARD + 1] >> cell & 1)


@inline_kernel
def _player_of(choices, index):
    return choices >> (_COUNT_BITS + index) & 1


@kernel
def _start(parameters, table, state):
    """Leaves all words 0."""


@kernel
def _legal(parameters, table, state, actions):
    # A player may choose any cell once.
    return list_bits(~(state[at(_BOARD + state[MOVER])] >> _TRIED) & ((1 << parameters[_NUM_CELLS]) - 1), actions)


@kernel
def _apply(parameters, table, state, action):
    mover, choices, bit = state[MOVER], state[_CHOICES], 1 << action
    own, other = state[at(_BOARD + mover)] | bit << _TRIED, state[at(_BOARD + 1 - mover)]
    state[_CHOICES] = (choices + 1) | mover << (_COUNT_BITS + (choices & 63))
    num_words = parameters[_NUM_WORDS]
    first = _CELLS + mover * num_words
    if num_words > 1:
        for word in range(first + num_words - 1, first, -1):
            state[at(word)] = (state[at(word)] << _BITS | state[at(word - 1)] >> _BITS * (_PER_WORD - 1)) & _USED
    state[at(first)] = (state[at(first)] << _BITS | (action + 1)) & _USED
    if other & bit:
        state[MOVER] = 1 - mover if parameters[_ABRUPT] else mover
    else:
        own |= bit
        is_full = (own | other) & _MARKS == (1 << parameters[_NUM_CELLS]) - 1
        wins = _wins(parameters, own & _MARKS, mover)
        own |= wins << _WON
        state[MOVER] = TERMINAL if is_full or wins else 1 - mover
    state[at(_BOARD + mover)] = own


@kernel
def _returns(parameters, table, state, payoffs):
    payoffs[0] = float((state[_BOARD] >> _WON) - (state[_BOARD + 1] >> _WON))
    payoffs[1] = -payoffs[0]


@kernel
def look(parameters, table, state, player, view):
    """Writes the player's own choices in order: 1 + 2 * cell, plus 1 if a mark was placed.

    With `NUMBER`, the number of all choices follows. With `TURNS`, the opponent's choices are 1, the own ones 1 larger.
    """
    marks, choices, shows_turns = state[at(_BOARD + player)], state[_CHOICES], parameters[_SHOWN] == TURNS
    first, count = _CELLS + player * parameters[_NUM_WORDS], choices & 63
    if parameters[_SHOWN] == NUMBER:
        view[parameters[_NUM_CELLS]] = count
    if not shows_turns:  # the player's own choices alone: it has chosen each cell once
        count = num_bits(marks >> _TRIED & ((1 << parameters[_NUM_CELLS]) - 1))
    latest = np.uint64(0)  # of the player's choices, from the last one
    for place in range(count - 1, -1, -1):
        if shows_turns and _player_of(choices, place) != player:
            view[at(place)] = 1
            continue
        word = state[at(first + latest // np.uint64(_PER_WORD))]
        cell = (word >> np.int64(_BITS * (latest % np.uint64(_PER_WORD))) & ((1 << _BITS) - 1)) - 1
        view[at(place)] = 1 + 2 * cell + (marks >> cell & 1) + int(shows_turns)
        latest += np.uint64(1)


@kernel
def _observe(parameters, table, state, player, action):
    # Whether the last choice placed a mark, and the number of the opponent's choices since then if that is shown.
    code = state[at(_BOARD + player)] >> action & 1 if action >= 0 else 0
    if parameters[_SHOWN] != NOTHING:
        choices = state[_CHOICES]
        index = (choices & 63) - 1
        while index >= 0 and _player_of(choices, index) != player:
            code += 2
            index -= 1
    return code


RULES = Rules(_start, _legal, _apply, _returns, look, observe=_observe)


def parameters_of(num_cells: int, abrupt: bool, shown: int, wins: Callable[[int], bool]) -> np.ndarray:
    """Returns the parameters of the kernels for games in which the same sets of marks, masks of cells, win for both."""
    parameters = _with_table(num_cells, abrupt, shown)
    for marks in range(1 << num_cells):
        parameters[_NUM_PARAMETERS + (marks >> 4)] |= (3 if wins(marks) else 0) << 2 * (marks & 15)
    return parameters


def _with_table(num_cells: int, abrupt: bool, shown: int) -> np.ndarray:
    """Returns parameters with an empty table of winning sets behind them: two bits per set, 16 sets a word."""
    length = -(-(1 << num_cells) // 16) if num_cells <= _MOST_CELLS_OF_TABLE else 0
    parameters = np.zeros(_NUM_PARAMETERS + length, np.int64)
    parameters[:_COLUMNS] = num_cells, abrupt, shown, -(-num_cells // _PER_WORD), _NUM_PARAMETERS if length else 0
    return parameters


@functools.cache
def _parameters_of_hex(num_cells: int, abrupt: bool, shown: int, columns: int) -> np.ndarray:
    """Returns the parameters of the kernels for hex: player 0 connects first and last row, player 1 the columns."""
    parameters, cells = _with_table(num_cells, abrupt, shown), np.arange(num_cells)
    bits, column = 1 << cells, cells % columns
    is_west, is_east = column == 0, column == columns - 1
    edges = (cells < columns, cells >= num_cells - columns, is_west, is_east)
    parameters[_COLUMNS] = columns
    parameters[_EDGES:_NUM_PARAMETERS] = [bits[chosen].sum() for chosen in (*edges, ~is_west, ~is_east)]
    if parameters[_TABLE]:
        _fill_hex_table(parameters, parameters[_NUM_PARAMETERS:])
    return parameters


def dark_hex(parameters: Parameters, shown: int) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Returns the kernels' parameters and the symmetries of the board for dark hex."""
    # With one row or column, OpenSpiel's game does not end.
    rows = parameters.whole_number("num_rows", 2, MOST_CELLS // 2)
    columns = parameters.whole_number("num_cols", 2, MOST_CELLS // 2)
    abrupt = parameters.one_of("gameversion", {"cdh": False, "adh": True})
    what = f"give a board of at most {MOST_CELLS} cells"
    parameters.require(rows * columns <= MOST_CELLS, what, "num_rows", "num_cols")
    kernels = _parameters_of_hex(rows * columns, abrupt, shown, columns)
    return kernels, board_symmetries(rows, columns, reflections=False)


def phantom_layout(
    parameters: np.ndarray, symmetries: Sequence[Sequence[int]], fields: Sequence[Field] | None = None
) -> Layout:
    """Returns the sizes of a game; its fields are by default those that OpenSpiel shows."""
    num_cells, _, shown, num_words = parameters[:_TABLE].tolist()
    if fields is None:
        fields = [Field("choices", 2 * num_cells + 1, num_cells, private=True, turned=turned_choices(1))]
        if shown == TURNS:
            fields = [Field("turns", 2 * num_cells + 2, 2 * num_cells - 1, private=True, turned=turned_choices(2))]
        elif shown == NUMBER:
            fields.append(Field("number", 2 * num_cells))
    return Layout(
        state_size=_CELLS + 2 * num_words,
        fields=tuple(fields),
        num_distinct_actions=num_cells,
        max_game_length=2 * num_cells - 1,  # each cell is chosen twice, except the one that ends the game
        min_utility=-1.0,
        max_utility=1.0,
        parameters=parameters,
        max_observations=2 if shown == NOTHING else 2 * (num_cells + 1),
        max_first_observations=1 if shown == NOTHING else 3,  # one choice of the opponent: the first one places a mark
        perfect_recall=shown != NUMBER,
        symmetries=symmetries,
    )


class PhantomTicTacToeRules(OpenSpielRules):
    short_name = "phantom_ttt"
    defaults = {"obstype": "reveal-nothing", "gameversion": "classical"}  # noqa: RUF012
    rules = RULES
    shows_number: ClassVar[bool] = False  # whether information states have the number of all choices

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        abrupt = parameters.one_of("gameversion", {"classical": False, "abrupt": True})
        shown = parameters.one_of("obstype", {"reveal-nothing": NOTHING, "reveal-numturns": TURNS})
        kernels = parameters_of(9, abrupt, shown, lambda marks: any(marks & line == line for line in LINES))
        return phantom_layout(kernels, board_symmetries(3, 3, reflections=True))

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

    def view_text(self, player: int, view: Sequence[int], places: Any = None) -> str:
        """Returns the board that the player knows, the number of choices if it is shown, and the known choices."""
        num_cells, columns = self.sizes.num_distinct_actions, self.given.get("num_cols", 3)
        board, turns = ["."] * num_cells, []
        for entry in view if self._shows_turns else view[:num_cells]:
            choice = entry - 1 - self._shows_turns
            if entry and choice < 0:
                turns.append(f"{1 - player},? ")
            elif entry:
                cell, placed = divmod(choice, 2)
                board[cell] = "xo"[player if placed else 1 - player]
                turns.append(f"{player},{cell} ")
        rows = ["".join(board[first : first + columns]) for first in range(0, num_cells, columns)]
        if self.shows_number or self._shows_turns:
            rows.append(str(len(turns) if self._shows_turns else view[num_cells]))
        return "\n".join([*rows, "".join(turns)])


class DarkHexRules(PhantomTicTacToeRules):
    short_name = "dark_hex"
    defaults = {"board_size": 3, "gameversion": "cdh", "num_cols": 3, "num_rows": 3, "obstype": "reveal-nothing"}  # noqa: RUF012
    shows_number = True

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        """Returns the sizes of the game; OpenSpiel has already applied `board_size` to rows and columns."""
        shown = parameters.one_of("obstype", {"reveal-nothing": NUMBER, "reveal-numturns": TURNS})
        return phantom_layout(*dark_hex(parameters, shown))
