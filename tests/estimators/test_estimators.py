"""Every estimator: the kernel equals a naive twin draw by draw, which is unbiased exactly; samples agree on Leduc."""

import dataclasses
import math

import naive
import numpy as np
import pytest
from sampling import Sampler

import mccfr_plus
from mccfr_plus.checks.sampler import z_limit
from mccfr_plus.solver.config import AVERAGES, ESTIMATORS, MINIMIZERS
from mccfr_plus.trees import flattening

SCHEMES = naive.UNBIASED
SAMPLED = tuple(name for name in SCHEMES if name != "full")
TWIN_GAMES = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "tiny_hanabi",
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3,points_order=descending))",
    *naive.RANDOM_GAMES,
)
# Few enough outcomes of the draws to go through them all.
TINY_GAMES = ("kuhn_poker", "random:2:2", "random:2:28", "random:3:2", "random:3:12", "random:3:28")


def assert_is_exact_gradient(tree, root, player, strategy, gradient):
    exact = naive.exact_gradient(root, player, naive.to_dict(tree, strategy))
    expected = naive.sequences_to_array(tree, exact, player)
    np.testing.assert_allclose(gradient, np.broadcast_to(expected, np.shape(gradient)), atol=1e-12)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("game", [*TWIN_GAMES, "leduc_poker"])
def test_full_is_the_exact_gradient(game, zeros):
    tree, root = naive.tree_of(game), naive.root_of(game)
    forms = ["full"] if game == "leduc_poker" else ["full", "full(traversal=True)", "full(pruning=True)"]
    samplers = [Sampler(tree, form, compiled=form == "full") for form in forms]
    for seed in (1, 2):  # a strategy that changes is noticed
        strategy = naive.random_strategy(tree, seed=seed, zeros=zeros)
        for sampler in samplers:
            sampler.use(strategy)
        for player in range(tree.num_players):
            assert_is_exact_gradient(tree, root, player, strategy, [each.sum(player)[0] for each in samplers])


@pytest.mark.parametrize("uses", [0.0, 1e9])
@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", "random:2:28"])
def test_terms_and_entries_give_the_exact_gradient(game, uses, monkeypatch):
    """Where each term is multiplied once, and where each entry is, with rows sorted in windows."""
    monkeypatch.setattr(flattening, "_MIN_USES", uses)
    monkeypatch.setattr(flattening, "_WINDOW", 8)
    tree, root = dataclasses.replace(naive.tree_of(game)), naive.root_of(game)  # without leaf tables yet
    arrays = tree.arrays_with_leaves
    assert (len(arrays.leaf_term) > 0) == (uses == 0.0 or tree.num_players > 2)
    sampler = Sampler(tree, "full")
    sampler.use(naive.random_strategy(tree, seed=1))
    for player in range(tree.num_players):
        gradient = sampler.sum(player)[0]
        assert_is_exact_gradient(tree, root, player, sampler.strategy, gradient)
        rows, others, values = flattening.entries_of(arrays, player)
        products, found = values * sampler.scratch.reach[others].prod(axis=1), np.zeros(tree.num_slots + 3)
        np.add.at(found, rows, products)
        found[tree.num_slots] = found[tree.num_slots + player]  # of the empty sequence
        np.testing.assert_allclose(found[: len(gradient)], gradient, atol=1e-12)


@pytest.mark.parametrize("game", ["leduc_poker", TWIN_GAMES[3], "random:2:28", "kuhn_poker(players=3)"])
def test_folded_tables_give_the_same_regrets(game):
    """Infosets that they do not list have no regrets."""
    tree, found = naive.tree_of(game), []
    for player in range(tree.num_players):
        for folded in (False, True):
            sampler = Sampler(tree, "full", arrays=tree.arrays_to_run_on(True, folded)[0])
            sampler.use(naive.random_strategy(tree, seed=1))
            gradient, strategy = sampler.sum(player)[0].copy(), sampler.strategy
            for infoset in reversed(range(*tree.arrays.infoset_range[player : player + 2])):
                slots = tree.slots(infoset)
                value = strategy[slots] @ gradient[slots]
                gradient[slots] -= value
                gradient[min(tree.arrays.infosets["parent_slot"][infoset], tree.num_slots)] += value
            found.append(gradient)
            own = np.arange(*tree.arrays.slot_range[player : player + 2])
            listed = sampler.touched(player)
            listed_slots = flattening.rows_of(listed["first_slot"], listed["num_actions"])
            np.testing.assert_allclose(gradient[np.setdiff1d(own, listed_slots)], 0.0, atol=1e-15)
        np.testing.assert_allclose(*found[-2:], rtol=1e-12, atol=1e-15)
    assert (len(tree.folded_arrays.listed) < tree.num_infosets) == (game == TWIN_GAMES[3])


