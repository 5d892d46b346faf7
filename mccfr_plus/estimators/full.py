"""The exact gradient, by the sequence form (von Stengel 1996, section 3) or by a traversal of the whole tree."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np

from mccfr_plus.estimators.estimator import Estimator
from mccfr_plus.estimators.traversal import ALL_CHANCE, ALL_OPPONENTS, PRUNE, traversal
from mccfr_plus.kernels.barrier import ROW, SIZE, wait
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import pointer
from mccfr_plus.kernels.slots import Constant, bind
from mccfr_plus.parameters import switch
from mccfr_plus.trees.by_rules.histories import traverse_histories
from mccfr_plus.trees.by_rules.payoff_matrix import add_products, set_reach
from mccfr_plus.trees.by_rules.rows import MATRIX, NUM_HISTORIES, THREADS
from mccfr_plus.trees.expansion import NUM_INFOSETS, TEAM
from mccfr_plus.trees.flattening import add_rows, exact_gradient, write_terms
from mccfr_plus.trees.needs import (
    ALTERNATION,
    EXACT_GRADIENTS,
    FIXED_VALUES,
    GRADIENTS,
    HISTORIES,
    INFOSETS,
    NO_VALUES,
    PERFECT_RECALL,
    PUBLIC,
    ZERO_SUM,
)
from mccfr_plus.trees.public.arrays import FIRST_END, LAST_END
from mccfr_plus.trees.public.sharing import list_part, refresh_part
from mccfr_plus.trees.scratch import at, note_touched, refresh_reach, scale_gradient, touch

USE_MATRIX = Constant("USE_MATRIX", True, "Whether the payoff matrix is used if there is one.")


@inline_kernel
def full_gradient(parameters, sampling_weights, tree, strategy, scratch, player):
    """Writes the exact gradient of the player into `scratch` and lists all of its infosets. Modified in place.

    `nodes_touched` grows by the number of histories, which is what a traversal of the tree would visit.
    """
    for other in range(len(tree.slot_range) - 1):
        if other != player:
            refresh_reach(tree, strategy, scratch, other)
    exact_gradient(tree, scratch.reach, scratch.gradient, player)
    touch_all(tree, scratch, player)
    scratch.counts[0]["nodes_touched"] += len(tree.nodes)


@inline_kernel
def touch_all(tree, scratch, player):
    """Lists the player's infosets. The list is the same every time."""
    begin, end = tree.infoset_range[player], tree.infoset_range[player + 1]
    if end > begin and scratch.touched[at(end - 1)]["num_actions"] == 0:  # not listed yet
        for infoset in range(begin, end):
            record, touched = tree.infosets[at(infoset)], scratch.touched[at(infoset)]
            note_touched(touched, record["first_slot"], record["num_actions"], record["parent_slot"])
    scratch.num_touched[player] = end - begin


@inline_kernel
def full_traversal(parameters, sampling_weights, tree, strategy, scratch, player):
    """Adds up the exact gradient of the player by a traversal of the tree. `scratch` is modified in place.

    All infosets are listed before, with a gradient of 0: what the traversal leaves out is updated as well.
    """
    touch_all(tree, scratch, player)
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        scratch.gradient[at(slot)] = 0.0
        scratch.stamps[at(slot)] = scratch.counts[0]["stamp"]
    traversal(parameters, sampling_weights, tree, strategy, scratch, player)


@inline_kernel
def full_by_rules(parameters, sampling_weights, tree, strategy, scratch, player):
    """Adds up the exact gradient of the player by compiled rules: from the payoff matrix, or by all histories.

    All infosets have a number already, and all are updated. Each thread of a team takes its share, and multiplies it by
    their number, as the mean is taken then.
    """
    infosets, threads = tree.infosets, tree.expansion[THREADS]
    for infoset in range(tree.expansion[NUM_INFOSETS]):
        record = infosets[at(infoset)]
        if record["player"] == player:
            touch(tree, scratch, player, record["first_slot"], record["num_actions"], record["parent_slot"])
    thread = scratch.counts[0]["thread"]
    if USE_MATRIX() and tree.expansion[MATRIX] != 0:
        set_reach(tree, strategy, scratch.reach, 1 - player)
        add_products(tree, tree.expansion[MATRIX:], scratch.reach, scratch.gradient, player, thread, threads)
        histories = tree.expansion[NUM_HISTORIES] if thread == 0 else 0
    else:
        _, histories = traverse_histories(tree, scratch, strategy, player, thread, threads)
    if threads > 1:
        scale_gradient(tree, scratch, player, threads)
    scratch.counts[0]["nodes_touched"] += histories


