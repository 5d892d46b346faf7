"""Equilibria by linear programming: known values, CFR's bounds, and what is refused."""

import numpy as np
import pyspiel
import pytest

from mccfr_plus import Solver, compile_game, nash_conv, solve_lp

# Kuhn 1950; with a deck of three, one-card poker is the same game.
VALUES = {"kuhn_poker": -1 / 18, "one_card_poker(deck_size=3)": -1 / 18, "matrix_rps": 0.0, "matrix_mp": 0.0}

# Player 1 never moves, and chance may end the game first: 0.75 * 1 + 0.25 * max(3, 5).
ONE_SIDED = """EFG 2 R "one-sided" { "P0" "P1" }
c "" 1 "deal" { "end" 0.75 "go" 0.25 } 0
t "" 1 "o1" { 1.0 -1.0 }
p "" 1 1 "I1" { "a" "b" } 0
t "" 2 "o2" { 3.0 -3.0 }
t "" 3 "o3" { 5.0 -5.0 }
"""


@pytest.mark.parametrize("game", VALUES)
def test_known_values(game):
    equilibrium = solve_lp(game)
    assert equilibrium.value == pytest.approx(VALUES[game], abs=1e-9)
    assert -1e-12 <= equilibrium.exploitability <= 1e-9


@pytest.mark.parametrize("game", ["leduc_poker", "liars_dice(dice_sides=3)"])
def test_it_is_an_equilibrium_by_openspiels_count_and_within_the_bounds_of_cfr(game):
    tree = compile_game(game)
    equilibrium = solve_lp(tree)
    assert pyspiel.nash_conv(tree.game, equilibrium.policy.to_pyspiel()) < 2e-9
    assert nash_conv(tree, equilibrium.policy) < 2e-9
    first, second = Solver(tree, "full", "rm+").run(200).evaluate().best_response_values
    assert -second - 1e-9 <= equilibrium.lower <= equilibrium.upper + 1e-12
    assert equilibrium.upper <= first + 1e-9


def test_a_player_without_decisions():
    equilibrium = solve_lp(pyspiel.load_efg_game(ONE_SIDED))
    assert equilibrium.value == pytest.approx(2.0)
    assert equilibrium.policy.strategy().tolist() == pytest.approx([0.0, 1.0])


def test_unreached_information_states_are_played_uniformly():
    equilibrium = solve_lp("kuhn_poker")
    strategy, tree = equilibrium.policy.strategy(), equilibrium.policy.tree
    sums = np.add.reduceat(strategy, tree.arrays.infosets["first_slot"])
    np.testing.assert_allclose(sums, 1.0, atol=1e-12)
    assert (strategy >= 0).all()
