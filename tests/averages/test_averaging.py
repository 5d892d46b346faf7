"""Average strategies: each method adds up, in expectation, own reach x strategy x a constant of the infoset."""

import math

import combinations
import naive
import numpy as np
import pytest
from scipy import stats

from mccfr_plus import PowerAverage, Solver
from mccfr_plus.averages import linear
from mccfr_plus.averages.average import Mechanism, mechanism_for, method_of
from mccfr_plus.checks.average import replay
from mccfr_plus.estimators.traversal import max_visits
from mccfr_plus.solver.config import SolverConfig, composed, estimator_of
from mccfr_plus.trees.scratch import new_scratch

SAMPLED = tuple(name for name in naive.UNBIASED if name != "full")


def batches_of_averages(name, scheme, method, batches=200, length=400):
    """Returns sums of averages per batch, and what they must be proportional to at each infoset."""
    tree, root = naive.tree_of(name), naive.root_of(name)
    estimator = estimator_of(scheme)
    strategies = np.stack([naive.random_strategy(tree, seed) for seed in (1, 2)])
    nodes = tree.arrays.nodes
    size = sum(
        max_visits(nodes, p, own, estimator.visits_all_chance, estimator.visits_all_own)
        for p in range(tree.num_players)
        for own in (True, False)
    )
    scratch = new_scratch(tree.arrays_with_leaves, tree.shape, np.array([77], np.uint64), max_visits=size)
    sampling_weights = np.zeros(0)
    if scheme == "balanced":
        sampling_weights = estimator.sampling_strategy(tree)
    elif scheme == "average_strategy":
        sampling_weights = naive.random_strategy(tree, 3, zeros=0.3) * 1e7
    sums = np.zeros((batches, tree.num_slots))
    composed(replay, SolverConfig.from_specs(estimator, "rm"), method, partial=True)(
        estimator.parameters(),
        sampling_weights,
        tree.arrays_with_leaves,
        strategies,
        np.ones(2),
        np.zeros(tree.num_slots + tree.num_players),
        scratch,
        length,
        sums,
    )
    target = np.zeros(tree.num_slots)
    for strategy in strategies:
        table = naive.to_dict(tree, strategy)
        for player in range(tree.num_players):
            for key, reach in naive.own_reach(root, player, table).items():
                target[tree.slots(tree.infoset(key[1], player))] += reach * np.array(table[key])
    return tree, sums, target


def largest_z(tree, sums, target):
    """Returns the largest z-score over slots of (sum of the slot) - (its share of the infoset's sum), and how many."""
    worst, count = 0.0, 0
    for infoset in range(tree.num_infosets):
        slots = tree.slots(infoset)
        share = target[slots] / target[slots].sum()
        difference = sums[:, slots] - share * sums[:, slots].sum(axis=1, keepdims=True)
        error = difference.std(axis=0, ddof=1) / math.sqrt(len(sums))
        assert sums[:, slots].sum() > 0
        keep = error > 1e-12 * sums[:, slots].sum(axis=1).mean()
        np.testing.assert_allclose(difference[:, ~keep], 0, atol=1e-9 * sums[:, slots].sum())
        if keep.any():
            worst = max(worst, float(np.abs(difference.mean(axis=0)[keep] / error[keep]).max()))
            count += int(keep.sum())
    return worst, max(count, 1)


def limit(count, batches=200):
    return stats.t.isf(1e-6 / (2 * count), batches - 1)


@pytest.mark.parametrize("game", ["random:2:0", "random:3:3"])
@pytest.mark.parametrize("scheme", SAMPLED)
def test_expectation_is_reach_times_strategy(scheme, game):
    players = naive.tree_of(game).num_players
    mechanism = mechanism_for(PowerAverage(method="stochastic"), estimator_of(scheme), players, True)
    assert_proportional(game, scheme, mechanism)


def assert_proportional(game, scheme, mechanism):
    length = 40 if scheme == "opponent" else 400
    worst, count = largest_z(*batches_of_averages(game, scheme, method_of(mechanism), length=length))
    assert worst < limit(count)


@pytest.mark.parametrize("scheme", ["external", "opponent", "outcome"])
def test_own_traversals_are_right_for_two_players_too(scheme):
    mechanism = Mechanism.OWN_HISTORY if scheme == "outcome" else Mechanism.OWN_TRAVERSAL
    assert_proportional("random:2:0", scheme, mechanism)


@pytest.mark.parametrize("scheme", ["external", "opponent", "outcome", "balanced", "average_strategy"])
def test_drawn_actions_have_the_expectation_of_strategies(scheme):
    assert_proportional("random:2:0", scheme, Mechanism.DRAWN_ACTIONS)


def test_the_check_sees_the_bias_of_optimistic_averages():
    worst, count = largest_z(*batches_of_averages("random:2:0", "external", method_of(Mechanism.OPTIMISTIC)))
    assert worst > limit(count)


