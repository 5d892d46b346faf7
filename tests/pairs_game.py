"""A small game on a board with symmetries, whose kernels tests share."""

import dataclasses

from mccfr_plus.games import register_game
from mccfr_plus.games.openspiel.phantom_games import NOTHING, parameters_of
from mccfr_plus.games.perfect_recall_dark_hex import PerfectRecallDarkHexGame
from mccfr_plus.games.symmetries import board_symmetries


@register_game
class PairsGame(PerfectRecallDarkHexGame):
    """Two of four cells in a row or column win; eight symmetries, and games that begin in the middle of orbits."""

    short_name = "pairs_game"
    long_name = "Pairs"
    defaults = {"num_rows": 2, "num_cols": 2, "gameversion": "cdh"}  # noqa: RUF012

    @classmethod
    def layout(cls, parameters):
        sizes = super().layout(parameters)
        wins = [0b0011, 0b1100, 0b0101, 0b1010]
        is_abrupt = parameters["gameversion"] == "adh"
        parameters_of_rules = parameters_of(4, is_abrupt, NOTHING, lambda marks: any(marks & w == w for w in wins))
        symmetries = board_symmetries(2, 2, reflections=True)
        return dataclasses.replace(sizes, parameters=parameters_of_rules, symmetries=symmetries)
