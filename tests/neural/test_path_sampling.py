"""Trajectories of ESCHER and DREAM: means over all outcomes by exact enumeration, and the order of samples."""

import numpy as np
import pytest

import mccfr_plus
from mccfr_plus.checks.script import Script, all_outcomes, plain, scripted_draws
from mccfr_plus.estimators import balanced_strategy
from mccfr_plus.estimators.escher import refresh_values
from mccfr_plus.evaluation.infoset_values import infoset_values
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.neural.sampling import PathSampler, record_paths

GAMES = ["kuhn_poker", "kuhn_poker(players=3)", "goofspiel(num_cards=3,imp_info=True,points_order=descending)"]


def strategy_of(tree, seed):
    """Returns a random strategy, nowhere 0."""
    draws = np.random.default_rng(seed).exponential(size=tree.num_slots) + 0.1
    for infoset in range(tree.num_infosets):
        slots = tree.slots(infoset)
        draws[slots] /= draws[slots].sum()
    return draws


def own_reach(tree, strategy):
    """Returns the probability of each infoset's own actions before it."""
    reach = np.ones(tree.num_slots + tree.num_players)
    result = np.zeros(tree.num_infosets)
    for infoset, record in enumerate(tree.arrays.infosets):
        result[infoset] = reach[record["parent_slot"]]
        slots = tree.slots(infoset)
        reach[slots] = result[infoset] * strategy[slots]
    return result


def others_reach(tree, strategy):
    return infoset_values(tree, strategy).reach / own_reach(tree, strategy)


def means(tree, strategy, exploration, epsilon, values, player, corrected):
    """Returns the means of weight x regret and of the weight by infoset, and the mean square of the former's sum."""
    script = Script()
    run = plain(record_paths, scripted_draws(script))
    sampler = PathSampler(tree, new_state(1))
    depth, width = tree.shape.max_depth, sampler._buffer[1].shape[1]
    buffers = np.zeros(depth + 1, np.int32), np.zeros((depth + 1, width)), np.ones(depth + 1)

    def traversal():
        done, count = run(
            tree.arrays, strategy, exploration, values[player], sampler._scratch, player, 1, (epsilon, corrected),
            sampler._labels, sampler._trajectory, sampler.visited, buffers,
        )  # fmt: skip
        assert done == 1
        if not corrected:
            buffers[2][:count] = 1.0
        rows, regrets, weights = buffers
        return [(int(rows[i]), regrets[i].copy(), float(weights[i])) for i in range(count)]

    begin = int(tree.arrays.infoset_range[player])
    regret_sums, weight_sums, total, square = np.zeros(tree.num_slots), np.zeros(tree.num_infosets), 0.0, 0.0
    for probability, samples in all_outcomes(script, traversal):
        total += probability
        for row, regret, weight in samples:
            slots = tree.slots(begin + row)
            regret_sums[slots] += probability * weight * regret[tree.legal_actions(begin + row)]
            weight_sums[begin + row] += probability * weight
            square += probability * float(np.square(weight * regret).sum())
    assert total == pytest.approx(1, abs=1e-12)
    return regret_sums, weight_sums, square


def exact_values(tree, strategy):
    values = np.zeros((tree.num_players, tree.num_nodes))
    for player in range(tree.num_players):
        refresh_values(tree.arrays, strategy, values[player], player)
    return values


def counterfactual_regrets(tree, strategy):
    counts = tree.arrays.infosets["num_actions"]
    return infoset_values(tree, strategy).regrets * np.repeat(others_reach(tree, strategy), counts)


