"""What a rule writes to the strategy is a probability at every moment, because threads play it while it is written.

The kernels run as plain Python here, on a strategy that looks at what it is given.
"""

import types

import numpy as np
import pytest

from mccfr_plus import minimizers
from mccfr_plus.minimizers import dilated, hedge, regret_matching

KERNELS = [
    regret_matching.regret_matching,
    regret_matching.regret_matching_plus,
    regret_matching.predictive,
    regret_matching.predictive_plus,
    regret_matching.discounted,
    hedge.hedge,
    dilated.dilated,
]
MINIMIZERS = {"discounted": minimizers.Discounted(), "hedge": minimizers.Hedge(), "dilated": minimizers.FTRL()}


def in_python(kernel):
    """Returns a kernel as a Python function, which calls others like it."""
    code, namespace = kernel.py_func.__code__, dict(kernel.py_func.__globals__)
    for name in code.co_names:
        if hasattr(namespace.get(name), "py_func"):
            namespace[name] = in_python(namespace[name])
    return types.FunctionType(code, namespace)


class Watched:
    """A strategy that refuses what is no probability."""

    def __init__(self, numbers):
        self.numbers, self.writes = np.array(numbers), 0

    def __getitem__(self, index):
        return self.numbers[index]

    def __setitem__(self, index, number):
        assert 0.0 <= number <= 1.0 + 1e-15, "no probability"
        self.writes += 1
        self.numbers[index] = number


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.py_func.__name__)
def test_a_strategy_is_given_probabilities_only(kernel):
    name, update, rng = kernel.py_func.__name__, in_python(kernel), np.random.default_rng(1)
    minimizer = MINIMIZERS.get(name, minimizers.RegretMatching())
    parameters = np.concatenate([minimizer.parameters(), np.zeros(10)])
    parameters[dilated.ETA_NOW] = 1.0  # where a rule has a step size; the discounts of others are set next
    if name == "discounted":
        parameters[regret_matching.POSITIVE] = parameters[regret_matching.NEGATIVE] = 0.5
    strategy, tables = Watched([0.25, 0.25, 0.25, 0.25]), np.zeros((4, 4))
    tables[dilated.WEIGHT] = 1.0 if name == "dilated" else tables[dilated.WEIGHT]
    for iteration in range(1, 30):
        update(1000.0 * rng.standard_normal(4), strategy, tables, 0, 4, iteration, parameters)
        assert strategy.numbers.sum() == pytest.approx(1.0)
    assert strategy.writes >= 29 * 4
