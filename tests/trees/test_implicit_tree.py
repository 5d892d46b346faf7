"""Games that are traversed by their rules: the numbers of stored trees, without a stored history."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest
from interpreted import plain_solver
from open_spiel.python.algorithms import exploitability as openspiel

import mccfr_plus
from mccfr_plus import Solver
from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.by_rules import RulesEvaluator
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree

LEDUC, KUHN, THREE = "leduc_poker", "kuhn_poker", "kuhn_poker(players=3)"
interpreted = pytest.mark.usefixtures("interpreted_loops")

# Chance is uniform in these games, so that both ways to draw an outcome use random numbers alike.
COMBINATIONS = [
    ("outcome", "rm", None, {}),
    ("external", "rm", "stochastic", {"threads": 2, "batch": 4}),
    *(
        pytest.param(*combination, marks=pytest.mark.slow)
        for combination in [
            ("external", "rm", None, {}),
            ("external(sample_per_infoset=True)", "rm+", None, {}),
            ("external(prune_below=-5.0)", "rm", None, {}),
            ("average_strategy", "rm", "optimistic", {}),
            ("outcome", "prm+", "sampled", {}),
            ("chance", "hedge", None, {}),
            ("opponent", "rm", "last", {}),
            ("external", "rm", None, {"batch": 3}),
        ]
    ),
]

# Families that wait at the same time, of several sizes and depths; three players, whose average has its own traversal.
WAITING = [
    ("perfect_recall_dark_hex(num_rows=2,num_cols=2)", ("external", "rm", None)),
    (THREE, ("external", "rm", "stochastic")),
    (KUHN, ("outcome(update_all_players=True)", "rm", "stochastic")),
]


def two_solvers(game, estimator, minimizer, averaging, **options):
    make, given = {"compiled": plain_solver, "rules": Solver}, (game, estimator, minimizer, averaging)
    return [make[tree](*given, seed=3, tree=tree, **options).run(60) for tree in make]


def assert_same(stored, implicit):
    assert stored.nodes_touched == implicit.nodes_touched
    found = strategy_of(stored.tree, implicit.average_policy())
    np.testing.assert_allclose(found, stored.average_strategy(), atol=1e-12)


@pytest.mark.parametrize(("estimator", "minimizer", "averaging", "options"), COMBINATIONS)
def test_the_same_numbers_as_on_a_stored_tree(estimator, minimizer, averaging, options):
    assert_same(*two_solvers(KUHN, estimator, minimizer, averaging, **options))


@interpreted
@pytest.mark.parametrize(("game", "components"), WAITING)
def test_nodes_that_wait_stay_as_they_are(game, components):
    assert_same(*two_solvers(game, *components))


@interpreted
@pytest.mark.parametrize(("averaging", "only_entered"), [("linear", True), ("stochastic", False)])
def test_infosets_that_only_opponents_have_met_have_no_number(averaging, only_entered):
    solver = Solver(LEDUC, "external", "rm", averaging, tree="rules", seed=3).run(30)
    entered = solver._engine.scratches[0].stamps[solver.tree.found_infosets["first_slot"]] > 0
    assert entered.all() == only_entered
    assert solver.tree.max_slots < solver.tree.plan.max_slots  # what has no number plays these slots
    assert (solver.current_strategy() >= 0).all()


def test_memory_that_is_too_little_for_uniform_play_is_a_clear_error():
    tree = Solver("kuhn_poker", "external", tree="rules", seed=1).tree
    with pytest.raises(ConfigError, match="is too little for a game with"):
        ImplicitTree(tree.game, tree.rules_game, tree.plan._replace(max_slots=3))


@pytest.mark.usefixtures("interpreted_loops", "interpreted_evaluation")
def test_exact_values_are_those_of_a_stored_tree():
    stored, implicit = two_solvers(THREE, "external", "rm", None)
    there, here = stored.evaluate(), implicit.evaluate()
    assert here.values == pytest.approx(there.values, abs=1e-12)
    assert here.best_response_values == pytest.approx(there.best_response_values, abs=1e-12)


@interpreted
@pytest.mark.parametrize("iterations", [1, 200])
def test_exploitability_is_openspiels(iterations):
    solver = Solver(KUHN, "outcome", tree="rules", seed=1).run(iterations)
    expected = openspiel.nash_conv(solver.tree.game, solver.average_policy())
    assert solver.nash_conv() == pytest.approx(expected, abs=1e-9)


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("threads", [1, 2])
def test_every_history_is_visited_once(threads):
    solver = Solver(KUHN, "outcome", tree="rules", seed=1).run(1)
    evaluator = RulesEvaluator(solver.tree, threads, progress=False)
    evaluator.evaluate(solver.average_strategy())
    tree = mccfr_plus.compile_game(KUHN)
    assert evaluator.num_histories == tree.num_nodes
    assert solver.tree.num_infosets == tree.num_infosets
    assert solver.tree.num_slots == tree.num_slots


def test_what_two_players_do_not_reach_is_left_out(interpreted_loops):
    solver = Solver(KUHN, "full", "rm", tree="compiled").run(1)
    policy = solver.average_policy()
    implicit = Solver(KUHN, "outcome", tree="rules", seed=1).run(1)
    RulesEvaluator(implicit.tree, 1, progress=False).evaluate(implicit.average_strategy())  # numbers all infosets
    greedy = np.zeros(implicit.tree.num_slots)
    greedy[implicit.tree.found_infosets["first_slot"]] = 1.0
    evaluator = RulesEvaluator(implicit.tree, 1, progress=False)
    found = evaluator.evaluate(greedy)
    assert evaluator.num_histories < mccfr_plus.compile_game(KUHN).num_nodes
    first = {
        text: [(action, float(index == 0)) for index, (action, _) in enumerate(row)]
        for text, row in policy.to_pyspiel().policy_table().items()
    }
    table = pyspiel.TabularPolicy(first)
    assert found.nash_conv == pytest.approx(pyspiel.nash_conv(solver.tree.game, table), abs=1e-9)
