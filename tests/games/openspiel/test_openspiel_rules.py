"""Compiled rules of OpenSpiel's own games agree with OpenSpiel."""

import pickle
import time

import numpy as np
import pyspiel
import pytest
from agreement import Agreement, assert_same_trees, no_rules

import mccfr_plus
from mccfr_plus.games.openspiel import rules_of, why_no_rules
from mccfr_plus.tree.info_states import InfoStates

# Game strings, and how many random plays are compared.
POKER = {
    "kuhn_poker": 200,
    "kuhn_poker(players=3)": 400,
    "kuhn_poker(players=5)": 300,
    "kuhn_poker(players=10)": 200,
    "leduc_poker": 500,
    "leduc_poker(suit_isomorphism=True)": 300,
    "leduc_poker(starting_player=1)": 300,
    "leduc_poker(players=3)": 400,
    "leduc_poker(players=4,starting_player=2,suit_isomorphism=True)": 300,
    "leduc_poker(players=10)": 100,
}
PHANTOM = {
    "phantom_ttt": 2000,
    "phantom_ttt(gameversion=abrupt)": 2000,
    "phantom_ttt(obstype=reveal-numturns)": 2000,
    "phantom_ttt(obstype=reveal-numturns,gameversion=abrupt)": 2000,
    "dark_hex(obstype=reveal-numturns)": 500,
    "dark_hex(obstype=reveal-numturns,gameversion=adh)": 500,
    "dark_hex(obstype=reveal-numturns,num_rows=2,num_cols=4)": 300,
    "dark_hex(obstype=reveal-numturns,board_size=5)": 100,
}
DICE = {
    "liars_dice": 500,
    "liars_dice(numdice=2)": 2000,
    "liars_dice(numdice=2,dice_sides=5)": 1000,
    "liars_dice(numdice=2,dice_sides=3,bidding_rule=reset-quantity)": 1000,
    "liars_dice(numdice=3,dice_sides=4,bidding_rule=reset-quantity)": 500,
    "liars_dice(numdice=5)": 500,
    "liars_dice(dice_sides=1)": 10,
}
GOOFSPIEL = {
    "goofspiel(imp_info=True,num_cards=13)": 200,
    "goofspiel(imp_info=True,num_cards=5,points_order=descending)": 500,
    "goofspiel(imp_info=True,num_cards=6,points_order=ascending,returns_type=point_difference)": 300,
    "goofspiel(imp_info=True,num_cards=4,players=3,returns_type=point_difference)": 500,
    "goofspiel(imp_info=True,num_cards=5,players=5,returns_type=total_points,points_order=descending)": 200,
    "goofspiel(imp_info=True,num_cards=7,num_turns=4,egocentric=True)": 300,
    "goofspiel(imp_info=True,num_cards=3,players=10)": 100,
    "goofspiel(imp_info=True,num_cards=1)": 10,
}
BRIDGE = {"tiny_bridge_2p": 1500, "tiny_bridge_2p(abstracted=True)": 1500}
_BOARD = "board_width=2,board_height=3,ship_sizes=[2],ship_values=[1.0]"
_SMALL_BOARD = "board_width=2,board_height=2,ship_sizes=[2],ship_values=[1.5],num_shots=2"
BATTLESHIP = {
    f"battleship({_BOARD},num_shots=3,allow_repeated_shots=False)": 300,
    f"battleship({_BOARD},num_shots=4,loss_multiplier=2.5)": 300,
    "battleship(board_width=4,board_height=3,ship_sizes=[1;2;4],ship_values=[1.0;0.3;2.7],num_shots=8)": 200,
    "battleship(board_width=3,board_height=2,ship_sizes=[1;2;3],ship_values=[1.0;2.0;3.0],num_shots=5)": 200,
    "battleship(board_width=8,board_height=7,ship_sizes=[2;3;3;4;5],ship_values=[1;1;1;1;1],num_shots=40)": 30,
}
PLAYED = BATTLESHIP | BRIDGE | GOOFSPIEL | POKER | PHANTOM | DICE
IMPERFECT = {  # players have imperfect recall
    "leduc_poker(action_mapping=True)": 300,
    "leduc_poker(players=3,action_mapping=True,suit_isomorphism=True,starting_player=2)": 200,
    "goofspiel": 200,
    "goofspiel(num_cards=5,points_order=descending,returns_type=point_difference)": 500,
    "goofspiel(num_cards=5,players=3,points_order=ascending,returns_type=total_points)": 300,
    "goofspiel(num_cards=8,num_turns=5)": 300,
    "dark_hex": 1500,
    "dark_hex(gameversion=adh)": 1500,
    "dark_hex(num_rows=4,num_cols=2)": 300,
    "dark_hex(board_size=4,gameversion=adh)": 300,
    "dark_hex(num_rows=3,num_cols=6)": 200,
    "dark_hex(num_rows=7,num_cols=4)": 100,
}
TRAVERSED = [
    f"battleship({_SMALL_BOARD},allow_repeated_shots=False)",
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker(suit_isomorphism=True)",
    "leduc_poker(starting_player=1)",
    "goofspiel(imp_info=True,num_cards=3)",
    "goofspiel(imp_info=True,num_cards=3,players=3,points_order=descending)",
    "liars_dice(dice_sides=3)",
    "liars_dice(numdice=2,dice_sides=2,bidding_rule=reset-quantity)",
    "dark_hex(board_size=2)",
    "dark_hex(board_size=2,gameversion=adh,obstype=reveal-numturns)",
]
TREES = [
    f"battleship({_SMALL_BOARD},allow_repeated_shots=False)",
    f"battleship({_SMALL_BOARD},loss_multiplier=-0.5)",
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "leduc_poker(suit_isomorphism=True)",
    "leduc_poker(starting_player=1)",
    "leduc_poker(action_mapping=True)",
    "goofspiel(imp_info=True,num_cards=3)",
    "goofspiel(imp_info=True,num_cards=4,points_order=descending)",
    "goofspiel(imp_info=True,num_cards=3,players=3,points_order=ascending,returns_type=point_difference)",
    "goofspiel(num_cards=3,returns_type=total_points)",
    "goofspiel(num_cards=4,points_order=ascending,num_turns=2)",
    "liars_dice(dice_sides=3)",
    "liars_dice(numdice=2,dice_sides=2)",
    "liars_dice(numdice=2,dice_sides=2,bidding_rule=reset-quantity)",
    "dark_hex(board_size=2)",
    "dark_hex(board_size=2,gameversion=adh)",
    "dark_hex(num_rows=2,num_cols=3,obstype=reveal-numturns)",
]
LARGE_TREES = [
    "tiny_bridge_2p",
    "tiny_bridge_2p(abstracted=True)",
    "liars_dice",
    "dark_hex(num_rows=3,num_cols=2,gameversion=adh)",
    "leduc_poker(players=3,suit_isomorphism=True)",
]
NO_RULES = {
    "battleship": "board_width=10, board_height=10: give at most 62 cells",
    "goofspiel(num_cards=4)": "goofspiel has simultaneous moves: give its turn-based form",
    "turn_based_simultaneous_game(game=goofspiel(num_cards=16))": "num_cards=16: give a whole number from 1 to 15",
    "turn_based_simultaneous_game(game=goofspiel(num_cards=4,num_turns=3))": "OpenSpiel's game does not end",
    "turn_based_simultaneous_game(game=matrix_rps())": "there are no compiled rules of matrix_rps",
    "liars_dice(numdice=8,dice_sides=4)": "numdice=8, dice_sides=4: 64 bids; give at most 62",
    "dark_hex(num_rows=1)": "of dark_hex with these parameters: num_rows=1: give a whole number from 2 to 14",
    "dark_hex(board_size=6)": "num_rows=6, num_cols=6: give a board of at most 28 cells",
    "tic_tac_toe": "there are no compiled rules of tic_tac_toe: OpenSpiel's games with rules are kuhn_poker, ",
}

