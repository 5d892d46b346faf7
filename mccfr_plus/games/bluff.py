"""One round of Bluff, or liar's dice, paid by the value of the rounds that follow; rules: docs/background/games.md.

Reference: Gibson, Burch, Lanctot and Szafron 2012; the order of bids and the wild face as in OpenSpiel.
"""

import importlib
import itertools
import json
import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import resources

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel.liars_dice import MATCHES, MOST_BIDS, NEXT, ROLL, RULES, SECOND, bidding_layout
from mccfr_plus.games.rules import Field, Layout, Parameters
from mccfr_plus.kernels.compile import kernel

logger = logging.getLogger("mccfr_plus")

PRECISION = 1e-5  # half the distance between the bounds of a value
_MOST_HISTORIES = 5_000_000  # of a round that is solved when a game needs its value: some minutes
_MOST_ROLLS = 50_000

# The parameters are those of liar's dice, where a first roll is of all dice: player 0's rolls come before player 1's.
# Before the numbers of dice that match a face, there is how many rolls player 1 has.


@kernel
def _outcomes(parameters, table, state, actions, probabilities):
    # The table has two payoffs, the probabilities of player 0's rolls, and those of player 1's.
    first, count = 2, parameters[SECOND]
    if state[ROLL] > 0:
        first, count = 2 + count, parameters[parameters[MATCHES] - 1]
    for roll in range(count):
        actions[roll], probabilities[roll] = roll, table[first + roll]
    return count


class BluffGame(RulesGame):
    """Bluff; parameters: `dice1`, `dice2`, `faces`, `payoff`, `starts`."""

    short_name = "bluff"
    long_name = "Bluff (one round of Liar's dice)"
    defaults = {"dice1": 2, "dice2": 1, "faces": 6, "payoff": "match", "starts": "loser"}  # noqa: RUF012
    rules = replace(RULES, outcomes=_outcomes)

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        dice = [parameters.whole_number(name, 1, 10) for name in ("dice1", "dice2")]
        faces = parameters.whole_number("faces", 2, 20)
        starts = parameters.one_of("starts", {name: name for name in ("loser", "winner")})
        match = parameters.one_of("payoff", {"match": True, "round": False})
        num_bids = sum(dice) * faces
        what = f"{num_bids} bids, (dice1 + dice2) * faces; give at most {MOST_BIDS}"
        parameters.require(num_bids <= MOST_BIDS, what, "dice1", "dice2", "faces")
        is_small = max(math.comb(count + faces - 1, count) for count in dice) <= _MOST_ROLLS
        parameters.require(is_small, f"more than {_MOST_ROLLS:,} rolls; give fewer dice", "dice1", "dice2", "faces")
        rolls = [list(itertools.combinations_with_replacement(range(faces), count)) for count in dice]
        rounds = following(dice[0], dice[1], faces, starts) if match else [(-1.0, ""), (1.0, "")]
        every_roll = [roll for each in rolls for roll in each]
        matches = [sum(die in (face, faces - 1) for die in roll) for roll in every_roll for face in range(faces)]
        most_rolls = max(map(len, rolls))

        def roll_text(player: int, values: Sequence[int]) -> str:
            return ".".join(str(face + 1) for face in rolls[player][values[0] - 1]) if values[0] else "-"

        def bids_text(player: int, bits: Sequence[int]) -> str:
            return " ".join(_bid_text(bid, faces) for bid, made in enumerate(bits) if made)

        def table() -> np.ndarray:
            payoffs = [factor * (_round_value(game) if game else 1.0) for factor, game in rounds]
            return np.array([*payoffs, *(_probability(roll, faces) for roll in every_roll)])

        return bidding_layout(
            most_rolls,
            num_bids,
            fields=(
                Field("roll", most_rolls + 1, private=True, write=roll_text),
                Field("bids", 2, num_bids, write=bids_text),
            ),
            max_chance_outcomes=most_rolls,
            max_chance_nodes=2,
            parameters=[
                *(faces, num_bids, 1, False, NEXT + most_rolls + 1, len(rolls[0])),
                *(*range(1, most_rolls + 1), len(rolls[1]), *matches),
            ],
            table=table,
        )

    def action_text(self, player: int, action: int) -> str:
        """Returns a bid, such as "2-6" for two sixes, or "bluff"."""
        return "bluff" if action == self.sizes.num_distinct_actions - 1 else _bid_text(action, self.given["faces"])

    def outcome_text(self, outcome: int) -> str:
        """Returns the number of a roll."""
        return f"roll {outcome}"


def _bid_text(bid: int, faces: int) -> str:
    return f"{bid // faces + 1}-{bid % faces + 1}"


def _probability(roll: Sequence[int], faces: int) -> float:
    """Returns the multinomial probability of a multiset of dice."""
    orders = math.factorial(len(roll)) // math.prod(math.factorial(roll.count(face)) for face in set(roll))
    return orders / faces ** len(roll)


# --- the rounds that follow ---


def game_of(dice1: int, dice2: int, faces: int, starts: str) -> str:
    """Returns the game string of a round; `dice1` are those of the player who begins."""
    starts = starts if max(dice1, dice2) > 1 else "loser"  # nothing follows on one die each
    return f"bluff(dice1={dice1},dice2={dice2},faces={faces},starts={starts})"


def following(dice1: int, dice2: int, faces: int, starts: str) -> list[tuple[float, str]]:
    """Returns what follows if player 0, and if player 1, loses a die: a factor of the value of a round, and its game.

    The factor is -1 where player 1 begins the round. Without a round, which is "", it is player 0's payoff. ValueError
    if a round is too large.
    """
    found = []
    for loser, left in enumerate(((dice1 - 1, dice2), (dice1, dice2 - 1))):
        if not all(left):
            found.append((2.0 * loser - 1.0, ""))
            continue
        first = loser if starts == "loser" else 1 - loser
        own, other = left if first == 0 else left[::-1]
        game, histories = game_of(own, other, faces, starts), num_histories(*left, faces)
        if game not in _kept() and histories > _MOST_HISTORIES:
            raise ValueError(
                f"dice1={dice1}, dice2={dice2}, faces={faces}: the value of the round that may follow, with "
                f"{own} and {other} dice, is unknown, since the round is too large to solve ({histories:.2g} "
                'histories). Give fewer dice or faces, or payoff="round".'
            )
        found.append((1.0 - 2.0 * first, game))
    return found


def num_histories(dice1: int, dice2: int, faces: int) -> int:
    """Returns the number of histories of a round, chance included."""
    rolls1, rolls2 = (math.comb(dice + faces - 1, dice) for dice in (dice1, dice2))
    # Every set of bids is a node, and every one but the empty one can be called.
    return 1 + rolls1 + rolls1 * rolls2 * (2 ** ((dice1 + dice2) * faces + 1) - 1)


@cache
def _round_value(game: str) -> float:
    """Returns the value to the player who begins, up to `PRECISION` or to the bounds in the file."""
    if game in _kept():
        return (_kept()[game]["lower"] + _kept()[game]["upper"]) / 2
    logger.info("computing the value of %s, a round that may follow", game)
    solvers = importlib.import_module("mccfr_plus.solver.game_value")  # not at the top: games are below the solvers
    return solvers.game_value(game, PRECISION).middle


@cache
def _kept() -> dict[str, dict]:
    """Returns the bounds of values, by best responses, that ``tools/solve_bluff_rounds.py`` computed."""
    text = resources.files("mccfr_plus.games").joinpath("bluff_rounds.json").read_text(encoding="utf-8")
    return {each["game"]: each for each in json.loads(text)["rounds"]}
