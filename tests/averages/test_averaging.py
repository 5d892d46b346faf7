"""Average strategies: each method adds up, in expectation, own reach x strategy x a constant of the infoset."""

import combinations
import naive
import numpy as np
import pytest

from mccfr_plus import PowerAverage, Solver
from mccfr_plus.averages import linear

VISITING = tuple(name for name in naive.UNBIASED if name not in ("full", "chance"))  # others' infosets, by draws


@pytest.mark.parametrize("game", ["kuhn_poker", "random:2:2", "random:2:6"])
@pytest.mark.parametrize("scheme", VISITING)
def test_visits_of_the_naive_twin_are_right_over_all_outcomes(scheme, game):
    """Exactly: the expected weight of an infoset is own reach times what depends on no strategy.

    `minimizers/test_minimizers.py` compares the kernels with the twin draw by draw, averages included.
    """
    tree, root = naive.tree_of(game), naive.root_of(game)
    sums, factors = naive.to_dict(tree, naive.random_strategy(tree, 6, zeros=0.3)), []
    for seed in (1, 2):
        table, found = naive.to_dict(tree, naive.random_strategy(tree, seed)), {}
        for player in range(2):
            for probability, sampled in naive.all_outcomes(
                lambda draws, p=player, t=table: naive.sample_gradient(
                    root, p, t, scheme, draws, sums=sums, rho=(0.2, 2.0, 0.1)
                )
            ):
                for key, weight in sampled.visits:
                    found[key] = found.get(key, 0.0) + probability * weight
            reach = naive.own_reach(root, 1 - player, table)
            assert all(found[key] > 0 for key in reach)
            found |= {key: found[key] / reach[key] for key in reach}
        factors.append(found)
    assert factors[0] == pytest.approx(factors[1], abs=1e-12)


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
    lazy, dense = (Solver(tree, "external", "rm", method, seed=6).run(iterations) for method in ("lazy", "exact"))
    np.testing.assert_allclose(lazy.average_strategy(), dense.average_strategy(), atol=1e-12)


def test_last_is_the_last_iterate(interpreted_loops):
    solver = Solver(naive.tree_of("kuhn_poker"), "external", "rm", "last", seed=1).run(50)
    np.testing.assert_array_equal(solver.average_strategy(), solver.current_strategy())


def test_optimistic_average_by_hand(interpreted_loops):
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
