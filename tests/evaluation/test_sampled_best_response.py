"""The sampled best response: brackets the exact value, and closes in on it."""

import math

import naive
import numpy as np
import pyspiel
import pytest
from references import LIMIT, score, standard_error, uniform_policy

from mccfr_plus import BudgetError, best_response, expected_values
from mccfr_plus.evaluation import sampled_best_response
from mccfr_plus.evaluation.sampled_best_response import uniforms

LEDUC = "leduc_poker(suit_isomorphism=True)"
REPETITIONS = 30  # so that Student's quantile is close to the normal one


def words(count, seed=1):
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


def test_draws_are_uniform_and_independent_between_places():
    count = 100_000
    first, second = uniforms(words(count), "0 a"), uniforms(words(count), "0 b")
    for numbers in (first, second):
        assert numbers.min() >= 0
        assert numbers.max() < 1
        assert abs(numbers.mean() - 0.5) < LIMIT * math.sqrt(1 / 12 / count)
        assert abs((numbers**2).mean() - 1 / 3) < LIMIT * math.sqrt(4 / 45 / count)
    assert abs(np.corrcoef(first, second)[0, 1]) < LIMIT / math.sqrt(count)
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < LIMIT / math.sqrt(count)
    assert np.array_equal(first, uniforms(words(count), "0 a"))


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(
    ("game", "sizes", "largest_gap"),
    [("kuhn_poker", (10, 1000), 0.1), (LEDUC, (30, 500), 0.5), ("liars_dice(dice_sides=2)", (30, 1000), 0.1)],
)
def test_brackets_the_value_and_closes_in(game, player, sizes, largest_gap):
    tree, policy = naive.tree_of(game), uniform_policy(game)
    exact = best_response(tree, policy, player).value
    gaps = []
    for size in sizes:
        result = sampled_best_response(game, policy, player, num_samples=size, repetitions=REPETITIONS, seed=1)
        wins = expected_values(tree, result.policy)[player]
        assert result.upper.value > exact - LIMIT * standard_error(result.upper)
        assert wins <= exact + 1e-9
        assert abs(score(result.lower, wins)) < LIMIT
        gaps.append((result.upper.value - exact, exact - wins))
    assert gaps[1][0] < gaps[0][0]
    assert gaps[1][1] <= gaps[0][1]
    assert max(gaps[1]) < largest_gap
    assert (result.upper.kind, result.lower.kind) == ("upper bound", "lower bound")
    assert result.upper.samples == REPETITIONS


@pytest.mark.parametrize("error", [1e-3, 1e-4])
def test_the_upper_bound_knows_that_rare_mistakes_may_have_no_sample(error):
    game = pyspiel.load_game_as_turn_based("matrix_pd")
    texts = {text: {0: error, 1: 1 - error} for text in naive.tree_of(str(game)).info_states}
    value = best_response(game, texts, player=0).value
    bounds = [
        sampled_best_response(game, texts, player=0, num_samples=200, num_games=10, seed=seed).upper
        for seed in range(20)
    ]
    assert min(bound.value for bound in bounds) < value <= min(bound.high for bound in bounds)


@pytest.mark.parametrize(
    ("limit", "named"), [({"max_nodes": 500}, "max_nodes=500"), ({"seconds": 1e-3}, "seconds=0.001")]
)
def test_a_walk_beyond_the_budget_says_what_to_do(limit, named):
    with pytest.raises(BudgetError, match=rf"{named}: give num_samples=250"):
        sampled_best_response("leduc_poker", {}, 0, seed=1, **limit)
