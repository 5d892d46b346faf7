"""Latent Tic-Tac-Toe: a choice is disclosed after the opponent's next one (rules: docs/background/games.md).

Reference: Lanctot et al. 2009, section 5.
"""

import numpy as np

from mccfr_plus.games.common import list_bits
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel.phantom_games import LINES, owner
from mccfr_plus.games.rules import MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel

# Words of a state: a mask of each player's marks, where `owner` reads them; 1 + the winner; who chose last, -1: nobody;
# whether the last choice placed a mark; the number of marks; then the marks in the order in which they were placed,
# 1 + 2 * cell, and 1 more once a choice was lost on it.
_MARKS, _WINNER, _LAST, _HIDDEN, _COUNT, _PLACED, _SIZE = 1, 3, 4, 5, 6, 7, 16
_CELLS, _ALL_CELLS = 9, 0b111111111


@inline_kernel
def _has_line(marks):
    for line in LINES:  # noqa: SIM110 (Numba knows no any() of a generator)
        if marks & line == line:
            return True
    return False


@inline_kernel
def _hidden_mark(state):
    """Returns the mask of the hidden mark, 0 if there is none."""
    return 1 << ((state[_PLACED + state[_COUNT] - 1] - 1) >> 1) if state[_HIDDEN] else 0


@kernel
def _start(parameters, table, state):
    state[_LAST] = -1


@kernel
def _legal(parameters, table, state, actions):
    seen = (state[_MARKS] | state[_MARKS + 1]) & ~_hidden_mark(state)
    return list_bits(~seen & _ALL_CELLS, actions)


@kernel
def _apply(parameters, table, state, action):
    at_disclosure, until_disclosed = parameters[0], parameters[1]
    mover, count, bit = state[MOVER], state[_COUNT], 1 << action
    other = 1 - mover
    disclosed = state[_HIDDEN]
    state[_LAST] = mover
    if state[_MARKS + other] & bit:
        state[_PLACED + count - 1] += 1
        state[_HIDDEN] = 0
    else:
        state[_MARKS + mover] |= bit
        state[_PLACED + count] = 1 + 2 * action
        state[_HIDDEN] = 1
        count += 1
        state[_COUNT] = count
    full = count == _CELLS and not (until_disclosed and state[_HIDDEN])
    if at_disclosure and disclosed and _has_line(state[_MARKS + other]):
        state[_WINNER] = 1 + other
    elif state[_HIDDEN] and (full or not at_disclosure) and _has_line(state[_MARKS + mover]):
        state[_WINNER] = 1 + mover
    state[MOVER] = TERMINAL if full or state[_WINNER] else other


@kernel
def _returns(parameters, table, state, payoffs):
    winner = state[_WINNER]
    payoffs[0] = float((winner == 1) - (winner == 2))
    payoffs[1] = -payoffs[0]


@kernel
def _look(parameters, table, state, player, view):
    count, unseen = state[_COUNT], 0
    for index in range(count):
        view[index] = state[_PLACED + index]
    if state[_LAST] == 1 - player:
        unseen = _hidden_mark(state)
        # Without a hidden mark, the opponent's last choice was lost on this one, which the player does not know yet.
        view[count - 1] = 0 if unseen else view[count - 1] - 1
    for cell in range(_CELLS):
        view[_CELLS + cell] = owner(state, cell) if not unseen >> cell & 1 else 0


@kernel
def _observe(parameters, table, state, player, action):
    # The player's last action disclosed the opponent's choice before it, the third from the end; with its cell, the
    # player knows whether each of the two was lost. A mark stands for the choices that were made on its cell.
    left = 3
    for index in range(state[_COUNT] - 1, -1, -1):
        mark = state[_PLACED + index] - 1
        left -= 1 + (mark & 1)
        if left <= 0:
            return 1 + (mark >> 1)
    return 0


class LatentTicTacToeGame(RulesGame):
    """Latent Tic-Tac-Toe; parameters: `win`, `full`."""

    short_name = "latent_tic_tac_toe"
    long_name = "Latent Tic-Tac-Toe"
    defaults = {"win": "placement", "full": "true_board"}  # noqa: RUF012
    rules = Rules(_start, _legal, _apply, _returns, _look, observe=_observe)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        at_disclosure = parameters.one_of("win", {"placement": False, "disclosure": True})
        until_disclosed = parameters.one_of("full", {"true_board": False, "disclosed_board": True})
        # A mark, and whether the other player's next choice was lost on it. The order of marks and these losses are
        # all that was ever chosen, in half as many bits as the choices one by one.
        marks = ["", *(f"{cell}{lost}" for cell in range(_CELLS) for lost in ("", "*"))]
        return Layout(
            state_size=_SIZE,
            fields=(
                Field("marks", len(marks), _CELLS, private=True, when="recalled", symbols=marks),
                Field("board", 3, _CELLS, private=True, when="now", symbols=".xo"),
            ),
            num_distinct_actions=_CELLS,
            max_game_length=17 if until_disclosed else 16,
            min_utility=-1.0,
            max_utility=1.0,
            parameters=[at_disclosure, until_disclosed],
            max_observations=1 + _CELLS,
            max_first_observations=1,
        )

    def action_text(self, player: int, action: int) -> str:
        """Returns mark, row and column, such as "x(1,1)"."""
        return f"{'xo'[player]}({action // 3},{action % 3})"

    def state_text(self, state: np.ndarray) -> str:
        """Returns the true board, a hidden mark as a capital letter."""
        hidden = _hidden_mark(state)
        cells = [(".XO" if hidden >> cell & 1 else ".xo")[owner(state, cell)] for cell in range(_CELLS)]
        return "\n".join("".join(cells[row : row + 3]) for row in range(0, _CELLS, 3))
