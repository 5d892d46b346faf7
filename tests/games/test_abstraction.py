"""Abstraction: oracles are the real game, OpenSpiel's exploitability, and the two ways to an abstract game."""

import itertools
import pickle

import naive
import numba
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability as openspiel_exploitability

import mccfr_plus
from mccfr_plus import CheckpointError, ConfigError, GameError, Solver, abstract, compile_game, evaluate
from mccfr_plus.games import compiled_rules
from mccfr_plus.trees import abstraction
from mccfr_plus.trees.by_rules import rules_tree
from mccfr_plus.trees.game_tree import build_tree

GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"


def everything(state, player):
    return state.information_state_string(player)


def number(text, name):
    """Returns a number of one of Leduc's information states; -1 if it is not there."""
    return int(text.split(f"[{name}: ")[1].split("]")[0]) if f"[{name}: " in text else -1


def pair_or_high(state, player):
    """In the first round, whether the card is high; in the second one, whether it is a pair."""
    text = state.information_state_string(player)
    own, public = number(text, "Private"), number(text, "Public")
    return ("high", own >= 4) if public < 0 else ("pair", own // 2 == public // 2)


@numba.njit
def pair_or_high_kernel(parameters, table, view, player):
    own, public = view[0] - 1, view[1] - 1
    return int(own >= 4) if public < 0 else 2 + int(own // 2 == public // 2)


def highest_die(state, player):
    return state.information_state_string(player)[0] == "3"


def same_arrays(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first.arrays, second.arrays, strict=True))


@pytest.mark.parametrize("recall", ["imperfect", "perfect"])
@pytest.mark.parametrize("name", ["leduc_poker", "python_kuhn_poker", GOOFSPIEL])
def test_a_bucket_for_each_information_state_gives_the_real_game(name, recall):
    real, game = compile_game(name), abstract(name, everything, recall)
    tree = compile_game(game)
    assert same_arrays(tree, real)
    assert (game.num_players(), game.utility_sum()) == (real.game.num_players(), real.game.utility_sum())
    state = game.new_initial_state()
    pyspiel_state = real.game.new_initial_state()
    while not state.is_terminal():
        assert state.legal_actions() == pyspiel_state.legal_actions()
        action = state.legal_actions()[-1]
        state, pyspiel_state = state.child(action), pyspiel_state.child(action)
    assert state.returns() == pyspiel_state.returns()
    assert (state.history(), str(state)) == (pyspiel_state.history(), str(pyspiel_state))


@pytest.mark.parametrize("recall", ["imperfect", "perfect"])
def test_exploitability_is_openspiels_in_both_games(recall):
    game, real = abstract("leduc_poker", pair_or_high, recall), pyspiel.load_game("leduc_poker")
    tree = compile_game(game)
    assert tree.perfect_recall == (recall == "perfect")
    policy = mccfr_plus.TreePolicy(tree, naive.random_strategy(tree, seed=3, zeros=0.2))
    inner, outer = evaluate(game, policy), evaluate("leduc_poker", policy)
    assert inner.nash_conv == pytest.approx(openspiel_exploitability.nash_conv(game, policy, use_cpp_br=False))
    if recall == "perfect":
        assert inner.nash_conv == pytest.approx(pyspiel.nash_conv(game, dict(policy)), abs=1e-9)
        assert inner.perfect_recall_nash_conv == inner.nash_conv
    lifted = openspiel_policy.TabularPolicy(real)  # by hand: the bucket and what is public, without a word of ours
    rows = {}
    for state in openspiel_policy.TabularPolicy(game).states:
        actions, history = policy.action_probabilities(state), real.new_initial_state()
        for action in state.history():
            history.apply_action(action)
        rows[known(history, recall)] = actions
    for index, state in enumerate(lifted.states):
        lifted.action_probability_array[index] = 0.0
        for action, probability in rows[known(state, recall)].items():
            lifted.action_probability_array[index, action] = probability
        assert policy.action_probabilities(state) == rows[known(state, recall)]
    assert outer.nash_conv == pytest.approx(openspiel_exploitability.nash_conv(real, lifted), abs=1e-9)
    np.testing.assert_allclose(outer.values, inner.values, atol=1e-12)
    assert outer.nash_conv >= inner.perfect_recall_nash_conv - 1e-12  # who sees more responds better


def known(state, recall):
    """Returns what a player of the abstraction knows, from the text of Leduc's information state alone."""
    text, player = state.information_state_string(), state.current_player()
    public = text.split("[Public: ")[1][0] if "[Public: " in text else "", text.split("[Round1")[1]
    is_second = "[Public: " in text
    past = number(text, "Private") >= 4 if recall == "perfect" and is_second else None  # the bucket of the first round
    return player, public, pair_or_high(state, player), past


def test_a_kernel_gives_the_same_game_as_a_function_and_rules():
    plain, by_kernel = abstract("leduc_poker", pair_or_high), abstract("leduc_poker", pair_or_high_kernel)
    rules = compiled_rules(by_kernel)
    assert (compiled_rules(plain), rules.sizes.perfect_recall) == (None, False)
    tree, through_pyspiel = compile_game(plain), compile_game(by_kernel)
    found = build_tree(by_kernel, rules_tree.build(rules, lambda *_: None, 1 << 20, False))
    assert same_arrays(tree, through_pyspiel)
    assert same_arrays(tree, found)
    assert through_pyspiel.info_states == found.info_states
    same = compile_game(abstract("leduc_poker", pair_or_high_kernel, "perfect"))
    assert same_arrays(same, compile_game(abstract("leduc_poker", pair_or_high, "perfect")))


def test_the_public_observer_stands_in_for_rules(monkeypatch):
    tree = compile_game(abstract("leduc_poker", pair_or_high))
    monkeypatch.setattr(abstraction, "compiled_rules", lambda game: None)
    assert same_arrays(compile_game(abstract("leduc_poker", pair_or_high)), tree)


@pytest.mark.parametrize("recall", ["imperfect", "perfect"])
def test_a_key_replaces_the_history_of_public_actions(recall):
    """With the number of moves as key, a player with perfect recall still knows its own buckets, keys and actions."""
    game = abstract("liars_dice(dice_sides=3)", highest_die, recall, key=last_bid)
    tree, expected = compile_game(game), {}
    assert tree.perfect_recall == (recall == "perfect")
    root = compile_game("liars_dice(dice_sides=3)")
    for state in mccfr_plus.TreePolicy(root, root.uniform_strategy()).states:
        player, past, now = state.current_player(), [], state.get_game().new_initial_state()
        for action in state.history():
            if now.current_player() == player:
                past.append((highest_die(now, player), last_bid(now, player), action))
            now.apply_action(action)
        mine = highest_die(state, player), last_bid(state, player), tuple(past) if recall == "perfect" else ()
        expected[player, mine] = True
    assert tree.num_infosets == len(expected)


def last_bid(state, player):
    return max(state.history()[2:], default=-1)


def test_lazy_trees_and_files_take_the_function(tmp_path):
    game = abstract("leduc_poker", pair_or_high)
    solver = Solver(game, "external", seed=1).run(200)
    solver.save_checkpoint(tmp_path / "c")
    mccfr_plus.save_policy(solver.average_policy(), tmp_path / "p.npz")
    again = pickle.loads(pickle.dumps(game))
    assert str(again) == str(game)
    resumed = Solver.from_checkpoint(tmp_path / "c", game=again).run(50)
    assert (resumed.average_strategy() == solver.run(50).average_strategy()).all()
    assert mccfr_plus.load_policy(tmp_path / "p.npz", again).num_infosets == solver.tree.num_infosets
    other = abstract("leduc_poker", everything)
    with pytest.raises(CheckpointError, match=r"its game is 'abstract\(buckets=.*solver's is 'abstract\(buckets="):
        Solver.from_checkpoint(tmp_path / "c", game=other)
    with pytest.raises(mccfr_plus.PolicyFileError, match="which is not abstract"):
        mccfr_plus.load_policy(tmp_path / "p.npz", other)
    with pytest.raises(GameError, match=r"made in memory.*give the game itself, as game="):
        Solver.from_checkpoint(tmp_path / "c")
    perfect = abstract("leduc_poker", pair_or_high, "perfect")
    policies = [Solver(perfect, tree=kind, seed=1).run(100).average_policy() for kind in ("lazy", "compiled")]
    found = [evaluate("leduc_poker", policy).nash_conv for policy in policies]
    assert found[0] == pytest.approx(found[1], abs=1e-12)
    result = mccfr_plus.experiments.compare(game, "cfr+", iterations=20, processes=1, progress=False)
    assert not result.failed
    assert mccfr_plus.estimate_size(game, seed=1).perfect_recall is False


CALLS = itertools.count()
MISTAKES = {
    "raises": (lambda state, player: 1 / 0, r"bucket raised ZeroDivisionError for player 0 of .* history \[.*division"),
    "not hashable": (lambda state, player: [1], r"bucket returned \[1\] .*not hashable: return a number, a text"),
    "no text": (lambda state, player: object(), "no text of its own: return a number"),
    "differs": (lambda state, player: next(CALLS), r"two values .*: it must depend on the state alone"),
    "sees too much": (lambda state, player: str(state), "cannot tell apart: it must depend on what the player knows"),
}


@pytest.mark.parametrize(("bucket", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_of_buckets(bucket, message):
    with pytest.raises(GameError, match=message):
        abstract("leduc_poker", bucket)


@numba.njit
def negative_kernel(parameters, table, view, player):
    return -1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("leduc_poker", 3), ConfigError, "not callable"),
        (("leduc_poker", everything, "none"), ConfigError, "recall='none': give one of imperfect, perfect"),
        (("leduc_poker", pair_or_high_kernel, "perfect", last_bid), ConfigError, "key= with a bucket that is a kernel"),
        (("tic_tac_toe", pair_or_high_kernel), ConfigError, "is a kernel, and there are no compiled rules of tic_tac"),
        (("kuhn_poker", numba.njit(lambda view: 1)), ConfigError, r"a kernel of \(parameters, table, view, player\)"),
        (("kuhn_poker", negative_kernel), GameError, "-1 is not in 0 .. 2"),
        (("battleship", everything), GameError, "neither compiled rules nor a public observer.*give key="),
        (
            ("leduc_poker", lambda state, player: 0, "imperfect", lambda state, player: 0),
            GameError,
            r"histories \[.*\] and \[.*\] of leduc_poker.*legal actions are \[.*\] and \[.*give a finer bucket or key",
        ),
    ],
    ids=str,
)
def test_mistakes_of_arguments(arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        abstract(*arguments)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_done_later():
    game = abstract("leduc_poker", lambda state, player: pair_or_high(state, player))
    with pytest.raises(GameError, match=r"cannot be sent to another process .*: give a function that a module"):
        pickle.dumps(game)
    with pytest.raises(ConfigError, match="give abstract a kernel as bucket, and recall='imperfect'"):
        Solver(game, tree="rules")


def test_simultaneous_moves_are_converted():
    game = abstract(GOOFSPIEL, everything)
    policy = Solver(game, "full", "rm+").run(50).average_policy()
    same = Solver(GOOFSPIEL, "full", "rm+").run(50)
    assert evaluate(GOOFSPIEL, policy).nash_conv == pytest.approx(same.evaluate().nash_conv, abs=1e-12)
