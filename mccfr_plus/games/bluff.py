"""One round of Bluff, or liar's dice, paid by the value of the rounds that follow; rules: docs/background/games.md.

Reference: Gibson, Burch, Lanctot, Szafron 2012; the order of bids and the wild face as in OpenSpiel.
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
from typing import NamedTuple

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel.liars_dice import MATCHES, MOST_BIDS, NEXT, ROLL, RULES, SECOND, bidding_layout
from mccfr_plus.games.rules import MOVER, TERMINAL, Field, Layout, Parameters
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
        rounds = following(dice[0], dice[1], faces, starts) if match else None
        every_roll = [roll for each in rolls for roll in each]
        matches = [sum(die in (face, faces - 1) for die in roll) for roll in every_roll for face in range(faces)]
        most_rolls = max(map(len, rolls))

        def roll_text(player: int, values: Sequence[int]) -> str:
            return ".".join(str(face + 1) for face in rolls[player][values[0] - 1]) if values[0] else "-"

        def bids_text(player: int, bits: Sequence[int]) -> str:
            return " ".join(_bid_text(bid, faces) for bid, made in enumerate(bits) if made)

        def table() -> np.ndarray:
            payoffs = [-1.0, 1.0] if rounds is None else [each.value() for each in rounds]
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

    def state_text(self, state: np.ndarray) -> str:
        """Returns rolls and bids, such as "rolls 1.6 | 3, bids 1-3 2-6"."""
        roll, bids = self.sizes.fields
        views = [self.look(state, player).tolist() for player in range(2)]
        rolls = " | ".join(roll.text(player, views[player][:1]) for player in range(2))
        called = " bluff" if state[MOVER] == TERMINAL else ""
        return f"rolls {rolls}, bids {bids.text(0, views[0][1:]) or '-'}{called}"


def _bid_text(bid: int, faces: int) -> str:
    return f"{bid // faces + 1}-{bid % faces + 1}"


def _probability(roll: Sequence[int], faces: int) -> float:
    """Returns the multinomial probability of a multiset of dice."""
    orders = math.factorial(len(roll)) // math.prod(math.factorial(roll.count(face)) for face in set(roll))
    return orders / faces ** len(roll)


# --- the rounds that follow ---


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
    """Returns the rounds that follow if player 0, and if player 1, loses a die; ValueError if one is too large."""
    rounds = []
    for loser, left in enumerate(((dice1 - 1, dice2), (dice1, dice2 - 1))):
        first = loser if starts == "loser" else 1 - loser
        each = Following(left if first == 0 else left[::-1], faces, starts, 1.0 if first == 0 else -1.0)
        histories = num_histories(*left, faces)
        if all(left) and each.game not in _kept() and histories > _MOST_HISTORIES:
            raise ValueError(
                f"dice1={dice1}, dice2={dice2}, faces={faces}: the value of the round that may follow, with "
                f"{each.dice[0]} and {each.dice[1]} dice, is unknown, since the round is too large to solve "
                f'({histories:.2g} histories). Give fewer dice or faces, or payoff="round".'
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
    logger.info("computing the value of %s, a round that may follow", game)
    solvers = importlib.import_module("mccfr_plus.solver.game_value")  # not at the top: games are below the solvers
    return solvers.game_value(game, PRECISION).middle


@cache
def _kept() -> dict[str, dict]:
    """Returns the bounds of values, by best responses, that ``tools/solve_bluff_rounds.py`` computed."""
    text = resources.files("mccfr_plus.games").joinpath("bluff_rounds.json").read_text(encoding="utf-8")
    return {each["game"]: each for each in json.loads(text)["rounds"]}
