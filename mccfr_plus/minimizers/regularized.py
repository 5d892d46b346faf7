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

from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.base import LARGEST, check_number, check_whole
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.scratch import LANES, at
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.lanes import VECTOR, list_alike, threshold_in_lane
from mccfr_plus.minimizers.smooth import raise_threshold

# Rows of the tables.
OFFSET = 0  # m - 1 / n; but at the last slot, where it follows from the others, 1 / eta_t less the first one: slowness
LAST = 1  # the values of the last iteration

# Entries of the parameters.
TAU, GAMMA, ROOT, PERIOD, TAU_NOW = range(5)  # ROOT: of kappa

MOST = 8  # actions of infosets that are updated side by side

# Rows of the lanes; of each of the last four there are MOST.
SLOWNESS, SQUARES, VALUE, SCORE, REFERENCE, SORTED = 0, 1, *range(2, 2 + 4 * MOST, MOST)


@inline_kernel
def regularized_value(values, strategy, tables, first, last, iteration, parameters):
    """Returns the infoset's value; `finish_regularized` does the rest. See `Minimizer`."""
    half, value = 0.5 * parameters[TAU_NOW], 0.0
    for slot in range(first, last):
        value += strategy[at(slot)] * (values[at(slot)] - half * strategy[at(slot)])
    return value


@inline_kernel
def next_step(slowness, squares, root, tau):
    """Returns the next slowness, eta_t, and c - eta_t tau, for the squared change of the values."""
    before = root + slowness
    now = math.sqrt(before * before + squares)
    eta = 1.0 / now
    return now - root, eta, eta * (before - tau)


@inline_kernel
def load_lanes(values, tables, lanes, alike, begin, size, count, iteration):
    """Copies what belongs to a block's infosets to the lanes, and the values to LAST. Modified in place."""
    for lane in range(size):
        first = alike[at(begin + lane)]["first_slot"]
        last, squares, rest = first + count - 1, 0.0, 0.0
        for action in range(count):
            value = values[at(first + action)]
            miss = value - tables[LAST, at(first + action)]
            tables[LAST, at(first + action)] = value
            squares += miss * miss
            lanes[at((VALUE + action) * LANES + lane)] = value
        for action in range(count - 1):
            offset = tables[OFFSET, at(first + action)]
            lanes[at((SCORE + action) * LANES + lane)] = offset
            rest -= offset
        lanes[at((SCORE + count - 1) * LANES + lane)] = rest
        lanes[at(SLOWNESS * LANES + lane)] = tables[OFFSET, at(last)]
        lanes[at(SQUARES * LANES + lane)] = squares if iteration > 1 else 0.0


