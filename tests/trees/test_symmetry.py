"""Symmetries of boards: fewer infosets and histories, the same values."""

from __future__ import annotations

import dataclasses

import numpy as np
import pairs_game  # noqa: F401  (registers it)
import pytest
from open_spiel.python.policy import UniformRandomPolicy

import mccfr_plus
from mccfr_plus import PolicyError, Solver, evaluate_by_rules
from mccfr_plus.checks.rules import check_symmetries
from mccfr_plus.errors import CheckError
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.games.symmetries import board_symmetries
from mccfr_plus.trees.by_rules.frames import RulesKeys
from mccfr_plus.trees.order import representative_states

# `tests/solver/test_compiled.py` compiles a loop with symmetries.
pytestmark = pytest.mark.usefixtures("interpreted_loops", "interpreted_evaluation")

PAIRS, HEX, HEX_WITH_TURNS = (
    "pairs_game",
    "perfect_recall_dark_hex(num_rows=2,num_cols=3)",
    "dark_hex(num_rows=2,num_cols=2,obstype=reveal-numturns)",
)
# Each game has kernels of its own, which are compiled in some ten seconds.
GAMES = [
    pytest.param(HEX, marks=pytest.mark.slow),
    pytest.param(HEX_WITH_TURNS, marks=pytest.mark.slow),
    "pairs_game",
    "pairs_game(gameversion=adh)",
]


@pytest.mark.parametrize("game", GAMES)
def test_values_and_infosets_are_those_of_the_whole_game(game):
    solver = Solver(game, "external", seed=1, symmetry=True).run(30)
    policy, whole = solver.average_policy(), mccfr_plus.compile_game(game)
    found, stored = solver.evaluate(), mccfr_plus.evaluate(whole, policy)
    assert found.values == pytest.approx(stored.values, abs=1e-12)
    assert found.best_response_values == pytest.approx(stored.best_response_values, abs=1e-12)
    for options in ({"symmetry": True}, {"symmetry": False}):
        again = evaluate_by_rules(game, policy, progress=False, **options)
        assert again.nash_conv == pytest.approx(stored.nash_conv, abs=1e-12)
    keys = RulesKeys(whole.game, symmetry=True)
    movers = [(state, state.current_player()) for state in representative_states(whole)]
    orbits = {(player, *sorted(set(keys.of_state(state, player)))) for state, player in movers}
    assert solver.tree.num_infosets == len(orbits)


@pytest.mark.parametrize("game", GAMES)
def test_uniform_play_and_policies_that_are_tabulated(game):
    uniform = UniformRandomPolicy(mccfr_plus.load_game(game))
    expected = mccfr_plus.nash_conv(game, uniform)
    for policy in (None, uniform):
        found = evaluate_by_rules(game, policy, progress=False, symmetry=True)
        assert found.nash_conv == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("estimator", "options", "iterations"),
    [
        ("external", {}, 200),
        ("outcome", {}, 2000),
        ("external", {"threads": 2, "batch": 4}, 25),  # as many traversals
        ("average_strategy", {}, 200),
    ],
)
def test_solvers_converge(estimator, options, iterations):
    solver = Solver("pairs_game(gameversion=adh)", estimator, seed=1, symmetry=True, **options)
    first, last = (solver.run(count).exploitability() for count in (max(1, iterations // 100), iterations))
    assert last < first / 3


@pytest.mark.parametrize("estimator", ["full", "full(traversal=True)"])
@pytest.mark.parametrize("game", GAMES)
def test_full_iterations(game, estimator):
    # Not those of the whole game: an action that stands for several counts once.
    whole, runs = mccfr_plus.compile_game(game), []
    for threads in (1, 2):
        solver = Solver(game, estimator, "rm+", symmetry=True, threads=threads).run(1)
        first = solver.nash_conv()
        runs.append(solver.run(6).nash_conv())
        assert runs[-1] == pytest.approx(mccfr_plus.nash_conv(whole, solver.average_policy()), abs=1e-12)
        assert runs[-1] < first / 3
    assert runs[0] == pytest.approx(runs[1], abs=1e-9)


def test_a_policy_that_is_not_symmetric():
    def corner(state):
        legal = state.legal_actions()
        return {action: float(action == legal[0]) for action in legal}

    with pytest.raises(PolicyError, match="symmetry=True needs a symmetric policy, but at information state"):
        evaluate_by_rules(PAIRS, corner, progress=False, symmetry=True)
    almost = Solver(PAIRS, "external", seed=1, tree="rules").run(10).average_policy()
    with pytest.raises(PolicyError, match="needs a symmetric policy"):
        evaluate_by_rules(PAIRS, almost, progress=False, symmetry=True)


def test_files_and_checkpoints(tmp_path):
    once = Solver(PAIRS, "external", seed=1, symmetry=True).run(60)
    half = Solver(PAIRS, "external", seed=1, symmetry=True).run(30)
    half.save_checkpoint(tmp_path / "half")
    loaded = Solver.from_checkpoint(tmp_path / "half").run(30)
    assert (loaded.average_strategy() == once.average_strategy()).all()
    mccfr_plus.save_policy(once.average_policy(), tmp_path / "policy.npz")
    policy = mccfr_plus.load_policy(tmp_path / "policy.npz")
    assert mccfr_plus.nash_conv(PAIRS, policy) == pytest.approx(once.nash_conv(), abs=1e-12)


def test_wrong_symmetries_are_found():
    rules = compiled_rules(mccfr_plus.load_game(HEX))
    rules.sizes = dataclasses.replace(rules.sizes, symmetries=board_symmetries(2, 3, reflections=True))
    with pytest.raises(CheckError, match="a symmetry changes"):
        check_symmetries(rules, 20, np.random.default_rng(1))
    rules.sizes = dataclasses.replace(rules.sizes, symmetries=[(0, 1, 2, 3, 4, 5), (1, 2, 0, 3, 4, 5)])
    with pytest.raises(CheckError, match="give a group"):
        check_symmetries(rules, 1, np.random.default_rng(1))
