"""TreePolicy in OpenSpiel's hands, and policies in files."""

import os
import pickle
import stat

import naive
import numpy as np
import pyspiel
import pytest
from lazy_games import FaultyGame, FaultyState
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability

import mccfr_plus
from mccfr_plus import GameError, PolicyError, PolicyFileError, Solver, TreePolicy, load_policy, save_policy

GAMES = ("kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", "matrix_bos", "random:2:1")


def policy_of(game, seed=1, zeros=0.3):
    tree = naive.tree_of(game)
    return TreePolicy(tree, naive.random_strategy(tree, seed, zeros))


@pytest.mark.parametrize("game", GAMES)
def test_is_openspiels_tabular_policy(game):
    policy = policy_of(game)
    table = openspiel_policy.TabularPolicy(policy.game)
    assert isinstance(policy, openspiel_policy.TabularPolicy)
    assert policy.state_lookup == table.state_lookup
    assert policy.states_per_player == table.states_per_player
    assert [s.history_str() for s in policy.states] == [s.history_str() for s in table.states]
    np.testing.assert_array_equal(policy.legal_actions_mask, table.legal_actions_mask)
    assert policy.action_probability_array.shape == table.action_probability_array.shape
    if table.state_in is not None:
        np.testing.assert_array_equal(policy.state_in, table.state_in)
    plain = policy.to_tabular()
    np.testing.assert_array_equal(plain.action_probability_array, policy.action_probability_array)
    for state in table.states:
        expected = dict(policy[state.information_state_string()])
        assert policy.action_probabilities(state) == expected
        nonzero = {a: p for a, p in expected.items() if p > 0}
        assert {a: p for a, p in plain.action_probabilities(state).items() if p > 0} == nonzero
        np.testing.assert_array_equal(
            policy.policy_for_key(state.information_state_string()),
            plain.policy_for_key(state.information_state_string()),
        )
    tables = policy.to_tabular()
    tables.action_probability_array[:] = 0
    assert policy.strategy().any()  # its own numbers


@pytest.mark.parametrize("game", GAMES)
def test_openspiels_functions_accept_it(game):
    policy = policy_of(game)
    expected = mccfr_plus.nash_conv(policy.tree, policy)
    assert exploitability.nash_conv(policy.game, policy) == pytest.approx(expected, abs=1e-10)
    assert pyspiel.nash_conv(policy.game, policy.to_pyspiel()) == pytest.approx(expected, abs=1e-10)
    assert pyspiel.nash_conv(policy.game, policy) == pytest.approx(expected, abs=1e-10)
    if policy.game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM and policy.game.num_players() == 2:
        assert pyspiel.exploitability(policy.game, policy) == pytest.approx(expected / 2, abs=1e-10)


def test_players_that_share_texts_have_no_table_by_text(monkeypatch):
    monkeypatch.setattr(FaultyState, "information_state_string", lambda self, player=None: "to move")
    policy = Solver(FaultyGame({"length": 2}), "full").run(10).average_policy()
    assert mccfr_plus.nash_conv(policy.game, policy) >= 0
    for convert in (dict, TreePolicy.to_pyspiel):
        with pytest.raises(PolicyError, match="have the information state string"):
            convert(policy)


def test_writing_to_the_array_changes_the_policy():
    policy = policy_of("kuhn_poker")
    state = policy.states[0]
    key = state.information_state_string()
    row = policy.policy_for_key(key)
    row[:] = [0.25, 0.75]
    assert policy.action_probabilities(state) == {0: 0.25, 1: 0.75}
    assert policy[key] == [(0, 0.25), (1, 0.75)]
    assert policy.strategy()[policy.tree.slots(policy.tree.infoset(key))].tolist() == [0.25, 0.75]
    assert dict(policy.to_pyspiel().policy_table()[key]) == {0: 0.25, 1: 0.75}
    changed = mccfr_plus.nash_conv(policy.tree, policy)
    assert changed == pytest.approx(exploitability.nash_conv(policy.game, policy), abs=1e-12)
    assert pickle.loads(pickle.dumps(policy)).action_probabilities(state) == {0: 0.25, 1: 0.75}


def test_outlives_the_solver():
    solver = Solver(naive.tree_of("kuhn_poker"), "external", seed=1).run(50)
    policies = solver.average_policy(), solver.current_policy()
    before = [p.strategy() for p in policies]
    solver.run(200)
    for policy, strategy in zip(policies, before, strict=True):
        np.testing.assert_array_equal(policy.strategy(), strategy)
        assert not np.array_equal(solver.average_strategy(), strategy)
    given = naive.random_strategy(naive.tree_of("kuhn_poker"), 1)
    policy = TreePolicy(naive.tree_of("kuhn_poker"), given)
    given[:] = 0
    assert policy.strategy().any()


@pytest.mark.parametrize("is_of_original", [True, False])
def test_one_players_policy_answers_states_of_both_forms_of_a_game(is_of_original):
    original = pyspiel.load_game("goofspiel(imp_info=True,num_cards=3,points_order=descending)")
    states = [original.new_initial_state(), pyspiel.convert_to_turn_based(original).new_initial_state()]
    text = states[0 if is_of_original else 1].information_state_string(0)
    policy = mccfr_plus.InfoStatePolicy(0, {text: {1: 1.0}})
    assert [policy.action_probabilities(state, 0) for state in states] == [{1: 1.0}] * 2


