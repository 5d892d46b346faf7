"""Abstraction: oracles are the real game, OpenSpiel's exploitability, and the other way to the same abstract game."""

import functools
import itertools
import pickle

import naive
import numba
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms.exploitability import nash_conv as openspiel_nash_conv

import mccfr_plus
from mccfr_plus import CheckpointError, ConfigError, GameError, Solver, abstract, compile_game, evaluate
from mccfr_plus.games import compiled_rules
from mccfr_plus.trees import abstraction
from mccfr_plus.trees.by_rules import rules_tree
from mccfr_plus.trees.game_tree import build_tree

LEDUC = "leduc_poker(suit_isomorphism=True)"  # a fifth of the histories
GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"
DICE = "liars_dice(dice_sides=3)"
leduc = functools.cache(lambda bucket, recall: abstract(LEDUC, bucket, recall))
stored = functools.cache(lambda bucket, recall: compile_game(leduc(bucket, recall)))
RECALLS = pytest.mark.parametrize("recall", ["imperfect", "perfect"])


def everything(state, player):
    return state.information_state_string(player)


def cards(state, player):
    """Returns the ranks of the own and the public card of Leduc poker, -1 where it is not dealt."""
    text = state.information_state_string(player)
    return [int(text.split(f"[{name}: ")[1][0]) if name in text else -1 for name in ("Private", "Public")]


def high_or_pair(state, player):
    own, public = cards(state, player)
    return ("high", own == 2) if public < 0 else ("pair", own == public)


@numba.njit
def high_or_pair_kernel(parameters, table, view, player):
    own, public = view[0] - 1, view[1] - 1
    return int(own == 2) if public < 0 else 2 + int(own == public)


@numba.njit
def negative_kernel(parameters, table, view, player):
    return -1


def highest(state, player):
    return state.information_state_string(player)[0] == "3"


def last_bid(state, player):
    return max(state.history()[2:], default=-1)


def same_arrays(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first.arrays, second.arrays, strict=True))


@RECALLS
@pytest.mark.parametrize("name", [LEDUC, "python_kuhn_poker", GOOFSPIEL])
def test_a_bucket_for_each_information_state_gives_the_real_game(name, recall):
    real, game = compile_game(name), abstract(name, everything, recall)
    assert same_arrays(compile_game(game), real)
    state, expected = game.new_initial_state(), real.game.new_initial_state()
    while not state.is_terminal():
        action = state.legal_actions()[-1]
        state, expected = state.child(action), expected.child(action)
        assert (state.legal_actions(), state.returns()) == (expected.legal_actions(), expected.returns())
        assert (state.history(), str(state)) == (expected.history(), str(expected))
    policy = Solver(game, "full", "rm+").run(30).average_policy()
    assert evaluate(name, policy).nash_conv == pytest.approx(Solver(name, "full", "rm+").run(30).nash_conv(), abs=1e-12)


def known(state, recall):
    """Returns what a player of the abstract game of `high_or_pair` knows, from Leduc's information state alone."""
    text, player = state.information_state_string(), state.current_player()
    own, public = cards(state, player)
    past = own == 2 if recall == "perfect" and public >= 0 else None  # the bucket of the first round
    return player, public, text.split("[Round1")[1], high_or_pair(state, player), past


@RECALLS
def test_exploitability_is_openspiels_in_both_games(recall):
    game, tree, real = leduc(high_or_pair, recall), stored(high_or_pair, recall), pyspiel.load_game(LEDUC)
    assert tree.perfect_recall == (recall == "perfect")
    policy = mccfr_plus.TreePolicy(tree, naive.random_strategy(tree, seed=3, zeros=0.2))
    inside, outside = evaluate(game, policy), evaluate(LEDUC, policy)
    assert inside.nash_conv == pytest.approx(openspiel_nash_conv(game, policy, use_cpp_br=False), abs=1e-9)
    rows, by_hand = {}, openspiel_policy.TabularPolicy(real)
    for state in by_hand.states:  # one of each information state, so that `rows` is checked, too
        rows.setdefault(known(state, recall), policy.action_probabilities(state))
    assert len(rows) == tree.num_infosets
    for index, state in enumerate(by_hand.states):
        row = rows[known(state, recall)]
        by_hand.action_probability_array[index] = [row.get(action, 0.0) for action in range(3)]
    assert outside.nash_conv == pytest.approx(openspiel_nash_conv(real, by_hand), abs=1e-9)
    np.testing.assert_allclose(outside.values, inside.values, atol=1e-12)
    assert outside.nash_conv >= inside.perfect_recall_nash_conv - 1e-12  # who sees more responds better


@RECALLS
def test_kernels_and_rules_give_the_game_of_the_function(monkeypatch, recall):
    plain, by_kernel = (leduc(one, recall) for one in (high_or_pair, high_or_pair_kernel))
    tree, through_pyspiel = (stored(one, recall) for one in (high_or_pair, high_or_pair_kernel))
    rules = compiled_rules(by_kernel)
    assert (compiled_rules(plain), rules.sizes.perfect_recall) == (None, recall == "perfect")
    found = build_tree(by_kernel, rules_tree.build(rules, lambda *_: None, 1 << 20, False))
    assert same_arrays(tree, through_pyspiel)
    assert same_arrays(tree, found)
    assert through_pyspiel.info_states == found.info_states
    monkeypatch.setattr(abstraction, "compiled_rules", lambda game: None)  # OpenSpiel's public observer says the same
    assert same_arrays(compile_game(abstract(LEDUC, high_or_pair, recall)), tree)


