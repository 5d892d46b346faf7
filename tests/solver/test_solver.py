"""The solver against OpenSpiel's, its limits and callbacks, plug-in parts, pickling, and games of every kind."""

import logging
import math
import pickle
import statistics
from dataclasses import dataclass
from typing import ClassVar

import naive
import numba
import numpy as np
import pyspiel
import pytest

from mccfr_plus import (
    ConfigError,
    Estimator,
    GameError,
    Minimizer,
    PolicyError,
    PowerAverage,
    Solver,
    TreePolicy,
    evaluate,
)
from mccfr_plus.estimators import AverageMethod
from mccfr_plus.estimators.outcome import outcome_traversal
from mccfr_plus.kernels import loop
from mccfr_plus.kernels.scratch import NODES_TOUCHED, VISITED, touch
from mccfr_plus.solver import registry as parts
from mccfr_plus.tree.order import representative_states

KUHN_VALUE = -1 / 18
TURN_BASED_GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3,points_order=descending))"


# --- against OpenSpiel ---


def strategy_of_openspiel(tree, policy):
    strategy = np.zeros(tree.num_slots)
    for infoset, state in enumerate(representative_states(tree)):
        row = dict(policy.action_probabilities(state))
        strategy[tree.slots(infoset)] = [row[a] for a in tree.legal_actions(infoset)]
    return strategy


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
    average = strategy_of_openspiel(tree, theirs.average_policy())
    np.testing.assert_allclose(solver.average_strategy(), average, atol=1e-10)
    current = strategy_of_openspiel(tree, theirs.current_policy())
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


# --- evaluations, one after the other ---


@pytest.mark.parametrize("averaging", sorted(parts.AVERAGES))
def test_an_evaluation_depends_on_no_earlier_one_and_changes_no_strategy(averaging):
    solver = Solver("leduc_poker", "outcome", averaging=averaging, seed=1)
    for _ in range(3):
        strategy = solver.run(200).average_strategy()
        before, found = strategy.copy(), solver.evaluate()
        fresh = evaluate(solver.tree, solver.average_policy())
        np.testing.assert_array_equal(found.values, fresh.values)
        np.testing.assert_array_equal(found.best_response_values, fresh.best_response_values)
        np.testing.assert_array_equal(strategy, before)
    assert pickle.loads(pickle.dumps(solver)).evaluate().nash_conv == found.nash_conv


# --- known solutions ---


@pytest.mark.parametrize("minimizer", list(parts.MINIMIZERS))
def test_value_of_kuhn(minimizer):
    solver = Solver("kuhn_poker", "full", minimizer).run(3000)
    # |value - game value| <= NashConv of a two-player zero-sum game.
    found = solver.evaluate()
    assert found.nash_conv < 0.03
    assert abs(found.values[0] - KUHN_VALUE) <= found.nash_conv + 1e-12
    assert -found.best_response_values[1] - 1e-12 <= KUHN_VALUE <= found.best_response_values[0] + 1e-12


@pytest.mark.parametrize("scheme", list(parts.ESTIMATORS))
def test_every_estimator_converges_on_kuhn(scheme):
    # Twice: the exploitability falls with sqrt of the iterations in theory; a factor 100 must show.
    tree = naive.tree_of("kuhn_poker")
    early = [Solver(tree, scheme, "rm", seed=s).run(100).exploitability() for s in range(5)]
    late = [Solver(tree, scheme, "rm", seed=s).run(10_000).exploitability() for s in range(5)]
    assert statistics.mean(late) < statistics.mean(early) / 2
    assert max(late) < 0.1


def test_rock_paper_scissors_is_played_uniformly():
    for scheme in parts.ESTIMATORS:
        strategy = Solver("matrix_rps", scheme, "rm", seed=1).run(20_000).average_strategy()
        np.testing.assert_allclose(strategy, 1 / 3, atol=0.06)


