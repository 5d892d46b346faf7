"""Optimistic mirror descent with steps that adapt, on a regularized game, at every infoset: the rule of Reg-CFR.

With g the counterfactual values, n the number of actions, u the strategy that was played, m the reference, P the
projection on the distributions of at least gamma / n per action, and eta_t the step of iteration t,

    v = <g, u> - tau |u|^2 / 2,     eta_t = 1 / sqrt(kappa + sum of |g_s - g_{s-1}|^2 over 2 <= s <= t),
    m = P(c m + (1 - c) / n + eta_t (g - tau m)),     c = eta_t / eta_{t-1},
    u = P(m + eta_t (g - tau m)),

v being the value for the parent. tau is halved after every `period` iterations. Constants that are added to all
actions do not change P, so that the table holds m - 1 / n and the uniform strategy falls out.

Reference: Liu, Ozdaglar, Yu, Zhang 2023, "The power of regularization in solving extensive-form games"; the constants
are those of LiteEFG 1.0, the authors' package, with its Euclidean regularizer. Its players update at the same time.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.base import LARGEST, check_number, check_whole
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import unlikely
from mccfr_plus.kernels.scratch import at
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.smooth import raise_threshold

# Rows of the tables.
OFFSET = 0  # m - 1 / n
LAST = 1  # the values of the last iteration
SLOWNESS = 2  # 1 / eta_t less the first one; used at first slots only

# Entries of the parameters.
TAU, GAMMA, ROOT, PERIOD, TAU_NOW = range(5)  # ROOT: of kappa


@inline_kernel
def project(values, first, last, best, mass):
    """Makes values x the projection P(x) - gamma / n, with mass = 1 - gamma. `best` is the largest of them.

    Less the largest, so that sums are exact however large they are, what values sum to `mass` without when they are cut
    at 0 afterwards is the largest of (their sum - mass) / k over the k largest values, for any k.
    """
    if last - first == 3:
        one, other, third = values[at(first)] - best, values[at(first + 1)] - best, values[at(first + 2)] - best
        middle = max(min(one, other), min(max(one, other), third))
        threshold = max(max((one + other + third - mass) * (1.0 / 3.0), 0.5 * (middle - mass)), -mass)
    else:
        kept, above = 0.0, 0.0
        for slot in range(first, last):
            value = values[at(slot)] - best
            kept += 1.0 if value > -mass else 0.0
            above += value if value > -mass else 0.0
            values[at(slot)] = value
        threshold, best = raise_threshold(values, first, last, (above - mass) / max(kept, 1.0), kept, mass), 0.0
    for slot in range(first, last):
        values[at(slot)] = max(values[at(slot)] - best - threshold, 0.0)


@inline_kernel
def step(tables, first, squares, iteration, parameters):
    """Returns eta_t, and c - eta_t tau, for the squared change of the values."""
    before = parameters[ROOT] + tables[SLOWNESS, at(first)]
    now = before if unlikely(iteration == 1) else math.sqrt(before * before + squares)
    tables[SLOWNESS, at(first)] = now - parameters[ROOT]
    eta = 1.0 / now
    return eta, eta * (before - parameters[TAU_NOW])


@inline_kernel
def update(values, strategy, tables, first, last, iteration, parameters):
    """Updates the infoset and returns its value: what `regularized` does for any number of actions."""
    tau, mass, share = parameters[TAU_NOW], 1.0 - parameters[GAMMA], 1.0 / (last - first)
    value, squares = 0.0, 0.0
    for slot in range(first, last):
        value += strategy[at(slot)] * (values[at(slot)] - 0.5 * tau * strategy[at(slot)])
        miss = values[at(slot)] - tables[LAST, at(slot)]
        squares += miss * miss
        tables[LAST, at(slot)] = values[at(slot)]
    eta, of_reference = step(tables, first, squares, iteration, parameters)
    best = -math.inf
    for slot in range(first, last):
        values[at(slot)] = of_reference * tables[OFFSET, at(slot)] + eta * values[at(slot)]
        best = max(best, values[at(slot)])
    project(values, first, last, best, mass)
    of_reference, best = 1.0 - eta * tau, -math.inf  # now m is the new one
    for slot in range(first, last):
        offset = values[at(slot)] - share * mass
        tables[OFFSET, at(slot)] = offset
        values[at(slot)] = of_reference * offset + eta * tables[LAST, at(slot)]
        best = max(best, values[at(slot)])
    project(values, first, last, best, mass)
    for slot in range(first, last):
        strategy[at(slot)] = values[at(slot)] + (share - share * mass)
    return value


@inline_kernel
def update_two(values, strategy, tables, first, second, iteration, parameters):
    """The same for two actions: the offsets of one are minus those of the other, and P is a clamp."""
    tau, bound = parameters[TAU_NOW], 0.5 - 0.5 * parameters[GAMMA]
    one, other, here, there = values[at(first)], values[at(second)], strategy[at(first)], strategy[at(second)]
    miss, another = one - tables[LAST, at(first)], other - tables[LAST, at(second)]
    tables[LAST, at(first)], tables[LAST, at(second)] = one, other
    eta, of_reference = step(tables, first, miss * miss + another * another, iteration, parameters)
    push = 0.5 * eta * (one - other)
    offset = of_reference * tables[OFFSET, at(first)] + push
    offset = min(max(offset, -bound), bound)
    tables[OFFSET, at(first)], tables[OFFSET, at(second)] = offset, -offset
    offset = min(max((1.0 - eta * tau) * offset + push, -bound), bound)
    strategy[at(first)], strategy[at(second)] = 0.5 + offset, 0.5 - offset
    return here * (one - 0.5 * tau * here) + there * (other - 0.5 * tau * there)


@inline_kernel
def regularized(values, strategy, tables, first, last, iteration, parameters):
    """Reg-CFR at one infoset. See `Minimizer`."""
    if last - first == 2:
        return update_two(values, strategy, tables, first, first + 1, iteration, parameters)
    if last - first == 3:  # with a constant there are no loops
        return update(values, strategy, tables, first, first + 3, iteration, parameters)
    return update(values, strategy, tables, first, last, iteration, parameters)


@kernel
def prepare_regularized(tree, strategy, tables, scratch, player, iteration, parameters):
    """Finds tau, and takes it from the values where there is one action. Modified in place."""
    tau = parameters[TAU] * 0.5 ** ((iteration - 1) // np.int64(parameters[PERIOD]))
    parameters[TAU_NOW] = tau
    begin = tree.infoset_range[player]
    for position in range(begin, begin + scratch.num_touched[player]):
        infoset = scratch.touched[at(position)]
        if infoset["num_actions"] == 1:
            scratch.gradient[at(infoset["first_slot"])] -= 0.5 * tau


@dataclass(frozen=True)
class RegularizedMirrorDescent(Minimizer):
    """Mirror descent on a regularized game at every information set, the rule of Reg-CFR (Liu et al. 2023).

    A strategy x costs tau |x|^2 / 2 wherever the player comes. Predictions are the last values, and steps adapt to how
    much they change. There is no average by default. Needs exact gradients: estimator ``full``.

    Args:
        tau: Weight of the regularizer in the first period, in payoffs, from 0 to the root of kappa.
        gamma: Least probability of an action times the number of actions, in 0 .. 1. The last strategy approaches an
            equilibrium of the game in which all players play so.
        kappa: 1 / step^2 at first, in payoff^2, above 0.
        period: Iterations after which tau is halved, at least 1.

    Examples:
        >>> import mccfr_plus
        >>> minimizer = mccfr_plus.RegularizedMirrorDescent(gamma=0.0)
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", minimizer)
        >>> solver.run(1000).exploitability() < 0.01
        True
    """

    tau: float = 1e-3
    gamma: float = 1e-3
    kappa: float = 1.0
    period: int = 100_000
    short_name: ClassVar[str] = "reg_cfr"
    num_tables: ClassVar[int] = 3
    references: ClassVar[tuple[str, ...]] = ("liu2023power",)
    needs_full_gradients: ClassVar[bool] = True
    needs_perfect_recall: ClassVar[bool] = True
    default_average: ClassVar[str] = "last"
    kernel: ClassVar[Any] = staticmethod(regularized)
    prepare: ClassVar[Any] = staticmethod(prepare_regularized)

    def __post_init__(self) -> None:
        check_number("kappa", self.kappa, 0, LARGEST, "must be a finite number above 0; 1 / step^2 at first")
        check_number("gamma", self.gamma, 0, 1.0, "must be a number from 0 to 1", inclusive=True)
        most = math.sqrt(self.kappa)
        check_number(
            "tau", self.tau, 0, most, f"must be a number from 0 to {most:g}, the root of kappa", inclusive=True
        )
        check_whole("period", self.period)

    def parameters(self) -> np.ndarray:
        return np.array([self.tau, self.gamma, math.sqrt(self.kappa), float(self.period), 0.0])
