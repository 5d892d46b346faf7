"""Princess and monster: a hunt in the dark on a grid, in discrete time (rules: docs/background/games.md).

Reference: Isaacs 1965, "Differential Games"; Lanctot et al. 2009, section 5, whose counts do not follow from the text.
"""

import math

import numpy as np

from mccfr_plus.games.common import chance_begins, equally_likely
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL, Field, Layout, Parameters, Rules
from mccfr_plus.kernels.compile import kernel

# Words of a state: each player's cell, how many moves were made, whether the last was a capture, each player's first
# cell plus 1, and the moves of both in order, plus 1.
_CELL, _COUNT, _CAUGHT, _START, _MOVES = 1, 3, 4, 5, 7

_ROWS, _COLUMNS, _HORIZON, _MAY_STAY, _SAME_START, _PRINCESS = range(6)  # places of the parameters

_MOST_CELLS = 100  # chance has an outcome for each pair of them


@kernel
def _legal(parameters, table, state, actions):
    rows, columns = parameters[_ROWS], parameters[_COLUMNS]
    cell, count = state[_CELL + state[MOVER]], 0
    row = cell // columns
    column = cell - row * columns
    allowed = (row > 0, column + 1 < columns, row + 1 < rows, column > 0, parameters[_MAY_STAY] != 0)
    for action in range(5):
        if allowed[action]:
            actions[count] = action
            count += 1
    return count


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    cells, count = parameters[_ROWS] * parameters[_COLUMNS], 0
    for first in range(cells):
        for second in range(cells):
            if first != second or parameters[_SAME_START]:
                actions[count] = first * cells + second
                count += 1
    return equally_likely(count, probabilities)


@kernel
def _apply(parameters, table, state, action):
    columns, mover, count = parameters[_COLUMNS], state[MOVER], state[_COUNT]
    if mover == CHANCE:
        cells = parameters[_ROWS] * columns
        state[_CELL], state[_CELL + 1] = action // cells, action % cells
        state[_START], state[_START + 1] = state[_CELL] + 1, state[_CELL + 1] + 1
        state[MOVER] = 0
        return
    state[_CELL + mover] += (-columns, 1, columns, -1, 0)[action]
    state[_MOVES + count] = action + 1
    state[_COUNT] = count + 1
    state[_CAUGHT] = int(state[_CELL] == state[_CELL + 1])
    over = state[_CAUGHT] or count + 1 == parameters[_HORIZON]
    state[MOVER] = TERMINAL if over else 1 - mover


@kernel
def _returns(parameters, table, state, payoffs):
    princess = parameters[_PRINCESS]
    payoffs[princess] = state[_COUNT] - state[_CAUGHT] + table[0]
    payoffs[1 - princess] = -payoffs[princess]


@kernel
def _look(parameters, table, state, player, view):
    view[0] = state[_START + player]
    for index in range(player, state[_COUNT], 2):
        view[1 + index // 2] = state[_MOVES + index]


@kernel
def _observe(parameters, table, state, player, action):
    return state[_START + player] - 1 if action < 0 else 0


class PrincessAndMonsterGame(RulesGame):
    """Princess and monster; parameters: `rows`, `columns`, `horizon`, `first`, `stay`, `same_start`, `shift`."""

    short_name = "princess_and_monster"
    long_name = "Princess and Monster"
    defaults = dict(rows=3, columns=3, horizon=13, first="princess", stay=False, same_start=False, shift=0.0)  # noqa: C408, RUF012
    action_names = ("up", "right", "down", "left", "stay")
    rules = Rules(chance_begins, _legal, _apply, _returns, _look, _outcomes, _observe)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        rows = parameters.whole_number("rows", 1, 26)
        columns = parameters.whole_number("columns", 1, 26, "columns are named a .. z")
        cells = rows * columns
        parameters.require(2 <= cells <= _MOST_CELLS, f"give a grid of 2 to {_MOST_CELLS} cells", "rows", "columns")
        horizon = parameters.whole_number("horizon", 1, 60, "single moves; a state keeps all of them")
        princess = parameters.one_of("first", {"princess": 0, "monster": 1})
        stay, same_start = parameters.switch("stay"), parameters.switch("same_start")
        shift = parameters["shift"]
        is_number = not isinstance(shift, bool) and isinstance(shift, int | float) and math.isfinite(shift)
        parameters.require(is_number, f"give a finite number, such as {-horizon / 2}", "shift")
        largest = max(abs(shift), abs(horizon + shift))
        names = [f"{chr(ord('a') + column)}{row + 1}" for row in range(rows) for column in range(columns)]
        return Layout(
            state_size=_MOVES + horizon,
            fields=(
                Field("start", cells + 1, private=True, symbols=["-", *names]),
                Field("moves", 5 + stay, (horizon + 1) // 2, private=True, symbols=("", *"urdls")[: 5 + stay]),
            ),
            num_distinct_actions=4 + stay,
            max_chance_outcomes=cells * cells,
            max_game_length=horizon,
            max_chance_nodes=1,
            min_utility=-largest,
            max_utility=largest,
            parameters=[rows, columns, horizon, stay, same_start, princess],
            table=[shift],
            max_observations=1,
            max_first_observations=cells,
        )

    def outcome_text(self, outcome: int) -> str:
        """Returns the first cells of both players, such as "princess a1, monster c3"."""
        rows, columns, *_, princess = self.sizes.parameters
        cells = divmod(outcome, rows * columns)
        names = self.sizes.fields[0].symbols or ()
        return f"princess {names[1 + cells[princess]]}, monster {names[1 + cells[1 - princess]]}"

    def state_text(self, state: np.ndarray) -> str:
        """Returns the grid with P and M, or * for both on one cell, and the moves in order."""
        rows, columns, *_, princess = self.sizes.parameters
        cells = ["."] * (rows * columns)
        if state[_START]:
            cells[state[_CELL + princess]] = "P"
            monster = state[_CELL + 1 - princess]
            cells[monster] = "M" if cells[monster] == "." else "*"
        lines = [" ".join(cells[row * columns : (row + 1) * columns]) for row in range(rows)]
        moves = " ".join(self.action_names[move - 1] for move in state[_MOVES:] if move)
        return "\n".join([*lines, f"moves: {moves or '-'}"])
