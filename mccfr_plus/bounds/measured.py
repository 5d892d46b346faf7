"""Exact regret of a run, also of sampling solvers: for small games, as each iteration takes full traversals."""

import numpy as np

from mccfr_plus.bounds.treeplex import vertex_maximum
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.full import exact_gradient
from mccfr_plus.evaluation.exact import own_reach
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.solver.solver import Solver


def measured_regret(solver: Solver, iterations: int, gamma: float = 0.0) -> np.ndarray:
    """Runs a new solver and returns each player's average regret, ``[num_players]`` float64.

        R_i / W = (max over plans x of <sum of w_t g_t, x> - sum of w_t <g_t, x_t>) / W,   w_t = t^gamma, W = sum of w_t

    g_t is player i's exact gradient against the others' strategies when i's gradient was estimated: with alternating
    updates the players before i have been updated already. x_t is i's strategy.

    Args:
        solver: A solver without iterations, of a game with perfect recall. Modified in place.
        iterations: Number of iterations to run, at least 1.
        gamma: Exponent of the weights, at least 0, usually ``solver.averaging.gamma``.

    Raises:
        ConfigError: If the solver has run already or an argument is out of range.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", "rm", "uniform", alternating=False)
        >>> regrets = mccfr_plus.measured_regret(solver, 100)
        >>> bool(abs(regrets.sum() - solver.nash_conv()) < 1e-12)
        True
    """
    if solver.iterations or iterations < 1 or not gamma >= 0:
        given = f"solver.iterations={solver.iterations}, iterations={iterations!r}, gamma={gamma!r}"
        raise ConfigError(f"{given}: give a new solver, at least one iteration and an exponent of at least 0.")
    tree = solver.tree.require_whole("measuring regrets")
    arrays, num_players, size = tree.arrays_with_leaves, tree.num_players, tree.num_slots + tree.num_players
    sums, earned = np.zeros((num_players, size)), np.zeros(num_players)
    reach, gradient, weights = np.empty(size), np.empty(size + 1), np.arange(1.0, iterations + 1) ** gamma
    before = solver.current_strategy()
    for weight in weights:
        solver.iteration()
        after = solver.current_strategy()
        for player in range(num_players):
            updated = arrays.slot_range[player] if solver.config.alternating else 0
            own_reach(arrays, np.concatenate([after[:updated], before[updated:]]), reach)
            earned[player] += weight * add_gradient(arrays, reach, gradient, player, weight, sums[player])
        before = after
    best = [vertex_maximum(tree, player, 0.0, sums[player]) for player in range(num_players)]
    return (np.array(best) - earned) / weights.sum()


@kernel
def add_gradient(tree, reach, gradient, player, weight, sums):
    """Adds weight times the player's exact gradient to `sums`, and returns the player's expected payoff.

    `reach` is all players' own reach; `gradient` is overwritten.
    """
    exact_gradient(tree, reach, gradient, player)
    empty = tree.slot_range[-1] + player
    sums[empty] += weight * gradient[empty]
    value = gradient[empty]
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        sums[slot] += weight * gradient[slot]
        value += gradient[slot] * reach[slot]
    return value
