"""What a time of play tells about a policy, against exact numbers, and what is left out where it does not suffice."""

import pytest
from references import standard_error

import mccfr_plus
from mccfr_plus.evaluation import estimate_quality


@pytest.mark.parametrize("game", ["leduc_poker", "kuhn_poker(players=3)"])
def test_bounds_are_on_their_side_of_the_exact_numbers(game):
    tree = mccfr_plus.compile_game(game)
    exact = mccfr_plus.evaluate(tree, mccfr_plus.TreePolicy(tree, tree.uniform_strategy()))
    result = estimate_quality(game, {}, seconds=1.0, seed=1)
    for found in result.findings:
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
    assert result.findings[0].quantity == "value"  # a busy machine may leave no time for bounds


def test_a_function_from_states_is_a_policy():
    for seconds in (0.5, 5.0, 50.0):  # a busy machine may leave no time for a bound
        result = estimate_quality("kuhn_poker", lambda state: {state.legal_actions()[0]: 1.0}, seconds=seconds, seed=1)
        if bounds := [
            f for f in result.findings if (f.quantity, f.method) == ("exploitability", "local best response")
        ]:
            break
    for found in result.findings[:2]:  # both players pass, so that the higher card wins 1: the mean is 0
        assert abs(found.estimate.value) <= 5 * standard_error(found.estimate)
    (bound,) = bounds
    assert bound.estimate.value == pytest.approx(1.0, abs=5 * standard_error(bound.estimate) + 1e-9)
