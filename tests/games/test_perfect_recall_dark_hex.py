"""Dark hex with perfect recall is OpenSpiel's `dark_hex`, with infosets that are those of its tensor."""

import random

import pyspiel
import pytest

import mccfr_plus


@pytest.mark.parametrize("parameters", ["num_rows=3,num_cols=3", "num_rows=2,num_cols=3", "num_rows=5,num_cols=4"])
@pytest.mark.parametrize("version", ["cdh", "adh"])
def test_plays_and_tensors_agree_with_dark_hex(parameters, version):
    own = pyspiel.load_game(f"perfect_recall_dark_hex({parameters},gameversion={version})")
    other = pyspiel.load_game(f"dark_hex({parameters},gameversion={version})")
    rng, text_of, tensor_of = random.Random(5), {}, {}
    for _ in range(200):
        state, its = own.new_initial_state(), other.new_initial_state()
        while not its.is_terminal():
            player = its.current_player()
            assert state.current_player() == player
            assert state.legal_actions() == its.legal_actions()
            assert str(state).split() == str(its).split()
            assert state.action_to_string(4) == its.action_to_string(4)
            tensor, text = tuple(its.information_state_tensor()), state.information_state_string()
            assert text_of.setdefault((player, tensor), text) == text
            assert tensor_of.setdefault((player, text), tensor) == tensor
            action = rng.choice(its.legal_actions())
            state.apply_action(action)
            its.apply_action(action)
        assert state.is_terminal()
        assert state.returns() == its.returns()


@pytest.mark.parametrize("version", ["cdh", "adh"])
def test_every_infoset_of_the_tensor_is_one(version):
    tree = mccfr_plus.compile_game(f"perfect_recall_dark_hex(num_rows=2,num_cols=2,gameversion={version})")
    pending, tensors = [pyspiel.load_game(f"dark_hex(board_size=2,gameversion={version})").new_initial_state()], set()
    while pending:
        state = pending.pop()
        if not state.is_terminal():
            tensors.add((state.current_player(), tuple(state.information_state_tensor())))
            pending.extend(state.child(action) for action in state.legal_actions())
    assert tree.num_infosets == len(tensors)
    assert tree.perfect_recall
