"""Exact evaluation by rules of policies of any kind."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability as openspiel

import mccfr_plus
from mccfr_plus import PolicyError, Solver, evaluate_by_rules

TWO_DICE = "liars_dice(numdice=2,dice_sides=2)"
HEX = "dark_hex(num_rows=2,num_cols=2,obstype=reveal-numturns)"
LEDUC = "leduc_poker"


def random_policy(game: str) -> openspiel_policy.TabularPolicy:
    """Returns a random table of OpenSpiel's, a tenth of whose probabilities are 0."""
    policy = openspiel_policy.TabularPolicy(mccfr_plus.load_game(game))
    rng = np.random.default_rng(1)
    table = policy.action_probability_array * rng.exponential(size=policy.action_probability_array.shape)
    table *= rng.random(table.shape) > 0.1
    table[table.sum(1) == 0] = policy.action_probability_array[table.sum(1) == 0]
    policy.action_probability_array[:] = table / table.sum(1, keepdims=True)
    return policy


def mapping_of(policy: openspiel_policy.TabularPolicy) -> dict[str, list[tuple[int, float]]]:
    table = policy.action_probability_array
    return {text: list(enumerate(table[row].tolist())) for text, row in policy.state_lookup.items()}


@pytest.mark.usefixtures("interpreted_evaluation")
@pytest.mark.parametrize("game", [TWO_DICE, HEX, "kuhn_poker(players=3)"])
def test_a_table_of_openspiel(game):
    policy = random_policy(game)
    found = evaluate_by_rules(game, policy, progress=False)
    stored = mccfr_plus.evaluate(game, policy)
    assert found.values == pytest.approx(stored.values, abs=1e-12)
    assert found.best_response_values == pytest.approx(stored.best_response_values, abs=1e-12)
    if policy.game.num_players() == 2:
        assert found.nash_conv == pytest.approx(openspiel.nash_conv(policy.game, policy), abs=1e-9)


@pytest.mark.usefixtures("interpreted_evaluation")
@pytest.mark.parametrize("threads", [1, 3])
def test_threads_share_the_histories(threads):
    """A first traversal, which does not know that the game is small, is divided."""
    game = "kuhn_poker(players=3)"
    found = evaluate_by_rules(game, None, threads=threads, progress=False)
    stored = mccfr_plus.evaluate(game, openspiel_policy.UniformRandomPolicy(mccfr_plus.load_game(game)))
    assert found.values == pytest.approx(stored.values, abs=1e-12)
    assert found.best_response_values == pytest.approx(stored.best_response_values, abs=1e-12)


def test_every_kind_of_policy():
    table = random_policy(LEDUC)
    stored = mccfr_plus.evaluate(LEDUC, table).nash_conv
    mapping, tree = mapping_of(table), mccfr_plus.compile_game(LEDUC)
    in_cpp = pyspiel.TabularPolicy({text: [(a, p) for a, p in row if p > 0] for text, row in mapping.items()})
    of_tree = mccfr_plus.TreePolicy(
        tree, np.concatenate([_legal_row(tree, mapping, i) for i in range(tree.num_infosets)])
    )
    for policy in (
        mapping,
        in_cpp,
        table.action_probabilities,
        [table, in_cpp],
        of_tree,
        openspiel_policy.Policy.to_tabular(of_tree),
    ):
        assert evaluate_by_rules(LEDUC, policy, progress=False).nash_conv == pytest.approx(stored, abs=1e-12)


def _legal_row(tree, mapping, infoset):
    row = dict(mapping[tree.info_states[infoset]])
    return [row[action] for action in tree.legal_actions(infoset)]


def test_a_policy_of_a_lazy_tree_is_uniform_where_it_has_not_been():
    policy = Solver(LEDUC, "outcome", tree="lazy", seed=1).run(50).average_policy()
    assert policy.num_infosets < mccfr_plus.compile_game(LEDUC).num_infosets
    found = evaluate_by_rules(LEDUC, policy, progress=False)
    assert found.nash_conv == pytest.approx(mccfr_plus.nash_conv(LEDUC, policy), abs=1e-12)


@pytest.mark.usefixtures("interpreted_evaluation")
@pytest.mark.parametrize("game", [LEDUC, "goofspiel(num_cards=3,imp_info=True,points_order=descending)"])
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
    whole = mapping_of(random_policy(LEDUC))
    texts = sorted(whole)[::7]
    policy = {text: row for text, row in whole.items() if text not in texts}
    with pytest.raises(
        PolicyError, match=f"no probabilities at {len(texts)} of the 936 information sets.*uniform_else"
    ):
        evaluate_by_rules(LEDUC, policy, progress=False)
    tree = mccfr_plus.compile_game(LEDUC)
    legal = {text: tree.legal_actions(tree.infoset(text)) for text in texts}
    uniform = {text: [(action, 1 / len(actions)) for action in actions] for text, actions in legal.items()}
    expected = mccfr_plus.nash_conv(tree, uniform | policy)
    found = evaluate_by_rules(LEDUC, policy, progress=False, uniform_elsewhere=True)
    assert found.nash_conv == pytest.approx(expected, abs=1e-12)
