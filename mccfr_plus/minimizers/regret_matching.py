"""The regret matching family: one infoset's update per rule.

With v(a) the sampled values, x the strategy that was played and r(a) = v(a) - sum_b x(b) v(b):

| rule | cumulative regret | next strategy proportional to |
|---|---|---|
| RM | R += r | [R]+ |
| RM+ | R = [R + r]+ | R |
| discounted | R = (R + r) * t^alpha / (t^alpha + 1) where positive, t^beta / (t^beta + 1) where negative | [R]+ |
| predictive RM | R += r | [R + r]+ |
| predictive RM+ | R = [R + r]+ | [R + r]+ |

Where nothing is positive the next strategy is uniform.

References: Hart, Mas-Colell 2000 (RM); Tammelin et al. 2015 (RM+); Brown, Sandholm 2019, "Solving imperfect-information
games via discounted regret minimization" (discounted); Farina, Kroer, Sandholm 2021, "Faster game solving via
predictive Blackwell approachability", algorithms 3 and 4 (predictive; the prediction is the last value vector).
"""

import math

from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.scratch import at

# Entries of the discounted rule's parameters after the rule's number.
ALPHA = 1
BETA = 2
AT = 3  # the iteration that the entries below belong to
POSITIVE = 4  # t^alpha / (t^alpha + 1)
NEGATIVE = 5
BEFORE_POSITIVE = 6  # sum of the logarithms of the factors of all earlier iterations
BEFORE_NEGATIVE = 7
AFTER_POSITIVE = 8  # the same with this iteration's
AFTER_NEGATIVE = 9
NUM_DISCOUNTED = 10

# Rows of the discounted rule's tables; the last two are used at first slots only.
REGRET = 0
SEEN_POSITIVE = 1  # AFTER_POSITIVE when the infoset was last touched
SEEN_NEGATIVE = 2

_SMALLEST_FACTOR = 1e-300  # keeps logarithms finite
_SMALLEST_TOTAL = 1e-300  # keeps 1 / total finite


@inline_kernel
def expected_value(values, strategy, first, last):
    """Returns the expected value of the strategy at one infoset."""
    value = 0.0
    for slot in range(first, last):
        value += strategy[at(slot)] * values[at(slot)]
    return value


@inline_kernel
def play_in_proportion(shares, strategy, first, last, total):
    """Makes the strategy's entries proportional to shares that sum to `total`, or uniform if that is 0.

    `strategy` is modified in place. It is given probabilities and nothing else, not even for a moment: in fast mode
    another thread plays it meanwhile, and regrets that expand by the size of regrets have no end.
    """
    if total > _SMALLEST_TOTAL:
        scale = 1.0 / total
        for slot in range(first, last):
            strategy[at(slot)] = shares[at(slot)] * scale
    else:
        for slot in range(first, last):
            strategy[at(slot)] = 1.0 / (last - first)


@inline_kernel
def regret_matching(values, strategy, tables, first, last, iteration, parameters):
    """RM. See `Minimizer` for the arguments and what is modified in place."""
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        regret = tables[REGRET, at(slot)] + values[at(slot)] - value
        tables[REGRET, at(slot)] = regret
        values[at(slot)] = max(regret, 0.0)
        total += values[at(slot)]
    play_in_proportion(values, strategy, first, last, total)
    return value


@inline_kernel
def regret_matching_plus(values, strategy, tables, first, last, iteration, parameters):
    """RM+. See `Minimizer`."""
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        regret = max(tables[REGRET, at(slot)] + values[at(slot)] - value, 0.0)
        tables[REGRET, at(slot)] = regret
        values[at(slot)] = regret
        total += regret
    play_in_proportion(values, strategy, first, last, total)
    return value


@inline_kernel
def predictive(values, strategy, tables, first, last, iteration, parameters):
    """Predictive RM: the last value vector counts twice in the next strategy. See `Minimizer`."""
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        instant = values[at(slot)] - value
        tables[REGRET, at(slot)] += instant
        values[at(slot)] = max(tables[REGRET, at(slot)] + instant, 0.0)
        total += values[at(slot)]
    play_in_proportion(values, strategy, first, last, total)
    return value


@inline_kernel
def predictive_plus(values, strategy, tables, first, last, iteration, parameters):
    """Predictive RM+. See `Minimizer`."""
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        instant = values[at(slot)] - value
        tables[REGRET, at(slot)] = max(tables[REGRET, at(slot)] + instant, 0.0)
        values[at(slot)] = max(tables[REGRET, at(slot)] + instant, 0.0)
        total += values[at(slot)]
    play_in_proportion(values, strategy, first, last, total)
    return value


@inline_kernel
def discounted(values, strategy, tables, first, last, iteration, parameters):
    """Discounted regret matching. See `Minimizer`.

    Regrets keep their signs between two visits, so that the discounts that an infoset missed are made up for when it
    is touched again, in O(touched): the factors are kept as sums of logarithms. `next_discount` has been called for the
    iteration.
    """
    positive, negative = parameters[POSITIVE], parameters[NEGATIVE]
    missed_positive, missed_negative = 1.0, 1.0
    if tables[SEEN_POSITIVE, first] != parameters[BEFORE_POSITIVE]:
        missed_positive = math.exp(parameters[BEFORE_POSITIVE] - tables[SEEN_POSITIVE, first])
        missed_negative = math.exp(parameters[BEFORE_NEGATIVE] - tables[SEEN_NEGATIVE, first])
    tables[SEEN_POSITIVE, first] = parameters[AFTER_POSITIVE]
    tables[SEEN_NEGATIVE, first] = parameters[AFTER_NEGATIVE]
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        regret = tables[REGRET, at(slot)]
        regret *= missed_positive if regret > 0.0 else missed_negative
        regret += values[at(slot)] - value
        regret *= positive if regret > 0.0 else negative
        tables[REGRET, at(slot)] = regret
        values[at(slot)] = max(regret, 0.0)
        total += values[at(slot)]
    play_in_proportion(values, strategy, first, last, total)
    return value


@kernel
def next_discount(parameters, iteration):
    """Moves the discounts on to an iteration, over any that updated nothing. `parameters` is modified in place."""
    while parameters[AT] < iteration:
        parameters[AT] += 1.0
        parameters[BEFORE_POSITIVE] = parameters[AFTER_POSITIVE]
        parameters[BEFORE_NEGATIVE] = parameters[AFTER_NEGATIVE]
        parameters[POSITIVE] = max(1.0 / (1.0 + parameters[AT] ** -parameters[ALPHA]), _SMALLEST_FACTOR)
        parameters[NEGATIVE] = max(1.0 / (1.0 + parameters[AT] ** -parameters[BETA]), _SMALLEST_FACTOR)
        parameters[AFTER_POSITIVE] += math.log(parameters[POSITIVE])
        parameters[AFTER_NEGATIVE] += math.log(parameters[NEGATIVE])
