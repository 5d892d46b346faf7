"""What a time of play tells about a policy, against exact numbers, and what is left out where it does not suffice."""

import time

import pytest

import mccfr_plus
from mccfr_plus.errors import ConfigError, PolicyError
from mccfr_plus.evaluation import Estimate, estimate_quality
from mccfr_plus.evaluation.estimates import sum_of
from mccfr_plus.evaluation.lookahead import Lookahead
from mccfr_plus.evaluation.quality import Pace, local_bound, lookahead_within


def standard_error(estimate):
    return estimate.half_width / 1.96


@pytest.mark.parametrize("game", ["leduc_poker", "kuhn_poker(players=3)", "tiny_bridge_2p"])
def test_bounds_are_on_their_side_of_the_exact_numbers(game):
    tree = mccfr_plus.compile_game(game)
    exact = mccfr_plus.evaluate(tree, mccfr_plus.TreePolicy(tree, tree.uniform_strategy()))
    quality = estimate_quality(game, {}, seconds=2.0, seed=1)
    kinds = set()
    for found in quality.findings:
        estimate = found.estimate
        right = exact.exploitability
        if found.quantity == "value":
            right = exact.values[found.player]
        elif found.quantity == "best response":
            right = exact.best_response_values[found.player]
        room = 5 * standard_error(estimate)
        if estimate.kind in ("lower bound", "estimate"):
            assert estimate.value - room <= right, found
        if estimate.kind in ("upper bound", "estimate"):
            assert estimate.value + room >= right, found
        kinds.add((found.quantity, estimate.kind))
    assert ("exploitability", "lower bound") in kinds


def test_sum_of_is_the_rule_for_independent_terms():
    """By hand: 2 * 1 - 3 * 2 + 1 = -3, half widths 2 * 0.3 = 0.6 and 3 * 0.8 / 3 = 0.8: together 1."""
    parts = [
        Estimate(1.0, 0.7, 1.3, "lower bound", 0.95, 10, 1.0),
        Estimate(2.0, 2 - 0.8 / 3, 2 + 0.8 / 3, "estimate", 0.95, 5, 2.0),
    ]
    total = sum_of(parts, [2.0, -3.0], 1.0, "lower bound")
    assert total[:3] == pytest.approx((-3.0, -4.0, -2.0))
    assert total[3:] == ("lower bound", 0.95, 15, 3.0)


def test_looks_as_far_as_the_time_allows():
    pace = Pace(move_seconds=1e-5, moves=10.0, decisions=5.0, actions=3.0)
    assert lookahead_within(pace, 1e6) == Lookahead()
    some = lookahead_within(pace, 1.0)
    assert 1 <= some.num_rollouts < Lookahead().num_rollouts
    # From the definition: replay, beliefs, rollouts and exact expectations, at five decisions.
    per_decision = 5 * 10 / 4 + 3 * 2 * some.max_histories + 3 * some.num_rollouts * 5 + some.max_nodes
    assert pace.response_seconds(some) == pytest.approx(1e-4 + 5 * per_decision * 1e-5)
    assert 40 * pace.response_seconds(some) <= 1.0
    assert lookahead_within(pace, 1e-5) is None


def test_a_game_too_long_for_looking_ahead_takes_no_longer():
    begin = time.process_time()
    assert local_bound("battleship", {}, 0.5, seed=1) is None
    assert time.process_time() - begin < 10.0


def test_a_function_from_states_is_a_policy():
    quality = estimate_quality("kuhn_poker", lambda state: {state.legal_actions()[0]: 1.0}, seconds=0.5, seed=1)
    for found in quality.findings[:2]:  # everybody passes, so that the higher card wins 1: nobody is ahead
        assert abs(found.estimate.value) <= 5 * standard_error(found.estimate)
    (bound,) = (f for f in quality.findings if f.quantity == "exploitability" and f.method == "local best response")
    assert bound.estimate.value == pytest.approx(1.0, abs=5 * standard_error(bound.estimate) + 1e-9)


@pytest.mark.parametrize("options", [{"seconds": 0}, {"seconds": float("inf")}, {"seconds": "5"}, {"confidence": 0.2}])
def test_bad_numbers(options):
    with pytest.raises(ConfigError):
        estimate_quality("kuhn_poker", {}, **options)


def test_bad_policy():
    with pytest.raises(PolicyError):
        estimate_quality("kuhn_poker", 7, seconds=0.5)
