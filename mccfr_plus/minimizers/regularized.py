"""Regularized games, whose last strategies converge: the rules of Reg-CFR and RTCFR+."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import unlikely
from mccfr_plus.minimizers.minimizer import REGRET, Minimizer
from mccfr_plus.parameters import number, whole
from mccfr_plus.trees.expansion import NUM_SLOTS
from mccfr_plus.trees.needs import EXACT_GRADIENTS, PERFECT_RECALL
from mccfr_plus.trees.scratch import at

# Rows of the tables of `update_regularized`.
OFFSET = 0  # m - 1 / n; but at the last slot, where it follows from the others, 1 / eta_t less the first one: slowness
LAST = 1  # the values of the last iteration

# Entries of its parameters.
TAU, GAMMA, ROOT, PERIOD, TAU_NOW = range(5)  # ROOT: of kappa


@inline_kernel
def threshold_of(values, first, last, mass):
    """Returns the number such that values less it, cut at 0, sum to `mass`.

    Relative to the largest value, so that sums are exact, it is the largest of (sum of the k largest - mass) / k.
    """
    best = first
    for slot in range(first + 1, last):
        if values[at(slot)] > values[at(best)]:
            best = slot
    total, threshold, before = -mass, -mass, best
    for count in range(2, last - first + 1):
        following = -1
        for slot in range(first, last):
            value, limit = values[at(slot)], values[at(before)]
            is_left = value < limit or (value == limit and slot > before)
            if is_left and (following < 0 or value > values[at(following)]):
                following = slot
        total += values[at(following)] - values[at(best)]
        threshold = max(threshold, total * (1.0 / count))
        before = following
    return values[at(best)] + threshold


@inline_kernel
def update_regularized(values, strategy, tables, first, last, iteration, parameters):
    """Updates an infoset. See `Minimizer`, and docs/background/minimizers.md for the formulas.

    With the strategy u, its reference m, and n actions, the value for the parent is <v, u> - tau |u|^2 / 2. The table
    holds m - 1 / n, as constants do not change a projection.
    """
    root, tau, mass = parameters[ROOT], parameters[TAU_NOW], 1.0 - parameters[GAMMA]
    count, half, value, squares, rest = last - first, 0.5 * tau, 0.0, 0.0, 0.0
    share = mass / count
    for slot in range(first, last):
        value += strategy[at(slot)] * (values[at(slot)] - half * strategy[at(slot)])
        miss = values[at(slot)] - tables[LAST, at(slot)]
        tables[LAST, at(slot)] = values[at(slot)]
        squares += miss * miss
    before = root + tables[OFFSET, at(last - 1)]
    now = math.sqrt(before * before + (squares if iteration > 1 else 0.0))
    eta = 1.0 / now
    keep = eta * (before - tau)
    for slot in range(first, last - 1):
        rest -= tables[OFFSET, at(slot)]
        values[at(slot)] = keep * tables[OFFSET, at(slot)] + eta * values[at(slot)]
    values[at(last - 1)] = keep * rest + eta * values[at(last - 1)]
    threshold = threshold_of(values, first, last, mass)
    keep = 1.0 - eta * tau  # now m is the new one
    for slot in range(first, last):
        offset = max(values[at(slot)] - threshold, 0.0) - share
        tables[OFFSET, at(slot)] = offset
        values[at(slot)] = keep * offset + eta * tables[LAST, at(slot)]
    tables[OFFSET, at(last - 1)] = now - root
    threshold = threshold_of(values, first, last, mass)
    for slot in range(first, last):
        strategy[at(slot)] = max(values[at(slot)] - threshold, 0.0) + parameters[GAMMA] / count
    return value


@kernel
def prepare_regularized(tree, strategy, tables, scratch, player, iteration, parameters):
    """Computes tau, and subtracts its cost at infosets with one action. Modified in place."""
    tau = parameters[TAU] * 0.5 ** ((iteration - 1) // np.int64(parameters[PERIOD]))
    parameters[TAU_NOW] = tau
    begin = tree.infoset_range[player]
    for position in range(begin, begin + scratch.num_touched[player]):
        infoset = scratch.touched[at(position)]
        if infoset["num_actions"] == 1:
            scratch.gradient[at(infoset["first_slot"])] -= 0.5 * tau


@dataclass(frozen=True)
class RegularizedMirrorDescent(Minimizer):
    """Mirror descent at every information set of a regularized game, the rule of Reg-CFR (Liu et al. 2023).

    A strategy x costs tau |x|^2 / 2 at every information set, hence tau / 2 if there is only one action. The most
    recent values serve as predictions, and step sizes adapt to changes in the values. By default, no average is formed.
    The gradients must be exact, so the estimator must be ``full``.

    Args:
        tau: Weight of the regularizer in the first period, in units of payoff, from 0 to the square root of kappa.
        gamma: Number of actions times the minimum probability of an action, from 0 to 1. The last strategy approaches
            an equilibrium of the game in which this minimum applies to all players.
        kappa: 1 / (initial step size)^2, in units of payoff^2, above 0.
        period: Number of iterations after which tau is halved, at least 1.

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.RegularizedMirrorDescent(gamma=0.0))
        >>> solver.run(1000).exploitability() < 0.01
        True
    """

    tau: float = number(1e-3, least=0)
    gamma: float = number(1e-3, least=0, most=1)
    kappa: float = number(1.0, above=0)
    period: int = whole(100_000)
    short_name: ClassVar[str] = "reg_cfr"
    num_tables: ClassVar[int] = 2
    references: ClassVar[tuple[str, ...]] = ("liu2023power",)
    default_average: ClassVar[str] = "last"
    needs: ClassVar[frozenset[str]] = frozenset({EXACT_GRADIENTS, PERFECT_RECALL})
    kernel: ClassVar[Any] = staticmethod(update_regularized)
    prepare: ClassVar[Any] = staticmethod(prepare_regularized)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau > math.sqrt(self.kappa):
            raise ConfigError(f"tau={self.tau!r}: must be at most {math.sqrt(self.kappa):g}, the square root of kappa.")

    def parameters(self) -> np.ndarray:
        return np.array([self.tau, self.gamma, math.sqrt(self.kappa), float(self.period), 0.0])

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        raise ConfigError(f"{self.short_name} keeps no regrets: use rm, dcfr, prm or hedge.")


# Rows of the tables of `reward_transformation` beside REGRET, which is theta.
REFERENCE = 1  # y
SCALE = 2  # 1 / sum of theta, or 0; used at first slots only

# Entries of its parameters.
MU, LEAST, LENGTH, LEAST_NOW, LEAST_BEFORE = range(5)  # LEAST: gamma; LENGTH: of a period


@inline_kernel
def least_probability(gamma, count):
    return 1.0 / count if unlikely(gamma * count > 1.0) else gamma


@inline_kernel
def reward_transformation(values, strategy, tables, first, last, iteration, parameters):
    """RTCFR+ at one infoset. See `Minimizer` and `RewardTransformation`."""
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
    before = least_probability(parameters[LEAST_BEFORE], count)
    least = least_probability(parameters[LEAST_NOW], count)
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
    num_slots, period = tree.slot_range[-1], np.int64(parameters[LENGTH])
    parameters[LEAST_BEFORE] = parameters[LEAST] * 0.5 ** ((iteration - 2) // period)
    parameters[LEAST_NOW] = parameters[LEAST] * 0.5 ** ((iteration - 1) // period)
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

    A player pays for the distance of its plan from a reference plan y, which is moved periodically to the solution
    found so far. For the player's plan x and n actions (equations 2 and 3; initial values as in appendix H),

        v(I, a) = g(I, a) - mu (x(I, a) - y(I, a)) + the values of the infosets behind (I, a),
        theta = [theta + v - <v, s>]+,   s proportional to theta,   the next strategy is (1 - gamma n) s + gamma.

    The plan y starts as the plan of the uniform strategy. After every `period` iterations, it becomes the plan of the
    current strategy, and gamma is halved; theta is kept. By default, no average is formed. The gradients must be exact,
    so the estimator must be ``full``.

    Args:
        mu: Weight of the distance, in units of payoff, at least 0. The best values in the paper range from 1e-4 to
            0.1, depending on the game.
        period: Number of iterations after which the reference plan is updated, at least 1.
        gamma: Minimum probability of an action in the first period, from 0 to 1; halved after each period.

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.RewardTransformation(mu=0.1, period=10))
        >>> solver.run(1000).exploitability() < 1e-3
        True
    """

    mu: float = number(1e-3, least=0, most=1e9)
    period: int = whole(100)
    gamma: float = number(1e-10, least=0, most=1)
    short_name: ClassVar[str] = "rtcfr+"
    num_tables: ClassVar[int] = 3
    references: ClassVar[tuple[str, ...]] = ("meng2025efficient",)
    default_average: ClassVar[str] = "last"
    needs: ClassVar[frozenset[str]] = frozenset({EXACT_GRADIENTS, PERFECT_RECALL})
    kernel: ClassVar[Any] = staticmethod(reward_transformation)
    prepare: ClassVar[Any] = staticmethod(prepare_reward_transformation)

    def parameters(self) -> np.ndarray:
        return np.array([self.mu, self.gamma, float(self.period), 0.0, 0.0])