def test_a_biased_matching_game():
    # By hand: rows (3, -1), (-2, 1): player 0 plays (3/7, 4/7), player 1 plays (2/7, 5/7), value 1/7.
    game = pyspiel.create_matrix_game("m", "m", ["a", "b"], ["c", "d"], [[3, -1], [-2, 1]], [[-3, 1], [2, -1]])
    solver = Solver(game, "full", "rm+").run(5000)
    np.testing.assert_allclose(solver.average_strategy(), [3 / 7, 4 / 7, 2 / 7, 5 / 7], atol=0.01)
    assert solver.evaluate().values[0] == pytest.approx(1 / 7, abs=0.01)


def test_dominated_actions_of_a_general_sum_game_vanish():
    solver = Solver("matrix_pd", "full", "rm").run(500)
    np.testing.assert_allclose(solver.average_strategy(), [0, 1, 0, 1], atol=0.01)
    assert solver.nash_conv() < 0.05


# --- all combinations ---


@pytest.mark.parametrize(
    "game", ["kuhn_poker", "kuhn_poker(players=3)", "tiny_hanabi", "random:3:3", "matrix_rps", "leduc_poker"]
)
def test_all_combinations_run(game):
    tree = naive.tree_of(game)
    count = 8 if game == "leduc_poker" else 20
    least = {"matrix_rps": -1.0, "leduc_poker": 1e-6}.get(game, 0.01)  # how far strategies have come, at the very least
    refused = {"average_strategy": ["last"], "full": ["sampled"], "chance": ["sampled"]}
    if tree.num_players > 2:
        for estimator in parts.ESTIMATORS:
            refused.setdefault(estimator, []).append("sampled")
    for estimator in parts.ESTIMATORS:
        for minimizer in parts.MINIMIZERS:
            for averaging in parts.AVERAGES:
                for alternating in (True, False):
                    if not naive.go_together(estimator, minimizer):
                        with pytest.raises(ConfigError, match="no gradient, which this minimizer needs"):
                            Solver(tree, estimator, minimizer, averaging)
                        continue
                    if averaging in refused.get(estimator, ()):
                        with pytest.raises(ConfigError, match=f"averaging='{averaging}'"):
                            Solver(tree, estimator, minimizer, averaging)
                        continue
                    solver = Solver(tree, estimator, minimizer, averaging, alternating=alternating, seed=1).run(count)
                    for strategy in (solver.average_strategy(), solver.current_strategy()):
                        sums = np.add.reduceat(strategy, tree.arrays.infosets["first_slot"])
                        np.testing.assert_allclose(sums, 1, atol=1e-12)
                        assert (strategy >= 0).all()
                        assert np.abs(strategy - tree.uniform_strategy()).max() > least
                    assert solver.iterations == count
                    assert solver.nodes_touched > count


# --- run ---


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
    solver.run(seconds=0.3, callback=told.append)
    assert 0.3 <= told[-1].seconds < 3
    assert solver.iterations > 1000
    assert solver.run(10, seconds=100).iterations == told[-1].iterations + 10  # whichever limit comes first


def test_until(solver):
    solver.run(target_exploitability=0.05)
    assert solver.exploitability() <= 0.05
    before = solver.iterations
    solver.run(3, target_exploitability=1e-12)
    assert solver.iterations == before + 3


def test_callback(solver):
    told = []
    solver.run(20_000, callback=told.append, evaluate_every=0)
    assert told[-1].iterations == solver.iterations == 20_000
    assert told[-1].nodes_touched == solver.nodes_touched
    assert [p.iterations for p in told] == sorted({p.iterations for p in told})
    assert all(p.solver is solver for p in told)
    assert all(p.evaluation is not None for p in told)
    assert told[-1].evaluation.nash_conv == solver.nash_conv()
    solver.run(100_000_000, callback=lambda progress: True)
    assert solver.iterations < 100_000_000
    plain = []
    solver.run(10, callback=plain.append)
    assert {p.evaluation for p in plain} == {None}


