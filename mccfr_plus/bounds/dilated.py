"""Regret bounds of FTRL and online mirror descent with a dilated entropy.

With step size eta, regularizer psi >= 0 that is 0 at the start, Omega = max psi and modulus mu of psi in the 1-norm:

    R^T <= Omega / eta + eta / (2 mu) * sum over t of ||g_t - m_t||_inf^2

where m_t is the prediction of g_t, 0 without one; docs/background/bounds.md has the derivation.

References: Rakhlin, Sridharan 2013, "Online learning with predictable sequences"; Syrgkanis et al. 2015, "Fast
convergence of regularized learning in games"; `mccfr_plus.minimizers.exponential_weights` for psi and mu.
"""

import numpy as np

from mccfr_plus.bounds.treeplex import infosets_of, log_actions, plan_norm, vertex_maximum
from mccfr_plus.minimizers.exponential_weights import dilated_weights
from mccfr_plus.trees.game_tree import GameTree


def dilated_diameter(tree: GameTree, player: int, weights: np.ndarray) -> float:
    """Returns Omega = max over plans of psi, for the weights of `dilated_weights`, ``[num_infosets]`` float64."""
    # psi is convex and so largest at a pure strategy, where it is sum over I of x[parent(I)] weights[I] log n_I.
    return vertex_maximum(tree, player, weights * log_actions(tree), 0.0)


def strong_convexity(tree: GameTree, player: int, weights: np.ndarray) -> float:
    """Returns a modulus of psi in the 1-norm: min over I of (weights[I] / least[I]) / M_Q, for any positive weights.

    least are the weights of the scheme ``"least"``; `mccfr_plus.minimizers.exponential_weights` derives the bound.
    """
    first, last = infosets_of(tree, player)
    if first == last:
        return float("inf")  # one plan only
    least = dilated_weights(tree, "least")[first:last]
    return float((weights[first:last] / least).min()) / plan_norm(tree, player)


def dilated_bound(
    tree: GameTree,
    player: int,
    iterations: int,
    eta: float,
    weights: np.ndarray,
    gradient_bound: float | None = None,
    *,
    optimistic: bool = False,
) -> float:
    """Returns the bound on the average regret, Omega / (eta T) + eta / (2 mu) * G^2.

    G is `gradient_bound`, or twice that if the last gradient is the prediction of the next (`optimistic`). None: half
    the player's payoff range, which holds for exact gradients and for those of chance, opponent and external sampling:
    a constant added to all payoffs changes a gradient by a vector that is constant on plans.
    """
    largest = float(tree.payoff_range[player]) / 2 if gradient_bound is None else float(gradient_bound)
    if optimistic:
        largest *= 2
    deviation = eta * largest**2 / (2 * strong_convexity(tree, player, weights))
    return dilated_diameter(tree, player, weights) / (eta * iterations) + deviation
