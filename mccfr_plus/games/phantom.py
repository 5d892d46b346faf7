"""Kernels of phantom games: players mark cells of a board in turn and never see each other's marks.

A choice of a cell that the opponent has marked places nothing. The player then chooses again or, where the game is
abrupt, loses the turn. The player with a winning set of marks wins; a full board is a draw. `Phantom` makes the
parameters of the kernels.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mccfr_plus.games.common import list_bits
from mccfr_plus.games.rules import MOVER, TERMINAL, Rules
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
_USED_BITS = 60  # of a word with cells
_USED = (1 << _USED_BITS) - 1

# Parameters; then the table of winning sets, or what `_connects` needs.
_NUM_CELLS, _ABRUPT, _SHOWN, _NUM_WORDS, _BITS, _PER_WORD, _TABLE, _COLUMNS = range(8)
_EDGES, _INNER = 8, 12  # each player's two edges; cells with a neighbour to the west, and to the east
_NUM_PARAMETERS = 14
MOST_CELLS = 28  # 2 * 28 - 1 choices in a word, beside their number
_MOST_CELLS_OF_TABLE = 16

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
    bits, num_words = parameters[_BITS], parameters[_NUM_WORDS]
    first = _CELLS + mover * num_words
    if num_words > 1:
        for word in range(first + num_words - 1, first, -1):
            state[at(word)] = (state[at(word)] << bits | state[at(word - 1)] >> (_USED_BITS - bits)) & _USED
    state[at(first)] = (state[at(first)] << bits | (action + 1)) & _USED
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
    bits, first = parameters[_BITS], _CELLS + player * parameters[_NUM_WORDS]
    count, per_word = choices & 63, parameters[_PER_WORD]
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
            word = state[first + latest // per_word]
            cell = (word >> bits * (latest % per_word) & ((1 << bits) - 1)) - 1
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


@dataclass(frozen=True)
class Phantom:
    """The sizes of a phantom game and the parameters of its kernels.

    Args:
        num_cells: Number of cells, at most `MOST_CELLS`.
        abrupt: Whether a choice that places nothing loses the turn.
        shown: `NOTHING`, `NUMBER` or `TURNS`.
    """

    num_cells: int
    abrupt: bool
    shown: int = NOTHING

    @property
    def _bits(self) -> int:
        return 4 if self.num_cells <= 15 else 5

    @property
    def _per_word(self) -> int:
        return _USED_BITS // self._bits

    @property
    def _num_words(self) -> int:
        return -(-self.num_cells // self._per_word)

    @property
    def state_size(self) -> int:
        """Number of words of a state."""
        return _CELLS + 2 * self._num_words

    @property
    def max_game_length(self) -> int:
        """Maximum number of choices: each cell is chosen twice, except the one that ends the game."""
        return 2 * self.num_cells - 1

    @property
    def max_observations(self) -> int:
        """Bound of the codes of `observe`."""
        return 2 if self.shown == NOTHING else 2 * (self.num_cells + 1)

    @property
    def max_first_observations(self) -> int:
        """Bound of the codes of `observe` before a player's first choice."""
        return 1 if self.shown == NOTHING else 3  # one choice of the opponent, as the first one places a mark

    def parameters_of(self, wins: Callable[[int], bool]) -> np.ndarray:
        """Returns the parameters of the kernels for games in which both players need the same sets of marks.

        Args:
            wins: Returns whether a set of marks, a mask of cells, wins.
        """
        parameters, table = self._parameters(), self._empty_table()
        for marks in range(1 << self.num_cells):
            table[marks >> 4] |= (3 if wins(marks) else 0) << 2 * (marks & 15)
        parameters[_TABLE] = _NUM_PARAMETERS
        return np.concatenate([parameters, table])

    def _parameters(self) -> np.ndarray:
        parameters = np.zeros(_NUM_PARAMETERS, np.int64)
        sizes = self.num_cells, self.abrupt, self.shown, self._num_words, self._bits, self._per_word
        parameters[: len(sizes)] = sizes
        return parameters

    def _empty_table(self) -> np.ndarray:
        return np.zeros(-(-(1 << self.num_cells) // 16), np.int64)


@functools.cache
def parameters_of_hex(phantom: Phantom, columns: int) -> np.ndarray:
    """Returns the parameters of the kernels for hex: player 0 connects first and last row, player 1 the columns.

    Args:
        phantom: The sizes of the game.
        columns: Number of columns; a cell's number is ``row * columns + column``.
    """
    parameters, cells = phantom._parameters(), range(phantom.num_cells)
    last_row = phantom.num_cells - columns

    def mask(chosen: Sequence[bool]) -> int:
        return sum(1 << cell for cell in cells if chosen[cell])

    west, east = [cell % columns > 0 for cell in cells], [cell % columns < columns - 1 for cell in cells]
    parameters[_COLUMNS] = columns
    north, south = [cell < columns for cell in cells], [cell >= last_row for cell in cells]
    parameters[_EDGES : _EDGES + 2] = mask(north), mask(south)
    parameters[_EDGES + 2 : _EDGES + 4] = mask([not each for each in west]), mask([not each for each in east])
    parameters[_INNER : _INNER + 2] = mask(west), mask(east)
    if phantom.num_cells > _MOST_CELLS_OF_TABLE:
        return parameters
    table = phantom._empty_table()
    _fill_hex_table(parameters, table)
    parameters[_TABLE] = _NUM_PARAMETERS
    return np.concatenate([parameters, table])
