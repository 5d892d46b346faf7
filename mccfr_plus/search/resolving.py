"""Subgame solving: recomputes a player's strategy below a public state without making it easier to exploit.

The resolving player has followed the blueprint. The opponent is free: a gadget game gives each of its hands no more
than a best response to the blueprint would get.
"""

from typing import NamedTuple

import numpy as np

from mccfr_plus.errors import PolicyError
from mccfr_plus.evaluation.exact import Evaluator
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.parameters import check_choice, check_whole
from mccfr_plus.search.blueprint import Blueprint
from mccfr_plus.search.partial_game import (
    PartialGame,
    Payment,
    Side,
    Subgame,
    entering,
    hands_before,
    kept,
    last_slots,
    matrix_of,
)
from mccfr_plus.solver.solver import Solver

DEFAULT_MINIMIZER = "pdcfr+"  # at the root of maxmargin's gadget its error is a tenth of that of rm+
METHODS = ("unsafe", "resolve", "maxmargin", "reach")


class Resolved(NamedTuple):
    """A player's new strategy in a subgame.

    Attributes:
        strategy: Probabilities at the slots of the subgame, ``subgame.slots[player]``.
        error: NashConv of the gadget's solution. With a safe method, the opponent's best response in the whole game
            gains at most this.
    """

    strategy: np.ndarray
    error: float


def gadget(blueprint: Blueprint, subgame: Subgame, player: int, method: str = "maxmargin") -> PartialGame:
    """Returns the game that is solved in place of a subgame for the player who resolves.

    * ``"unsafe"``: both players have followed the blueprint. The opponent has no alternative to the subgame.
    * ``"resolve"``: with each hand, the opponent chooses between the subgame and the value of its best response to the
      blueprint there (Burch, Johanson, Bowling 2014).
    * ``"maxmargin"``: the opponent chooses the hand and receives the payoff minus its value, so that the smallest
      margin is maximized (Moravcik et al. 2016).
    * ``"reach"``: as maxmargin, with values raised by the opponent's gifts on the way (Brown, Sandholm 2017); see
      `Blueprint.gifts`.
    """
    check_choice("method", method, METHODS)
    tree, opponent = blueprint.tree, 1 - player
    resolver = kept(tree, player, [subgame], blueprint.reach)
    if method == "unsafe":
        other = kept(tree, opponent, [subgame], blueprint.reach)
        return PartialGame(tree, _ordered(player, resolver, other), subgame.ends)
    hands = hands_before(tree, subgame, opponent)
    values = blueprint.values(opponent, subgame)[hands.slots]
    if method == "resolve":
        payment = Payment(opponent, 1, 2, values)
    else:
        if method == "reach":
            values = values + blueprint.gifts[opponent][hands.slots]
        # A hand that the opponent cannot hold here would have a margin of 0.
        never = abs(values).max() + tree.game.max_utility() - tree.game.min_utility()
        possible = _possible(blueprint, subgame, resolver, opponent)[hands.slots]
        payment = Payment(opponent, 0, 1, np.where(possible, -values, -never))
    entry = entering(tree, subgame, opponent, hands, per_hand=method == "resolve")
    return PartialGame(tree, _ordered(player, resolver, entry), subgame.ends, [payment])


def _ordered(player: int, own: Side, other: Side) -> list[Side]:
    return [own, other] if player == 0 else [other, own]


def _possible(blueprint: Blueprint, subgame: Subgame, resolver: Side, player: int) -> np.ndarray:
    """Returns at which of the player's slots it can get anything but 0 in the subgame, ``[num_slots + 2]`` bool."""
    tree, found = blueprint.tree, np.zeros(blueprint.tree.num_slots + 2, bool)
    for end in range(subgame.ends.start, subgame.ends.stop):
        own, other = (last_slots(tree, end, each) for each in (player, 1 - player))
        np.logical_or.at(found, own, (matrix_of(tree.arrays, end, player) * resolver.weights[other] != 0).any(1))
    for record in tree.arrays.infosets[subgame.infosets[player]][::-1]:
        first = record["first_slot"]
        found[record["parent_slot"]] |= found[first : first + record["num_actions"]].any()
    return found


def resolve(
    blueprint: Blueprint,
    subgame: Subgame,
    player: int,
    method: str = "maxmargin",
    *,
    iterations: int = 1000,
    minimizer: Minimizer | str = DEFAULT_MINIMIZER,
) -> Resolved:
    """Returns the strategy of a player who resolves a subgame; see `gadget` for the methods.

    Args:
        blueprint: The policy before the subgame, which also determines the values that the opponent is held to.
        subgame: One of ``blueprint.subgames``.
        player: The player whose strategy it is.
        method: One of `METHODS`.
        iterations: Number of full iterations.
        minimizer: The minimizer that solves the subgame.

    Raises:
        PolicyError: If the player's blueprint never reaches the subgame.
    """
    check_whole("iterations", iterations)
    if not blueprint.reaches(subgame, player):
        raise PolicyError(f"player {player} never plays to the public state {subgame.node} of {blueprint.tree.game}.")
    game = gadget(blueprint, subgame, player, method)
    strategy = Solver(game, "full", minimizer).run(iterations).average_strategy()
    slots = subgame.slots[player]
    begin = int(game.arrays.slot_range[player + 1]) - (slots.stop - slots.start)
    error = Evaluator(game).evaluate(strategy).nash_conv
    return Resolved(strategy[begin : begin + slots.stop - slots.start], error)