@inline_kernel
def shared_full_gradient(parameters, sampling_weights, tree, strategy, scratch, player):
    """Writes the thread's share of what `full_gradient` writes, and lists its part of the infosets. See `parts`."""
    team, thread = numba.carray(pointer(tree.expansion[TEAM]), (1, ROW), np.int64), scratch.counts[0]["thread"]
    for each in range(2):
        refresh_part(tree, strategy, scratch, each)
    wait(team)
    write_terms(tree, scratch.reach, scratch.gradient, player, thread, team[0, SIZE])
    wait(team)
    first, last = FIRST_END + 2 * player, LAST_END + 2 * player
    add_rows(tree, scratch.reach, scratch.gradient, tree.segments[thread + 1, first], tree.segments[thread + 1, last])
    list_part(tree, scratch, player, thread, 0)
    scratch.counts[0]["nodes_touched"] += len(tree.nodes) if thread == 0 else 0


@inline_kernel
def against_best_response(parameters, sampling_weights, tree, strategy, scratch, player):
    """Writes the player's gradient against the other's best response. `scratch` is modified in place."""
    other, reach, gradient = 1 - player, scratch.reach, scratch.gradient
    infosets, begin, end = tree.infosets, tree.infoset_range[other], tree.infoset_range[other + 1]
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
class Full(Estimator):
    """Full traversals: the exact gradient over all chance outcomes and all actions.

    With regret matching, this is CFR (Zinkevich et al. 2007); with RM+ and a linear average, CFR+ (Tammelin et al.
    2015). By default, the gradient is computed with the sequence-form matrix, which is several times as fast as a
    traversal. For minimizers that provide `DIFFERENCES`, the gradient omits terms that are constant within an
    information set, because these do not change the regrets.

    Args:
        traversal: Whether to traverse the tree, as in the papers. The result differs from that of the matrix
            computation only by rounding errors.
        pruning: Whether to traverse the tree but skip histories that the other players do not reach (Lanctot et al.
            2009, section 5). The result is bitwise identical to that of `traversal`; `nodes_touched` counts the
            histories visited.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", mccfr_plus.Full()).run(200).exploitability() < 0.4
        True
    """

    traversal: bool = switch(False)
    pruning: bool = switch(False)
    short_name: ClassVar[str] = "full"
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret",)
    gives: ClassVar[frozenset[str]] = frozenset({GRADIENTS, EXACT_GRADIENTS, NO_VALUES, FIXED_VALUES})
    needs: ClassVar[frozenset[str]] = frozenset({INFOSETS})

    @property
    def kernel(self) -> Callable:  # type: ignore[override]
        """The kernel for these parameters."""
        return full_gradient if self.needs_leaves else self._visiting_all(full_traversal)

    def kernel_for(self, *, by_rules: bool, tied: bool) -> Callable:
        if tied:  # infosets are listed as they are entered
            return self._visiting_all(traversal)
        return bind(full_by_rules, {USE_MATRIX: self.needs_leaves}, partial=True) if by_rules else self.kernel

    def _visiting_all(self, kernel: Callable) -> Callable:
        return bind(kernel, {ALL_CHANCE: True, ALL_OPPONENTS: True, PRUNE: self.pruning}, partial=True)

    @functools.cached_property
    def provides(self) -> frozenset[str]:
        return super().provides | ({PUBLIC} if self.needs_leaves else frozenset())

    @property
    def needs_leaves(self) -> bool:  # type: ignore[override]
        """Whether the leaf tables of the tree are needed."""
        return not (self.traversal or self.pruning)


@dataclass(frozen=True)
class BestResponseOpponent(Estimator):
    """The exact gradient against the other player's best response, as in CFR-BR (Johanson et al. 2012).

    The game must be a two-player zero-sum game. Both players learn, each against best responses. A player's average
    strategy approaches the least exploitable strategy that the player's information sets allow; with high probability,
    so does the player's current strategy in late iterations.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", "best_response", "rm+").run(1000).exploitability() < 0.01
        True
    """

    short_name: ClassVar[str] = "best_response"
    kernel: ClassVar[Any] = staticmethod(against_best_response)
    references: ClassVar[tuple[str, ...]] = ("johanson2012finding",)
    gives: ClassVar[frozenset[str]] = frozenset({EXACT_GRADIENTS, NO_VALUES, FIXED_VALUES})
    needs: ClassVar[frozenset[str]] = frozenset({PERFECT_RECALL, HISTORIES, ZERO_SUM, ALTERNATION})
    needs_leaves: ClassVar[bool] = True
