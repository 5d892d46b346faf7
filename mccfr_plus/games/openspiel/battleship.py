"""OpenSpiel's `battleship` on boards of up to 62 cells.

Players place their ships in turn, then shoot in turn at the other's board, player 0 first. A player sees the other's
shots, and whether an own shot hit water, a ship, or a ship of which all cells are hit now. The game ends when all ships
of one player are sunk, or after all shots. Each player gets the values of the other's sunk ships, and loses those of
the own ones, times `loss_multiplier`.
"""

from collections.abc import Sequence

import numpy as np

from mccfr_plus.games.common import rules_in
from mccfr_plus.games.openspiel.base import OpenSpielRules
from mccfr_plus.games.rules import MOVER, TERMINAL, Field, Layout, Parameters
from mccfr_plus.kernels.compile import inline_kernel, kernel

# Words of a state: the number of moves; then for each player the cells of ships, the cells shot at, and the ships'
# placements, seven bits each, the first one in the lowest bits; then the shots of each player, six bits each.
_COUNT, _OCCUPIED, _SHOT, _PLACED, _SHOTS = 1, 2, 4, 6, 8
# Parameters; then for each ship and placement the cells, 0 where there is no such placement. Placements are cells for
# ships that lie horizontally from there, and then cells for those that stand vertically. The table has the ships'
# values and `loss_multiplier`.
_CELLS, _SHIPS, _TURNS, _REPEATED, _WORDS, _MASKS = range(6)
_MOST_CELLS, _MOST_SHIPS, _MOST_SHOTS = 62, 8, 1000
_PLACEMENT_BITS, _CELL_BITS, _PER_WORD = 7, 6, 10
_WATER, _HIT, _SUNK = range(3)
_TOLERANCE = 1e-9


@inline_kernel
def _mask(parameters, ship, placement):
    return parameters[_MASKS + 2 * parameters[_CELLS] * ship + placement]


@inline_kernel
def _ship_mask(parameters, state, player, ship):
    placement = state[_PLACED + player] >> _PLACEMENT_BITS * ship & ((1 << _PLACEMENT_BITS) - 1)
    return _mask(parameters, ship, placement)


