"""The values of the rounds of Bluff that may follow a round.

Values that took long to compute are kept in ``bluff_rounds.json``, written by ``tools/solve_bluff_rounds.py``, each
with the bounds that two best responses prove. Others are computed when a game first needs them, by the solver that
`set_solver` was given: this module comes before solvers.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources

logger = logging.getLogger("mccfr_plus")

PRECISION = 1e-5  # half the distance between the bounds of a value
_MOST_HISTORIES = 5_000_000  # what is solved when a game needs it: some minutes

Solve = Callable[[str, float], float]
_solver: list[Solve] = []


def set_solver(solve: Solve) -> None:
    """Says who computes values: a function of a game string and a precision that returns player 0's value."""
    _solver[:] = [solve]


@dataclass(frozen=True)
class Following:
    """What the players go on to: nothing, or a round.

    Args:
        dice: Dice of who begins it and of the other player.
        faces: Faces of a die.
        starts: Who begins the rounds after it: ``"loser"`` or ``"winner"``.
        sign: 1 if player 0 of the round before begins it, -1 if player 1 does.
    """

    dice: tuple[int, int]
    faces: int
    starts: str
    sign: float

    @property
    def is_known(self) -> bool:
        """Whether its value needs no computing."""
        return 0 in self.dice or self.game in _kept()

    def value(self) -> float:
        """Returns its value to player 0 of the round before."""
        if 0 in self.dice:
            return self.sign * (1.0 if self.dice[0] else -1.0)
        return self.sign * round_value(self.game)

    @property
    def game(self) -> str:
        """The game string of the round."""
        starts = self.starts if max(self.dice) > 1 else "loser"  # nothing follows on one die each
        return f"bluff(dice1={self.dice[0]},dice2={self.dice[1]},faces={self.faces},starts={starts})"


def following(dice1: int, dice2: int, faces: int, loser_starts: bool) -> tuple[Following, Following]:
    """Returns what follows when player 0 and when player 1 loses a die.

    Raises:
        ValueError: If a round that follows is too large to be solved.
    """
    starts = "loser" if loser_starts else "winner"
    rounds = []
    for loser in (0, 1):
        left = (dice1 - 1, dice2) if loser == 0 else (dice1, dice2 - 1)
        first = loser if loser_starts else 1 - loser
        rounds.append(Following(left if first == 0 else left[::-1], faces, starts, 1.0 if first == 0 else -1.0))
    for each in rounds:
        if not each.is_known and num_histories(*each.dice, faces) > _MOST_HISTORIES:
            raise ValueError(
                f"dice1={dice1}, dice2={dice2}, faces={faces}: the value of the round that may follow, with "
                f"{each.dice[0]} and {each.dice[1]} dice, is not known, as its {num_histories(*each.dice, faces):.2g} "
                'histories are too many to solve. Give fewer dice or faces, or payoff="round".'
            )
    return rounds[0], rounds[1]


def num_histories(dice1: int, dice2: int, faces: int) -> int:
    """Returns the number of histories of a round, chance included."""
    rolls1, rolls2 = (math.comb(dice + faces - 1, dice) for dice in (dice1, dice2))
    # Every set of bids is a node, and every one but the empty one can be called.
    return 1 + rolls1 + rolls1 * rolls2 * (2 ** ((dice1 + dice2) * faces + 1) - 1)


@cache
def round_value(game: str) -> float:
    """Returns player 0's value of a round, at most `PRECISION` away from the truth, or as far as the file says.

    Raises:
        RuntimeError: If it is not kept and there is no solver.
    """
    kept = _kept().get(game)
    if kept is not None:
        return (kept["lower"] + kept["upper"]) / 2
    if not _solver:
        raise RuntimeError(f"the value of {game} is not kept: import mccfr_plus, which brings a solver.")
    logger.info("computing the value of %s, which a match goes on to", game)
    return _solver[0](game, PRECISION)


@cache
def _kept() -> dict[str, dict]:
    text = resources.files("mccfr_plus.games").joinpath("bluff_rounds.json").read_text(encoding="utf-8")
    return {each["game"]: each for each in json.loads(text)["rounds"]}
