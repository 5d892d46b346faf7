"""Subgame solving: recomputes a player's strategy below a public state without making it easier to exploit.

The resolving player has followed the blueprint. The opponent is free: a gadget game gives each of its hands no more
than a best response to the blueprint would get.
"""

import time
from typing import NamedTuple

import numpy as np

from mccfr_plus.errors import BudgetError, PolicyError
from mccfr_plus.evaluation.exact import Evaluator
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.parameters import check_choice
from mccfr_plus.search.blueprint import Blueprint
from mccfr_plus.search.ends import Payment, ends_of
from mccfr_plus.search.partial_game import PartialGame, Subgame, entering, hands_before, kept
from mccfr_plus.solver.solver import Solver

DEFAULT_MINIMIZER = "pdcfr+"  # its errors are a third to a half of those of rm+: docs/design.md
METHODS = ("unsafe", "resolve", "maxmargin", "reach")


class Resolved(NamedTuple):
    """A player's new strategy in a subgame.

    Attributes:
        strategy: The player's probabilities at the slots of the subgame, ``subgame.slots[player]``.
        opponent: The opponent's probabilities in the gadget's solution, from which unsafe search continues.
        error: NashConv of the gadget's solution, 0 in an equilibrium of the gadget.
        excess: Sum over the opponent's hands of the amount by which a best response exceeds the value that the method
            allows. The opponent's best response in the whole game gains at most this from the new strategy. With a safe
            method and an exact solution it is 0, but not behind actions that the blueprint's game lacks.
    """

    strategy: np.ndarray
    opponent: np.ndarray
    error: float
    excess: float


def gadget(blueprint: Blueprint, subgame: Subgame, player: int, method: str = "maxmargin") -> PartialGame:
    """Returns the game that is solved in place of a subgame for the player who resolves.

    * ``"unsafe"``: both players have followed the blueprint. The opponent has no alternative to the subgame.
    * ``"resolve"``: the opponent chooses with each hand between the subgame and the value that a best response to the
      blueprint gets there (Burch, Johanson, Bowling 2014).
    * ``"maxmargin"``: the opponent chooses the hand and receives the payoff minus the hand's value, so that the
      smallest margin is maximized (Moravcik et al. 2016).
    * ``"reach"``: as ``"maxmargin"``, with values raised by what the opponent gave up on the way (Brown, Sandholm
      2017); see `Blueprint.gifts`.
    """
    check_choice("method", method, METHODS)
    tree, opponent = blueprint.tree, 1 - player
    resolver = kept(tree, player, [subgame], blueprint.reach)
    hands, is_choice = hands_before(tree, subgame, opponent), method == "resolve"
    if method == "unsafe":
        other = kept(tree, opponent, [subgame], blueprint.reach)
    else:
        other = entering(tree, subgame, opponent, hands, per_hand=is_choice)
    ends = ends_of(tree, [resolver, other] if player == 0 else [other, resolver], subgame.ends, blueprint.decoded)
    if method == "unsafe":
        return PartialGame(ends)
    values = _allowed(blueprint, subgame, opponent, method)
    if is_choice:
        ends.pay(Payment(opponent, 1, 2, values))
    else:
        # A hand that the opponent cannot hold here would have a margin of 0.
        _pass_up(tree.arrays.infosets[subgame.infosets[opponent]], ends.met)
        never = abs(values).max() + tree.game.max_utility() - tree.game.min_utility()
        ends.pay(Payment(opponent, 0, 1, np.where(ends.met[hands.slots], -values, -never)))
    return PartialGame(ends)


def _allowed(blueprint: Blueprint, subgame: Subgame, opponent: int, method: str) -> np.ndarray:
    values = blueprint.allowed(opponent, subgame)
    return values + blueprint.gifts[opponent].get(subgame.node, 0.0) if method == "reach" else values


@kernel
def _pass_up(infosets, met):
    """Marks the parents of marked slots. `met` is modified in place."""
    for index in range(len(infosets) - 1, -1, -1):
        record = infosets[index]
        for slot in range(record["first_slot"], record["first_slot"] + record["num_actions"]):
            met[record["parent_slot"]] |= met[slot]


def resolve(
    blueprint: Blueprint,
    subgame: Subgame,
    player: int,
    method: str = "maxmargin",
    *,
    iterations: int = 1000,
    seconds: float | None = None,
    minimizer: Minimizer | str = DEFAULT_MINIMIZER,
) -> Resolved:
    """Returns the strategy of a player who resolves a subgame; see `gadget` for the methods.

    Args:
        blueprint: The policy played before the subgame, whose values bound the opponent's values.
        subgame: One of ``blueprint.subgames``, or in nested search a later subgame; see `Blueprint.after`.
        player: The player who resolves the subgame.
        method: One of `METHODS`.
        iterations: Iterations of `Solver` with ``"full"``.
        seconds: Wall-clock time for making and solving the gadget, in place of `iterations`.
        minimizer: The minimizer that solves the gadget.

    Raises:
        PolicyError: If the player's blueprint never comes to the subgame.
        BudgetError: If there is no time for a single iteration.
    """
    begin = time.perf_counter()
    if not blueprint.reaches(subgame, player):
        raise PolicyError(f"player {player} never reaches the public state {subgame.node} of {blueprint.tree.game}.")
    game = gadget(blueprint, subgame, player, method)
    solver = Solver(game, "full", minimizer)
    if seconds is None:
        solver.run(iterations)
    elif (left := seconds - (time.perf_counter() - begin)) > 0:
        solver.run(seconds=left)
    if not solver.iterations:
        raise BudgetError(f"seconds={seconds:g}: no time for a single iteration of the subgame: give more time.")
    strategy, opponent, inside = solver.average_strategy(), 1 - player, list[np.ndarray]()
    for slots, end in zip(subgame.slots, game.arrays.slot_range[1:].tolist(), strict=True):
        inside.append(strategy[end - (slots.stop - slots.start) : end])
    error, hands = Evaluator(game).evaluate(strategy).nash_conv, hands_before(blueprint.tree, subgame, opponent).slots
    gained = blueprint.after(subgame, player, inside).values(opponent, subgame)[hands]
    excess = float(np.maximum(gained - _allowed(blueprint, subgame, opponent, method), 0.0).sum())
    return Resolved(inside[player], inside[opponent], error, excess)
