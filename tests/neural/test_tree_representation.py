"""The average strategy on a compiled tree, and regret matching on predictions."""

import numpy as np
import pytest

pytest.importorskip("torch")
import naive
from neural_states import features_of

import mccfr_plus
from mccfr_plus.neural import TreeRepresentation
from mccfr_plus.neural.network_policy import matched


def test_average_is_reach_times_strategy():
    representation = TreeRepresentation("leduc_poker")
    tree = representation.tree
    strategies = [naive.random_strategy(tree, seed, 0.2) for seed in range(3)]
    expected = np.zeros(tree.num_slots)
    for number, strategy in enumerate(strategies):
        representation.strategy[:] = strategy
        for player in range(2):
            representation.add_to_average(player, number + 1.0)
        reach = np.ones(tree.num_slots + 2)
        for record in tree.arrays.infosets:
            first, last = record["first_slot"], record["first_slot"] + record["num_actions"]
            reach[first:last] = reach[record["parent_slot"]] * strategy[first:last]
        expected += (number + 1.0) * reach[:-2]
    np.testing.assert_allclose(representation.average, expected, rtol=1e-13)


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
