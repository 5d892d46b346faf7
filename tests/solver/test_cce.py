"""Coarse correlated equilibria: gaps by enumeration."""

import naive
import numpy as np
import pytest

from mccfr_plus import Solver, measured_regret, solve_cce
from mccfr_plus.evaluation.exact import evaluate_strategy


@pytest.mark.parametrize("method", ["cfr_jr", "cfr_s"])
@pytest.mark.parametrize("game", ["matrix_sh", "random:3:1"])
def test_gaps_by_enumerating_pure_plans(game, method):
    tree, iterations = naive.tree_of(game), 5
    found = solve_cce(tree, iterations, method, seed=3)
    values = np.array([evaluate_strategy(tree, profile).values for profile in found.profiles])
    np.testing.assert_allclose(found.values, values.mean(axis=0), atol=1e-12)
    for player in range(tree.num_players):
        best = -np.inf
        for plan in naive.pure_strategies(tree, player):
            profiles = found.profiles.copy()
            own = slice(*tree.arrays.slot_range[player : player + 2])
            profiles[:, own] = plan[own]
            best = max(best, np.mean([evaluate_strategy(tree, profile).values[player] for profile in profiles]))
        assert found.gaps[player] == pytest.approx(best - values[:, player].mean(), abs=1e-12)


def test_cfr_jr_has_the_regret_of_cfr():
    gaps = solve_cce("kuhn_poker(players=3)", 50).gaps
    regrets = measured_regret(Solver("kuhn_poker(players=3)", "full", "rm", "uniform", alternating=False), 50)
    np.testing.assert_allclose(gaps, regrets, atol=1e-12)


@pytest.mark.parametrize("game", ["kuhn_poker(players=3)", "matrix_sh", "random:3:1"])
def test_gaps_fall(game):
    tree = naive.tree_of(game)
    sizes = [solve_cce(tree, n, "cfr_jr").gap for n in (10, 100, 1000)]
    assert sizes[0] >= sizes[1] >= sizes[2]
    # Azuma: regret against drawn plans differs by a sum of bounded differences. Eight standard errors.
    payoffs = tree.arrays.payoffs
    spread = float(np.ptp(payoffs, axis=0).max())
    drawn = solve_cce(tree, 20_000, "cfr_s", seed=1)
    assert drawn.gap <= 8 * spread * np.sqrt(tree.num_slots / 20_000)
    assert set(drawn.profiles.reshape(-1).tolist()) == {0.0, 1.0}