@RECALLS
def test_a_key_replaces_the_history_of_public_actions(recall):
    tree, real, expected = compile_game(abstract(DICE, highest, recall, last_bid)), compile_game(DICE), set()
    assert tree.perfect_recall == (recall == "perfect")
    for state in mccfr_plus.TreePolicy(real, real.uniform_strategy()).states:
        player, past, now = state.current_player(), [], real.game.new_initial_state()
        for action in state.history():
            if now.current_player() == player:
                past.append((last_bid(now, player), action))
            now.apply_action(action)
        past = past if recall == "perfect" else []
        expected.add((player, highest(state, player), last_bid(state, player), tuple(past)))
    assert tree.num_infosets == len(expected)


@RECALLS
@pytest.mark.usefixtures("interpreted_loops", "interpreted_evaluation")
@pytest.mark.parametrize("bucket", [high_or_pair, high_or_pair_kernel])
def test_trees_that_grow_are_those_that_are_stored(bucket, recall):
    kind, game = "lazy" if bucket is high_or_pair else "rules", leduc(bucket, recall)
    policies = [
        Solver(given, "opponent", averaging="stochastic(gamma=1.0)", tree=tree, seed=1).run(5).average_policy()
        for given, tree in ((game, kind), (stored(bucket, recall), "compiled"))
    ]
    found = [evaluate(LEDUC, policy).nash_conv for policy in policies]
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    by_rules = mccfr_plus.evaluate_by_rules(LEDUC, policies[0], memory="4GB")
    assert by_rules.nash_conv == pytest.approx(found[0], abs=1e-9)


def test_files_and_processes_take_the_function(tmp_path, monkeypatch, interpreted_loops):
    game, other = abstract(LEDUC, high_or_pair), abstract(LEDUC, everything)
    solver, again = Solver(game, "external", seed=1).run(50), pickle.loads(pickle.dumps(game))
    solver.save_checkpoint(tmp_path / "c")
    mccfr_plus.save_policy(solver.average_policy(), tmp_path / "p.npz")
    assert str(again) == str(game)
    resumed = Solver.from_checkpoint(tmp_path / "c", game=again).run(50)
    assert (resumed.average_strategy() == solver.run(50).average_strategy()).all()
    assert mccfr_plus.load_policy(tmp_path / "p.npz", again).num_infosets == solver.tree.num_infosets
    with pytest.raises(CheckpointError, match=r"its game is 'abstract\(buckets=.*solver's is 'abstract\(buckets="):
        Solver.from_checkpoint(tmp_path / "c", game=other)
    with pytest.raises(mccfr_plus.PolicyFileError, match="which is not abstract"):
        mccfr_plus.load_policy(tmp_path / "p.npz", other)
    with pytest.raises(GameError, match=r"made in memory.*the game itself, as game="):
        Solver.from_checkpoint(tmp_path / "c")
    assert not mccfr_plus.experiments.compare(game, "cfr+", iterations=2, processes=1, progress=False).failed
    sent = pickle.dumps(game)
    monkeypatch.setattr(f"{__name__}.high_or_pair", everything)
    with pytest.raises(GameError, match=r"abstract\(.* has buckets other than those of .*: use the same bucket"):
        pickle.loads(sent)
    unnamed = abstract(LEDUC, lambda state, player: cards(state, player)[0])
    with pytest.raises(
        GameError, match=r"cannot be sent to another process .*: use a function defined at the top level of a module"
    ):
        pickle.dumps(unnamed)
    with pytest.raises(ConfigError, match="give abstract a kernel as bucket"):
        Solver(unnamed, tree="rules")


CALLS = itertools.count()
MISTAKES = [
    (lambda state, player: 1 / 0, {}, r"bucket raised ZeroDivisionError for player 0 of .* history \[.*division"),
    (lambda state, player: [1], {}, r"bucket returned \[1\] .*not hashable: return a number, a string, or a tuple"),
    (lambda state, player: object(), {}, "no text of its own: return a number"),
    (lambda state, player: next(CALLS), {}, "make bucket and key depend only on what the player knows"),
    (lambda state, player: str(state), {}, "cannot tell apart: make bucket and key depend only on"),
    (negative_kernel, {}, "-1 is not in 0 .. 2"),
    (everything, {"game": "battleship"}, r"neither compiled rules nor a public observer.*give key="),
    (lambda *_: 0, {"key": lambda *_: 0}, r"histories \[.* and \[.*actions, \[.*\] and \[.*finer bucket or key"),
    (3, {}, "bucket=3 is not callable"),
    (everything, {"recall": "none"}, "recall='none': give one of imperfect, perfect"),
    (high_or_pair_kernel, {"key": last_bid}, "key= cannot be combined with a bucket that is a kernel"),
    (high_or_pair_kernel, {"game": "tic_tac_toe"}, "is a kernel, but there are no compiled rules of tic_tac_toe"),
    (numba.njit(lambda view: 1), {}, r"a kernel of \(parameters, table, view, player\)"),
]


@pytest.mark.parametrize(("bucket", "options", "message"), MISTAKES)
def test_mistakes_are_one_line(bucket, options, message):
    with pytest.raises((GameError, ConfigError), match=message) as caught:
        abstract(**{"game": "leduc_poker", "bucket": bucket} | options)
    assert "\n" not in str(caught.value)
