"""The local best response: legal, never better than the best response, equal to it where one step is enough."""

import random
from collections import defaultdict

import naive
import numpy as np
import pyspiel
import pytest
from references import LIMIT, random_policy, score, standard_error, uniform_policy
from test_behavior import decisions_of

from mccfr_plus import best_response, expected_values, exploitability, nash_conv
from mccfr_plus.evaluation import exploitability_lower_bound, local_best_response
from mccfr_plus.evaluation.local_best_response import LocalResponse, Lookahead, sample_states
from mccfr_plus.evaluation.strategies import Behavior

SAMPLED = {"max_histories": 12, "max_nodes": 1, "num_rollouts": 20}  # all approximations at work on Leduc


def responder(game, policy, player, *, rollout=None, max_histories=2000, num_rollouts=200, max_nodes=5000):
    game = naive.tree_of(game).game
    behavior = Behavior(game, policy)
    own = behavior if rollout is None else Behavior(game, rollout)
    return LocalResponse(game, behavior, player, own, Lookahead(max_histories, num_rollouts, max_nodes), seed=1)


def by_infoset(game, player):
    groups = defaultdict(list)
    for state in decisions_of(naive.tree_of(game).game):
        if state.current_player() == player:
            groups[state.information_state_string()].append(state)
    return groups


@pytest.mark.parametrize("player", [0, 1])
def test_beliefs_are_bayes_rule(player):
    game = naive.tree_of("leduc_poker").game
    behavior = Behavior(game, random_policy("leduc_poker", 1))
    response = responder("leduc_poker", random_policy("leduc_poker", 1), player)
    for states in list(by_infoset("leduc_poker", player).values())[::40]:
        expected = {tuple(state.history()): others_reach(state, player, behavior) for state in states}
        total = sum(expected.values())
        found = {tuple(state.history()): weight for state, weight in response.belief(states[0])}
        if total == 0:
            assert not found
            continue
        assert found == pytest.approx({key: value for key, value in expected.items() if value > 0})


def others_reach(state, player, behavior):
    """Returns the product of chance's and the opponents' probabilities of a history."""
    replay, product = naive.tree_of("leduc_poker").game.new_initial_state(), 1.0
    for action in state.history():
        if replay.is_chance_node():
            product *= dict(replay.chance_outcomes())[action]
        elif replay.current_player() != player:
            row = behavior.row(replay)
            product *= dict(zip(row.actions, row.probabilities, strict=True)).get(action, 0.0)
        replay.apply_action(action)
    return product


def test_sampled_beliefs_are_consistent_and_of_limited_size():
    response = responder("leduc_poker", {}, 0, max_histories=12)
    found = 0
    for info_state, states in list(by_infoset("leduc_poker", 0).items())[::10]:
        belief = response.belief(states[0])
        assert len(belief) <= 12
        assert {state.information_state_string(0) for state, _ in belief} <= {info_state}
        found += bool(belief)
    assert found > 20


def test_sampled_states_have_the_weights_as_frequencies():
    game = pyspiel.load_game("kuhn_poker")
    states = [game.new_initial_state().child(card) for card in range(3)]
    drawn = sample_states(list(zip(states, (1.0, 2.0, 5.0), strict=True)), 800, random.Random(1))
    counts = [sum(s is state for s in drawn) for state in states]
    assert counts == pytest.approx([100, 200, 500], abs=1)
    assert sample_states([], 10, random.Random(1)) == []


def test_exact_and_sampled_rollouts():
    tree = naive.tree_of("leduc_poker")
    policy = random_policy("leduc_poker", 1)
    response = responder("leduc_poker", policy, 1, max_nodes=10_000)
    start = tree.game.new_initial_state()
    assert responder("leduc_poker", policy, 1, max_nodes=10).exact_payoffs([(start, 1.0)], [0]) is None
    actions = [action for action, _ in start.chance_outcomes()]
    values = response.exact_payoffs([(start, 1.0)], actions)
    assert np.mean(values) == pytest.approx(expected_values(tree, policy)[1], abs=1e-12)
    sampled = response.sampled_payoffs([start] * 3000, actions[:1], random.Random(1))[0]
    assert abs(sampled - values[0]) < LIMIT * 13 / np.sqrt(3000)  # payoffs lie between -13 and 13


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_is_the_best_response_where_one_step_is_enough(seed):
    """Player 1 of Kuhn poker decides once in each play."""
    tree, policy = naive.tree_of("kuhn_poker"), random_policy("kuhn_poker", seed)
    result = local_best_response("kuhn_poker", policy, 1, num_games=2000, seed=1)
    exact = best_response(tree, policy, 1).value
    assert expected_values(tree, result.policy)[1] == pytest.approx(exact, abs=1e-12)
    assert abs(score(result.estimate, exact)) < LIMIT


@pytest.mark.parametrize("options", [{}, {"rollout": {}}, SAMPLED], ids=["policy", "uniform", "sampled"])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
def test_is_a_lower_bound_and_its_estimate_unbiased(game, player, options):
    tree, policy = naive.tree_of(game), random_policy(game, 1)
    result = local_best_response(game, policy, player, num_games=2000, seed=1, **options)
    exact = best_response(tree, policy, player).value
    wins = expected_values(tree, result.policy)[player]
    assert wins <= exact + 1e-9
    assert abs(score(result.estimate, wins)) < LIMIT
    assert result.estimate.value <= exact + LIMIT * standard_error(result.estimate)
    assert result.estimate.kind == "lower bound"
    if options != SAMPLED:
        assert wins > expected_values(tree, policy)[player]


@pytest.mark.parametrize("options", [{}, SAMPLED], ids=["exact", "sampled"])
@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
def test_never_peeks(game, options):
    """Asked at any history of an infoset, by a responder that knows nothing yet, it decides the same."""
    policy = uniform_policy(game)
    for states in list(by_infoset(game, 1).values())[:: 1 if game == "kuhn_poker" else 60]:
        decisions = {responder(game, policy, 1, **options).row(state).actions for state in states}
        assert len(decisions) == 1


def test_uniform_play_in_leduc_is_exploitable():
    bound = exploitability_lower_bound("leduc_poker", {}, num_games=2000, seed=1)
    exact = exploitability("leduc_poker", uniform_policy("leduc_poker"))
    assert 0 < 0.8 * exact < bound.estimate.low
    assert bound.estimate.value <= exact + LIMIT * standard_error(bound.estimate)
    assert bound.estimate.value == pytest.approx(sum(r.value for r in bound.responses) / 2)
    assert bound.estimate.samples == 4000


def test_exploitability_where_payoffs_do_not_add_up():
    """In the prisoner's dilemma each player decides once, so the bound is the exploitability itself."""
    bound = exploitability_lower_bound("matrix_pd", {}, num_games=2000, seed=1)
    exact = nash_conv("matrix_pd", uniform_policy("matrix_pd")) / 2
    assert exact == pytest.approx(5.5 / 1 - 4.0)
    assert abs(score(bound.estimate, exact)) < LIMIT
    assert bound.estimate.samples == 8000
