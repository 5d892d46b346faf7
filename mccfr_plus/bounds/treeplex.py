"""Sizes of a player's strategy space: M_i, the largest plan, pure strategies, the rarest leaf, the dilated entropy.

A plan x gives each sequence (slot) of a player its reach; x of the empty sequence is 1. A linear function of plans is
largest at a pure strategy. One pass over the infosets, children before parents, finds it.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from mccfr_plus.evaluation.strategies import require_player
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.minimizers.exponential_weights import dilated_weights
from mccfr_plus.trees.flattening import exact_gradient
from mccfr_plus.trees.game_tree import GameTree


def largest_m_value(tree: GameTree, player: int) -> float:
    """Returns the maximum over plans x of the sum over own sequences s of x[s] sqrt(number of infosets below s).

    It replaces M_i in the regret bound, and may be larger or smaller (derived from Gibson et al. 2012, Theorem 5).
    """
    return vertex_maximum(tree, player, 0.0, np.sqrt(num_children(tree)))


def plan_norm(tree: GameTree, player: int) -> float:
    """Returns M_Q, the largest sum of a plan's entries without the empty sequence (Kroer et al. 2020)."""
    return vertex_maximum(tree, player, 0.0, np.arange(tree.num_slots + tree.num_players) < tree.num_slots)


def log_pure_strategies(tree: GameTree, player: int) -> float:
    """Returns the natural logarithm of the number of reduced pure strategies: the vertices of the player's plans."""
    return vertex_maximum(tree, player, 0.0, 0.0, count=True)


def dilated_diameter(tree: GameTree, player: int, weights: np.ndarray) -> float:
    """Returns Omega = max over plans of psi, for the weights of `dilated_weights`, ``[num_infosets]`` float64."""
    # psi is convex and so largest at a pure strategy, where it is sum over I of x[parent(I)] weights[I] log n_I.
    return vertex_maximum(tree, player, weights * np.log(tree.arrays.infosets["num_actions"]), 0.0)


def strong_convexity(tree: GameTree, player: int, weights: np.ndarray) -> float:
    """Returns a modulus of psi in the 1-norm: min over I of (weights[I] / weights of "least"[I]) / M_Q."""
    first, last = infosets_of(tree, player)
    if first == last:
        return math.inf  # one plan only
    least = dilated_weights(tree, "least")[first:last]
    return float((weights[first:last] / least).min()) / plan_norm(tree, player)


def outcome_delta(tree: GameTree, player: int, epsilon: float, sampling: np.ndarray | None = None) -> float:
    """Returns delta_i (Lanctot et al. 2009, Theorem 5; Gibson et al. 2012, Theorem 6) of outcome sampling.

        delta_i = min over leaves z of the product of epsilon e(I, a) over the player's actions (I, a) above z

    `sampling` is the exploration strategy e, ``[num_slots]``; None: uniform. Ones give delta_i of estimators that visit
    each action with a probability of at least epsilon.
    """
    first, last = infosets_of(tree, player)
    infosets = tree.arrays.infosets
    if sampling is None:
        sampling = np.repeat(1.0 / infosets["num_actions"], infosets["num_actions"])
    steps = -np.log(epsilon * np.asarray(sampling, np.float64))
    depth = np.zeros(tree.num_slots + tree.num_players)
    for infoset in range(first, last):
        slots = tree.slots(infoset)
        depth[slots] = depth[infosets["parent_slot"][infoset]] + steps[slots]
    own = depth[tree.arrays.slot_range[player] : tree.arrays.slot_range[player + 1]]
    return math.exp(-own.max(initial=0.0))


def vertex_maximum(
    tree: GameTree, player: int, infoset_gain: ArrayLike, sequence_gain: ArrayLike, count: bool = False
) -> float:
    """Returns the largest sum over I of x[parent(I)] infoset_gain[I] + sum over s of x[s] sequence_gain[s].

    Gains have an entry per infoset, and per slot and empty sequence, or are one number. With `count`, returns the
    logarithm of the sum of exponentials over all vertices x instead.
    """
    first, last = infosets_of(tree, player)
    worth = np.full(tree.num_slots + tree.num_players, sequence_gain, np.float64)
    _add_best(tree.arrays.infosets, first, last, np.full(tree.num_infosets, infoset_gain, np.float64), worth, count)
    return float(worth[tree.num_slots + player])


def infosets_of(tree: GameTree, player: int) -> tuple[int, int]:
    """Returns the range of a player's infosets. GameError if the game has imperfect recall."""
    tree.require_perfect_recall("a regret bound")
    require_player(tree.game, player)
    first, last = tree.arrays.infoset_range[player : player + 2].tolist()
    return first, last


def num_children(tree: GameTree) -> np.ndarray:
    """Returns the number of infosets right below each sequence, ``[num_slots + num_players]``."""
    return np.bincount(tree.arrays.infosets["parent_slot"], minlength=tree.num_slots + tree.num_players)


@kernel
def _add_best(infosets, first, last, infoset_gain, worth, count):
    """Adds the best continuation, or the log-sum-exp of all, to each sequence's worth, which is modified in place."""
    for infoset in range(last - 1, first - 1, -1):
        begin = infosets[infoset]["first_slot"]
        end = begin + infosets[infoset]["num_actions"]
        best, total = worth[begin], 0.0
        for slot in range(begin + 1, end):
            best = max(best, worth[slot])
        if count:
            for slot in range(begin, end):
                total += math.exp(worth[slot] - best)
            best += math.log(total)
        worth[infosets[infoset]["parent_slot"]] += infoset_gain[infoset] + best


@kernel
def add_gradient(tree, reach, gradient, player, weight, sums):
    """Adds weight times a player's exact gradient to `sums`, overwrites `gradient`, and returns the expected payoff."""
    exact_gradient(tree, reach, gradient, player)
    empty = tree.slot_range[-1] + player
    sums[empty] += weight * gradient[empty]
    value = gradient[empty]
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        sums[slot] += weight * gradient[slot]
        value += gradient[slot] * reach[slot]
    return value
