"""How rarely outcome sampling can look at a leaf, and how much its estimates can be off because of that."""

from __future__ import annotations

import math

import numpy as np

from mccfr_plus.bounds.treeplex import check_player, infosets_of
from mccfr_plus.errors import ConfigError
from mccfr_plus.tree.game_tree import GameTree


def outcome_delta(tree: GameTree, player: int, epsilon: float, sampling: np.ndarray | None = None) -> float:
    """Returns delta_i, the smallest probability with which outcome sampling takes a player's actions to some leaf.

        delta_i = min over leaves z of the product of epsilon e(I, a) over the player's actions (I, a) on the way to z

    with the exploration strategy e, by default 1 / n_I. It is approached by strategies that give the actions on the way
    probability 0. Every sequence goes on to some leaf, and the product only falls on the way, so that the minimum over
    sequences is the one over leaves.

    Args:
        tree: The game.
        player: Whose.
        epsilon: Share of exploration, in (0, 1].
        sampling: ``[num_slots]`` float64, e; None: uniform. With ones, it is delta_i of schemes that visit each action
            with a probability of at least epsilon.

    Raises:
        ConfigError: If the player or epsilon is out of range.
        GameError: If a player forgets.

    Reference: Lanctot et al. 2009, Theorem 5; Gibson et al. 2012, Theorem 6.
    """
    if not 0 < epsilon <= 1:
        raise ConfigError(f"epsilon={epsilon!r}: must be above 0 and at most 1.")
    first, last = infosets_of(tree, player)
    # x[parent(I)] of a pure strategy is 1 along *all* infosets that may follow, but only one of them does follow: the
    # deepest chain, not the sum, so that this is no linear function of plans.
    if sampling is None:
        infosets = tree.arrays.infosets
        sampling = np.repeat(1.0 / infosets["num_actions"], infosets["num_actions"])
    steps = -np.log(epsilon * np.asarray(sampling, np.float64))
    depth = np.zeros(tree.num_slots + tree.num_players)
    for infoset in range(first, last):
        slots = tree.slots(infoset)
        depth[slots] = depth[tree.arrays.infosets["parent_slot"][infoset]] + steps[slots]
    own = depth[tree.arrays.slot_range[player] : tree.arrays.slot_range[player + 1]]
    return math.exp(-own.max(initial=0.0))


def largest_payoff(tree: GameTree, player: int) -> float:
    """Returns the largest absolute payoff of a player."""
    return float(np.abs(tree.arrays.payoffs[:, check_player(tree, player)]).max(initial=0.0))


def balanced_deviation(tree: GameTree, player: int) -> float:
    """Returns the bound u * (|Sigma_i| - 1) on an outcome-sampled estimate when exploration is balanced.

    |Sigma_i| is the number of the player's sequences, the empty one included. With the balanced strategy, which plays
    each action in proportion to the number of sequences that begin with it, every sequence has probability at least
    1 / (|Sigma_i| - 1), as the infosets below an action have fewer sequences than it has. u is the player's largest
    absolute payoff; the paper has the range of payoffs instead, which is right if it includes 0.

    Reference: Farina, Kroer, Sandholm 2020 (balanced strategy).
    """
    infosets_of(tree, player)
    return largest_payoff(tree, player) * float(np.diff(tree.arrays.slot_range)[player])
