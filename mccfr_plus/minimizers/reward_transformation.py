"""Regret matching+ on a regularized game whose solutions approach an equilibrium: the last strategy converges.

With x the player's plan, played with at least gamma at every action, and y the reference plan,

    v(I, a) = g(I, a) - mu (x(I, a) - y(I, a)) + the values of the infosets behind (I, a),
    theta = [theta + v - <v, s>]+,   s proportional to theta,   the next strategy is (1 - gamma n) s + gamma,

n being the number of actions. After every `period` iterations y becomes the plan of the current strategy, and gamma is
halved; theta stays. y begins with the uniform strategy.

Reference: Meng, Yang, Zhang, Ge, Yang, Ding, Li, An, Gao 2025, "Efficient last-iterate convergence in solving
extensive-form games", equations 2 and 3, algorithm 1, and appendix H for the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.scratch import at
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.infoset import REGRET, expected_value

# Rows of the tables beside REGRET, which is theta.
REFERENCE = 1  # y
PLAYED = 2  # the strategy

# Entries of the parameters.
MU, GAMMA, PERIOD, GAMMA_NOW = range(4)


@inline_kernel
def reward_transformation(values, strategy, tables, first, last, iteration, parameters):
    """RTCFR+ at one infoset. See `Minimizer`."""
    before = 0.0
    for slot in range(first, last):
        before += tables[REGRET, at(slot)]
    count = last - first
    scale, share = (1.0 / before, 0.0) if before > 0.0 else (0.0, 1.0 / count)
    own = 0.0
    for slot in range(first, last):
        own += (tables[REGRET, at(slot)] * scale + share) * values[at(slot)]
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        regret = max(tables[REGRET, at(slot)] + values[at(slot)] - own, 0.0)
        tables[REGRET, at(slot)] = regret
        total += regret
    least = min(parameters[GAMMA_NOW], 1.0 / count)
    rest = 1.0 - least * count
    scale, share = (rest / total, least) if total > 0.0 else (0.0, 1.0 / count)
    for slot in range(first, last):
        strategy[at(slot)] = tables[REGRET, at(slot)] * scale + share
        tables[PLAYED, at(slot)] = strategy[at(slot)]
    return value


@kernel
def prepare_reward_transformation(tree, tables, scratch, player, iteration, parameters):
    """Takes mu (x - y) from the gradient; y becomes x where a period begins. Modified in place."""
    num_slots, begin, reach = tree.slot_range[-1], tree.infoset_range[player], scratch.reach
    period = np.int64(parameters[PERIOD])
    begins, mu = (iteration - 1) % period == 0, parameters[MU]
    parameters[GAMMA_NOW] = parameters[GAMMA] * 0.5 ** ((iteration - 1) // period)
    for position in range(begin, begin + scratch.num_touched[player]):
        infoset = scratch.touched[at(position)]
        first, count, parent = infoset["first_slot"], infoset["num_actions"], infoset["parent_slot"]
        above = reach[at(parent)] if parent < num_slots else 1.0
        for slot in range(first, first + count):
            if iteration == 1:
                tables[PLAYED, at(slot)] = 1.0 / count
            own = above * tables[PLAYED, at(slot)]
            reach[at(slot)] = own
            if begins:
                tables[REFERENCE, at(slot)] = own
            scratch.gradient[at(slot)] -= mu * (own - tables[REFERENCE, at(slot)])


@dataclass(frozen=True)
class RewardTransformation(Minimizer):
    """Regret matching+ with reward transformation, the rule of RTCFR+ (Meng et al. 2025, algorithm 1).

    Solves games in which a player pays for its distance to a reference plan, which follows the solutions. The last
    strategy converges, and there is no average by default. Needs exact gradients: estimator ``full``.

    Args:
        mu: Weight of the distance, in payoffs, at least 0. The paper finds 1e-4 to 0.1 best, depending on the game.
        period: Iterations after which the reference moves, at least 1.
        gamma: Least probability of an action in the first period, in 0 .. 1; halved with each.

    Examples:
        >>> import mccfr_plus
        >>> minimizer = mccfr_plus.RewardTransformation(mu=0.1, period=10)
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", minimizer)
        >>> solver.run(1000).exploitability() < 1e-3
        True
    """

    mu: float = 1e-3
    period: int = 100
    gamma: float = 1e-10
    short_name: ClassVar[str] = "rtcfr+"
    num_tables: ClassVar[int] = 3
    references: ClassVar[tuple[str, ...]] = ("meng2025efficient",)
    needs_full_gradients: ClassVar[bool] = True
    needs_perfect_recall: ClassVar[bool] = True
    default_average: ClassVar[str] = "last"
    kernel: ClassVar[Any] = staticmethod(reward_transformation)
    prepare: ClassVar[Any] = staticmethod(prepare_reward_transformation)

    def __post_init__(self) -> None:
        for name, value, most in (("mu", self.mu, 1e9), ("gamma", self.gamma, 1.0)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
                raise ConfigError(f"{name}={value!r}: must be a number from 0 to {most:g}.")
        if isinstance(self.period, bool) or not isinstance(self.period, int) or self.period < 1:
            raise ConfigError(f"period={self.period!r}: must be a whole number of iterations, at least 1.")

    def parameters(self) -> np.ndarray:
        return np.array([self.mu, self.gamma, float(self.period), 0.0])
