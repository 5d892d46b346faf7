"""Values, best responses and NashConv against naive twins and OpenSpiel, for every kind of policy and game."""

import naive
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score, exploitability
from references import kinds_of

import mccfr_plus
from mccfr_plus import PolicyError, TreePolicy
from mccfr_plus.evaluation.strategies import strategy_of

GAMES = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "tiny_hanabi",
    "matrix_bos",
    "matrix_rps",
    "goofspiel(imp_info=True,num_cards=3,points_order=descending)",
    "python_kuhn_poker",
    *naive.RANDOM_GAMES,
)


@pytest.mark.parametrize("zeros", [0.0, 0.5, 1.0])  # 1: deterministic
@pytest.mark.parametrize("game", GAMES)
def test_values_equal_the_naive_twins(game, zeros):
    tree, root = naive.tree_of(game), naive.root_of(game)
    strategy = naive.random_strategy(tree, seed=3, zeros=zeros)
    table = naive.to_dict(tree, strategy)
    values = naive.expected_values(root, table)
    best = [naive.best_response_value(root, p, table) for p in range(tree.num_players)]
    policy = TreePolicy(tree, strategy)
    found = mccfr_plus.evaluate(tree, policy)
    np.testing.assert_allclose(found.values, values, atol=1e-11)
    np.testing.assert_allclose(found.best_response_values, best, atol=1e-11)
    np.testing.assert_allclose(mccfr_plus.expected_values(tree, policy), values, atol=1e-11)
    assert mccfr_plus.nash_conv(tree, policy) == pytest.approx(sum(best) - sum(values), abs=1e-10)
    assert mccfr_plus.exploitability(tree, policy) == pytest.approx((sum(best) - sum(values)) / len(best), abs=1e-10)
    for player in range(tree.num_players):
        response = mccfr_plus.best_response(tree, policy, player)
        assert response.value == pytest.approx(best[player], abs=1e-11)
        # Whoever plays it gets that value, and nobody else's part has changed.
        replaced = naive.to_dict(tree, response.policy.strategy())
        assert naive.expected_values(root, replaced)[player] == pytest.approx(best[player], abs=1e-11)
        assert {k: v for k, v in replaced.items() if k[0] != player} == {
            k: v for k, v in table.items() if k[0] != player
        }
        assert set(response.actions) == {text for owner, text in table if owner == player}
        for text, action in response.actions.items():
            assert dict(response.policy[text])[action] == 1.0


@pytest.mark.parametrize("zeros", [0.0, 0.5])
@pytest.mark.parametrize("game", [*GAMES, "leduc_poker"])
def test_equals_openspiel(game, zeros):
    tree = naive.tree_of(game)
    table = kinds_of(tree, naive.random_strategy(tree, seed=4, zeros=zeros))["Python table"]
    expected = exploitability.nash_conv(tree.game, table, return_only_nash_conv=True, use_cpp_br=False)
    assert mccfr_plus.nash_conv(tree, table) == pytest.approx(expected, abs=1e-10)
    values = expected_game_score.policy_value(tree.game.new_initial_state(), [table] * tree.num_players)
    np.testing.assert_allclose(mccfr_plus.expected_values(tree, table), values, atol=1e-10)
    cpp = TreePolicy(tree, strategy_of(tree, table)).to_pyspiel()
    for player in range(tree.num_players):
        ours = mccfr_plus.best_response(tree, table, player)
        theirs = pyspiel.TabularBestResponse(tree.game, player, cpp)  # which keeps no reference to the policy
        assert ours.value == pytest.approx(theirs.value_from_state(tree.game.new_initial_state()), abs=1e-10)


@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)", "matrix_bos", "random:2:1"])
def test_every_kind_of_policy(game):
    tree = naive.tree_of(game)
    strategy = naive.random_strategy(tree, seed=8, zeros=0.3)
    expected = mccfr_plus.nash_conv(tree, TreePolicy(tree, strategy))
    kinds = kinds_of(tree, strategy)
    del kinds["function"]  # for sampled games alone
    for kind, policy in kinds.items():
        assert mccfr_plus.nash_conv(tree, policy) == pytest.approx(expected, abs=1e-12), kind


@pytest.mark.parametrize(
    "game",
    ["matrix_pd", *(f"goofspiel(players={n},imp_info=True,num_cards=3,points_order=descending)" for n in (2, 3))],
)
def test_tables_of_the_simultaneous_game(game):
    tree, original = naive.tree_of(game), pyspiel.load_game(game)
    strategy, players = naive.random_strategy(tree, seed=8, zeros=0.3), tree.arrays.infosets["player"]
    table = openspiel_policy.TabularPolicy(original)
    table.action_probability_array[:] = 0.0
    for infoset, text in enumerate(tree.info_states):
        row = table.state_lookup[text.removeprefix(f"Current player: {players[infoset]}\n")]
        table.action_probability_array[row, tree.legal_actions(infoset)] = strategy[tree.slots(infoset)]
    rows = {
        text: list(enumerate(table.action_probability_array[row].tolist())) for text, row in table.state_lookup.items()
    }
    for policy in (table, rows, pyspiel.TabularPolicy(rows)):
        np.testing.assert_array_equal(strategy_of(tree, policy), strategy)
    expected = mccfr_plus.evaluate(tree, TreePolicy(tree, strategy))
    np.testing.assert_array_equal(mccfr_plus.evaluate(original, table).values, expected.values)


def with_row(row):
    tree = naive.tree_of("kuhn_poker")
    table = {text: [(0, 0.5), (1, 0.5)] for text in tree.info_states}
    return {**table, tree.info_states[3]: row}


@pytest.mark.parametrize(
    "policy",
    [
        with_row([(0, 0.5), (1, 0.6)]),
        with_row([(0, -0.5), (1, 1.5)]),
        with_row([(0, float("nan")), (1, 1.0)]),
        {},
        7,
        [{}],
        openspiel_policy.TabularPolicy(pyspiel.load_game("leduc_poker")),
        pyspiel.TabularPolicy({"0": [(0, 1.0)]}),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_wrong_policies(policy):
    for question in (mccfr_plus.nash_conv, mccfr_plus.exploitability, mccfr_plus.expected_values, mccfr_plus.evaluate):
        with pytest.raises(PolicyError):
            question("kuhn_poker", policy)
    with pytest.raises(PolicyError):
        mccfr_plus.best_response("kuhn_poker", policy, 0)


def test_a_nash_equilibrium_of_kuhn():
    # Kuhn 1950, with alpha = 1/5: player 0 bets a jack with alpha, a king with 3 alpha, calls a queen with alpha + 1/3.
    alpha = 0.2
    bet = {"0": alpha, "1": 0, "2": 3 * alpha, "0pb": 0, "1pb": alpha + 1 / 3, "2pb": 1}
    bet |= {"0p": 1 / 3, "0b": 0, "1p": 0, "1b": 1 / 3, "2p": 1, "2b": 1}
    policy = {text: [(0, 1 - p), (1, p)] for text, p in bet.items()}
    assert mccfr_plus.nash_conv("kuhn_poker", policy) == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(mccfr_plus.expected_values("kuhn_poker", policy), [-1 / 18, 1 / 18], atol=1e-12)
