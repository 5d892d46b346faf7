"""Draws that go through all outcomes: their probabilities are those of the compiled draws."""

import itertools

import numpy as np
import pytest
from scipy import stats

from mccfr_plus.checks.games import deep_text, tree_of_text
from mccfr_plus.checks.sampler import Script, all_outcomes, plain, scripted_draws, z_limit
from mccfr_plus.estimators import traversal
from mccfr_plus.evaluation.exact import evaluate_strategy
from mccfr_plus.kernels import intrinsics as random
from mccfr_plus.trees.flattening import alias_table

GRID = 200  # of each of the two numbers that a draw may need


def frequencies(draw, count, *arguments):
    """Returns how often a draw, as it is, gives each index, over an even grid of random numbers."""
    grid = ((np.arange(GRID) + 0.5) / GRID).tolist()
    numbers = []
    function = plain(draw, {random.next_double: lambda rng: numbers.pop()})
    found = []
    for pair in itertools.product(grid, grid):
        numbers[:] = pair
        found.append(int(function(*arguments, None)))
    return np.bincount(found, minlength=count) / GRID**2


def probabilities(draw, count, *arguments):
    script, found = Script(), np.zeros(count)
    copy = plain(draw, scripted_draws(script))
    for probability, index in all_outcomes(script, lambda: int(copy(*arguments, None))):
        found[index] += probability
    return found


STRATEGY = np.array([9.0, 0.1, 0.0, 0.6, 0.3, 0.0, 9.0])
OTHER = np.array([9.0, 0.3, 0.2, 0.1, 0.1, 0.3, 9.0])
CASES = [
    (traversal.draw_outcome, 4, (alias_table(np.array([0.1, 0.5, 0.15, 0.25])), 0, 4)),
    (traversal.draw_action, 5, (STRATEGY, 1, 5)),
    (traversal.draw_exploring, 5, (STRATEGY, np.zeros(0), 1, 5, 0.6)),
    (traversal.draw_exploring, 5, (STRATEGY, OTHER, 1, 5, 0.25)),
    (traversal.draw_uniform, 7, (7,)),
    (traversal.draw_coin, 2, (0.3,)),
    (traversal.draw_coin, 2, (1.5,)),
    (traversal.draw_action, 3, (np.array([0.2, 0.3, 0.1]), 0, 3)),  # no distribution: the last gets what is left
    (traversal.draw_action, 3, (np.array([0.7, 0.6, 0.2]), 0, 3)),
]


@pytest.mark.parametrize(("draw", "count", "arguments"), CASES)
def test_scripted_draws_have_the_probabilities_of_the_draws(draw, count, arguments):
    found = probabilities(draw, count, *arguments)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(frequencies(draw, count, *arguments), found, atol=5 / GRID)


def test_all_outcomes_of_nested_draws():
    script = Script()

    def run():
        first = script.choose([0.5, 0.0, 0.5])
        return (first, script.choose([0.25, 0.75])) if first else (first,)

    found = {result: probability for probability, result in all_outcomes(script, run)}
    assert found == {(0,): 0.5, (2, 0): 0.125, (2, 1): 0.375}


def test_a_reversed_game_has_the_same_value():
    trees = [tree_of_text(deep_text(reverse)) for reverse in (False, True)]
    values = [evaluate_strategy(tree, tree.uniform_strategy()) for tree in trees]
    for before, after in zip(*values, strict=True):
        np.testing.assert_allclose(before, after, atol=1e-12)


def test_limits_equal_tabulated_quantiles():
    assert z_limit(1) == pytest.approx(4.8916384757, abs=1e-8)  # P(|Z| > it) = 1e-6
    for count in (1, 100, 5_000):
        assert z_limit(count, 199) == pytest.approx(stats.t.isf(1e-6 / (2 * count), 199), rel=1e-9)
