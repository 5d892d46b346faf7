"""Hedge (multiplicative weights) at every infoset, on counterfactual regrets.

    x(a) proportional to exp(eta_t R(a)),     eta_t = eta / t^decay,

R being the cumulative regrets; the optimistic form counts the last regrets twice. With a decaying step size an
infoset's strategy is computed with the step size of the iteration in which it was last touched.

References: Freund, Schapire 1997, figure 2; Brown, Kroer, Sandholm 2017, "Dynamic thresholding and pruning for regret
minimization" (Hedge under CFR); Rakhlin, Sridharan 2013 (optimistic).
"""

import math

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.scratch import at
from mccfr_plus.minimizers.dilated import ETA_NOW, OPTIMISTIC
from mccfr_plus.minimizers.regret_matching import REGRET, expected_value


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
    total = 0.0
    for slot in range(first, last):
        values[at(slot)] = math.exp(eta * (values[at(slot)] - best))  # minus the best: no overflow
        total += values[at(slot)]
    scale = 1.0 / total
    for slot in range(first, last):
        strategy[at(slot)] = values[at(slot)] * scale
    return value
