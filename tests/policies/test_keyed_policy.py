"""Policies of lazy trees: the same play as those of compiled ones, in files, for OpenSpiel, without a tree."""

import naive
import numpy as np
import pyspiel
import pytest
from lazy_trees import lazy_solver, pair
from open_spiel.python.algorithms import exploitability as openspiel_exploitability
from open_spiel.python.algorithms.get_all_states import get_all_states

from mccfr_plus import PolicyError, PolicyFileError, evaluate, expected_values, load_policy, nash_conv, save_policy
from mccfr_plus.policies.keyed_policy import KeyedPolicy

GAMES = ["kuhn_poker", "leduc_poker", "kuhn_poker(players=3)", "goofspiel(num_cards=3)", "python_kuhn_poker"]


def states_of(game):
    return get_all_states(game, include_terminals=False).values()


@pytest.mark.parametrize("game", GAMES)
def test_plays_what_a_tree_policy_plays(game):
    whole, lazy = pair(game, "external", "rm", seed=3)
    for theirs, ours in (
        (whole.run(30).average_policy(), lazy.run(30).average_policy()),
        (whole.current_policy(), lazy.current_policy()),
    ):
        for state in states_of(naive.game(game)):
            expected = theirs.action_probabilities(state)
            assert ours.action_probabilities(state) == expected
            assert list(ours.action_probabilities(state)) == state.legal_actions()
        tree = naive.tree_of(game)
        for number in (evaluate, expected_values):
            ours_, theirs_ = np.concatenate([number(tree, ours)], None), np.concatenate([number(tree, theirs)], None)
            assert ours_.tobytes() == theirs_.tobytes()
        assert nash_conv(tree, ours) == nash_conv(tree, theirs)


def test_elsewhere_it_plays_all_actions_alike():
    policy = lazy_solver("leduc_poker", "outcome", seed=1).run(1).average_policy()
    game, unknown = pyspiel.load_game("leduc_poker"), 0
    for state in states_of(game):
        if policy.find(state.information_state_string(), state.current_player()) is None:
            legal = state.legal_actions()
            assert policy.action_probabilities(state) == dict.fromkeys(legal, 1 / len(legal))
            unknown += 1
    assert unknown > 1000
    assert policy.find("nonsense", 0) is None


def test_a_policy_of_another_game():
    policy = lazy_solver("kuhn_poker", "external", seed=1).run(50).average_policy()
    changed = KeyedPolicy(policy.game, policy.table._replace(actions=policy.table.actions + 1), policy.keys)
    state = pyspiel.load_game("kuhn_poker").new_initial_state().child(0).child(1)
    with pytest.raises(PolicyError, match=r"has actions \[0, 1\] here, but \[1, 2\] in"):
        changed.action_probabilities(state)
    with pytest.raises(PolicyError):
        nash_conv("kuhn_poker", changed)


def test_openspiels_own_numbers():
    solver = lazy_solver("leduc_poker", "external", seed=1).run(10_000)
    policy, game = solver.average_policy(), pyspiel.load_game("leduc_poker")
    expected = solver.nash_conv()
    assert openspiel_exploitability.nash_conv(game, policy) == pytest.approx(expected, abs=1e-10)
    with pytest.raises(PolicyError, match=r"only hashes.*to_tabular"):
        policy.to_pyspiel()


@pytest.mark.parametrize("game", ["leduc_poker", "goofspiel(num_cards=3)"])
def test_files(tmp_path, game):
    path = tmp_path / "policy.npz"
    policy = lazy_solver(game, "external", seed=1).run(30).average_policy()
    save_policy(policy, path)
    for given in (None, game, naive.tree_of(game)):
        loaded = load_policy(path, given)
        assert isinstance(loaded, KeyedPolicy)
        for ours, theirs in zip(policy.table, loaded.table, strict=True):
            assert (ours.dtype, ours.tobytes()) == (theirs.dtype, theirs.tobytes())
        assert nash_conv(naive.tree_of(game), loaded) == nash_conv(naive.tree_of(game), policy)
    with pytest.raises(PolicyFileError, match=r"holds a policy of .* which is not kuhn_poker"):
        load_policy(path, "kuhn_poker")


def _change(field, function):
    return lambda fields: fields.update({field: function(fields[field])})


DAMAGE = {
    "players": _change("players", lambda a: a[::-1].copy()),
    "a player too many": _change("players", lambda a: a + np.int8(1)),
    "a negative player": _change("players", lambda a: a - np.int8(1)),
    "dtype": _change("players", lambda a: a.astype(np.int64)),
    "keys": _change("keys", lambda a: a[:-1]),
    "flat keys": _change("keys", np.ravel),
    "first": _change("first", lambda a: a + 1),
    "decreasing first": _change("first", lambda a: np.concatenate([a[:1], a[:0:-1]])),
    "empty first": _change("first", lambda a: a[:0]),
    "actions": _change("actions", lambda a: a[:-1]),
    "negative": _change("probabilities", lambda a: np.where(np.arange(len(a)) == 0, -0.5, a)),
    "sums": _change("probabilities", lambda a: 2 * a),
    "NaN": _change("probabilities", lambda a: a * np.nan),
    "kind": _change("kind", lambda a: np.array("md5")),
}


@pytest.mark.parametrize("damage", list(DAMAGE))
def test_damaged_files(tmp_path, damage):
    path = tmp_path / "policy.npz"
    policy = lazy_solver("kuhn_poker", "external", seed=1).run(50).average_policy()
    save_policy(policy, path)
    with np.load(path) as archive:
        fields = dict(archive)
    DAMAGE[damage](fields)
    np.savez_compressed(path, **fields)
    with pytest.raises(PolicyFileError, match="is damaged"):
        load_policy(path)


def test_every_cut_of_a_file_is_found(tmp_path):
    path = tmp_path / "policy.npz"
    save_policy(lazy_solver("kuhn_poker", "external", seed=1).run(50).average_policy(), path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(PolicyFileError, match="damaged"):
            load_policy(path)
