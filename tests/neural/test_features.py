"""Features: the tensors and legal actions that OpenSpiel gives, and regret matching on predictions of their values."""

import dataclasses

import numpy as np
import pytest
from neural_states import features_of
from open_spiel.python.algorithms.get_all_states import get_all_states

pytest.importorskip("torch")
import mccfr_plus
from mccfr_plus.neural.network_policy import matched
from mccfr_plus.neural.representation import TreeRepresentation

GAMES = ["kuhn_poker(players=3)", "leduc_poker", "goofspiel(num_cards=3,imp_info=True,points_order=descending)"]


@pytest.mark.parametrize("game", GAMES)
def test_every_state_has_its_row(game):
    tree = mccfr_plus.compile_game(game)
    features = features_of(tree)
    for state in get_all_states(tree.game, include_terminals=False).values():
        player = state.current_player()
        infoset = tree.infoset(state.information_state_string(player), player)
        row = infoset - int(tree.arrays.infoset_range[player])
        mine = features[player]
        np.testing.assert_array_equal(mine.tensors[row], np.array(state.information_state_tensor(player), np.float32))
        assert tree.legal_actions(infoset) == state.legal_actions()
        assert mine.masks[row].astype(int).tolist() == state.legal_actions_mask(player)


def test_regret_matching_uses_legal_actions_only():
    tree = mccfr_plus.compile_game("leduc_poker")
    for player, features in enumerate(features_of(tree)):
        draws = np.random.default_rng(player).normal(size=features.masks.shape) - 0.7
        draws[~features.masks] = 1e9
        strategies = matched(draws, features.masks)
        assert (strategies[~features.masks] == 0).all()
        begin = int(tree.arrays.infoset_range[player])
        for row, found in enumerate(strategies):
            legal = draws[row, tree.legal_actions(begin + row)]
            positive = np.maximum(legal, 0.0)
            expected = positive / positive.sum() if positive.sum() > 0 else legal == legal.max()
            np.testing.assert_allclose(found[features.masks[row]], expected, rtol=1e-14)


def test_slots_may_have_any_order_of_actions():
    """A game need not list its legal actions in ascending order."""
    tree = mccfr_plus.compile_game("kuhn_poker")
    representation = TreeRepresentation(dataclasses.replace(tree, slot_action=1 - tree.slot_action))
    for player in range(2):
        representation.use(player, np.tile([0.25, 0.75], (6, 1)))
    np.testing.assert_array_equal(representation.strategy, np.where(representation.tree.slot_action == 0, 0.25, 0.75))
    assert representation.tree.slot_action[:2].tolist() == [1, 0]
