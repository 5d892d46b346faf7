"""What a time of play tells about a policy, against exact numbers, and what is left out where it does not suffice."""

import pytest

import mccfr_plus
from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation import Estimate, ExploitabilityBound, estimate_quality, quality
from mccfr_plus.evaluation.local_best_response import LocalResponses


def standard_error(estimate):
    return estimate.half_width / 1.96


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


def test_new_games_are_played_by_what_promised_most(monkeypatch):
    looks = []

    def bound(responses, tried, stop):
        looks.append((list(tried), stop.seconds))
        # Player 0 does best in the first look, player 1 in the second.
        values = [(0.5, 0.1), (0.4, 0.3), (0.0, 0.0)][min(len(looks) - 1, 2)]
        of_players = [Estimate(v, v - 0.01, v + 0.01, "lower bound", stop.confidence, 1000, 0.01) for v in values]
        return ExploitabilityBound(of_players[1]._replace(value=sum(values)), tuple(of_players))

    monkeypatch.setattr(LocalResponses, "bound", bound)
    found = quality.local_bound("kuhn_poker", {}, 1.0, confidence=0.9, seed=1)
    assert len(looks) > 2
    assert looks[-1][0] == [looks[0][0][0], looks[1][0][1]]
    assert looks[-1][1] > 2 * looks[0][1]
    assert (found.estimate.value, found.estimate.confidence) == (0.0, 0.9)


def test_a_function_from_states_is_a_policy():
    result = estimate_quality("kuhn_poker", lambda state: {state.legal_actions()[0]: 1.0}, seconds=0.5, seed=1)
    for found in result.findings[:2]:  # both players pass, so that the higher card wins 1: the mean is 0
        assert abs(found.estimate.value) <= 5 * standard_error(found.estimate)
    (bound,) = (f for f in result.findings if f.quantity == "exploitability" and f.method == "local best response")
    assert bound.estimate.value == pytest.approx(1.0, abs=5 * standard_error(bound.estimate) + 1e-9)


@pytest.mark.parametrize("options", [{"seconds": 0}, {"seconds": float("inf")}, {"seconds": "5"}, {"confidence": 0.2}])
def test_bad_numbers(options):
    with pytest.raises(ConfigError):
        estimate_quality("kuhn_poker", {}, **options)