@pytest.mark.parametrize("game", ["kuhn_poker", "python_kuhn_poker", "goofspiel(imp_info=True,num_cards=3)"])
def test_round_trip(game, tmp_path):
    policy = policy_of(game)
    save_policy(policy, tmp_path / "policy.npz")
    for loaded in (load_policy(tmp_path / "policy.npz"), load_policy(str(tmp_path / "policy.npz"), policy.tree)):
        np.testing.assert_array_equal(loaded.strategy(), policy.strategy())
        assert loaded.tree.fingerprint == policy.tree.fingerprint
    assert os.listdir(tmp_path) == ["policy.npz"]
    save_policy(policy_of(game, seed=2), tmp_path / "policy.npz")  # over an old one
    assert not np.array_equal(load_policy(tmp_path / "policy.npz").strategy(), policy.strategy())


def test_the_file_is_plain_numpy_and_readable_by_others(tmp_path):
    policy = policy_of("kuhn_poker")
    previous = os.umask(0o022)
    try:
        save_policy(policy, tmp_path / "a.npz")
    finally:
        os.umask(previous)
    assert stat.S_IMODE(os.stat(tmp_path / "a.npz").st_mode) == 0o644
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        assert str(archive["game"]) == "kuhn_poker()"
        np.testing.assert_array_equal(archive["strategy"], policy.strategy())


def test_a_policy_of_openspiel_is_saved_by_way_of_a_solver(tmp_path):
    uniform = openspiel_policy.TabularPolicy(pyspiel.load_game("kuhn_poker"))
    with pytest.raises(PolicyError, match="policies of type TabularPolicy cannot be saved: save Solver"):
        save_policy(uniform, tmp_path / "policy.npz")
    save_policy(Solver("kuhn_poker").set_strategy(uniform).current_policy(), tmp_path / "policy.npz")
    np.testing.assert_array_equal(load_policy(tmp_path / "policy.npz").strategy(), 0.5)


def test_truncated_and_flipped_files(tmp_path):
    policy = policy_of("kuhn_poker")
    path = tmp_path / "policy.npz"
    save_policy(policy, path)
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 37), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(PolicyFileError):
            load_policy(path)
    rng = np.random.default_rng(1)
    for position in rng.integers(0, len(whole), 60).tolist():
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try:  # a flipped bit is found, or does no harm
            loaded = load_policy(path)
        except PolicyFileError:
            continue
        np.testing.assert_array_equal(loaded.strategy(), policy.strategy())


def fields_of(policy, **changes):
    fields = {
        "format": np.array("mccfr_plus.policy"),
        "version": np.array(1),
        "game": np.array(str(policy.game)),
        "fingerprint": np.array(policy.tree.fingerprint),
        "strategy": policy.strategy(),
    }
    fields.update(changes)
    return {name: value for name, value in fields.items() if value is not None}


KUHN = policy_of("kuhn_poker")


@pytest.mark.parametrize(
    "changes",
    [
        {"version": np.array(2)},
        {"version": np.array(0)},
        {"version": np.array("1")},
        {"version": np.array([1, 1])},
        {"format": np.array("other")},
        {"format": None},
        {"strategy": None},
        {"strategy": KUHN.strategy()[:-1]},
        {"strategy": KUHN.strategy().astype(np.float32)},
        {"strategy": KUHN.strategy().reshape(2, -1)},
        {"strategy": KUHN.strategy() * 0.5},
        {"strategy": np.full(24, np.nan)},
        {"fingerprint": np.array("0" * 64)},
        {"game": np.array("no_such_game")},
        {"game": np.array("leduc_poker()")},
        {"game": np.array([1, 2])},
    ],
    ids=str,
)
def test_changed_files(changes, tmp_path):
    np.savez(tmp_path / "same.npz", **fields_of(KUHN))
    load_policy(tmp_path / "same.npz")
    np.savez(tmp_path / "changed.npz", **fields_of(KUHN, **changes))
    with pytest.raises((PolicyFileError, GameError)):  # the latter if the file names no game of OpenSpiel
        load_policy(tmp_path / "changed.npz")


class Bomb:
    """Leaves a trace if anybody unpickles it."""

    def __reduce__(self):
        return (os.mkdir, (os.environ["MCCFR_PLUS_TEST_TRACE"],))


def test_no_pickle_is_ever_loaded(tmp_path, monkeypatch):
    monkeypatch.setenv("MCCFR_PLUS_TEST_TRACE", str(tmp_path / "trace"))
    bomb = np.array([Bomb()], dtype=object)
    for name in ("strategy", "game", "format"):
        np.savez(tmp_path / "bomb.npz", **fields_of(KUHN, **{name: bomb}))
        with pytest.raises(PolicyFileError):
            load_policy(tmp_path / "bomb.npz")
    (tmp_path / "bomb.pkl").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(PolicyFileError):
        load_policy(tmp_path / "bomb.pkl")
    assert not (tmp_path / "trace").exists()


def test_foreign_files(tmp_path):
    np.savez(tmp_path / "foreign.npz", x=np.zeros(3))
    np.save(tmp_path / "foreign.npy", np.zeros(3))
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "empty.npz").write_bytes(b"")
    for name in ("foreign.npz", "foreign.npy", "text.npz", "empty.npz", "missing.npz", "."):
        with pytest.raises(PolicyFileError):
            load_policy(tmp_path / name)


def test_another_games_file(tmp_path):
    save_policy(KUHN, tmp_path / "policy.npz")
    with pytest.raises(PolicyFileError, match="leduc_poker"):
        load_policy(tmp_path / "policy.npz", "leduc_poker")
    # The same decisions under another name are welcome.
    assert load_policy(tmp_path / "policy.npz", pyspiel.load_game("kuhn_poker(players=2)")).tree.num_slots == 24
