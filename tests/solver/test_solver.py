"""The solver against OpenSpiel's, its limits and callbacks, pickling, and games of every kind."""

import math
import pickle
import statistics

import lazy_games  # noqa: F401  (registers its game)
import naive
import numpy as np
import pyspiel
import pytest
from lazy_trees import beside_this_process

from mccfr_plus import (
    ConfigError,
    GameError,
    PolicyError,
    Solver,
    TreePolicy,
    evaluate,
)
from mccfr_plus.evaluation.strategies import strategy_of
from mccfr_plus.solver.config import AVERAGES, MINIMIZERS

TURN_BASED_GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3,points_order=descending))"


@pytest.mark.parametrize(
    "game", ["kuhn_poker", "leduc_poker", TURN_BASED_GOOFSPIEL, "perturbed:kuhn_poker(players=3)", "random:3:3"]
)
@pytest.mark.parametrize("rule", ["rm", "rm+"])
def test_full_equals_openspiels_cfr(rule, game):
    # Three-player Kuhn poker has ties, at which rounding decides between uniform and pure play: hence perturbed.
    tree, iterations = naive.tree_of(game), 5 if game == "leduc_poker" else 30
    theirs = (pyspiel.CFRSolver if rule == "rm" else pyspiel.CFRPlusSolver)(tree.game)
    for _ in range(iterations):
        theirs.evaluate_and_update_policy()
    solver = Solver(tree, "full", rule).run(iterations)
    average = strategy_of(tree, theirs.average_policy())
    np.testing.assert_allclose(solver.average_strategy(), average, atol=1e-10)
    current = strategy_of(tree, theirs.current_policy())
    np.testing.assert_allclose(solver.current_strategy(), current, atol=1e-10)
    assert np.abs(average - tree.uniform_strategy()).max() > 0.1


@pytest.mark.parametrize(
    ("scheme", "theirs", "iterations"),
    [
        ("external", lambda game, seed: pyspiel.ExternalSamplingMCCFRSolver(game, seed), 600),
        ("outcome", lambda game, seed: pyspiel.OutcomeSamplingMCCFRSolver(game, 0.6, seed), 3000),
    ],
)
def test_sampled_solvers_are_as_good_as_openspiels(scheme, theirs, iterations):
    """Exploitability at the same number of iterations, over seeds; a Welch test that only objects to being worse."""
    seeds = range(12)
    tree = naive.tree_of("leduc_poker")
    mine, other = [], []
    for seed in seeds:
        # OpenSpiel's RunIteration() without a player updates every player once, as an iteration here does.
        solver = theirs(tree.game, seed)
        for _ in range(iterations):
            solver.run_iteration()
        other.append(evaluate(tree, solver.average_policy()).exploitability)
        mine.append(Solver(tree, scheme, "rm", seed=seed).run(iterations).exploitability())
    spread = math.sqrt(statistics.variance(mine) / len(seeds) + statistics.variance(other) / len(seeds))
    # 5 standard errors: false alarms once in a few thousand runs at the worst with 11 degrees of freedom.
    assert statistics.mean(mine) - statistics.mean(other) < 5 * spread
    # And both have learnt something, or the comparison says nothing.
    uniform = evaluate(tree, TreePolicy(tree, tree.uniform_strategy())).exploitability
    assert statistics.mean(mine) + 5 * math.sqrt(statistics.variance(mine) / len(seeds)) < uniform


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("averaging", sorted(AVERAGES))
def test_an_evaluation_depends_on_no_earlier_one_and_changes_no_strategy(averaging):
    solver = Solver("leduc_poker", "outcome", averaging=averaging, seed=1)
    for _ in range(3):
        strategy = solver.run(40).average_strategy()
        before, found = strategy.copy(), solver.evaluate()
        fresh = evaluate(solver.tree, solver.average_policy())
        np.testing.assert_array_equal(found.values, fresh.values)
        np.testing.assert_array_equal(found.best_response_values, fresh.best_response_values)
        np.testing.assert_array_equal(strategy, before)
    assert pickle.loads(pickle.dumps(solver)).evaluate().nash_conv == found.nash_conv


@pytest.mark.parametrize("minimizer", list(MINIMIZERS))
def test_value_of_kuhn(minimizer):
    solver = Solver("kuhn_poker", "full", minimizer).run(3000)
    # |value - game value| <= NashConv of a two-player zero-sum game.
    found, value = solver.evaluate(), -1 / 18
    assert found.nash_conv < 0.03
    assert abs(found.values[0] - value) <= found.nash_conv + 1e-12
    assert -found.best_response_values[1] - 1e-12 <= value <= found.best_response_values[0] + 1e-12