@inline_kernel
def _shot(parameters, state, player, index):
    word = state[_SHOTS + player * parameters[_WORDS] + index // _PER_WORD]
    return word >> _CELL_BITS * (index % _PER_WORD) & ((1 << _CELL_BITS) - 1)


@inline_kernel
def _num_shots(parameters, state, player):
    made = state[_COUNT] - 2 * parameters[_SHIPS]
    return max(made + 1 - player, 0) // 2


@inline_kernel
def _outcome(parameters, state, other, shots, cell):
    """Returns what a shot at the other player's cell hits, which is among the shots made so far."""
    for ship in range(parameters[_SHIPS]):
        mask = _ship_mask(parameters, state, other, ship)
        if mask >> cell & 1:
            return _HIT if mask & ~shots else _SUNK
    return _WATER


@kernel
def _fits(parameters, occupied, first):
    """Returns whether there is room for the ships from `first` on."""
    ship, placement, placed = first, 0, 0
    while ship < parameters[_SHIPS]:
        if placement < 2 * parameters[_CELLS]:
            mask = _mask(parameters, ship, placement)
            if mask and not mask & occupied:
                occupied |= mask
                placed = placed << _PLACEMENT_BITS | placement
                ship += 1
                placement = 0
            else:
                placement += 1
        elif ship == first:
            return False
        else:  # back to the last ship
            ship -= 1
            placement = placed & ((1 << _PLACEMENT_BITS) - 1)
            placed >>= _PLACEMENT_BITS
            occupied ^= _mask(parameters, ship, placement)
            placement += 1
    return True


@kernel
def _start(parameters, table, state):
    """All words are 0."""


@kernel
def _legal(parameters, table, state, actions):
    mover, cells, ship, count = state[MOVER], parameters[_CELLS], state[_COUNT] // 2, 0
    if ship < parameters[_SHIPS]:
        occupied = state[_OCCUPIED + mover]
        for placement in range(2 * cells):
            mask = _mask(parameters, ship, placement)
            if mask and not mask & occupied and _fits(parameters, occupied | mask, ship + 1):
                actions[count] = cells + placement
                count += 1
        return count
    for cell in range(cells):
        if parameters[_REPEATED] or not state[_SHOT + mover] >> cell & 1:
            actions[count] = cell
            count += 1
    return count


@kernel
def _apply(parameters, table, state, action):
    mover, cells, ship, count = state[MOVER], parameters[_CELLS], state[_COUNT] // 2, state[_COUNT] + 1
    if ship < parameters[_SHIPS]:
        state[_OCCUPIED + mover] |= _mask(parameters, ship, action - cells)
        state[_PLACED + mover] |= (action - cells) << _PLACEMENT_BITS * ship
        state[MOVER] = 1 - mover
    else:
        index = ship - parameters[_SHIPS]
        word = _SHOTS + mover * parameters[_WORDS] + index // _PER_WORD
        state[word] |= action << _CELL_BITS * (index % _PER_WORD)
        state[_SHOT + mover] |= 1 << action
        is_sunk = not state[_OCCUPIED + 1 - mover] & ~state[_SHOT + mover]
        is_over = is_sunk or count == 2 * (parameters[_SHIPS] + parameters[_TURNS])
        state[MOVER] = TERMINAL if is_over else 1 - mover
    state[_COUNT] = count


@kernel
def _returns(parameters, table, state, payoffs):
    ships = parameters[_SHIPS]
    first, second = 0.0, 0.0  # what each player has lost
    for ship in range(ships):
        if not _ship_mask(parameters, state, 0, ship) & ~state[_SHOT + 1]:
            first += table[ship]
        if not _ship_mask(parameters, state, 1, ship) & ~state[_SHOT]:
            second += table[ship]
    payoffs[0] = second - table[ships] * first
    payoffs[1] = first - table[ships] * second


@kernel
def _look(parameters, table, state, player, view):
    ships, turns = parameters[_SHIPS], parameters[_TURNS]
    for ship in range(min((state[_COUNT] + 1 - player) // 2, ships)):
        placement = state[_PLACED + player] >> _PLACEMENT_BITS * ship & ((1 << _PLACEMENT_BITS) - 1)
        view[ship] = 1 + placement
    shots = 0
    for index in range(_num_shots(parameters, state, player)):
        cell = _shot(parameters, state, player, index)
        shots |= 1 << cell
        view[ships + index] = 1 + 3 * cell + _outcome(parameters, state, 1 - player, shots, cell)
    for index in range(_num_shots(parameters, state, 1 - player)):
        view[ships + turns + index] = 1 + _shot(parameters, state, 1 - player, index)


@kernel
def _observe(parameters, table, state, player, action):
    cells = parameters[_CELLS]
    num_shots = _num_shots(parameters, state, 1 - player)
    code = 1 + _shot(parameters, state, 1 - player, num_shots - 1) if num_shots else 0
    if 0 <= action < cells:
        code += (cells + 1) * _outcome(parameters, state, 1 - player, state[_SHOT + player], action)
    return code


class BattleshipRules(OpenSpielRules):
    """The compiled rules of `battleship`."""

    short_name = "battleship"
    defaults = {  # noqa: RUF012
        "board_width": 10,
        "board_height": 10,
        "ship_sizes": "[2;3;3;4;5]",
        "ship_values": "[1.0;1.0;1.0;1.0;1.0]",
        "num_shots": 50,
        "allow_repeated_shots": True,
        "loss_multiplier": 1.0,
    }
    rules = rules_in(globals())

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        width = parameters.whole_number("board_width", 1, _MOST_CELLS)
        height = parameters.whole_number("board_height", 1, _MOST_CELLS)
        turns = parameters.whole_number("num_shots", 1, _MOST_SHOTS)
        repeated = parameters.switch("allow_repeated_shots")
        lengths = [int(text) for text in _listed(parameters["ship_sizes"])]
        values = [float(text) for text in _listed(parameters["ship_values"])]
        cells, ships = width * height, len(lengths)
        if cells > _MOST_CELLS:
            raise ValueError(f"board_width={width}, board_height={height}: give at most {_MOST_CELLS} cells.")
        if ships > _MOST_SHIPS:
            raise ValueError(f"ship_sizes={parameters['ship_sizes']}: give at most {_MOST_SHIPS} ships.")
        loss, words = parameters["loss_multiplier"], -(-turns // _PER_WORD)
        masks = [mask for length in lengths for mask in _placements(width, height, length)]
        return Layout(
            state_size=_SHOTS + 2 * words,
            fields=(
                Field("ships", 2 * cells + 1, ships, private=True),
                Field("shots", 3 * cells + 1, turns),
                Field("shots_of_other", cells + 1, turns),
            ),
            num_distinct_actions=3 * cells,
            max_game_length=2 * (ships + turns),
            min_utility=-max(loss, 0.0) * sum(values),
            max_utility=sum(values) * (1.0 - min(loss, 0.0)),
            utility_sum=0.0 if abs(loss - 1.0) < _TOLERANCE else None,
            parameters=np.array([cells, ships, turns, repeated, words, *masks]),
            table=[*values, loss],
            max_observations=3 * (cells + 1),
            max_first_observations=1,
        )

    def information_state(self, player: int, view: Sequence[int]) -> str:
        """Returns the number of moves, the own ships, and the shots of both in their order."""
        ships, turns, width = self.sizes.parameters[_SHIPS], self.given["num_shots"], self.given["board_width"]
        cells = self.sizes.parameters[_CELLS]
        placed = [entry - 1 for entry in view[:ships] if entry]
        own = [divmod(entry - 1, 3) for entry in view[ships : ships + turns] if entry]
        others = [entry - 1 for entry in view[ships + turns :] if entry]

        def at(cell: int) -> str:
            return f"{cell // width}_{cell % width}"

        texts = [f"/{'v' if each >= cells else 'h'}_{at(each % cells)}" for each in placed]
        for index in range(max(len(own), len(others))):
            turn = [f"/shot_{at(own[index][0])}:{'WHS'[own[index][1]]}"] if index < len(own) else []
            turn += [f"/oppshot_{at(others[index])}"] if index < len(others) else []
            texts += reversed(turn) if player == 1 else turn
        return f"T={2 * (len(placed) + len(own)) + player} {''.join(texts)}"


def _listed(text: str) -> list[str]:
    """Returns the entries of a list such as "[2;3]"."""
    return text.strip().removeprefix("[").removesuffix("]").split(";")


def _placements(width: int, height: int, length: int) -> list[int]:
    """Returns the cells of each placement of a ship as masks."""
    masks = []
    for is_vertical, step, across, down in ((False, 1, length, 1), (True, width, 1, length)):
        ship = sum(1 << step * index for index in range(length))
        for cell in range(width * height):
            row, column = divmod(cell, width)
            fits = row + down <= height and column + across <= width and not (is_vertical and length == 1)
            masks.append(ship << cell if fits else 0)
    return masks
