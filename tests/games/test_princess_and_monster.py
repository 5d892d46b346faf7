"""Princess and monster: histories worked out by hand, and the counts of the 3x3 grid."""

import pyspiel
import pytest
from states import after, ends_of

import mccfr_plus
import mccfr_plus.games

UP, RIGHT, DOWN, LEFT, STAY = range(5)


def _walks(rows, columns, horizon, stay, same_start, first):
    """Returns how many histories, and the payoffs of all ends of the princess's, by a traversal over coordinates."""
    cells = [(row, column) for row in range(rows) for column in range(columns)]
    steps = [(-1, 0), (0, 1), (1, 0), (0, -1)] + [(0, 0)] * stay
    histories, payoffs = 1, []
    level = [(a, b) for a in cells for b in cells if same_start or a != b]  # who moves next, who waits
    for moves in range(1, horizon + 1):
        histories += len(level)
        below = []
        for mover, other in level:
            for step in steps:
                cell = mover[0] + step[0], mover[1] + step[1]
                if cell not in cells:
                    continue
                if cell == other:
                    histories += 1
                    payoffs.append(moves - 1)
                else:
                    below.append((other, cell))
        level = below
    return histories + len(level), sorted(payoffs + [horizon] * len(level))


# Each pair of parameters in one of them.
SIZES = [(1, 2, 3), (2, 2, 5), (2, 3, 4), (3, 3, 3), (4, 1, 6)]
PLAYERS = "princess", "monster"


@pytest.mark.parametrize(
    ("size", "stay", "same_start", "first"),
    [
        (size, bool(one ^ number & 1), bool(one ^ number >> 1 & 1), PLAYERS[one])
        for number, size in enumerate(SIZES)
        for one in (0, 1)
    ],
)
def test_small_games(size, stay, same_start, first):
    rows, columns, horizon = size
    histories, payoffs = _walks(rows, columns, horizon, stay, same_start, first)
    game = pyspiel.load_game(
        f"princess_and_monster(rows={rows},columns={columns},horizon={horizon},stay={stay},same_start={same_start},"
        f"first={first})"
    )
    tree = mccfr_plus.compile_game(game)
    assert tree.statistics().histories == histories
    assert ends_of(tree, int(first == "monster")) == payoffs


def test_capture():
    """Princess a1, monster b2. She goes to b1; he goes up and has caught her after one move of freedom."""
    state = after("princess_and_monster", 0 * 9 + 4, RIGHT)
    assert str(state) == ". P .\n. M .\n. . .\nmoves: right"
    assert state.legal_actions() == [UP, RIGHT, DOWN, LEFT]
    assert state.information_state_string(0) == "player=0 start=a1 moves=r"
    assert state.information_state_string(1) == "player=1 start=b2 moves="
    state.apply_action(UP)
    assert state.is_terminal()
    assert str(state) == ". * .\n. . .\n. . .\nmoves: right up"
    assert str(after("princess_and_monster(first=monster)", 0 * 9 + 4)).startswith("M . .\n. P .")
