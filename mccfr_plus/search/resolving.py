"""Subgame solving: recomputes a player's strategy below a public state without making it easier to exploit.

The resolving player has followed the blueprint. The opponent is free: a gadget game gives each of its hands no more
than a best response to the blueprint would get.
"""

import time
from typing import NamedTuple

import numpy as np

from mccfr_plus.errors import BudgetError, PolicyError
from mccfr_plus.evaluation.exact import Evaluator
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.parameters import check_choice
from mccfr_plus.search.blueprint import Blueprint
from mccfr_plus.search.ends import ends_of
from mccfr_plus.search.partial_game import PartialGame, Subgame, entering, kept, slots_before
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.arrays import read_only
from mccfr_plus.trees.public.arrays import PublicArrays
from mccfr_plus.trees.public.showdowns import TABLE

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
      blueprint gets there (Burch, Johanson and Bowling 2014).
    * ``"maxmargin"``: the opponent chooses the hand and receives the payoff minus the hand's value, so that the
      smallest margin is maximized (Moravcik et al. 2016).
    * ``"reach"``: as ``"maxmargin"``, with values raised by what the opponent gave up on the way (Brown and Sandholm
      2017); see `Blueprint.gifts`.
    """
    check_choice("method", method, METHODS)
    tree, opponent = blueprint.tree, 1 - player
    resolver = kept(tree, player, [subgame], blueprint.reach)
    if method == "unsafe":
        other = kept(tree, opponent, [subgame], blueprint.reach)
    else:
        other = entering(tree, subgame, opponent, per_hand=method == "resolve")
    ends = ends_of(tree, {player: resolver, opponent: other}, subgame.ends)
    if method == "unsafe":
        return PartialGame(ends)
    values = blueprint.allowed(opponent, subgame, with_gifts=method == "reach")
    if method == "resolve":
        ends.pay(opponent, 1, 2, values)
    else:  # a hand that the opponent cannot hold here would have a margin of 0
        is_held = _can_meet(blueprint, PartialGame(ends).arrays, opponent)[: len(values)]
        never = abs(values).max() + tree.game.max_utility() - tree.game.min_utility()
        ends.pay(opponent, 0, 1, np.where(is_held, -values, -never))
    return PartialGame(ends)


def _can_meet(blueprint: Blueprint, arrays: PublicArrays, player: int) -> np.ndarray:
    """Returns after which of its slots the player's hand can meet another hand, ``[num_slots]`` bool.

    Each pair of hands that an end pays counts 1 there, also at showdowns; a best response finds an end with a pair.
    """
    hands, ends, slots = arrays.hands.copy(), arrays.ends.copy(), arrays.slot_range
    hands["chance"] = hands["chance"] > 0
    if len(hands):
        ends[..., TABLE] = np.minimum(ends[..., TABLE], ~ends[..., TABLE])
    made = {
        "hands": hands,
        "ends": ends,
        "scales": np.ones_like(arrays.scales),
        "matrices": 1.0 * (arrays.matrices != 0),
    }
    counting = arrays._replace(**{name: read_only(array) for name, array in made.items()})
    values, best = np.zeros(slots[-1] + 2), np.empty(len(arrays.infosets), np.int32)
    infosets = arrays.infoset_range[player : player + 2].tolist()
    blueprint.respond(counting, np.ones(len(values)), values, best, player, 0, len(ends), *infosets)
    return values[slots[player] : slots[player + 1]] > 0


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
        raise BudgetError(f"seconds={seconds:g} is too short for a single iteration of the subgame: give more time.")
    strategy, opponent = solver.average_strategy(), 1 - player
    ends = zip(game.arrays.slot_range[1:].tolist(), subgame.slots, strict=True)
    inside = {each: strategy[end - (slots.stop - slots.start) : end] for each, (end, slots) in enumerate(ends)}
    gained = blueprint.after(subgame, player, inside).values(opponent, subgame)
    allowed = blueprint.allowed(opponent, subgame, with_gifts=method == "reach")
    excess = np.maximum(gained[slots_before(blueprint.tree, subgame, opponent)] - allowed, 0.0).sum()
    return Resolved(inside[player], inside[opponent], Evaluator(game).evaluate(strategy).nash_conv, float(excess))