@pytest.mark.parametrize("sampling", ["uniform", "balanced"])
@pytest.mark.parametrize("game", GAMES)
def test_escher_means_are_own_reach_times_counterfactual_regrets(game, sampling):
    """The first factor is the reach of the fixed sampling strategy (McAleer et al. 2023, section 4)."""
    tree = mccfr_plus.compile_game(game)
    strategy = strategy_of(tree, 1)
    balanced = balanced_strategy(tree)
    exploration = balanced if sampling == "balanced" else np.zeros(0)
    fixed = own_reach(tree, balanced if sampling == "balanced" else tree.uniform_strategy())
    values = exact_values(tree, strategy)
    values[:, tree.arrays.nodes["num_children"] == 0] = np.nan  # payoffs of leaves are not read from the table
    counts = tree.arrays.infosets["num_actions"]
    for player in range(tree.num_players):
        own = slice(tree.arrays.slot_range[player], tree.arrays.slot_range[player + 1])
        infosets = slice(tree.arrays.infoset_range[player], tree.arrays.infoset_range[player + 1])
        regrets, weights, _ = means(tree, strategy, exploration, 1.0, values, player, corrected=False)
        expected = np.repeat(fixed, counts) * counterfactual_regrets(tree, strategy)
        np.testing.assert_allclose(regrets[own], expected[own], atol=1e-12)
        assert np.abs(regrets[own]).max() > 0.01
        np.testing.assert_allclose(weights[infosets], (fixed * others_reach(tree, strategy))[infosets], atol=1e-12)


@pytest.mark.parametrize("game", GAMES)
def test_dream_means_are_counterfactual_regrets_for_any_baselines(game):
    tree = mccfr_plus.compile_game(game)
    strategy = strategy_of(tree, 2)
    values = np.random.default_rng(1).normal(size=(tree.num_players, tree.num_nodes))
    for player in range(tree.num_players):
        own = slice(tree.arrays.slot_range[player], tree.arrays.slot_range[player + 1])
        infosets = slice(tree.arrays.infoset_range[player], tree.arrays.infoset_range[player + 1])
        regrets, weights, _ = means(tree, strategy, np.zeros(0), 0.5, values, player, corrected=True)
        np.testing.assert_allclose(regrets[own], counterfactual_regrets(tree, strategy)[own], atol=1e-12)
        np.testing.assert_allclose(weights[infosets], others_reach(tree, strategy)[infosets], atol=1e-12)


def test_exact_values_as_baselines_reduce_variance():
    tree = mccfr_plus.compile_game("kuhn_poker")
    strategy = strategy_of(tree, 3)
    values = exact_values(tree, strategy)
    for player in range(2):
        *_, without = means(tree, strategy, np.zeros(0), 0.5, np.zeros_like(values), player, corrected=True)
        *_, with_values = means(tree, strategy, np.zeros(0), 0.5, values, player, corrected=True)
        assert with_values < 0.35 * without  # what is left are the others' cards, and weights


def test_compiled_trajectories_agree_with_enumeration():
    tree = mccfr_plus.compile_game("kuhn_poker")
    strategy, traversals = strategy_of(tree, 4), 40_000
    values = np.random.default_rng(1).normal(size=(2, tree.num_nodes))
    sampler = PathSampler(tree, new_state(7))
    for player in range(2):
        samples = []
        sampler.visited[:] = 0
        for found in sampler.sample(strategy, player, traversals, values[player], 0.5, True):
            samples += zip(found.infosets["rows"].tolist(), found.values.copy(), found.weights.tolist(), strict=True)
        assert sampler.visited[0] == traversals
        expected = counterfactual_regrets(tree, strategy)
        begin = int(tree.arrays.infoset_range[player])
        for row in range(int(tree.arrays.infoset_range[player + 1]) - begin):
            found = np.array([weight * regret[:2] for r, regret, weight in samples if r == row])
            mean = found.sum(0) / traversals
            deviation = np.sqrt(np.square(found).sum(0) / traversals - mean**2) / np.sqrt(traversals)
            assert (np.abs(mean - expected[tree.slots(begin + row)]) < 6 * deviation).all(), (player, row)


def test_full_buffer_splits_calls_only():
    tree = mccfr_plus.compile_game("kuhn_poker")
    strategy = tree.uniform_strategy()
    whole, split = (PathSampler(tree, new_state(5)) for _ in range(2))
    split._buffer = tuple(array[:9] for array in split._buffer)
    found = []
    for sampler in (whole, split):
        parts = sampler.sample(strategy, 1, 50, None, 1.0, True)
        found.append([[each.copy() for each in (s.infosets["rows"], s.values, s.weights)] for s in parts])
    assert len(found[0]) == 1 < len(found[1])
    for wanted, *parts in zip(*found[0], *found[1], strict=True):
        np.testing.assert_array_equal(np.concatenate(parts), wanted)
    np.testing.assert_array_equal(whole.visited, split.visited)
    assert whole.nodes_touched == split.nodes_touched == whole.visited.sum()