every_played = pytest.mark.parametrize("name", [*PLAYED, *IMPERFECT])


def agreement_with(name):
    return Agreement(name, perfect_recall=name not in IMPERFECT)


def play(name, factor=1):
    agreement, rng = agreement_with(name), np.random.default_rng(7)
    for _ in range(factor * (PLAYED | IMPERFECT)[name]):
        agreement.play(rng)


@every_played
def test_random_plays_agree(name):
    play(name)


@pytest.mark.slow
@every_played
def test_many_random_plays_agree(name):
    play(name, 5)


@every_played
def test_kernels_keep_the_contract(name):
    agreement_with(name).check_contract(plays=20, seed=3)


@pytest.mark.parametrize("name", TRAVERSED)
def test_all_states_agree(name):
    agreement = agreement_with(name)
    agreement.traverse()
    assert agreement.num_states == mccfr_plus.compile_game(name, progress=False).num_nodes


@pytest.mark.parametrize("name", [*TREES, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE_TREES)])
def test_trees_are_those_through_pyspiel(name):
    own, other = agreement_with(name).trees()
    assert_same_trees(own, other)
    assert own.fingerprint == other.fingerprint
    again = pickle.loads(pickle.dumps(own.info_states))
    assert list(again) == list(other.info_states)
    if own.perfect_recall and own.num_players == 2:
        rng = np.random.default_rng(1)
        policy = {}
        for infoset, text in enumerate(other.info_states):
            actions = other.legal_actions(infoset)
            policy[text] = dict(zip(actions, rng.dirichlet(np.ones(len(actions))).tolist(), strict=True))
        assert mccfr_plus.exploitability(own, policy) == mccfr_plus.exploitability(other, policy)


