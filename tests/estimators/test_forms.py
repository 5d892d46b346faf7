"""The special forms of estimators: traversals with and without pruning, one draw per infoset, one history for all,
sampling strategies, batches, baselines, and what is refused."""

import math

import naive
import numpy as np
import pyspiel
import pytest
from sampling import Sampler

from mccfr_plus import (
    AverageStrategySampling,
    BalancedOutcomeSampling,
    Baseline,
    ExternalSampling,
    Full,
    OutcomeSampling,
    Solver,
    TreePolicy,
    evaluate,
)
from mccfr_plus.estimators import balanced_strategy
from mccfr_plus.solver.config import MINIMIZERS

SAMPLED = tuple(name for name in naive.UNBIASED if name != "full")
GAMES = ("kuhn_poker", "kuhn_poker(players=3)", "random:2:0", "random:2:5", "random:3:3")


# --- full traversals ---


def reached_nodes(root, player, strategy):
    """Returns how many histories the others allow: the product of all probabilities may underflow to 0, too."""

    def count(node, others):
        shares = [1.0] * len(node.children)
        if node.player not in (player, naive.TERMINAL):
            shares = node.probabilities if node.player == naive.CHANCE else strategy[node.key]
        ahead = zip(shares, node.children, strict=True)
        prunes = node.player not in (player, naive.CHANCE)
        return 1 + sum(count(child, others * share) for share, child in ahead if not prunes or others * share > 0)

    return count(root, 1.0)


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize(
    ("game", "minimizer"),
    [*((GAMES[0], minimizer) for minimizer in MINIMIZERS), *((game, "rm+") for game in GAMES[1:])],
)
def test_pruning_changes_no_bit(game, alternating, minimizer):
    tree, root = naive.tree_of(game), naive.root_of(game)
    whole, pruned = (
        Solver(tree, estimator, minimizer, alternating=alternating)
        for estimator in (Full(traversal=True), Full(pruning=True))
    )
    for _ in range(6):
        before = pruned.nodes_touched
        table = naive.to_dict(tree, pruned.current_strategy())
        whole.iteration()
        pruned.iteration()
        np.testing.assert_array_equal(whole._engine.tables, pruned._engine.tables)
        np.testing.assert_array_equal(whole.current_strategy(), pruned.current_strategy())
        np.testing.assert_array_equal(whole._engine.average, pruned._engine.average)
        if not alternating:
            expected = sum(reached_nodes(root, player, table) for player in range(tree.num_players))
            assert pruned.nodes_touched - before == expected
    assert whole.nodes_touched == 6 * tree.num_nodes * tree.num_players
    if minimizer in ("rm", "rm+"):
        assert pruned.nodes_touched < whole.nodes_touched


# --- one draw per infoset ---


@pytest.mark.parametrize("scheme", ["external", "opponent", "average_strategy"])
def test_draws_once_per_infoset_and_anew_for_each_walk(scheme):
    # Matching pennies with many own actions: all of them meet the same action of the opponent.
    payoffs = [[float(i), float(-i)] for i in range(1, 9)]
    game = pyspiel.create_matrix_game("m", "m", list("abcdefgh"), ["x", "y"], payoffs, payoffs)
    solver = Solver(game, "full")
    tree = solver.tree
    forms = (f"{scheme}(sample_per_infoset=True)", scheme)
    once, anew = (Sampler(tree, form, state=3, compiled=False) for form in forms)
    seen = {True: set(), False: set()}
    for is_once, sampler in ((True, once), (False, anew)):
        for _ in range(64):
            gradient = sampler.sum(0)[0][:8]
            seen[is_once].add(tuple(np.sign(gradient)))
    assert seen[True] == {(1.0,) * 8, (-1.0,) * 8}
    assert len(seen[False]) > 30


# In tiny games `checks/test_built_in_components.py` compares exact means of all estimators, also with baselines.
@pytest.mark.parametrize("scheme", ["external", pytest.param("opponent", marks=pytest.mark.slow)])
def test_one_draw_per_infoset_is_unbiased(scheme):
    samples = 3000 if scheme == "opponent" else 30_000
    assert_unbiased("leduc_poker", f"{scheme}(sample_per_infoset=True)", samples)


