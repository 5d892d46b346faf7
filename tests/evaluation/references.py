"""What the tests of this folder compare with: random policies, and exact numbers from compiled trees."""

import math

import naive

import mccfr_plus
from mccfr_plus.evaluation import Estimate

LIMIT = 5.0  # standard errors: once in 1.7 million draws of a normal number


def random_policy(game, seed):
    """Returns a policy with a random distribution at each infoset, some of its probabilities 0."""
    tree = naive.tree_of(game)
    return mccfr_plus.TreePolicy(tree, naive.random_strategy(tree, seed, zeros=0.1))


def uniform_policy(game):
    tree = naive.tree_of(game)
    return mccfr_plus.TreePolicy(tree, tree.uniform_strategy())


def standard_error(estimate: Estimate):
    """Returns the standard error behind a 95% interval of at least a hundred games."""
    assert estimate.confidence == 0.95
    return estimate.half_width / 1.96


def score(estimate, exact):
    """Returns how many standard errors an estimate lies above the exact value."""
    error = standard_error(estimate)
    assert error > 0 or math.isclose(estimate.value, exact, abs_tol=1e-9)
    return (estimate.value - exact) / error if error else 0.0