@inline_kernel
def update_lanes(lanes, size, count, parameters):
    """Updates the lanes: the strategy, less gamma / n, is in the rows of scores then. Modified in place."""
    root, tau, mass = parameters[ROOT], parameters[TAU_NOW], 1.0 - parameters[GAMMA]
    share = mass / count
    for lane in range((size + VECTOR - 1) // VECTOR * VECTOR):
        slowness, eta, keep = next_step(
            lanes[at(SLOWNESS * LANES + lane)], lanes[at(SQUARES * LANES + lane)], root, tau
        )  # fmt: skip
        lanes[at(SLOWNESS * LANES + lane)] = slowness
        for action in range(count):
            place = (SCORE + action) * LANES + lane
            lanes[at(place)] = keep * lanes[at(place)] + eta * lanes[at((VALUE + action) * LANES + lane)]
        threshold = threshold_in_lane(lanes, lane, SCORE, SORTED, count, mass)
        keep = 1.0 - eta * tau  # now m is the new one
        for action in range(count):
            place = (SCORE + action) * LANES + lane
            offset = max(lanes[at(place)] - threshold, 0.0) - share
            lanes[at((REFERENCE + action) * LANES + lane)] = offset
            lanes[at(place)] = keep * offset + eta * lanes[at((VALUE + action) * LANES + lane)]
        threshold = threshold_in_lane(lanes, lane, SCORE, SORTED, count, mass)
        for action in range(count):
            place = (SCORE + action) * LANES + lane
            lanes[at(place)] = max(lanes[at(place)] - threshold, 0.0)


@inline_kernel
def store_lanes(strategy, tables, lanes, alike, begin, size, count, least):
    """Copies the lanes back to the block's infosets. `strategy` and `tables` are modified in place."""
    for lane in range(size):
        first = alike[at(begin + lane)]["first_slot"]
        for action in range(count):
            strategy[at(first + action)] = lanes[at((SCORE + action) * LANES + lane)] + least
        for action in range(count - 1):
            tables[OFFSET, at(first + action)] = lanes[at((REFERENCE + action) * LANES + lane)]
        tables[OFFSET, at(first + count - 1)] = lanes[at(SLOWNESS * LANES + lane)]


@inline_kernel
def update_block(values, strategy, tables, scratch, begin, size, count, iteration, parameters):
    """Updates infosets with as many actions, a constant, side by side. Modified in place."""
    lanes, alike = scratch.lanes, scratch.alike
    load_lanes(values, tables, lanes, alike, begin, size, count, iteration)
    update_lanes(lanes, size, count, parameters)
    store_lanes(strategy, tables, lanes, alike, begin, size, count, parameters[GAMMA] / count)


@inline_kernel
def project(values, first, last, best, mass):
    """Makes values x the projection P(x) - gamma / n, with mass = 1 - gamma. `best` is the largest of them."""
    kept, above = 0.0, 0.0
    for slot in range(first, last):
        value = values[at(slot)] - best  # so that sums are exact however large they are
        kept += 1.0 if value > -mass else 0.0
        above += value if value > -mass else 0.0
        values[at(slot)] = value
    threshold = raise_threshold(values, first, last, (above - mass) / max(kept, 1.0), kept, mass)
    for slot in range(first, last):
        values[at(slot)] = max(values[at(slot)] - threshold, 0.0)


@kernel
def update_alone(values, strategy, tables, first, last, iteration, parameters):
    """Updates an infoset with many actions. Modified in place, as are its values."""
    tau, mass, share = parameters[TAU_NOW], 1.0 - parameters[GAMMA], 1.0 / (last - first)
    slowness, squares, rest = tables[OFFSET, at(last - 1)], 0.0, 0.0
    tables[OFFSET, at(last - 1)] = 0.0
    for slot in range(first, last):
        miss = values[at(slot)] - tables[LAST, at(slot)]
        squares += miss * miss
        tables[LAST, at(slot)] = values[at(slot)]
        rest -= tables[OFFSET, at(slot)]
    tables[OFFSET, at(last - 1)] = rest
    slowness, eta, keep = next_step(slowness, squares if iteration > 1 else 0.0, parameters[ROOT], tau)
    best = -math.inf
    for slot in range(first, last):
        values[at(slot)] = keep * tables[OFFSET, at(slot)] + eta * values[at(slot)]
        best = max(best, values[at(slot)])
    project(values, first, last, best, mass)
    keep, best = 1.0 - eta * tau, -math.inf  # now m is the new one
    for slot in range(first, last):
        offset = values[at(slot)] - share * mass
        tables[OFFSET, at(slot)] = offset
        values[at(slot)] = keep * offset + eta * tables[LAST, at(slot)]
        best = max(best, values[at(slot)])
    project(values, first, last, best, mass)
    tables[OFFSET, at(last - 1)] = slowness
    for slot in range(first, last):
        strategy[at(slot)] = values[at(slot)] + share * parameters[GAMMA]


@kernel
def prepare_regularized(tree, strategy, tables, scratch, player, iteration, parameters):
    """Finds tau, and takes it from the values where there is one action. Modified in place."""
    tau = parameters[TAU] * 0.5 ** ((iteration - 1) // np.int64(parameters[PERIOD]))
    parameters[TAU_NOW] = tau
    list_alike(tree, scratch, player)
    begin = tree.infoset_range[player]
    for position in range(begin, begin + scratch.num_touched[player]):
        infoset = scratch.alike[at(position)]
        if infoset["num_actions"] != 1:
            break
        scratch.gradient[at(infoset["first_slot"])] -= 0.5 * tau


@kernel
def finish_regularized(tree, strategy, tables, scratch, player, iteration, parameters):
    """Updates all infosets of the player, whose values are known now. Modified in place."""
    values, position = scratch.gradient, tree.infoset_range[player]
    end = position + scratch.num_touched[player]
    while position < end:
        infoset = scratch.alike[at(position)]
        count, size = np.int64(infoset["num_actions"]), min(np.int64(infoset["num_alike"]), LANES)
        if count == 2:
            update_block(values, strategy, tables, scratch, position, size, 2, iteration, parameters)
        elif count == 3:
            update_block(values, strategy, tables, scratch, position, size, 3, iteration, parameters)
        elif count == 4:
            update_block(values, strategy, tables, scratch, position, size, 4, iteration, parameters)
        elif count == 5:
            update_block(values, strategy, tables, scratch, position, size, 5, iteration, parameters)
        elif count == 6:
            update_block(values, strategy, tables, scratch, position, size, 6, iteration, parameters)
        elif count == 7:
            update_block(values, strategy, tables, scratch, position, size, 7, iteration, parameters)
        elif count == 8:
            update_block(values, strategy, tables, scratch, position, size, 8, iteration, parameters)
        elif count > MOST:
            for other in range(position, position + size):
                first = np.int64(scratch.alike[at(other)]["first_slot"])
                update_alone(values, strategy, tables, first, first + count, iteration, parameters)
        position += size


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
    num_tables: ClassVar[int] = 2
    references: ClassVar[tuple[str, ...]] = ("liu2023power",)
    needs_full_gradients: ClassVar[bool] = True
    needs_perfect_recall: ClassVar[bool] = True
    default_average: ClassVar[str] = "last"
    kernel: ClassVar[Any] = staticmethod(regularized_value)
    prepare: ClassVar[Any] = staticmethod(prepare_regularized)
    finish: ClassVar[Any] = staticmethod(finish_regularized)

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

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        raise ConfigError(f"{self.short_name} keeps no regrets: use rm, dcfr, prm or hedge.")
