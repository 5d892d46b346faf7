"""What the tests of this folder compare with: random policies, and exact numbers from compiled trees."""

import functools
import math

import numpy as np

import mccfr_plus
from mccfr_plus.evaluation import Estimate

LIMIT = 5.0  # standard errors: once in 1.7 million draws of a normal number


@functools.cache
def tree_of(game):
    return mccfr_plus.compile_game(game)


@functools.cache
def random_policy(game, seed):
    """Returns a policy with a random distribution at each infoset, some of its probabilities 0."""
    tree = tree_of(game)
    rng = np.random.default_rng(seed)
    strategy = np.empty(tree.num_slots)
    for infoset in range(tree.num_infosets):
        weights = rng.dirichlet(np.ones(len(tree.legal_actions(infoset))))
        weights[weights < 0.1] = 0.0
        strategy[tree.slots(infoset)] = weights / weights.sum()
    return mccfr_plus.TreePolicy(tree, strategy)


def uniform_policy(game):
    tree = tree_of(game)
    counts = tree.arrays.infosets["num_actions"]
    return mccfr_plus.TreePolicy(tree, np.repeat(1 / counts, counts))


def standard_error(estimate: Estimate):
    """Returns the standard error behind a 95% interval of at least a hundred games."""
    assert estimate.confidence == 0.95
    return estimate.half_width / 1.96


def score(estimate, exact):
    """Returns how many standard errors an estimate lies above the exact value."""
    error = standard_error(estimate)
    assert error > 0 or math.isclose(estimate.value, exact, abs_tol=1e-9)
    return (estimate.value - exact) / error if error else 0.0
