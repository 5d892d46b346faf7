"""The value of a game between two proven bounds."""

import sys

import numpy as np
import pyspiel
import pytest

from mccfr_plus import ConfigError, GameError, Solver, compile_game, expected_values, game_value

module = sys.modules["mccfr_plus.solver.game_value"]  # the name in the package is the function's

# Kuhn 1950 for the standard game; with a deck of three, one-card poker is the same game.
VALUES = {"kuhn_poker": -1 / 18, "one_card_poker(deck_size=3)": -1 / 18, "matrix_rps": 0.0, "matrix_mp": 0.0}


@pytest.mark.parametrize("game", VALUES)
@pytest.mark.parametrize("method", ["lp", "cfr"])
@pytest.mark.parametrize("precision", [1e-2, 1e-4])
def test_the_bounds_enclose_the_value(game, precision, method, request):
    if method == "cfr":
        request.getfixturevalue("without_lp")
    value = game_value(game, precision)
    assert value.lower - 1e-12 <= VALUES[game] <= value.upper + 1e-12
    assert value.upper - value.lower + 1e-12 >= 0.0
    assert value.upper - value.lower <= 2 * precision + 1e-12
    assert value.middle == (value.lower + value.upper) / 2
    assert abs(value.middle - VALUES[game]) <= precision + 1e-12
    assert (value.iterations == 0) == (method == "lp")


@pytest.fixture
def without_lp(monkeypatch):
    """As if all games were too large for a linear program."""
    monkeypatch.setattr(module, "MOST_ENTRIES", -1)


@pytest.mark.usefixtures("without_lp")
def test_the_precision_is_kept_by_a_run_that_ends_as_soon_as_it_may(monkeypatch):
    run = Solver.run
    monkeypatch.setattr(Solver, "run", lambda self, **limits: run(self, evaluate_every=0.0, **limits))
    value = game_value("kuhn_poker", 1e-2)
    assert 1e-3 < value.upper - value.lower <= 2e-2  # not much better, or the test would say nothing


@pytest.mark.usefixtures("without_lp")
def test_bounds_of_a_larger_game_enclose_what_a_solution_is_worth():
    tree = compile_game("leduc_poker")
    value = game_value(tree, 1e-2)
    solver = Solver(tree, "full", "dcfr").run(target_exploitability=1e-3)
    worth = expected_values(tree, solver.average_policy())
    assert value.lower - 2e-3 <= worth[0] <= value.upper + 2e-3
    assert np.sum(worth) == pytest.approx(0.0)
    assert value.upper - value.lower <= 2e-2


@pytest.mark.parametrize("game", ["matrix_bos", "tiny_hanabi", "kuhn_poker(players=3)"])
def test_other_games_have_no_value(game):
    with pytest.raises(GameError, match="is not a two-player zero-sum game"):
        game_value(game)


def test_small_games_with_large_payoffs_end():
    game = pyspiel.create_matrix_game(
        "large", "Large", ["a", "b"], ["c", "d"], [[1e12, -3e12], [-2e12, 5e12]], [[-1e12, 3e12], [2e12, -5e12]]
    )
    value = game_value(game)
    assert value.lower <= value.upper
    assert value.middle == pytest.approx(-1e12 / 11)


@pytest.mark.usefixtures("without_lp")
def test_the_precision_must_be_reachable():
    with pytest.raises(
        ConfigError, match="precision=1e-18: the rounding error of the payoffs is larger than this; give at least 4e-12"
    ):
        game_value("kuhn_poker", 1e-18)
