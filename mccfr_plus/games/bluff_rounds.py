"""The values of the rounds of Bluff that can follow a round.

``tools/solve_bluff_rounds.py`` computed the values in ``bluff_rounds.json`` and bounds of them by best responses.
Other values are computed when a game first needs them, by `solve`, which `mccfr_plus.solver.game_value` sets: this
module cannot import solvers.
"""

import importlib
import json
import logging
import math
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import NamedTuple

logger = logging.getLogger("mccfr_plus")

PRECISION = 1e-5  # half the distance between the bounds of a value
_MOST_HISTORIES = 5_000_000  # what is solved when a game needs it: some minutes

solve: Callable[[str, float], float] | None = None  # computes player 0's value of a game string, to a precision


class Following(NamedTuple):
    """The round that follows, or the end of the match."""

    dice: tuple[int, int]  # of the player who begins it and of the other player
    faces: int  # of a die
    starts: str  # which player begins the rounds after it: "loser" or "winner"
    sign: float  # 1 if player 0 of the round before begins it, -1 if player 1 does

    def value(self) -> float:
        """Returns its value to player 0 of the round before, up to `PRECISION` or to the bounds in the file."""
        return self.sign * (_round_value(self.game) if all(self.dice) else 1.0 if self.dice[0] else -1.0)

    @property
    def game(self) -> str:
        """The game string of the round."""
        starts = self.starts if max(self.dice) > 1 else "loser"  # nothing follows on one die each
        return f"bluff(dice1={self.dice[0]},dice2={self.dice[1]},faces={self.faces},starts={starts})"


def following(dice1: int, dice2: int, faces: int, starts: str) -> list[Following]:
    """Returns the rounds that follow if player 0, and if player 1, loses a die.

    Raises:
        ValueError: If a round that follows is too large to be solved.
    """
    rounds = []
    for loser, left in enumerate(((dice1 - 1, dice2), (dice1, dice2 - 1))):
        first = loser if starts == "loser" else 1 - loser
        each = Following(left if first == 0 else left[::-1], faces, starts, 1.0 if first == 0 else -1.0)
        histories = num_histories(*left, faces)
        if all(left) and each.game not in _kept() and histories > _MOST_HISTORIES:
            raise ValueError(
                f"dice1={dice1}, dice2={dice2}, faces={faces}: the value of the round that may follow, with "
                f"{each.dice[0]} and {each.dice[1]} dice, is not known, as its {histories:.2g} histories are too many "
                'to solve. Give fewer dice or faces, or payoff="round".'
            )
        rounds.append(each)
    return rounds


def num_histories(dice1: int, dice2: int, faces: int) -> int:
    """Returns the number of histories of a round, chance included."""
    rolls1, rolls2 = (math.comb(dice + faces - 1, dice) for dice in (dice1, dice2))
    # Every set of bids is a node, and every one but the empty one can be called.
    return 1 + rolls1 + rolls1 * rolls2 * (2 ** ((dice1 + dice2) * faces + 1) - 1)


@cache
def _round_value(game: str) -> float:
    if game in _kept():
        return (_kept()[game]["lower"] + _kept()[game]["upper"]) / 2
    if solve is None:
        importlib.import_module("mccfr_plus.public")  # sets `solve`; games are below the solvers
        assert solve is not None
    logger.info("computing the value of %s, which may follow", game)
    return solve(game, PRECISION)


@cache
def _kept() -> dict[str, dict]:
    text = resources.files("mccfr_plus.games").joinpath("bluff_rounds.json").read_text(encoding="utf-8")
    return {each["game"]: each for each in json.loads(text)["rounds"]}
