"""Kernels of phantom games: players mark cells of a board in turn and never see each other's marks.

A choice of a cell that the opponent has marked places nothing. The player then chooses again or, where the game is
abrupt, loses the turn. The player with a winning set of marks wins; a full board is a draw.
"""

import functools
from collections.abc import Callable, Sequence

import numpy as np

from mccfr_plus.games.common import list_bits
from mccfr_plus.games.rules import MOVER, TERMINAL, Field, Layout, Rules
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
    """Writes the table of winning sets for a hex board."""
    for marks in range(1 << parameters[_NUM_CELLS]):
        wins = _connects(parameters, marks, 0) | _connects(parameters, marks, 1) << 1
        table[marks >> 4] |= wins << 2 * (marks & 15)


@inline_kernel
def _wins(parameters, marks, player):
    """Returns whether a player's marks win."""
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
def start(parameters, table, state):
    """All words are 0."""


@kernel
def legal(parameters, table, state, actions):
    """A player may choose any cell once."""
    return list_bits(~(state[at(_BOARD + state[MOVER])] >> _TRIED) & ((1 << parameters[_NUM_CELLS]) - 1), actions)


@kernel
def apply(parameters, table, state, action):
    """Places a mark unless the opponent has one there."""
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
def returns(parameters, table, state, payoffs):
    """The winner's marks say so."""
    payoffs[0] = float((state[_BOARD] >> _WON) - (state[_BOARD + 1] >> _WON))
    payoffs[1] = -payoffs[0]


@kernel
def look(parameters, table, state, player, view):
    """Writes the player's own choices in order: 1 + 2 * cell, plus 1 if a mark was placed.

    With `NUMBER`, the number of all choices follows. With `TURNS`, there is an entry per choice of both players: 1 for
    one of the opponent, and those of the player are larger by 1.
    """
    marks, choices, shown = state[_BOARD + player], state[_CHOICES], parameters[_SHOWN]
    first, count = _CELLS + player * parameters[_NUM_WORDS], choices & 63
    if shown == NUMBER:
        view[parameters[_NUM_CELLS]] = count
    place = count
    if shown != TURNS:
        place = 0
        for index in range(count):
            place += int(_player_of(choices, index) == player)
    latest = 0  # of the player's choices, from the last one
    for index in range(count - 1, -1, -1):
        if _player_of(choices, index) == player:
            place -= 1
            word = state[first + latest // _PER_WORD]
            cell = (word >> _BITS * (latest % _PER_WORD) & ((1 << _BITS) - 1)) - 1
            view[place] = 1 + 2 * cell + (marks >> cell & 1) + int(shown == TURNS)
            latest += 1
        elif shown == TURNS:
            place -= 1
            view[place] = 1


@kernel
def observe(parameters, table, state, player, action):
    """Whether the last choice placed a mark, and the number of the opponent's choices since then if that is shown."""
    code = state[at(_BOARD + player)] >> action & 1 if action >= 0 else 0
    if parameters[_SHOWN] != NOTHING:
        choices = state[_CHOICES]
        index = (choices & 63) - 1
        while index >= 0 and _player_of(choices, index) != player:
            code += 2
            index -= 1
    return code


RULES = Rules(start=start, legal=legal, apply=apply, returns=returns, look=look, observe=observe)


def parameters_of(num_cells: int, abrupt: bool, shown: int, wins: Callable[[int], bool]) -> np.ndarray:
    """Returns the parameters of the kernels for games in which the same sets of marks, masks of cells, win for both.

    With `abrupt`, a choice that places nothing loses the turn; `shown` is `NOTHING`, `NUMBER` or `TURNS`.
    """
    parameters = _with_table(_header(num_cells, abrupt, shown))
    for marks in range(1 << num_cells):
        parameters[_NUM_PARAMETERS + (marks >> 4)] |= (3 if wins(marks) else 0) << 2 * (marks & 15)
    return parameters


@functools.cache
def parameters_of_hex(num_cells: int, abrupt: bool, shown: int, columns: int) -> np.ndarray:
    """Returns the parameters of the kernels for hex: player 0 connects first and last row, player 1 the columns.

    A cell's number is ``row * columns + column``; see `parameters_of` for the other arguments.
    """
    parameters, cells = _header(num_cells, abrupt, shown), np.arange(num_cells)
    bits, column = 1 << cells, cells % columns
    is_west, is_east = column == 0, column == columns - 1
    edges = (cells < columns, cells >= num_cells - columns, is_west, is_east)
    parameters[_COLUMNS] = columns
    parameters[_EDGES:_NUM_PARAMETERS] = [bits[chosen].sum() for chosen in (*edges, ~is_west, ~is_east)]
    if num_cells > _MOST_CELLS_OF_TABLE:
        return parameters
    parameters = _with_table(parameters)
    _fill_hex_table(parameters, parameters[_NUM_PARAMETERS:])
    return parameters


def _header(num_cells: int, abrupt: bool, shown: int) -> np.ndarray:
    parameters = np.zeros(_NUM_PARAMETERS, np.int64)
    parameters[:_TABLE] = num_cells, abrupt, shown, -(-num_cells // _PER_WORD)
    return parameters


def _with_table(parameters: np.ndarray) -> np.ndarray:
    """Returns the parameters with an empty table of winning sets behind them: two bits per set, 16 sets a word."""
    parameters[_TABLE] = _NUM_PARAMETERS
    return np.append(parameters, np.zeros(-(-(1 << parameters[_NUM_CELLS]) // 16), np.int64))


def phantom_layout(parameters: np.ndarray, fields: Sequence[Field], symmetries: Sequence[Sequence[int]]) -> Layout:
    """Returns the sizes of the game whose kernels have these parameters."""
    num_cells, _, shown, num_words = parameters[:_TABLE].tolist()
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
