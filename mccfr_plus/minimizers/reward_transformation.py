"""Regret matching+ on a regularized game whose solutions approach an equilibrium: the last strategy converges.

With x the player's plan, played with at least gamma at every action, and y the reference plan,

    v(I, a) = g(I, a) - mu (x(I, a) - y(I, a)) + the values of the infosets behind (I, a),
    theta = [theta + v - <v, s>]+,   s proportional to theta,   the next strategy is (1 - gamma n) s + gamma,

n being the number of actions. After every `period` iterations y becomes the plan of the current strategy, and gamma is
halved; theta stays. y begins with the uniform strategy.

Reference: Meng et al. 2025, equations 2 and 3, algorithm 1, and appendix H for the beginning.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import unlikely
from mccfr_plus.minimizers.base import REGRET, Minimizer
from mccfr_plus.parameters import check_number, check_whole
from mccfr_plus.trees.expansion import NUM_SLOTS
from mccfr_plus.trees.needs import EXACT_GRADIENTS, PERFECT_RECALL
from mccfr_plus.trees.scratch import at

# Rows of the tables beside REGRET, which is theta.
REFERENCE = 1  # y
SCALE = 2  # 1 / sum of theta, or 0; used at first slots only

# Entries of the parameters.
MU, GAMMA, PERIOD, GAMMA_NOW, GAMMA_BEFORE = range(5)


@inline_kernel
def least_probability(gamma, count):
    """Returns gamma, or 1 / count if that is smaller."""
    return 1.0 / count if unlikely(gamma * count > 1.0) else gamma


@inline_kernel
def reward_transformation(values, strategy, tables, first, last, iteration, parameters):
    """RTCFR+ at one infoset. See `Minimizer`."""
    count = last - first
    own, plain, total = 0.0, 0.0, 0.0
    for slot in range(first, last):
        own += tables[REGRET, at(slot)] * values[at(slot)]
        plain += values[at(slot)]
    own *= tables[SCALE, at(first)]
    if tables[SCALE, at(first)] == 0.0:
        own = plain / count
    for slot in range(first, last):
        regret = max(tables[REGRET, at(slot)] + values[at(slot)] - own, 0.0)
        tables[REGRET, at(slot)] = regret
        total += regret
    before = least_probability(parameters[GAMMA_BEFORE], count)
    least = least_probability(parameters[GAMMA_NOW], count)
    rest = 1.0 - least * count
    scale = 0.0
    if total > 0.0:
        scale = 1.0 / total
    else:
        least = 1.0 / count
    tables[SCALE, at(first)] = scale
    scale *= rest
    for slot in range(first, last):
        strategy[at(slot)] = tables[REGRET, at(slot)] * scale + least
    return own * (1.0 - before * count) + plain * before


@kernel
def prepare_reward_transformation(tree, strategy, tables, scratch, player, iteration, parameters):
    """Takes mu (x - y) from the gradient; y becomes x where a period begins. Modified in place."""
    begin, gradient, reach, mu = tree.infoset_range[player], scratch.gradient, scratch.reach, parameters[MU]
    num_slots, period = tree.slot_range[-1], np.int64(parameters[PERIOD])
    parameters[GAMMA_BEFORE] = parameters[GAMMA] * 0.5 ** ((iteration - 2) // period)
    parameters[GAMMA_NOW] = parameters[GAMMA] * 0.5 ** ((iteration - 1) // period)
    begins, is_known = (iteration - 1) % period == 0, scratch.reach_valid[player] == 1
    if is_known and not begins and tree.expansion[NUM_SLOTS] == 0:  # a player's slots are in a row on stored trees
        for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
            gradient[at(slot)] -= mu * (reach[at(slot)] - tables[REFERENCE, at(slot)])
        return
    for position in range(begin, begin + scratch.num_touched[player]):
        infoset = scratch.touched[at(position)]
        first, parent = infoset["first_slot"], infoset["parent_slot"]
        above = reach[at(parent)] if parent < num_slots else 1.0
        for slot in range(first, first + infoset["num_actions"]):
            if not is_known:
                reach[at(slot)] = above * strategy[at(slot)]
            if begins:
                tables[REFERENCE, at(slot)] = reach[at(slot)]
            gradient[at(slot)] -= mu * (reach[at(slot)] - tables[REFERENCE, at(slot)])


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
    default_average: ClassVar[str] = "last"
    needs: ClassVar[frozenset[str]] = frozenset({EXACT_GRADIENTS, PERFECT_RECALL})
    kernel: ClassVar[Any] = staticmethod(reward_transformation)
    prepare: ClassVar[Any] = staticmethod(prepare_reward_transformation)

    def __post_init__(self) -> None:
        for name, value, most in (("mu", self.mu, 1e9), ("gamma", self.gamma, 1.0)):
            check_number(name, value, 0, most, f"must be a number from 0 to {most:g}", inclusive=True)
        check_whole("period", self.period)

    def parameters(self) -> np.ndarray:
        return np.array([self.mu, self.gamma, float(self.period), 0.0, 0.0])
