"""A minimizer's kernel writes only probabilities to the strategy, because other threads play it meanwhile.

The kernels run as plain Python, on a strategy that checks what is written to it.
"""

import naive
import numpy as np
import pytest
from interpreted import interpreted

from mccfr_plus import Solver
from mccfr_plus.minimizers.minimizer import minimize_with
from mccfr_plus.solver.config import MINIMIZERS, minimizer_of


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


@pytest.mark.parametrize("count", [2, 4, 10])  # of actions: some kernels treat them differently
@pytest.mark.parametrize("short_name", list(MINIMIZERS))
def test_only_probabilities_are_written_to_the_strategy(short_name, count):
    minimizer, rng = minimizer_of(short_name), np.random.default_rng(1)
    minimize = interpreted(minimize_with(minimizer))
    solver = Solver(naive.tree_of("kuhn_poker"), "full", minimizer)
    tree, scratch, parameters = solver.tree.arrays, solver._engine.scratches[0], minimizer.parameters()
    strategy, tables = CheckedStrategy(np.full(count, 1 / count)), np.zeros((4, count))
    scratch.touched[0] = 0, count, tree.slot_range[-1]
    scratch.num_touched[0] = 1
    for iteration in range(1, 30):
        scratch.gradient[:count] = 1000.0 * rng.standard_normal(count)
        minimize(tree, strategy, tables, scratch, 0, iteration, parameters)
        assert strategy.numbers.sum() == pytest.approx(1.0)
    assert strategy.writes >= 29 * count
