"""Optimistic mirror descent with steps that adapt, on a regularized game, at every infoset: the rule of Reg-CFR.

docs/background/minimizers.md has the formulas, with the strategy u, its reference m, and n actions. The value for the
parent is <v, u> - tau |u|^2 / 2. Constants that are added to all actions do not change a projection, so that the table
holds m - 1 / n and the uniform strategy falls out.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.parameters import LARGEST, check_number, check_whole
from mccfr_plus.trees.needs import EXACT_GRADIENTS, PERFECT_RECALL
from mccfr_plus.trees.scratch import at

# Rows of the tables.
OFFSET = 0  # m - 1 / n; but at the last slot, where it follows from the others, 1 / eta_t less the first one: slowness
LAST = 1  # the values of the last iteration

# Entries of the parameters.
TAU, GAMMA, ROOT, PERIOD, TAU_NOW = range(5)  # ROOT: of kappa


@inline_kernel
def threshold_of(values, first, last, mass):
    """Returns the number such that values less it, cut at 0, sum to `mass`.

    Relative to the largest value, so that sums are exact, it is the largest of (their sum - mass) / k over the k
    largest values, for any k. They are found one after the other.
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
    """Updates an infoset and returns its value. See `Minimizer`, and the formulas of this module."""
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
    """Mirror descent on a regularized game at every information set, the rule of Reg-CFR (Liu et al. 2023).

    A strategy x costs tau |x|^2 / 2 wherever the player comes. Predictions are the last values, and steps adapt to how
    much they change. No average is formed by default. Needs exact gradients: estimator ``full``.

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
    default_average: ClassVar[str] = "last"
    needs: ClassVar[frozenset[str]] = frozenset({EXACT_GRADIENTS, PERFECT_RECALL})
    kernel: ClassVar[Any] = staticmethod(update_regularized)
    prepare: ClassVar[Any] = staticmethod(prepare_regularized)

    def __post_init__(self) -> None:
        check_number("kappa", self.kappa, 0, LARGEST, "must be a finite number above 0; 1 / step^2 at first")
        check_number("gamma", self.gamma, 0, 1.0, "must be a number from 0 to 1", inclusive=True)
        most = math.sqrt(self.kappa)
        allowed = f"must be a number from 0 to {most:g}, the root of kappa"
        check_number("tau", self.tau, 0, most, allowed, inclusive=True)
        check_whole("period", self.period)

    def parameters(self) -> np.ndarray:
        return np.array([self.tau, self.gamma, math.sqrt(self.kappa), float(self.period), 0.0])

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        raise ConfigError(f"{self.short_name} keeps no regrets: use rm, dcfr, prm or hedge.")