@pytest.mark.parametrize(
    "name",
    [
        "dark_hex(num_rows=2,num_cols=3)",
        "goofspiel(num_cards=4,points_order=descending)",
        "leduc_poker(action_mapping=True)",
    ],
)
def test_games_of_openspiel_with_imperfect_recall(name):
    assert not mccfr_plus.compile_game(name).perfect_recall


def test_larger_trees_are_compiled_by_the_rules():
    name = "goofspiel(imp_info=True,num_cards=5,points_order=descending)"
    tree = mccfr_plus.compile_game(name)
    assert isinstance(tree.info_states, InfoStates)
    assert_same_trees(tree, agreement_with(name).trees()[1])
    state = tree.game.new_initial_state()
    for action in (3, 1, 0, 2):
        state.apply_action(action)
    found = tree.infoset_of_state(state, 0)
    assert tree.info_states[found] == state.information_state_string()
    with pytest.raises(mccfr_plus.BudgetError, match="more than the budget of 20,000 nodes"):
        mccfr_plus.compile_game(name, max_nodes=20_000)


def test_a_hopeless_tree_is_refused_at_once():
    begin = time.monotonic()
    with pytest.raises(mccfr_plus.BudgetError, match=r"the tree of phantom_ttt.* has about"):
        mccfr_plus.compile_game("phantom_ttt")
    assert time.monotonic() - begin < 20


def test_small_trees_are_compiled_through_pyspiel():
    assert isinstance(mccfr_plus.compile_game("leduc_poker").info_states, list)
    for limit in ({"max_nodes": 9_000}, {"max_bytes": 1_000}):
        with pytest.raises(mccfr_plus.BudgetError, match=r"the tree of leduc_poker.* has about"):
            mccfr_plus.compile_game("leduc_poker", **limit)


@pytest.mark.parametrize("name", ["liars_dice(dice_sides=3)", "liars_dice(numdice=2,dice_sides=2)"])
def test_numbers_of_infosets_leave_no_gap(name):
    agreement = agreement_with(name)
    assert mccfr_plus.compile_game(name).num_infosets == 2 * agreement.rules.sizes.max_infosets


@pytest.mark.parametrize("name", NO_RULES)
def test_games_without_rules_say_why(name):
    assert NO_RULES[name] in no_rules(name)


def test_games_with_rules_have_no_reason_against_them():
    game = pyspiel.load_game("kuhn_poker(players=4)")
    assert why_no_rules(game) == ""
    assert str(rules_of(game)) == "kuhn_poker(players=4)"
    assert str(pickle.loads(pickle.dumps(rules_of(game)))) == "kuhn_poker(players=4)"