def assert_unbiased(game, estimator, samples=30_000, baseline=None, batch=1, sampling_weights=None, fill=None):
    """z-test of random projections of the gradient: 12 of them per player, Bonferroni at one in a million."""
    tree = naive.tree_of(game)
    exact, sampler = Sampler(tree, "full"), Sampler(tree, estimator, state=17, baseline=baseline, batch=batch)
    if sampling_weights is not None:
        sampler.sampling_weights = sampling_weights
    if fill is not None:
        sampler.baselines[:] = fill(sampler.baselines.shape)
    strategy = naive.random_strategy(tree, seed=8, zeros=0.2)
    exact.use(strategy)
    sampler.use(strategy)
    for player in range(tree.num_players):
        signs = np.random.default_rng(player).choice([-1.0, 1.0], (tree.num_slots + 1, 12))
        total, squares = sampler.project(player, samples, signs)
        mean = total / samples
        error = np.sqrt(np.maximum(squares / samples - mean**2, 0.0) / samples)
        target = exact.sum(player)[0] @ signs
        # 6.2 standard errors: 1e-6 for 24 to 36 two-sided comparisons.
        assert (np.abs(mean - target) <= 6.2 * error + 1e-9).all()
        assert (error > 0).any()


# --- one history for all players ---


@pytest.mark.parametrize("game", GAMES)
def test_one_history_for_all_by_its_draws(game):
    tree, root = naive.tree_of(game), naive.root_of(game)
    estimator = OutcomeSampling(0.4, update_all_players=True)
    sampler, draws = Sampler(tree, estimator, state=21, compiled=False), naive.SplitMix(21)
    for repeat in range(20):
        sampler.use(naive.random_strategy(tree, seed=repeat, zeros=0.3 * (repeat % 2)))
        strategy = naive.to_dict(tree, sampler.strategy)
        state = draws.state
        for player in range(tree.num_players):
            sampler.scratch.rng[0] = draws.state = state  # the kernel is run again for every player's sum
            gradient = sampler.sum(player)[0]
            node, weight, others, last = root, 1.0, 1.0, None
            while node.player != naive.TERMINAL:
                if node.player == naive.CHANCE:
                    index = draws.outcome(node.probabilities)
                else:
                    row = strategy[node.key]
                    index = draws.exploring(row, 0.4)
                    weight /= 0.4 / len(row) + 0.6 * row[index]
                    if node.player == player:
                        last = (node.key, index)
                    else:
                        others *= row[index]
                node = node.children[index]
            found = {last: weight * others * node.returns[player]}
            np.testing.assert_allclose(gradient, naive.sequences_to_array(tree, found, player), rtol=1e-12, atol=1e-12)
        assert int(sampler.scratch.rng[0]) == draws.state


# --- sampling strategies ---


@pytest.mark.parametrize("game", [*GAMES, "leduc_poker", "tiny_hanabi", "matrix_rps"])
def test_balanced_strategy_plays_every_sequence_often_enough(game):
    tree, root = naive.tree_of(game), naive.root_of(game)
    strategy = balanced_strategy(tree)
    np.testing.assert_allclose(strategy, naive.to_array(tree, naive.balanced_strategy(root)), atol=1e-15)
    for player in range(tree.num_players):
        reach = naive.own_reach(root, player, naive.to_dict(tree, strategy))
        least = [reach[key] * min(naive.to_dict(tree, strategy)[key]) for key in reach]
        sequences = tree.statistics().sequences[player]
        assert min(least, default=1.0) >= 1 / max(sequences - 1, 1) - 1e-15


def test_a_sampling_strategy_of_ones_own():
    tree = naive.tree_of("leduc_poker")
    own = naive.random_strategy(tree, seed=9)
    by_array = Solver(tree, OutcomeSampling(1.0, sampling=own), "rm", seed=1).run(300)
    by_policy = Solver(tree, OutcomeSampling(1.0, sampling=TreePolicy(tree, own)), "rm", seed=1).run(300)
    np.testing.assert_array_equal(by_array.current_strategy(), by_policy.current_strategy())
    as_balanced = Solver(tree, OutcomeSampling(1.0, sampling=balanced_strategy(tree)), "rm", seed=1).run(300)
    balanced = Solver(tree, BalancedOutcomeSampling(), "rm", seed=1).run(300)
    np.testing.assert_array_equal(as_balanced.current_strategy(), balanced.current_strategy())
    assert not np.array_equal(by_array.current_strategy(), balanced.current_strategy())
    uniform = Solver(tree, OutcomeSampling(0.6, sampling=tree.uniform_strategy()), "rm", seed=1).run(50_000)
    assert uniform.exploitability() < evaluate(tree, TreePolicy(tree, tree.uniform_strategy())).exploitability / 2


# --- subsets of own actions ---


def test_what_average_strategy_sampling_leaves_out():
    # One infoset, ten actions, sums that make one action sure and give the others epsilon.
    payoffs = [[float(i + 1)] for i in range(10)]
    game = pyspiel.create_matrix_game("m", "m", list("abcdefghij"), ["x"], payoffs, payoffs)
    tree = Solver(game, "full").tree
    sampler = Sampler(tree, AverageStrategySampling(epsilon=0.2, tau=1.0, beta=0.0), state=4)
    sampler.sampling_weights[0] = 1e9
    total, _, hits = sampler.sum(0, 20_000)
    assert hits[0] == 20_000
    np.testing.assert_allclose(hits[1:10] / 20_000, 0.2, atol=6 * math.sqrt(0.16 / 20_000))
    np.testing.assert_allclose(total[:10] / hits[:10], [1.0, *(5.0 * np.arange(2, 11))], rtol=1e-12)  # 1 / rho


