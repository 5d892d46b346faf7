"""Exact evaluation by rules of policies of any kind."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability as openspiel
from references import kinds_of, random_policy

import mccfr_plus
from mccfr_plus import PolicyError, Solver, evaluate_by_rules

DICE = "liars_dice(dice_sides=3)"
HEX = "dark_hex(num_rows=2,num_cols=2,obstype=reveal-numturns)"
KUHN = "kuhn_poker"


@pytest.mark.usefixtures("interpreted_evaluation")
@pytest.mark.parametrize("game", [DICE, HEX, "kuhn_poker(players=3)"])
def test_a_table_of_openspiel(game):
    tree = naive.tree_of(game)
    policy = kinds_of(tree, naive.random_strategy(tree, 1, zeros=0.1))["Python table"]
    found = evaluate_by_rules(game, policy, progress=False)
    stored = mccfr_plus.evaluate(game, policy)
    assert found.values == pytest.approx(stored.values, abs=1e-12)
    assert found.best_response_values == pytest.approx(stored.best_response_values, abs=1e-12)
    if policy.game.num_players() == 2:
        assert found.nash_conv == pytest.approx(openspiel.nash_conv(policy.game, policy), abs=1e-9)


@pytest.mark.usefixtures("interpreted_evaluation")
def test_threads_share_the_histories():
    """A first traversal, which does not know that the game is small, is divided. Player 2 may win without a move."""
    cards, money = "numPlayers=3,numSuits=2,numRanks=2", "stack=3 3 3,blind=1 1 2"
    game = f"universal_poker({cards},{money},firstPlayer=1 1,bettingAbstraction=fc)"
    found = evaluate_by_rules(game, None, threads=3, progress=False)
    stored = mccfr_plus.evaluate(game, openspiel_policy.UniformRandomPolicy(mccfr_plus.load_game(game)))
    assert found.values == pytest.approx(stored.values, abs=1e-12)
    assert found.best_response_values == pytest.approx(stored.best_response_values, abs=1e-12)


@pytest.mark.usefixtures("interpreted_evaluation")
def test_every_kind_of_policy():
    policy = random_policy(KUHN, 1)
    stored = mccfr_plus.nash_conv(KUHN, policy)
    for kind, same in kinds_of(policy.tree, policy.strategy()).items():
        found = evaluate_by_rules(KUHN, same, progress=False)
        assert found.nash_conv == pytest.approx(stored, abs=1e-12), kind


def test_a_policy_of_a_lazy_tree_is_uniform_where_it_has_not_been():
    policy = Solver(KUHN, "outcome", tree="lazy", seed=1).run(3).average_policy()
    assert policy.num_infosets < mccfr_plus.compile_game(KUHN).num_infosets
    found = evaluate_by_rules(KUHN, policy, progress=False)
    assert found.nash_conv == pytest.approx(mccfr_plus.nash_conv(KUHN, policy), abs=1e-12)


@pytest.mark.usefixtures("interpreted_evaluation")
@pytest.mark.parametrize("game", ["kuhn_poker", "goofspiel(num_cards=3,imp_info=True,points_order=descending)"])
def test_a_network(game):
    """Its tensors come from compiled rules, or from pyspiel where the rules give none."""
    pytest.importorskip("torch")
    from mccfr_plus.neural import NetworkPolicy
    from mccfr_plus.neural.network import MLP

    game = mccfr_plus.load_game(game)
    sizes = int(np.prod(game.information_state_tensor_shape())), game.num_distinct_actions()
    networks = [MLP(*sizes, (8,)) for _ in range(2)]
    found = evaluate_by_rules(game, NetworkPolicy(game, networks, "softmax"), progress=False)
    stored = mccfr_plus.nash_conv(game, NetworkPolicy(game, networks, "softmax"))
    assert found.nash_conv == pytest.approx(stored, abs=1e-6)  # single precision


def test_missing_infosets_are_counted():
    whole = dict(random_policy(KUHN, 1))
    texts = sorted(whole)[::7]
    policy = {text: row for text, row in whole.items() if text not in texts}
    expected = f"no probabilities at {len(texts)} of the 12 information sets.*uniform_else"
    with pytest.raises(PolicyError, match=expected):
        evaluate_by_rules(KUHN, policy, progress=False)
    tree = mccfr_plus.compile_game(KUHN)
    legal = {text: tree.legal_actions(tree.infoset(text)) for text in texts}
    uniform = {text: [(action, 1 / len(actions)) for action in actions] for text, actions in legal.items()}
    expected = mccfr_plus.nash_conv(tree, uniform | policy)
    found = evaluate_by_rules(KUHN, policy, progress=False, uniform_elsewhere=True)
    assert found.nash_conv == pytest.approx(expected, abs=1e-12)