@pytest.fixture
def solver():
    return Solver(naive.tree_of("kuhn_poker"), "external", "rm", seed=1)


def test_iterations_are_counted_exactly(solver):
    assert solver.iterations == 0
    assert solver.run(7) is solver
    assert solver.run(iterations=np.int64(5)).iterations == 12
    solver.iteration()
    assert solver.iterations == 13


def test_chunks_do_not_change_the_result(solver):
    one_by_one = Solver(solver.tree, "external", "rm", seed=1)
    for _ in range(500):
        one_by_one.iteration()
    solver.run(500)
    np.testing.assert_array_equal(solver.average_strategy(), one_by_one.average_strategy())
    assert solver.nodes_touched == one_by_one.nodes_touched


def test_seconds(solver):
    solver.run(1)
    told = []
    solver.run(seconds=0.3, callbacks=[told.append])
    assert told[-1].seconds >= 0.3
    assert solver.iterations > 1
    assert solver.run(10, seconds=100).iterations == told[-1].iterations + 10  # whichever limit comes first


def test_a_run_that_ends_within_an_iteration_says_which(solver, caplog):
    large = Solver(solver.tree, "external", "rm", batch=300_000, seed=1)
    large.run(seconds=1e-4)
    large.run(1).run(seconds=1e-4)
    told = [record.message.partition(" (")[0] for record in caplog.records if record.message.startswith("ended")]
    assert told == ["ended within the first iteration", "ended within iteration 2"]


def test_until(solver):
    solver.run(target_exploitability=0.05)
    assert solver.exploitability() <= 0.05
    before = solver.iterations
    solver.run(3, target_exploitability=1e-12)
    assert solver.iterations == before + 3


def test_callback(solver):
    told = []
    solver.run(20_000, callbacks=[told.append], evaluate_every=0)
    assert told[-1].iterations == solver.iterations == 20_000
    assert told[-1].nodes_touched == solver.nodes_touched
    assert [p.iterations for p in told] == sorted({p.iterations for p in told})
    assert all(p.solver is solver for p in told)
    assert all(p.evaluation is not None for p in told)
    assert told[-1].evaluation.nash_conv == solver.nash_conv()
    solver.run(100_000_000, callbacks=[lambda progress: True])
    assert solver.iterations < 100_000_000
    plain = []
    solver.run(10, callbacks=[plain.append])
    assert {p.evaluation for p in plain} == {None}


@pytest.mark.parametrize("estimator", ["outcome", "outcome(update_all_players=True)"])
def test_histories_that_are_too_unlikely(estimator, interpreted_loops):
    game = pyspiel.load_game("python_faulty(length=1500)")
    with pytest.raises(GameError, match=r"probability below 1e-300.*external sampling"):
        Solver(game, estimator, "rm", tree="lazy", memory=beside_this_process(5e8), seed=1).run(5)


@pytest.mark.parametrize("limits", [{}, {"iterations": 0}, {"iterations": 1.5}], ids=str)
def test_bad_limits(solver, limits):
    with pytest.raises(ConfigError):
        solver.run(**limits)
    assert solver.iterations == 0


def test_regrets(solver):
    solver.run(50)
    for infoset, text in enumerate(solver.tree.info_states):
        regrets = solver.regrets(text)
        assert list(regrets) == solver.tree.legal_actions(infoset)
        positive = np.maximum(list(regrets.values()), 0)
        expected = positive / positive.sum() if positive.sum() else np.full(2, 0.5)
        np.testing.assert_allclose(solver.current_strategy()[solver.tree.slots(infoset)], expected, atol=1e-12)
    assert any(any(solver.regrets(text).values()) for text in solver.tree.info_states)
    for wrong in (("nothing", None), (solver.tree.info_states[0], 1)):
        with pytest.raises(PolicyError, match="no information state"):
            solver.regrets(*wrong)


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize(
    ("game", "options"), [("kuhn_poker", {"threads": 2}), ("python_kuhn_poker", {}), ("kuhn_poker(players=3)", {})]
)
def test_a_pickled_solver_goes_on_bit_for_bit(game, options):
    solver = Solver(game, "external", "dcfr", seed=4, **options).run(20)
    copy = pickle.loads(pickle.dumps(solver))
    copy.run(20)
    before = solver.average_strategy()
    assert solver.iterations == 20  # the copy shares nothing
    solver.run(20)
    assert not np.array_equal(before, solver.average_strategy())
    for name in ("average_strategy", "current_strategy"):
        np.testing.assert_array_equal(getattr(copy, name)(), getattr(solver, name)())
    assert copy.nodes_touched == solver.nodes_touched
    assert repr(copy) == repr(solver)