@pytest.mark.parametrize("game", [*TWIN_GAMES, "leduc_poker"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_kernel_equals_naive_twin_with_the_same_draws(scheme, game):
    tree, root = naive.tree_of(game), naive.root_of(game)
    sampler = Sampler(tree, scheme, state=99)
    draws = naive.SplitMix(99)
    repeats = 2 if game == "leduc_poker" else 12
    for repeat in range(repeats):
        # Zeros come with the second half: then some infosets cannot be reached, and some draws are forced.
        sampler.use(naive.random_strategy(tree, seed=repeat, zeros=0.0 if 2 * repeat < repeats else 0.4))
        table = naive.to_dict(tree, sampler.strategy)
        if scheme == "average_strategy":  # as an average has them after some thousand and after many iterations
            sampler.sampling_weights = naive.random_strategy(tree, seed=repeat + 50, zeros=0.3) * 10.0 ** (
                repeat % 6 + 3
            )
        sums = naive.to_dict(tree, sampler.sampling_weights) if scheme == "average_strategy" else None
        for player in range(tree.num_players):
            nodes_before = sampler.nodes_touched
            gradient, _, _ = sampler.sum(player)
            twin = naive.sample_gradient(root, player, table, scheme, draws, sums=sums)
            assert int(sampler.scratch.rng[0]) == draws.state
            assert sampler.nodes_touched - nodes_before == twin.nodes
            np.testing.assert_allclose(
                gradient, naive.sequences_to_array(tree, twin.gradient, player), rtol=1e-12, atol=1e-12
            )
            touched = sampler.touched(player)
            expected = [tree.infoset(text, owner) for owner, text in twin.touched]
            assert tree.infoset_of_slot[touched["first_slot"]].tolist() == expected
            records = tree.arrays.infosets[expected]
            for field in ("first_slot", "num_actions", "parent_slot"):
                assert touched[field].tolist() == records[field].tolist()
            if tree.num_players == 2 and scheme not in ("full", "chance"):
                visits = sampler.visits()
                assert [tree.infoset_of_slot[v] for v in visits["first_slot"]] == [
                    tree.infoset(text, owner) for (owner, text), _ in twin.visits
                ]
                np.testing.assert_allclose(visits["weight"], [w for _, w in twin.visits], rtol=1e-12)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("game", TINY_GAMES)
@pytest.mark.parametrize("scheme", SAMPLED)
def test_mean_over_all_outcomes_is_the_exact_gradient(scheme, game, zeros):
    # The twin that the test above ties to the kernel, over every outcome of its draws with its probability.
    tree, root = naive.tree_of(game), naive.root_of(game)
    table = naive.to_dict(tree, naive.random_strategy(tree, seed=5, zeros=zeros))
    sums = naive.to_dict(tree, naive.random_strategy(tree, seed=6, zeros=0.3))
    for player in range(tree.num_players):
        mean, mass = np.zeros(tree.num_slots + 1), 0.0
        for outcome, (probability, found) in enumerate(
            naive.all_outcomes(
                lambda draws, p=player: naive.sample_gradient(
                    root, p, table, scheme, draws, sums=sums, rho=(0.2, 2.0, 0.1)
                )
            )
        ):
            mass += probability
            mean += probability * naive.sequences_to_array(tree, found.gradient, player)
            assert outcome < 30_000, "the game is too large to enumerate"
        assert mass == pytest.approx(1.0, abs=1e-12)
        exact = naive.sequences_to_array(tree, naive.exact_gradient(root, player, table), player)
        np.testing.assert_allclose(mean, exact, atol=1e-11)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("scheme", SAMPLED)
def test_mean_of_samples_on_leduc(scheme, zeros):
    tree = naive.tree_of("leduc_poker")
    strategy = naive.random_strategy(tree, seed=3, zeros=zeros)
    exact, sampler = Sampler(tree, "full"), Sampler(tree, scheme, state=11)
    exact.use(strategy)
    sampler.use(strategy)
    if scheme == "average_strategy":
        sampler.sampling_weights = naive.random_strategy(tree, seed=4, zeros=0.3) * 1e7
    count = {"chance": 30_000, "opponent": 4_000, "external": 100_000, "average_strategy": 100_000}.get(scheme, 300_000)
    enough = 200  # a normal limit says something where there were so many non-zero samples
    for player in range(2):
        target = exact.sum(player)[0]
        total, squares, hits = sampler.sum(player, count)
        mean = total / count
        error = np.sqrt(np.maximum(squares / count - mean**2, 0.0) / count)
        seen = (hits >= enough) & (error > 0)
        assert seen.sum() >= 20  # or this test says nothing
        assert np.abs(mean - target)[seen].max() > 0  # sampled, not computed
        assert (np.abs(mean - target)[seen] / error[seen]).max() < z_limit(int(seen.sum()))
        # Where nothing varies, the samples are exact.
        constant = (squares * count <= total**2 * (1 + 1e-12)) & (hits == count)
        np.testing.assert_allclose(mean[constant], target[constant], atol=1e-9)
        # Rare slots: all of them together, with random signs, so that no bias hides in what is seldom seen.
        signs = np.random.default_rng(player).choice([-1.0, 1.0], (tree.num_slots + 1, 16))
        total, squares = sampler.project(player, count, signs)
        error = np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0.0) / count)
        assert np.abs(total / count - target @ signs).max() > 0
        assert (np.abs(total / count - target @ signs) / error).max() < z_limit(32)


def test_stamps_start_again_when_they_run_out():
    tree = naive.tree_of("kuhn_poker")
    worn, fresh = Sampler(tree, "external", state=5), Sampler(tree, "external", state=5)
    worn.scratch.counts[0]["stamp"] = 2**16 - 5
    worn.scratch.stamps[:] = np.arange(tree.num_slots) % 4 + 1  # left by traversals of long ago
    for _ in range(12):
        for player in range(2):
            np.testing.assert_array_equal(worn.sum(player)[0], fresh.sum(player)[0])


def test_descriptions_evaluate_back():
    names = {**vars(mccfr_plus), "inf": math.inf}
    for part in [*ESTIMATORS.values(), *MINIMIZERS.values(), *AVERAGES.values()]:
        assert eval(repr(part()), names) == part()
