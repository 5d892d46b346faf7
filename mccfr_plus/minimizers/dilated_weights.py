"""Weights of the dilated entropy: how much each infoset's negative entropy counts in the regularizer.

    psi(x) = sum over I of weights[I] * x[parent(I)] * (log n_I + sum over a of b(a) log b(a)),
    b(a) = x[I, a] / x[parent(I)],

with x the player's plan over sequences and n_I the number of actions. The second derivative along a direction h within
the plans (sum over a of h[I, a] = h[parent(I)]) is

    sum over I of weights[I] * (sum over a of h[I, a]^2 / x[I, a] - h[parent(I)]^2 / x[parent(I)])
        = sum over slots s = (I, a) of (weights[I] - sum over J right below s of weights[J]) * h[s]^2 / x[s],

so that weights[I] >= 1 + max over a of (sum over J right below (I, a) of weights[J]) make it at least
sum of h[s]^2 / x[s] >= (sum of |h[s]|)^2 / (sum of x[s]), by Cauchy-Schwarz: psi is strongly convex with modulus 1 /
M_Q in the 1-norm, where M_Q is the largest 1-norm of a plan, and with modulus 1 in the 2-norm.

| scheme | weights | modulus, 1-norm |
|---|---|---|
| kroer | 2 alpha_I, without a parent alpha_I, where alpha_I = 1 + max_a sum_J 2 alpha_J | at least 1 / M_Q |
| least | equality above: the smallest weights for which the argument holds | 1 / M_Q |
| constant | 1 everywhere | 1 / (M_Q * largest of the least weights) |

Smaller weights with the same modulus mean a smaller psi and a better regret bound. Derived: the modulus of constant
weights, as weights that are everywhere at least s times the least ones keep s times their modulus (each infoset's
bracket in the first line above is at least 0).

References: Kroer et al. 2020 (the recurrence, with beta_I = 2 alpha_I); Farina, Kroer, Sandholm 2021, "Better
regularization for sequential decision spaces" (weights of the form of ``least``); Hoda et al. 2010 (the construction).
"""

import numpy as np

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.parameters import check_choice
from mccfr_plus.trees.tree import Tree

CONSTANT = "constant"
SCHEMES = ("kroer", "least", CONSTANT)

_KROER_FACTOR = 2.0  # beta / alpha; alpha beta / (beta - alpha) is then 2 alpha as well


def dilated_weights(tree: Tree, scheme: str = "kroer") -> np.ndarray:
    """Returns the weight of every infoset in the dilated entropy, ``[num_infosets]`` float64, of all players.

    Args:
        tree: The game; by rules with all of its infosets.
        scheme: ``"kroer"``, ``"least"`` or ``"constant"``; see the module.

    Raises:
        ConfigError: If there is no such scheme.
        GameError: If the game has imperfect recall: then infosets have no single parent.
    """
    check_choice("weights", scheme, SCHEMES)
    tree.require_perfect_recall("a dilated entropy")
    infosets = tree.found_infosets
    weights = np.ones(tree.num_infosets)
    if scheme == CONSTANT:
        return weights
    factor = _KROER_FACTOR if scheme == "kroer" else 1.0
    _recur(infosets, np.zeros(tree.slot_capacity + tree.num_players), factor, weights)
    weights[infosets["parent_slot"] < tree.slot_capacity] *= factor
    return weights


@kernel
def _recur(infosets, below, factor, alpha):
    """Writes alpha_I = 1 + max over a of (sum over J right below (I, a) of factor * alpha_J) to `alpha`.

    A player's parents come before children. `below`, ``[num_slots + num_players]`` zeros, is modified in place.
    """
    for infoset in range(len(infosets) - 1, -1, -1):
        first = infosets[infoset]["first_slot"]
        largest = 0.0
        for slot in range(first, first + infosets[infoset]["num_actions"]):
            largest = max(largest, below[slot])
        alpha[infoset] = 1.0 + largest
        below[infosets[infoset]["parent_slot"]] += factor * alpha[infoset]