def test_ctrl_c_leaves_a_usable_solver(solver):
    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solver.run(1_000_000, callback=interrupt)
    done = solver.iterations
    assert 0 < done < 1_000_000
    twin = Solver(solver.tree, "external", "rm", seed=1).run(done + 10)
    np.testing.assert_array_equal(solver.run(10).average_strategy(), twin.average_strategy())


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"iterations": 0},
        {"iterations": -1},
        {"iterations": 1.5},
        {"iterations": True},
        {"iterations": "10"},
        {"seconds": 0},
        {"seconds": -1.0},
        {"seconds": math.nan},
        {"seconds": math.inf},
        {"seconds": "1"},
        {"target_exploitability": 0},
        {"target_exploitability": math.nan},
    ],
    ids=str,
)
def test_bad_limits(solver, limits):
    with pytest.raises(ConfigError):
        solver.run(**limits)
    assert solver.iterations == 0


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"estimator": "externl"}, "external"),
        ({"estimator": 3}, "estimator=3"),
        ({"estimator": "outcome(epsilon=2)"}, "epsilon=2"),
        ({"estimator": "outcome(0.5)"}, "name=value"),
        ({"estimator": "outcome(eps=0.5)"}, "eps"),
        ({"estimator": "outcome(epsilon=__import__('os'))"}, "name=value"),
        ({"minimizer": "cfr"}, "rm"),
        ({"averaging": "cubic"}, "uniform"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_parts(parameters, text):
    with pytest.raises(ConfigError, match=text):
        Solver("kuhn_poker", **parameters)


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


@pytest.mark.parametrize("game", ["kuhn_poker", "python_kuhn_poker", "kuhn_poker(players=3)"])
@pytest.mark.parametrize("scheme", list(parts.ESTIMATORS))
def test_a_pickled_solver_goes_on_bit_for_bit(scheme, game):
    solver = Solver(game, scheme, "dcfr", seed=4).run(20)
    copy = pickle.loads(pickle.dumps(solver))
    kernels = len(loop.run.signatures)
    copy.run(20)
    assert len(loop.run.signatures) == kernels  # the copy's arrays are of the same type, read-only ones included
    before = solver.average_strategy()
    assert solver.iterations == 20  # the copy shares nothing
    solver.run(20)
    assert not np.array_equal(before, solver.average_strategy())
    for name in ("average_strategy", "current_strategy"):
        np.testing.assert_array_equal(getattr(copy, name)(), getattr(solver, name)())
    assert copy.nodes_touched == solver.nodes_touched
    assert repr(copy) == repr(solver)


# --- plug-ins ---


@numba.njit
def users_regret_matching(values, strategy, tables, first, last, iteration, parameters):
    value = 0.0
    for slot in range(first, last):
        value += strategy[slot] * values[slot]
    total = 0.0
    for slot in range(first, last):
        tables[0, slot] = tables[0, slot] + values[slot] - value
        strategy[slot] = max(tables[0, slot], 0.0)
        total += strategy[slot]
    for slot in range(first, last):
        strategy[slot] = strategy[slot] * (1.0 / total) if total > 0.0 else 1.0 / (last - first)
    return value


@dataclass(frozen=True)
class UsersRegretMatching(Minimizer):
    short_name: ClassVar[str] = "mine"

    @property
    def kernel(self):
        return users_regret_matching


@numba.njit
def users_outcome(parameters, sampling_weights, tree, strategy, scratch, player):
    outcome_traversal(
        tree, strategy, sampling_weights, scratch, player, parameters[1], VISITED if len(scratch.visits) > 0 else 0
    )


@dataclass(frozen=True)
class UsersOutcome(Estimator):
    short_name: ClassVar[str] = "mine"

    @property
    def kernel(self):
        return users_outcome

    @property
    def visits_all_own(self):
        return False

    def parameters(self):
        return np.array([float(self.scheme), 0.6])

    def average(self, num_players):
        return AverageMethod.VISITS


def test_a_users_minimizer_gives_the_same_bits():
    mine = Solver("kuhn_poker", "external", UsersRegretMatching(), seed=3).run(100)
    built_in = Solver(mine.tree, "external", "rm", seed=3).run(100)
    np.testing.assert_array_equal(mine.average_strategy(), built_in.average_strategy())
    np.testing.assert_array_equal(mine.current_strategy(), built_in.current_strategy())
    assert np.abs(mine.average_strategy() - 0.5).max() > 0.1


@pytest.mark.parametrize("averaging", ["lazy", "stochastic"])
def test_a_users_estimator_gives_the_same_bits(averaging):
    mine = Solver("kuhn_poker", UsersOutcome(), "rm", averaging, seed=3).run(100)
    built_in = Solver(mine.tree, "outcome", "rm", averaging, seed=3).run(100)
    np.testing.assert_array_equal(mine.average_strategy(), built_in.average_strategy())
    assert mine.nodes_touched == built_in.nodes_touched
    assert np.abs(mine.average_strategy() - 0.5).max() > 0.1


@numba.njit
def users_gradient(parameters, sampling_weights, tree, strategy, scratch, player):
    """The exact gradient by a traversal that keeps its path on a stack of its own: written from the contract alone."""
    stack, pending = scratch.stack, 1
    stack[0]["node"], stack[0]["slot"], stack[0]["weight"] = 0, tree.slot_range[-1] + player, 1.0
    while pending > 0:
        pending -= 1
        node, slot, weight = stack[pending]["node"], stack[pending]["slot"], stack[pending]["weight"]
        record = tree.nodes[node]
        kind, first, count = record["kind"], record["payload"], record["num_children"]
        scratch.counts[NODES_TOUCHED] += 1
        if kind == -2:
            scratch.gradient[slot] += weight * tree.payoffs[first, player]
        if kind == player:
            touch(tree, scratch, player, first, count, slot)
        for index in range(count):
            stack[pending]["node"] = record["first_child"] + index
            stack[pending]["slot"] = first + index if kind == player else slot
            share = 1.0
            if kind == -1:
                share = tree.chance[first + index]["probability"]
            elif kind != player:
                share = strategy[first + index]
            stack[pending]["weight"] = weight * share
            pending += 1


@dataclass(frozen=True)
class UsersFull(Estimator):
    short_name: ClassVar[str] = "mine"

    @property
    def kernel(self):
        return users_gradient


def test_an_estimator_written_from_the_contract():
    tree, averaging = naive.tree_of("random:3:3"), PowerAverage(1.0, "exact")
    mine = Solver(tree, UsersFull(), "rm+", averaging).run(10)
    built_in = Solver(tree, "full", "rm+", averaging).run(10)
    np.testing.assert_allclose(mine.average_strategy(), built_in.average_strategy(), atol=1e-10)
    assert mine.nodes_touched == built_in.nodes_touched


# --- imperfect recall ---


def test_imperfect_recall(caplog):
    with caplog.at_level(logging.WARNING, logger="mccfr_plus"):
        solver = Solver("liars_dice_ir", "outcome", "rm", seed=1)
    assert "imperfect recall" in caplog.text
    assert not solver.tree.perfect_recall
    solver.run(100)
    assert np.isfinite(solver.average_strategy()).all()
    for scheme in parts.ESTIMATORS:
        if scheme == "outcome":
            continue
        with pytest.raises(GameError, match="imperfect recall"):
            Solver(solver.tree, scheme)
    for minimizer in ("ftrl", "omd"):
        with pytest.raises(GameError, match="imperfect recall"):
            Solver(solver.tree, "outcome", minimizer)
    with pytest.raises(GameError, match="imperfect recall"):
        Solver(solver.tree, "outcome", "rm", PowerAverage(0.0, "exact"))
    for question in (solver.exploitability, solver.nash_conv, lambda: solver.run(target_exploitability=0.1)):
        with pytest.raises(GameError, match="imperfect recall"):
            question()
