"""The sampler: mean regrets, the average strategy, regret matching on predictions."""

import numpy as np
import pytest

import mccfr_plus
from mccfr_plus.evaluation.infoset_values import infoset_values
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.neural.features import features_of
from mccfr_plus.neural.matching import matched
from mccfr_plus.neural.sampling import Sampler


def strategy_of(tree, seed):
    """Returns a random strategy with some zeros."""
    draws = np.random.default_rng(seed).exponential(size=tree.num_slots)
    draws[np.random.default_rng(seed + 1).random(tree.num_slots) < 0.2] = 0.0
    for infoset in range(tree.num_infosets):
        slots = tree.slots(infoset)
        total = draws[slots].sum()
        draws[slots] = draws[slots] / total if total else 1.0 / (slots.stop - slots.start)
    return draws


@pytest.mark.parametrize("game", ["kuhn_poker(players=3)", "leduc_poker"])
def test_mean_regrets_at_visits_are_exact(game):
    """Given a visit, the mean regret is v(I, a) - v(I): a z-test per slot."""
    tree = mccfr_plus.compile_game(game)
    # Half uniform, as means of rare large values are not normal.
    strategy = 0.5 * strategy_of(tree, 3) + 0.5 * tree.uniform_strategy()
    exact = infoset_values(tree, strategy)
    sampler = Sampler(tree, new_state(1))
    for player in range(tree.num_players):
        begin = int(tree.arrays.infoset_range[player])
        rows, regrets = [], []
        for samples in sampler.sample(strategy, player, 30_000):
            rows.append(samples.infosets["rows"].copy())
            regrets.append(samples.values.copy())
        rows, regrets = np.concatenate(rows), np.concatenate(regrets)
        tested = 0
        for row in np.unique(rows):
            slots = tree.slots(begin + row)
            sampled = regrets[rows == row][:, tree.legal_actions(begin + row)]
            if len(sampled) < 300:
                continue
            error = sampled.mean(0) - exact.regrets[slots]
            deviation = sampled.std(0, ddof=1) / np.sqrt(len(sampled))
            assert (np.abs(error) <= 6.0 * deviation + 1e-12).all(), (player, row)
            tested += 1
        assert tested >= 6


def test_full_buffer_splits_calls_only():
    tree = mccfr_plus.compile_game("kuhn_poker")
    strategy = tree.uniform_strategy()
    whole, split = Sampler(tree, new_state(5)), Sampler(tree, new_state(5))
    split._buffer = tuple(array[:7] for array in split._buffer)
    (wanted,) = whole.sample(strategy, 1, 50)
    parts = [(samples.infosets["rows"].copy(), samples.values.copy()) for samples in split.sample(strategy, 1, 50)]
    assert len(parts) > 1
    np.testing.assert_array_equal(np.concatenate([rows for rows, _ in parts]), wanted.infosets["rows"])
    np.testing.assert_array_equal(np.concatenate([values for _, values in parts]), wanted.values)
    assert whole.nodes_touched == split.nodes_touched > 50


def test_average_is_reach_times_strategy():
    tree = mccfr_plus.compile_game("leduc_poker")
    sampler, average = Sampler(tree, new_state(1)), np.zeros(tree.num_slots + 2)
    strategies = [strategy_of(tree, seed) for seed in range(3)]
    expected = np.zeros(tree.num_slots)
    for number, strategy in enumerate(strategies):
        for player in range(2):
            sampler.add_to_average(strategy, average, player, number + 1.0)
        reach = np.ones(tree.num_slots + 2)
        for record in tree.arrays.infosets:
            first, last = record["first_slot"], record["first_slot"] + record["num_actions"]
            reach[first:last] = reach[record["parent_slot"]] * strategy[first:last]
        expected += (number + 1.0) * reach[:-2]
    np.testing.assert_allclose(average[:-2], expected, rtol=1e-13)
    assert average[-2:].tolist() == [6.0, 6.0]


@pytest.mark.parametrize("argmax", [True, False])
def test_regret_matching_uses_legal_actions_only(argmax):
    tree = mccfr_plus.compile_game("leduc_poker")
    for player, features in enumerate(features_of(tree)):
        draws = np.random.default_rng(player).normal(size=features.masks.shape) - 0.7
        draws[~features.masks] = 1e9
        strategies = matched(draws, features.masks, argmax)
        assert (strategies[~features.masks] == 0).all()
        begin = int(tree.arrays.infoset_range[player])
        for row, found in enumerate(strategies):
            legal = draws[row, tree.legal_actions(begin + row)]
            positive = np.maximum(legal, 0.0)
            if positive.sum() > 0:
                expected = positive / positive.sum()
            else:
                expected = (legal == legal.max()) if argmax else np.full(len(legal), 1 / len(legal))
            np.testing.assert_allclose(found[features.masks[row]], expected, rtol=1e-14)