# Average strategy sampling looks at the sums, which the two methods bring up to date at different times.
LAZY = [
    (scheme, *game, ("rm", "dcfr", "omd" if scheme in naive.UNBIASED else "prm")[(i + j) % 3])
    for i, scheme in enumerate(name for name in combinations.ESTIMATORS if name != "average_strategy")
    for j, game in enumerate(
        [("kuhn_poker", True), ("matrix_rps", False), ("kuhn_poker(players=3)", False), ("random:3:1", True)]
    )
]


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(("scheme", "game", "alternating", "minimizer"), LAZY)
def test_lazy_is_the_dense_average(scheme, game, alternating, minimizer):
    tree = naive.tree_of(game)
    lazy, dense = (
        Solver(tree, scheme, minimizer, PowerAverage(1.5, method), alternating=alternating, seed=6)
        for method in ("lazy", "exact")
    )
    for count in (1, 2, 30):
        lazy.run(count)
        dense.run(count)
        np.testing.assert_array_equal(lazy.current_strategy(), dense.current_strategy())
        np.testing.assert_allclose(lazy.average_strategy(), dense.average_strategy(), atol=1e-12)
    before = lazy.average_strategy()
    np.testing.assert_array_equal(lazy.average_strategy(), before)  # computing it changes nothing


@pytest.mark.parametrize(("game", "iterations"), [("kuhn_poker", 1_000_000), ("leduc_poker", 10_000)])
def test_lazy_is_the_dense_average_after_many_iterations(game, iterations):
    tree = naive.tree_of(game)
    lazy, dense = (Solver(tree, "outcome", "rm", method, seed=6).run(iterations) for method in ("lazy", "exact"))
    np.testing.assert_allclose(lazy.average_strategy(), dense.average_strategy(), atol=1e-12)


def test_last_is_the_last_iterate():
    solver = Solver(naive.tree_of("kuhn_poker"), "external", "rm", "last", seed=1).run(50)
    np.testing.assert_array_equal(solver.average_strategy(), solver.current_strategy())


def test_optimistic_average_by_hand():
    # What an infoset adds when it is touched is its current reach x strategy, for all iterations since last time.
    tree = naive.tree_of("kuhn_poker")
    solver = Solver(tree, "external", "rm", "optimistic", alternating=False, seed=3)
    sums, last = np.zeros(tree.num_slots), np.zeros(tree.num_infosets)
    for t in range(1, 60):
        strategy = solver.current_strategy()
        solver.iteration()
        for player in range(2):
            reach = naive.own_reach(naive.root_of("kuhn_poker"), player, naive.to_dict(tree, strategy))
            begin = tree.arrays.infoset_range[player]
            touched = solver._engine.scratches[0].touched[
                begin : begin + solver._engine.scratches[0].num_touched[player]
            ]
            for infoset in tree.infoset_of_slot[touched["first_slot"]]:
                slots = tree.slots(infoset)
                sums[slots] += (t - last[infoset]) * reach[(player, tree.info_states[infoset])] * strategy[slots]
                last[infoset] = t
    np.testing.assert_allclose(solver._engine.average[: tree.num_slots], sums, atol=1e-12)


@pytest.mark.parametrize("players", [2, 3])
def test_naive_own_traversals_are_right_over_all_outcomes(players):
    # Exactly: expected weight of an infoset = own reach x what does not depend on any strategy.
    name = f"random:{players}:2"
    tree, root = naive.tree_of(name), naive.root_of(name)
    for all_own in (True, False):
        factors = []
        for seed in (1, 2):
            table = naive.to_dict(tree, naive.random_strategy(tree, seed))
            for player in range(players):
                reach = naive.own_reach(root, player, table)
                weights = dict.fromkeys(reach, 0.0)
                for probability, (visits, _) in naive.all_outcomes(
                    lambda draws, p=player, t=table, a=all_own: naive.own_traversal(root, p, t, a, draws)
                ):
                    for key, weight in visits:
                        weights[key] += probability * weight
                factors.append({key: weights[key] / reach[key] for key in reach})
        for first, second in zip(factors[:players], factors[players:], strict=True):
            assert first == pytest.approx(second, abs=1e-12)
            assert min(first.values(), default=1.0) > 0


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("game", ["kuhn_poker", "random:3:1"])
@pytest.mark.parametrize("scheme", combinations.ESTIMATORS)
def test_exact_average_of_a_sampled_solver_is_the_average_of_what_it_played(scheme, game):
    tree, root = naive.tree_of(game), naive.root_of(game)
    solver = Solver(tree, scheme, "rm", linear("exact"), alternating=False, seed=2)
    sums = {key: np.zeros(count) for key, count in naive.infosets_of(root).items()}
    for t in range(1, 31):
        table = naive.to_dict(tree, solver.current_strategy())
        for player in range(tree.num_players):
            for key, reach in naive.own_reach(root, player, table).items():
                sums[key] += t * reach * np.array(table[key])
        solver.iteration()
    expected = {key: row / row.sum() if row.sum() else np.full(len(row), 1 / len(row)) for key, row in sums.items()}
    np.testing.assert_allclose(solver.average_strategy(), naive.to_array(tree, expected), atol=1e-12)
