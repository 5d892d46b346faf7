"""The average strategy on a compiled tree, and regret matching on predictions."""

import numpy as np
import pytest

pytest.importorskip("torch")
from neural_states import features_of

import mccfr_plus
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.neural import TreeRepresentation
from mccfr_plus.neural.network_policy import matched
from mccfr_plus.neural.paths import ExternalSampling, Trajectories


def strategy_of(tree, seed):
    """Returns a random strategy with some zeros."""
    draws = np.random.default_rng(seed).exponential(size=tree.num_slots)
    draws[np.random.default_rng(seed + 1).random(tree.num_slots) < 0.2] = 0.0
    for infoset in range(tree.num_infosets):
        slots = tree.slots(infoset)
        total = draws[slots].sum()
        draws[slots] = draws[slots] / total if total else 1.0 / (slots.stop - slots.start)
    return draws


def test_average_is_reach_times_strategy():
    representation = TreeRepresentation("leduc_poker")
    tree = representation.tree
    strategies = [strategy_of(tree, seed) for seed in range(3)]
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


def test_external_sampling_is_divided_so_that_it_fits(monkeypatch):
    """A traversal of Leduc poker has at most some dozens of histories at a depth; 4,000 at once would exceed 100."""
    monkeypatch.setattr("mccfr_plus.neural.paths.MAX_HISTORIES", 100)
    representation = TreeRepresentation("leduc_poker")
    histories = ExternalSampling(representation.strategies(), 0)
    representation.rng = new_state(1)
    found = list(representation.sample(histories, 40, 4000))
    assert len(found) > 1
    assert representation.nodes[0] == sum(each.nodes for each in found) > 400
    assert len(list(representation.sample(Trajectories(representation.strategies()), 40, 4000))) == 1
