"""Hedge (multiplicative weights) at every infoset, and the step sizes eta / t^decay of exponential weights.

References: Freund, Schapire 1997, figure 2; Brown, Kroer, Sandholm 2017, "Dynamic thresholding and pruning for regret
minimization" (Hedge under CFR); Rakhlin, Sridharan 2013 (optimistic).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.minimizers.base import REGRET, Minimizer, expected_value
from mccfr_plus.parameters import LARGEST, check_number, check_switch
from mccfr_plus.trees.needs import REGRETS
from mccfr_plus.trees.scratch import at

# Entries of the parameters.
ETA, DECAY, OPTIMISTIC, ETA_NOW, KEEP = range(5)  # the last: what earlier gradients are multiplied by

OPTIMISM = ("rakhlin2013online", "syrgkanis2015fast")  # keys of `mccfr_plus.citations`


@kernel
def step_size(parameters, iteration):
    """Returns eta / iteration^decay."""
    return parameters[ETA] * float(iteration) ** -parameters[DECAY]


@inline_kernel
def exponential(x):
    """Returns exp(x), and 0 where it would be denormal or less: that takes several times as long."""
    return math.exp(x) if x > -708.0 else 0.0


class ExponentialWeights(Minimizer):
    """A minimizer with the step size eta / t^decay, which may count the last gradient or regrets twice."""

    eta: float
    optimistic: bool
    decay: float = 0.0

    def __post_init__(self) -> None:
        check_number("eta", self.eta, 0, LARGEST, "the step size must be a finite number above 0")
        allowed = "must be a number from 0 (constant step size) to 1; 0.5 is eta / sqrt(t)"
        check_number("decay", self.decay, 0, 1, allowed, inclusive=True)
        check_switch("optimistic", self.optimistic)

    def parameters(self) -> np.ndarray:
        return np.array([self.eta, self.decay, float(self.optimistic), 0.0, 1.0])


@inline_kernel
def hedge(values, strategy, tables, first, last, iteration, parameters):
    """Hedge at one infoset. See `Minimizer` for the arguments and what is modified in place."""
    eta, twice = parameters[ETA_NOW], parameters[OPTIMISTIC]
    value, best = expected_value(values, strategy, first, last), -math.inf
    for slot in range(first, last):
        instant = values[at(slot)] - value
        tables[REGRET, at(slot)] += instant
        values[at(slot)] = tables[REGRET, at(slot)] + twice * instant
        best = max(best, values[at(slot)])
    if last - first == 2:  # one exponential, without branches
        other = first + 1
        ahead = values[at(first)] - values[at(other)]
        low = exponential(-eta * abs(ahead))
        high = 1.0 / (1.0 + low)
        low *= high
        strategy[at(first)] = high if ahead >= 0.0 else low
        strategy[at(other)] = low if ahead >= 0.0 else high
        return value
    total = 0.0
    for slot in range(first, last):
        values[at(slot)] = exponential(eta * (values[at(slot)] - best))  # minus the best: no overflow
        total += values[at(slot)]
    scale = 1.0 / total
    for slot in range(first, last):
        strategy[at(slot)] = values[at(slot)] * scale
    return value


@inline_kernel
def prepare_hedge(tree, strategy, tables, scratch, player, iteration, parameters):
    """Finds the step size of the strategy that comes out. `parameters` is modified in place."""
    parameters[ETA_NOW] = step_size(parameters, iteration + 1)


@dataclass(frozen=True)
class Hedge(ExponentialWeights):
    """Hedge, or multiplicative weights, on each infoset's counterfactual regrets (Freund, Schapire 1997).

    The strategy is proportional to exp(eta / t^decay R), with the cumulative regrets R. t is the iteration in which the
    information set was last touched.

    Args:
        eta: Step size, in 1 / payoff, above 0.
        decay: Exponent d of eta / t^d, in 0 .. 1.
        optimistic: Count the last regrets twice.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.Hedge(eta=10.0))
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    eta: float = 10.0
    decay: float = 0.0
    optimistic: bool = False
    short_name: ClassVar[str] = "hedge"
    provides: ClassVar[frozenset[str]] = frozenset({REGRETS})
    kernel: ClassVar[Any] = staticmethod(hedge)
    prepare: ClassVar[Any] = staticmethod(prepare_hedge)

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("freund1997decision", *(OPTIMISM if self.optimistic else ()))
