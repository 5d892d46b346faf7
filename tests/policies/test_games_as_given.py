"""Policies of games that no game string makes, and of games with simultaneous moves, as the user has given them."""

import itertools
import pickle

import pyspiel
import pytest

from mccfr_plus import GameError, KeyedPolicy, PolicyError, Solver, evaluate, load_policy, save_policy
from mccfr_plus.neural import DeepCFR

EFG = """EFG 2 R "one guess" { "A" "B" }
p "" 1 1 "" { "L" "R" } 0
p "" 2 1 "" { "l" "r" } 0
t "" 1 "" { 1 -1 }
t "" 2 "" { -2 2 }
p "" 2 1 "" { "l" "r" } 0
t "" 3 "" { -1 1 }
t "" 4 "" { 3 -3 }
"""
CARDS = {"numSuits": "1", "numRanks": "4", "numHoleCards": "1", "numBoardCards": "0"}
BETTING = {"numPlayers": "2", "numRounds": "1", "blind": "1 1", "raiseSize": "2", "firstPlayer": "1", "maxRaises": "1"}
GAMEDEF = "\n".join(["GAMEDEF", "limit", *map(" = ".join, (CARDS | BETTING).items()), "END GAMEDEF", ""])
_ROWS = [[1, -1], [-1, 2]], [[-1, 1], [1, -2]]

IN_MEMORY = {
    "efg": lambda: pyspiel.load_efg_game(EFG),
    "matrix": lambda: pyspiel.create_matrix_game("mine", "mine", ["a", "b"], ["c", "d"], *_ROWS),
    "tensor": lambda: pyspiel.create_tensor_game(
        "mine", "mine", [["a", "b"], ["c", "d"]], [[1, -1, -1, 2], [-1, 1, 1, -2]]
    ),
}


@pytest.mark.parametrize("make", IN_MEMORY.values(), ids=IN_MEMORY)
def test_files_of_games_made_in_memory_ask_for_the_game(make, tmp_path):
    solver = Solver(make(), "full", seed=1).run(10)
    save_policy(solver.average_policy(), tmp_path / "p.npz")
    solver.save_checkpoint(tmp_path / "s.ckpt")
    for load in (lambda: load_policy(tmp_path / "p.npz"), lambda: Solver.from_checkpoint(tmp_path / "s.ckpt")):
        with pytest.raises(GameError, match=r"was made in memory.*: give the game itself, as game=\.") as caught:
            load()
        assert len(str(caught.value)) <= 400
    loaded = load_policy(tmp_path / "p.npz", game=make())
    assert (loaded.strategy() == solver.average_strategy()).all()
    resumed = Solver.from_checkpoint(tmp_path / "s.ckpt", game=make())
    assert (resumed.run(5).average_strategy() == solver.run(5).average_strategy()).all()


def test_neural_checkpoints_of_games_made_in_memory_do_so_too(tmp_path):
    game = IN_MEMORY["efg"]()
    DeepCFR(game, seed=1).run(1).save_checkpoint(tmp_path / "s.ckpt")
    with pytest.raises(GameError, match="was made in memory"):
        DeepCFR.from_checkpoint(tmp_path / "s.ckpt")
    assert DeepCFR.from_checkpoint(tmp_path / "s.ckpt", game=game).iterations == 1


def test_a_game_of_a_gamedef_is_loaded_by_name(tmp_path):
    game = pyspiel.universal_poker.load_universal_poker_from_acpc_gamedef(GAMEDEF)
    save_policy(Solver(game, "full").run(3).average_policy(), tmp_path / "p.npz")
    assert str(load_policy(tmp_path / "p.npz").game) == str(game)


SIMULTANEOUS = [
    "matrix_rps",
    "goofspiel(imp_info=True,num_cards=3,points_order=descending)",
    "goofspiel(imp_info=True,num_cards=3,players=3,points_order=ascending)",
    "goofspiel(imp_info=True,num_cards=3)",
]


@pytest.mark.parametrize("name", SIMULTANEOUS)
def test_policies_answer_for_the_simultaneous_game_given(name):
    game = pyspiel.load_game(name)
    solver = Solver(name if name == "matrix_rps" else game, "external", seed=1).run(50)
    policy = pickle.loads(pickle.dumps(solver.average_policy()))
    for state in (game.new_initial_state(), pyspiel.convert_to_turn_based(game).new_initial_state()):
        found = pyspiel.expected_returns(state, policy.to_pyspiel(), -1, True)
        assert found == pytest.approx(solver.evaluate().values.tolist(), abs=1e-9)
    rows, seen = policy.to_dict(), set()

    def visit(state):
        if state.is_terminal():
            return
        if state.is_simultaneous_node():
            for player in range(game.num_players()):
                text = state.information_state_string(player)
                seen.add(text)
                expected = policy.action_probabilities(state, player)
                assert {action: p for action, p in rows[text] if action in expected} == expected
            for actions in itertools.product(*map(state.legal_actions, range(game.num_players()))):
                child = state.clone()
                child.apply_actions(list(actions))
                visit(child)
            return
        for action in state.legal_actions():
            visit(state.child(action))

    visit(game.new_initial_state())
    assert seen == set(rows) == set(policy.to_table().information_state)
    assert evaluate(game, rows).nash_conv == pytest.approx(solver.nash_conv(), abs=1e-9)


def test_policies_of_the_conversion_have_its_information_states():
    game = pyspiel.convert_to_turn_based(pyspiel.load_game(SIMULTANEOUS[1]))
    policy = Solver(game, "full").run(3).average_policy()
    assert set(policy.to_dict()) == set(policy.tree.info_states)
    state, turns = pyspiel.load_game(SIMULTANEOUS[1]).new_initial_state(), game.new_initial_state()
    for player in range(2):  # it also answers states of the game that was converted
        assert policy.action_probabilities(state, player) == policy.action_probabilities(turns)
        turns.apply_action(turns.legal_actions()[0])
    with pytest.raises(PolicyError, match="player_id"):
        policy.action_probabilities(state)


@pytest.mark.parametrize("tree", ["lazy", "rules"])
def test_policies_without_a_tree_answer_for_the_game_given(tree, interpreted_loops):
    game = pyspiel.load_game(SIMULTANEOUS[1])
    policy = Solver(game, "external", tree=tree, seed=1).run(20).average_policy()
    assert isinstance(policy, KeyedPolicy)
    state = game.new_initial_state()
    turns = policy.game.new_initial_state()
    assert policy.action_probabilities(state, 0) == policy.action_probabilities(turns)
    assert policy.action_probabilities(state, 1) == policy.action_probabilities(turns.child(0))
    assert max(policy.action_probabilities(state, 0).values()) > 0.5
    with pytest.raises(PolicyError, match="give player_id"):
        policy.action_probabilities(state)
