"""The exact exploitability of a policy that searches, beside the least that search could reach."""

from typing import NamedTuple

from mccfr_plus.evaluation.exact import Evaluator
from mccfr_plus.parameters import check_whole
from mccfr_plus.search.blueprint import Blueprint
from mccfr_plus.search.ends import ends_of
from mccfr_plus.search.partial_game import PartialGame, kept, subgame_at
from mccfr_plus.search.policy import SearchPolicy
from mccfr_plus.search.resolving import DEFAULT_MINIMIZER
from mccfr_plus.solver.solver import Solver


class Certificate(NamedTuple):
    """Exact exploitabilities in the whole game.

    Attributes:
        blueprint: Exploitability of the blueprint, in the blueprint's game if that game has fewer actions.
        exploitability: Exploitability of the policy that searches; at most `blueprint` plus `excess`.
        least: Lower bound of the exploitability of all policies with the blueprint's play before the subgames.
        attained: Exploitability of one such policy, found by CFR with the earlier play fixed; close to `least`.
        error: Sum of the NashConvs of all gadgets' solutions, divided by the number of players.
        excess: Sum of opponents' possible gains in all subgames, divided by the number of players; see `Resolved`.
        unreached: Number of subgames that were not solved, since the player never comes there.
    """

    blueprint: float
    exploitability: float
    least: float
    attained: float
    error: float
    excess: float
    unreached: int

    @property
    def share(self) -> float:
        """Share of the gap between `blueprint` and `attained` that search closes; negative if search does harm."""
        return (self.blueprint - self.exploitability) / (self.blueprint - self.attained)


def certify(policy: SearchPolicy, *, iterations: int = 1000) -> Certificate:
    """Solves all subgames of a policy for both players, and judges the whole policy exactly.

    Args:
        policy: The policy that searches.
        iterations: Iterations for `Certificate.attained`.

    Examples:
        >>> from mccfr_plus import Solver, search
        >>> blueprint = Solver("leduc_poker", seed=1).run(3000).average_policy()
        >>> found = search.certify(search.SearchPolicy(blueprint, method="resolve", iterations=200))
        >>> found.least <= found.exploitability <= found.blueprint + found.excess
        True
    """
    check_whole("iterations", iterations)
    blueprint = policy.blueprint
    exploitability = Evaluator(blueprint.tree).evaluate(policy.strategy()).exploitability
    before = Evaluator(blueprint.own[0]).evaluate(blueprint.own[1]).exploitability
    solved = [found for found in policy.resolved.values() if found is not None]
    error, excess = sum(found.error for found in solved) / 2, sum(found.excess for found in solved) / 2
    unreached = len(policy.resolved) - len(solved)
    return Certificate(before, exploitability, *_least(blueprint, iterations), error, excess, unreached)


def _least(blueprint: Blueprint, iterations: int) -> tuple[float, float]:
    """Returns `least` and `attained`: each player's subgames are solved as one game, with its play before fixed."""
    tree, least, attained = blueprint.tree, 0.0, 0.0
    whole = subgame_at(tree, 0)
    for player in range(2):
        fixed = kept(tree, player, blueprint.subgames, blueprint.reach)
        sides = {player: fixed, 1 - player: kept(tree, 1 - player, [whole])}
        game = PartialGame(ends_of(tree, sides, whole.ends))
        strategy = Solver(game, "full", DEFAULT_MINIMIZER).run(iterations).average_strategy()
        values = Evaluator(game).evaluate(strategy).best_response_values.tolist()
        least, attained = least - values[player], attained + values[1 - player]
    return least / 2, attained / 2
