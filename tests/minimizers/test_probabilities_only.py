"""A minimizer's kernel writes only probabilities to the strategy, because other threads play it meanwhile.

The kernels run as plain Python, on a strategy that checks what is written to it.
"""

import naive
import numpy as np
import pytest
from interpreted import interpreted

from mccfr_plus import Solver
from mccfr_plus.minimizers import dilated
from mccfr_plus.minimizers.base import prepare
from mccfr_plus.solver import registry


class CheckedStrategy:
    """A strategy that refuses what is no probability."""

    def __init__(self, numbers):
        self.numbers, self.writes = np.array(numbers), 0

    def __getitem__(self, index):
        return self.numbers[index]

    def __setitem__(self, index, number):
        assert 0.0 <= number <= 1.0 + 1e-15, "no probability"
        self.writes += 1
        self.numbers[index] = number


@pytest.mark.parametrize("short_name", list(registry.MINIMIZERS))
def test_only_probabilities_are_written_to_the_strategy(short_name):
    minimizer, rng = registry.minimizer_of(short_name), np.random.default_rng(1)
    kernel, prepare_kernel = map(interpreted, (minimizer.kernel, minimizer.prepare or prepare))
    solver = Solver(naive.tree_of("kuhn_poker"))
    tree, scratch, parameters = solver.tree.arrays, solver._engine.scratches[0], minimizer.parameters()
    strategy, tables = CheckedStrategy([0.25, 0.25, 0.25, 0.25]), np.zeros((4, 4))
    if short_name in ("ftrl", "omd", "mmd"):
        tables[dilated.WEIGHT] = 1.0
    for iteration in range(1, 30):
        prepare_kernel(tree, strategy, tables, scratch, 0, iteration, parameters)
        kernel(1000.0 * rng.standard_normal(4), strategy, tables, 0, 4, iteration, parameters)
        assert strategy.numbers.sum() == pytest.approx(1.0)
    assert strategy.writes >= 29 * 4
