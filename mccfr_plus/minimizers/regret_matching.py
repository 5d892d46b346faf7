"""Regret matching without discounts: one kernel with two switches, and the form whose prediction adapts."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.slots import Constant, bind
from mccfr_plus.minimizers.base import REGRET, Minimizer, expected_value, play_in_proportion
from mccfr_plus.parameters import LARGEST, check_number
from mccfr_plus.trees.needs import REGRETS
from mccfr_plus.trees.scratch import at

CUTS = Constant("CUTS", False, "Whether negative cumulative regrets become 0.")
PREDICTS = Constant("PREDICTS", False, "Whether the last regrets count again, as a prediction of the next ones.")

# Rows of the tables of `asymmetric` beside REGRET.
LAST = 1  # the regrets of the last visit
SUMS = 2  # of |r_t - r_{t-1}|^2 at the first slot, of |R_t - R_{t-1}|^2 at the second


@inline_kernel
def match_regrets(values, strategy, tables, first, last, iteration, parameters):
    """Updates an infoset. See `Minimizer`. With `PREDICTS` the first parameter is the weight of the prediction."""
    value, total = expected_value(values, strategy, first, last), 0.0
    weight = parameters[0] if PREDICTS() else 0.0
    for slot in range(first, last):
        if PREDICTS():
            instant = values[at(slot)] - value
            regret = tables[REGRET, at(slot)] + instant
        else:
            regret = tables[REGRET, at(slot)] + values[at(slot)] - value
        if CUTS():
            regret = max(regret, 0.0)
        tables[REGRET, at(slot)] = regret
        if PREDICTS():
            share = max(regret + weight * instant, 0.0)
        elif CUTS():
            share = regret
        else:
            share = max(regret, 0.0)
        values[at(slot)] = share
        total += share
    play_in_proportion(values, strategy, first, last, total)
    return value


@dataclass(frozen=True)
class RegretMatching(Minimizer):
    """Regret matching (Hart, Mas-Colell 2000), the rule of CFR and of MCCFR.

    With r the regrets of this iteration and R the cumulative ones: R += r, and the next strategy is proportional to
    [R]+, or uniform where no entry is positive.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.RegretMatching())
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "rm"
    references: ClassVar[tuple[str, ...]] = ("hart2000simple",)
    provides: ClassVar[frozenset[str]] = frozenset({REGRETS})
    kernel: ClassVar[Any] = staticmethod(match_regrets)


@dataclass(frozen=True)
class RegretMatchingPlus(Minimizer):
    """Regret matching with regrets cut at 0 (Tammelin et al. 2015), the rule of CFR+.

    With r the regrets of this iteration and R the cumulative ones: R = [R + r]+, and the next strategy is proportional
    to R, or uniform where R is 0.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.RegretMatchingPlus())
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "rm+"
    references: ClassVar[tuple[str, ...]] = ("tammelin2014solving", "tammelin2015solving")
    default_average: ClassVar[str] = "linear"
    kernel: ClassVar[Any] = staticmethod(bind(match_regrets, {CUTS: True, PREDICTS: False}))


@dataclass(frozen=True)
class PredictiveRegretMatching(Minimizer):
    """Predictive regret matching (Farina, Kroer, Sandholm 2021, algorithm 3).

    With r the regrets of this iteration and R the cumulative ones: R += r, and the next strategy is proportional to
    [R + r]+: the last regrets predict the next ones.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.PredictiveRegretMatching())
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "prm"
    references: ClassVar[tuple[str, ...]] = ("farina2021faster",)
    provides: ClassVar[frozenset[str]] = frozenset({REGRETS})
    kernel: ClassVar[Any] = staticmethod(bind(match_regrets, {CUTS: False, PREDICTS: True}))

    def parameters(self) -> np.ndarray:
        return np.ones(1)


