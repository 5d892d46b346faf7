"""Outcome sampling: one history, in two forms.

**One per player.** At own nodes the action is drawn from xi = epsilon e + (1 - epsilon) strategy, with an exploration
strategy e (uniform, exploration-balanced, or the user's); chance and opponents are drawn on-policy, so that at the
leaf z their reach cancels and the gradient's only entry is

    u_i(z) / (product of xi over the player's own actions on the way to z).

**One for all players.** All players' actions are drawn from xi, and every player i gets an entry,

    u_i(z) * (product of the other players' strategies) / (product of all players' xi).

References: Lanctot et al. 2009, section 3.1, equation 10, with the paper's epsilon = 0.6, and algorithm 1 of its
appendix (one history for all); Farina et al. 2020, section 4.2 (sampling strategies).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.base import Estimator, SamplingWeights, check_exploration, check_switch
from mccfr_plus.estimators.control_variates import EXPECTED, ONE_OWN, controlled_traversal
from mccfr_plus.estimators.draws import DRAW_AT_CHANCE, DRAW_FOR_OPPONENT, draw_exploring, exploring_probability
from mccfr_plus.estimators.traversal import ENTERS_OPPONENTS
from mccfr_plus.estimators.visits import LIST_VISIT
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import unlikely
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.access import ADVANCE, ALL_PLAYERS, FIRST_NODE, HEAD, IS_LAZY, PAYLOAD_OF, PAYOFF
from mccfr_plus.trees.expansion import EXPAND
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.needs import PERFECT_RECALL
from mccfr_plus.trees.scratch import NODES_TOUCHED, NUM_VISITS, THREAD, at, touch


@inline_kernel
def outcome_traversal(parameters, exploration, tree, strategy, scratch, player):
    """Adds the gradient of one sampled history and lists what it touched. `scratch` is modified in place.

    Opponents' infosets are listed with weight 1 / (product of xi), which makes up for the player's own exploration.

    Args:
        parameters: epsilon, the exploration at the player's own nodes, in (0, 1].
        exploration: ``[num_slots]``, or empty for uniform exploration.
        tree: `TreeArrays`.
        strategy: ``[num_slots]``, all players' current strategy.
        scratch: `Scratch`.
        player: For whom the gradient is estimated.
    """
    epsilon = parameters[0]
    rng = scratch.rng
    slot, weight = tree.slot_range[-1] + player, 1.0
    num_visits, nodes_touched = scratch.counts[NUM_VISITS], 1
    node, thread = FIRST_NODE(tree, scratch, ALL_PLAYERS if ENTERS_OPPONENTS() else player), scratch.counts[THREAD]
    while True:
        kind, count = HEAD(tree, scratch, node)
        if count == 0:
            if IS_LAZY() and unlikely(kind != TERMINAL):  # not visited yet
                if EXPAND(tree.expansion, node, thread):
                    continue
                return
            break
        payload = PAYLOAD_OF(tree, scratch, node)
        if kind == player:
            touch(tree, scratch, player, payload, count, slot)
            index = draw_exploring(strategy, exploration, payload, count, epsilon, rng)
            slot = payload + index
            weight /= exploring_probability(strategy, exploration, slot, count, epsilon)
        elif kind == CHANCE:
            index = DRAW_AT_CHANCE(tree, scratch, payload, count)
        else:
            index = DRAW_FOR_OPPONENT(strategy, scratch, payload, count)
            num_visits = LIST_VISIT(scratch, num_visits, payload, count, index, weight)
        node = ADVANCE(tree, scratch, node, payload, index)
        nodes_touched += 1
    scratch.gradient[at(slot)] += weight * PAYOFF(tree, scratch, node, player)
    scratch.counts[NUM_VISITS] = num_visits
    scratch.counts[NODES_TOUCHED] += nodes_touched


@inline_kernel
def outcome_traversal_for_all(parameters, exploration, tree, strategy, scratch, player):
    """Adds to all players' gradients what one sampled history says, and lists what it touched. Modified in place.

    All players' infosets are listed, with weight (owner's reach) / (product of all players' xi): the probability of the
    visit cancels, so that own reach is left, whatever the number of players.

    Args:
        parameters: epsilon, the exploration of all players, in (0, 1].
        exploration: ``[num_slots]``, or empty for uniform exploration.
        tree: `TreeArrays`.
        strategy: ``[num_slots]``, all players' current strategy.
        scratch: `Scratch`.
        player: 0: the traversal serves all players.
    """
    epsilon = parameters[0]
    rng, last = scratch.rng, scratch.stack  # per player: the last own slot and the own reach
    num_players = len(tree.slot_range) - 1
    for player in range(num_players):
        last[at(player)]["slot"] = tree.slot_range[-1] + player
        last[at(player)]["weight"] = 1.0
    weight = 1.0
    num_visits, nodes_touched = scratch.counts[NUM_VISITS], 1
    node, thread = FIRST_NODE(tree, scratch, ALL_PLAYERS), scratch.counts[THREAD]
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
            touch(tree, scratch, kind, payload, count, last[at(kind)]["slot"])
            num_visits = LIST_VISIT(scratch, num_visits, payload, count, 0, weight * last[at(kind)]["weight"])
            index = draw_exploring(strategy, exploration, payload, count, epsilon, rng)
            slot = payload + index
            last[at(kind)]["slot"] = slot
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
    scratch.counts[NUM_VISITS] = num_visits
    scratch.counts[NODES_TOUCHED] += nodes_touched


@dataclass(frozen=True)
class OutcomeSampling(Estimator):
    """Outcome sampling: one history, own actions drawn epsilon-on-policy (Lanctot et al. 2009, section 3.1).

    Args:
        epsilon: Share of exploration at own nodes, in (0, 1]; the paper's 0.6.
        update_all_players: One history updates all players, who all explore (the paper's algorithm 1), at the end of
            an iteration. Otherwise each player has its own history, in which the others play on-policy.
        sampling: The exploration strategy: an OpenSpiel policy, or ``[num_slots]`` float64 in the order of the
            `GameTree`; None: all actions are equally likely. Every legal action must have positive probability.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", mccfr_plus.OutcomeSampling(epsilon=0.6), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    epsilon: float = 0.6
    update_all_players: bool = False
    sampling: Any = field(default=None, compare=False)
    short_name: ClassVar[str] = "outcome"
    visits_all_own: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte")

    def __post_init__(self) -> None:
        check_exploration(self.epsilon, "the paper uses 0.6")
        check_switch("update_all_players", self.update_all_players)

    @property
    def kernel(self) -> Callable:  # type: ignore[override]
        """The kernel for these parameters."""
        return outcome_traversal_for_all if self.update_all_players else outcome_traversal

    def kernel_with_baseline(self, expected: bool) -> Callable | None:
        return (
            None
            if self.update_all_players
            else bind(controlled_traversal, {ONE_OWN: True, EXPECTED: expected}, partial=True)
        )

    def parameters(self) -> np.ndarray:
        return np.array([float(self.epsilon)])

    @property
    def sampling_weights(self) -> SamplingWeights:
        return SamplingWeights.NONE if self.sampling is None else SamplingWeights.SAMPLING

    def sampling_strategy(self, tree: GameTree) -> Any:
        return self.sampling

    def stochastic_average(self, num_players: int) -> str:
        return "visits" if num_players == 2 or self.update_all_players else "own_traversal"

    @property
    def needs(self) -> frozenset[str]:
        return super().needs - {PERFECT_RECALL}

    @property
    def updates_all_players(self) -> bool:
        return self.update_all_players
