"""The exact gradient against the other player's best response, not against its strategy: CFR-BR.

Each player's strategies then have no regret against best responses, so that its average strategy, and with a high
probability also a late one, is as little exploitable as its information sets allow.

Reference: Johanson, Bard, Burch, Bowling 2012, "Finding optimal abstract strategies in extensive-form games".
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from mccfr_plus.estimators.base import Estimator
from mccfr_plus.estimators.full import exact_gradient, touch_all
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.trees.needs import (
    ALTERNATION,
    EXACT_GRADIENTS,
    FIXED_VALUES,
    HISTORIES,
    NO_VALUES,
    PERFECT_RECALL,
    ZERO_SUM,
)
from mccfr_plus.trees.scratch import at, refresh_reach


@inline_kernel
def against_best_response(parameters, sampling_weights, tree, strategy, scratch, player):
    """Writes the player's gradient against the other's best response. `scratch` is modified in place."""
    other, infosets, reach, gradient = 1 - player, tree.infosets, scratch.reach, scratch.gradient
    begin, end = tree.infoset_range[other], tree.infoset_range[other + 1]
    refresh_reach(tree, strategy, scratch, player)
    exact_gradient(tree, reach, gradient, other)
    for infoset in range(end - 1, begin - 1, -1):
        first, best = infosets[at(infoset)]["first_slot"], infosets[at(infoset)]["first_slot"]
        for slot in range(first, first + infosets[at(infoset)]["num_actions"]):
            reach[at(slot)] = 0.0
            if gradient[at(slot)] > gradient[at(best)]:
                best = slot
        reach[at(best)] = 1.0
        gradient[at(infosets[at(infoset)]["parent_slot"])] += gradient[at(best)]
    for infoset in range(begin, end):
        first, above = infosets[at(infoset)]["first_slot"], reach[at(infosets[at(infoset)]["parent_slot"])]
        for slot in range(first, first + infosets[at(infoset)]["num_actions"]):
            reach[at(slot)] *= above
    scratch.reach_valid[other] = 0
    exact_gradient(tree, reach, gradient, player)
    touch_all(tree, scratch, player)
    scratch.counts[0]["nodes_touched"] += 2 * len(tree.nodes)


@dataclass(frozen=True)
class BestResponseOpponent(Estimator):
    """The exact gradient against the other player's best response: with regret matching CFR-BR (Johanson et al. 2012).

    For two-player zero-sum games. Both players learn, each against best responses.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "best_response", "rm+")
        >>> solver.run(1000).exploitability() < 0.01
        True
    """

    short_name: ClassVar[str] = "best_response"
    kernel: ClassVar[Any] = staticmethod(against_best_response)
    references: ClassVar[tuple[str, ...]] = ("johanson2012finding",)
    gives: ClassVar[frozenset[str]] = frozenset({EXACT_GRADIENTS, NO_VALUES, FIXED_VALUES})
    visits_all_chance: ClassVar[bool] = True

    @property
    def needs_leaves(self) -> bool:
        return True

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({PERFECT_RECALL, HISTORIES, ZERO_SUM, ALTERNATION})