@dataclass(frozen=True)
class PredictiveRegretMatchingPlus(Minimizer):
    """Predictive regret matching+ (Farina, Kroer, Sandholm 2021, algorithm 4), the rule of PCFR+.

    With r the regrets of this iteration and R the cumulative ones: R = [R + r]+, and the next strategy is proportional
    to [R + r / (1 + alpha)]+: the last regrets predict the next ones.

    Args:
        alpha: How much less the prediction counts than regrets do, finite and at least 0; 2 in SAPCFR+ (Meng et al.
            2026, equation 4).

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.PredictiveRegretMatchingPlus())
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    alpha: float = 0.0
    short_name: ClassVar[str] = "prm+"
    default_average: ClassVar[str] = "power"
    kernel: ClassVar[Any] = staticmethod(bind(match_regrets, {CUTS: True, PREDICTS: True}))

    def __post_init__(self) -> None:
        allowed = "must be a finite number, at least 0; SAPCFR+ has alpha=2"
        check_number("alpha", self.alpha, 0, LARGEST, allowed, inclusive=True)

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("farina2021faster", *(("meng2026faster",) if self.alpha else ()))

    def parameters(self) -> np.ndarray:
        return np.array([1.0 / (1.0 + self.alpha)])


def simple_asymmetric() -> PredictiveRegretMatchingPlus:
    """Returns the rule of SAPCFR+ (Meng et al. 2026): the prediction counts a third, alpha = 2."""
    return PredictiveRegretMatchingPlus(alpha=2.0)


@inline_kernel
def _asymmetric(values, strategy, tables, first, last, parameters):
    """Does what `asymmetric` does, for any number of actions."""
    value, total, error, change = expected_value(values, strategy, first, last), 0.0, 0.0, 0.0
    for slot in range(first, last):
        instant, before = values[at(slot)] - value, tables[REGRET, at(slot)]
        miss, moved = instant - tables[LAST, at(slot)], max(instant, -before)
        error += miss * miss
        change += moved * moved
        tables[REGRET, at(slot)] = before + moved
        tables[LAST, at(slot)] = instant
    error += tables[SUMS, at(first)]
    change += tables[SUMS, at(first + 1)]
    tables[SUMS, at(first)] = error
    tables[SUMS, at(first + 1)] = change
    # Shares are R + r / (1 + alpha) times (1 + alpha) and this sum: one root and no quotient.
    most = change + min(math.sqrt(error * change), parameters[0] * change)
    for slot in range(first, last):
        share = max(tables[REGRET, at(slot)] * most + tables[LAST, at(slot)] * change, 0.0)
        values[at(slot)] = share
        total += share
    play_in_proportion(values, strategy, first, last, total)
    return value


@inline_kernel
def asymmetric(values, strategy, tables, first, last, iteration, parameters):
    """APCFR+ at one infoset. See `Minimizer`."""
    if last - first == 3:  # a constant unrolls the loops, a tenth of an iteration in Leduc poker
        return _asymmetric(values, strategy, tables, first, first + 3, parameters)
    return _asymmetric(values, strategy, tables, first, last, parameters)


@dataclass(frozen=True)
class AsymmetricPredictive(Minimizer):
    """Asymmetric predictive regret matching+, the rule of APCFR+ (Meng et al. 2026, equations 4 and 10).

    With r the regrets of this iteration and R the cumulative ones: R = [R + r]+, and the next strategy is proportional
    to [R + r / (1 + alpha)]+. alpha grows with how wrong the predictions of this information set have been:

        alpha = min(largest, sqrt(sum of |r_t - r_{t-1}|^2 / sum of |R_t - R_{t-1}|^2)),      r_0 = 0,  R_0 = 0.

    Args:
        largest: The largest alpha, finite and at least 0; 0 is predictive regret matching+.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.AsymmetricPredictive())
        >>> solver.run(100).exploitability() < 0.01
        True
    """

    largest: float = 5.0
    short_name: ClassVar[str] = "apcfr+"
    num_tables: ClassVar[int] = 3
    references: ClassVar[tuple[str, ...]] = ("meng2026faster",)
    default_average: ClassVar[str] = "power"
    kernel: ClassVar[Any] = staticmethod(asymmetric)

    def __post_init__(self) -> None:
        allowed = "must be a finite number, at least 0; the paper uses largest=5"
        check_number("largest", self.largest, 0, LARGEST, allowed, inclusive=True)

    def parameters(self) -> np.ndarray:
        return np.array([float(self.largest)])
