"""The exact exploitability of a policy that searches, beside the least that search could reach."""

from typing import NamedTuple

from mccfr_plus.evaluation.exact import Evaluator
from mccfr_plus.parameters import check_whole
from mccfr_plus.search.blueprint import Blueprint
from mccfr_plus.search.partial_game import PartialGame, kept, whole
from mccfr_plus.search.policy import SearchPolicy
from mccfr_plus.search.resolving import DEFAULT_MINIMIZER
from mccfr_plus.solver.solver import Solver


class Certificate(NamedTuple):
    """The effect of search on a blueprint: exact exploitabilities in the whole game.

    Attributes:
        blueprint: Exploitability of the blueprint.
        exploitability: Exploitability of the policy that searches; with a safe method at most `blueprint` plus `error`.
        least: A lower bound for all policies that play the blueprint before the subgames.
        attained: Exploitability of one such policy, found by CFR with fixed play before the subgames; close to `least`.
        error: Sum of the NashConvs of all gadgets' solutions, divided by the number of players.
        unreached: Number of (player, subgame) pairs in which the player never reaches the subgame and plays the
            blueprint.
    """

    blueprint: float
    exploitability: float
    least: float
    attained: float
    error: float
    unreached: int

    @property
    def share(self) -> float:
        """Share of the gap between `blueprint` and `attained` that search closes; negative where it does harm."""
        return (self.blueprint - self.exploitability) / (self.blueprint - self.attained)


def certify(policy: SearchPolicy, *, iterations: int = 1000) -> Certificate:
    """Solves all subgames of a policy for both players, and evaluates the whole policy exactly.

    Args:
        policy: The policy that searches.
        iterations: Number of iterations for `Certificate.attained`.

    Examples:
        >>> from mccfr_plus import Solver, search
        >>> blueprint = Solver("leduc_poker", seed=1).run(3000).average_policy()
        >>> found = search.certify(search.SearchPolicy("leduc_poker", blueprint, method="resolve"))
        >>> found.least <= found.exploitability <= found.blueprint + found.error
        True
    """
    check_whole("iterations", iterations)
    evaluator = Evaluator(policy.blueprint.tree)
    exploitability = evaluator.evaluate(policy.strategy()).exploitability
    before = evaluator.evaluate(policy.blueprint.strategy).exploitability
    error = sum(found.error for found in policy.resolved.values() if found is not None) / 2
    unreached = sum(found is None for found in policy.resolved.values())
    return Certificate(before, exploitability, *_least(policy.blueprint, iterations), error, unreached)


def _least(blueprint: Blueprint, iterations: int) -> tuple[float, float]:
    """Returns `least` and `attained`: each player's subgames are solved as one game, with its play before fixed."""
    tree, least, attained = blueprint.tree, 0.0, 0.0
    for player in range(2):
        sides = [kept(tree, player, blueprint.subgames, blueprint.reach), kept(tree, 1 - player, [whole(tree)])]
        game = PartialGame(tree, sides if player == 0 else sides[::-1], whole(tree).ends)
        strategy = Solver(game, "full", DEFAULT_MINIMIZER).run(iterations).average_strategy()
        values = Evaluator(game).evaluate(strategy).best_response_values.tolist()
        least, attained = least - values[player], attained + values[1 - player]
    return least / 2, attained / 2