def test_everything_is_visited_where_the_denominator_is_zero():
    tree = naive.tree_of("leduc_poker")
    plain, subset = Sampler(tree, "external", state=4), Sampler(tree, "average_strategy(beta=0.0)", state=4)
    for player in range(2):  # no sums yet, and beta = 0
        np.testing.assert_array_equal(plain.sum(player)[0], subset.sum(player)[0])


@pytest.mark.parametrize("minimizer", ["rm", pytest.param("hedge(eta=0.5)", marks=pytest.mark.slow)])
def test_regret_based_pruning_visits_less_and_is_unbiased(minimizer):
    tree = naive.tree_of("leduc_poker")
    estimator = ExternalSampling(prune_below=-300.0, prune_probability=0.1)
    sampling_weights = np.where(np.random.default_rng(2).random(tree.num_slots) < 0.3, -1000.0, 5.0)
    assert_unbiased("leduc_poker", estimator, sampling_weights=sampling_weights)
    plain = Solver(tree, "external", minimizer, seed=1).run(40_000)
    pruned = Solver(tree, estimator, minimizer, seed=1).run(40_000)
    assert pruned.exploitability() < 2 * plain.exploitability() + 0.05
    if minimizer == "rm":
        assert pruned.nodes_touched < 0.9 * plain.nodes_touched


# --- batches ---


@pytest.mark.parametrize("scheme", SAMPLED)
def test_a_batch_is_the_mean_of_its_walks(scheme):
    tree = naive.tree_of("leduc_poker")
    one, batch = Sampler(tree, scheme, state=8), Sampler(tree, scheme, state=8, batch=7)
    strategy = naive.random_strategy(tree, seed=2, zeros=0.2)
    for sampler in (one, batch):
        sampler.use(strategy)
    for player in range(2):
        singles = one.sum(player, 7)[0] / 7
        np.testing.assert_allclose(batch.sum(player)[0], singles, rtol=1e-12, atol=1e-13)
        known = {tree.num_slots + player}
        for first, count, parent in batch.touched(player)[["first_slot", "num_actions", "parent_slot"]].tolist():
            assert parent in known  # parents come first, over all traversals together
            known |= set(range(first, first + count))


# --- baselines ---


@pytest.mark.parametrize(
    ("scheme", "baseline"), [("external(prune_below=-1.0)", Baseline(0.3, "sampled")), ("outcome", Baseline())], ids=str
)
def test_whatever_the_baselines_are_gradients_are_unbiased(scheme, baseline):
    tree, rng = naive.tree_of("leduc_poker"), np.random.default_rng(5)
    weights = rng.normal(size=tree.num_slots) if "prune" in scheme else None
    assert_unbiased("leduc_poker", scheme, 20_000, baseline, 1, weights, lambda shape: 5 * rng.normal(size=shape))


def test_baselines_of_zero_change_nothing():
    # Until they are moved: the first traversal, which makes the same draws in the same order.
    tree = naive.tree_of("leduc_poker")
    for scheme in ("outcome", "balanced"):
        for state in range(20):
            found = []
            for baseline in (None, Baseline()):
                sampler = Sampler(tree, scheme, state=state, baseline=baseline, compiled=False)
                sampler.use(naive.random_strategy(tree, seed=3))
                gradient = sampler.sum(0)[0].tolist()
                found.append((gradient, sampler.nodes_touched, int(sampler.scratch.rng[0])))
            assert found[0] == found[1]


def test_expected_baselines_become_the_histories_values():
    # With strategies held fixed they are exact in the end, and then outcome sampling knows the game's value at once.
    tree, root = naive.tree_of("kuhn_poker"), naive.root_of("kuhn_poker")
    sampler = Sampler(tree, "outcome(epsilon=1)", state=3, baseline=Baseline())
    sampler.use(naive.random_strategy(tree, seed=1))
    strategy = naive.to_dict(tree, sampler.strategy)
    for player in range(2):
        sampler.sum(player, 20_000)
    arrays = tree.arrays.nodes

    def compare(node, number):
        record = arrays[number]
        for index, child in enumerate(node.children):
            at = record["first_child"] + index
            for player in range(2):
                expected = naive.expected_values(child, strategy)[player]
                assert sampler.baselines[player, at] == pytest.approx(expected, abs=1e-12)
            compare(child, at)

    compare(root, 0)
