"""Outcome sampling: one history per player, by `traversal`, or one for all players."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.estimator import SamplingWeights, TraversalSampling
from mccfr_plus.estimators.traversal import DRAW_AT_CHANCE, LIST_VISIT, ONE_OWN, draw_exploring, exploring_probability
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import unlikely
from mccfr_plus.kernels.slots import Bindings
from mccfr_plus.parameters import number, switch
from mccfr_plus.trees.expansion import EXPAND
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.needs import INFOSETS, PERFECT_RECALL
from mccfr_plus.trees.scratch import ADVANCE, ALL_PLAYERS, FIRST_NODE, HEAD, IS_LAZY, PAYLOAD_OF, PAYOFF, at, touch
from mccfr_plus.trees.tree import Tree


@inline_kernel
def outcome_traversal_for_all(parameters, exploration, tree, strategy, scratch, player):
    """Adds what one sampled history says to all players' gradients (Lanctot et al. 2009, appendix A.1.1).

    All players' actions are drawn from xi, and every player i gets an entry at the leaf z,

        u_i(z) * (product of the other players' strategies) / (product of all players' xi).

    All players' infosets are listed, with weight (owner's reach) / (product of all players' xi): the probability of the
    visit cancels, so that own reach is left, whatever the number of players. The first parameter is epsilon, in (0, 1],
    and `exploration` is ``[num_slots]``, or empty for uniform exploration.
    """
    epsilon, rng, num_players = parameters[0], scratch.rng, len(tree.slot_range) - 1
    last = scratch.stack  # per player: the last own slot and the own reach
    for player in range(num_players):
        last[at(player)]["slot"] = tree.slot_range[-1] + player
        last[at(player)]["weight"] = 1.0
    weight, num_visits, nodes_touched = 1.0, scratch.counts[0]["num_visits"], 1
    node, thread = FIRST_NODE(tree, scratch, ALL_PLAYERS), scratch.counts[0]["thread"]
    while True:
        kind, count = HEAD(tree, scratch, node)
        if count == 0:
            if IS_LAZY() and unlikely(kind != TERMINAL):  # not visited yet
                if EXPAND(tree.expansion, node, thread):
                    continue
                return
            break
        payload = PAYLOAD_OF(tree, scratch, node)
        if kind == CHANCE:
            index = DRAW_AT_CHANCE(tree, scratch, payload, count)
        else:
            base = touch(tree, scratch, kind, payload, count, last[at(kind)]["slot"])
            num_visits = LIST_VISIT(scratch, num_visits, payload, count, 0, weight * last[at(kind)]["weight"])
            index = draw_exploring(strategy, exploration, payload, count, epsilon, rng)
            slot = payload + index
            last[at(kind)]["slot"] = base + index
            last[at(kind)]["weight"] *= strategy[at(slot)]
            weight /= exploring_probability(strategy, exploration, slot, count, epsilon)
        node = ADVANCE(tree, scratch, node, payload, index)
        nodes_touched += 1
    for player in range(num_players):
        others = weight
        for other in range(num_players):
            if other != player:
                others *= last[at(other)]["weight"]
        scratch.gradient[at(last[at(player)]["slot"])] += others * PAYOFF(tree, scratch, node, player)
    scratch.counts[0]["num_visits"] = num_visits
    scratch.counts[0]["nodes_touched"] += nodes_touched


@dataclass(frozen=True)
class OutcomeSampling(TraversalSampling):
    """Outcome sampling: draws one history, with epsilon-on-policy actions (Lanctot et al. 2009, section 3, eq. 10).

    Args:
        epsilon: Share of exploration at the nodes of the player being updated, in (0, 1]; 0.6 in the paper.
        update_all_players: Whether one history updates all players at the end of an iteration; all of them then explore
            (appendix A.1.1). Otherwise, each player has its own history, in which the others play on-policy.
        sampling: The exploration strategy: an OpenSpiel policy, or a ``[num_slots]`` float64 array in the order
            of the `GameTree`. Every legal action must have positive probability. Default: uniform.

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", mccfr_plus.OutcomeSampling(epsilon=0.6), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    epsilon: float = number(0.6, above=0, most=1, note="at 0, actions that are not played would never be tried")
    update_all_players: bool = switch(False)
    sampling: Any = field(default=None, compare=False)
    short_name: ClassVar[str] = "outcome"
    bindings: ClassVar[Bindings] = {ONE_OWN: True}
    visits_all_own: ClassVar[bool] = False

    @property
    def kernel(self) -> Callable:  # type: ignore[override]
        """The kernel for these parameters."""
        return outcome_traversal_for_all if self.update_all_players else super().kernel

    def kernel_with_baseline(self, expected: bool) -> Callable | None:
        return None if self.update_all_players else super().kernel_with_baseline(expected)

    def parameters(self) -> np.ndarray:
        return np.array([self.epsilon], float)

    @property
    def sampling_weights(self) -> SamplingWeights:  # type: ignore[override]
        """Which array the kernel gets as ``sampling_weights``."""
        return SamplingWeights.NONE if self.sampling is None else SamplingWeights.SAMPLING

    def sampling_strategy(self, tree: GameTree) -> Any:
        return self.sampling


def balanced_strategy(tree: Tree) -> np.ndarray:
    """Returns all players' exploration-balanced strategy, ``[slot_capacity]`` float64; GameError for imperfect recall.

    With N(I, a) = 1 + sum of N(I') over the infosets I' that follow on sequence (I, a), and N(I) = sum_a N(I, a), which
    count the sequences from there on, an action is played with probability N(I, a) / N(I). By induction from the
    root, the reach of (I, a) is at least N(I, a) / (number of the player's sequences - 1), without the empty sequence.
    """
    tree.require_perfect_recall("the exploration-balanced strategy")
    below, strategy = np.zeros(tree.slot_capacity + tree.num_players), np.zeros(tree.slot_capacity)
    _fill(tree.found_infosets, below, strategy)
    return strategy


@kernel
def _fill(infosets, below, strategy):
    """Counts from the last infoset to the first: parents come first. `below` and `strategy` are modified in place."""
    for infoset in range(len(infosets) - 1, -1, -1):
        record = infosets[at(infoset)]
        first, total = record["first_slot"], 0.0
        last = first + record["num_actions"]
        for slot in range(first, last):
            total += 1.0 + below[at(slot)]
        for slot in range(first, last):
            strategy[at(slot)] = (1.0 + below[at(slot)]) / total
        below[at(record["parent_slot"])] += total


@dataclass(frozen=True)
class BalancedOutcomeSampling(TraversalSampling):
    """Outcome sampling with balanced exploration (Farina, Kroer and Sandholm 2020, section 4.2.1, appendix A).

    With epsilon = 1, each sequence is sampled with probability at least 1 / (number of the player's sequences - 1).
    Hence, no entry of the estimated gradient is larger in absolute value than (largest absolute payoff) * (number of
    sequences - 1).

    Args:
        epsilon: Share of the exploration strategy in the sampling strategy, in (0, 1]; 1 in the paper.

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", mccfr_plus.BalancedOutcomeSampling(), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    epsilon: float = number(1.0, above=0, most=1, note="at 0, actions that are not played would never be tried")
    short_name: ClassVar[str] = "balanced"
    visits_all_own: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = (*TraversalSampling.references, "farina2020stochastic")
    bindings: ClassVar[Bindings] = {ONE_OWN: True}
    needs: ClassVar[frozenset[str]] = frozenset({PERFECT_RECALL, INFOSETS})
    sampling_weights: ClassVar[SamplingWeights] = SamplingWeights.SAMPLING

    def parameters(self) -> np.ndarray:
        return np.array([self.epsilon], float)

    def sampling_strategy(self, tree: Tree) -> np.ndarray:
        return balanced_strategy(tree)
