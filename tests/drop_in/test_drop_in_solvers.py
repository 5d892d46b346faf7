"""What every drop-in class has: OpenSpiel's method names, snapshots, seeds, pickling, memory kept in bounds."""

import pickle

import numpy as np
import pyspiel
import pytest

from mccfr_plus import (
    CheckpointError,
    MccfrPlusError,
    TreePolicy,
    drop_in,
)
from mccfr_plus.drop_in import cfr, discounted_cfr, external_sampling_mccfr, outcome_sampling_mccfr
from mccfr_plus.drop_in import pyspiel as our_pyspiel

_FULL = drop_in.AverageType.FULL
_CPP_FULL = pyspiel.MCCFRAverageType.FULL

_PYTHON = {
    "cfr.CFRSolver": lambda game, **seed: cfr.CFRSolver(game, **seed),
    "cfr.CFRPlusSolver": lambda game, **seed: cfr.CFRPlusSolver(game, **seed),
    "cfr._CFRSolver": lambda game, **seed: cfr._CFRSolver(game, False, True, False, **seed),
    "discounted_cfr.DCFRSolver": lambda game, **seed: discounted_cfr.DCFRSolver(game, **seed),
    "discounted_cfr.LCFRSolver": lambda game, **seed: discounted_cfr.LCFRSolver(game, **seed),
    "ExternalSamplingSolver": lambda game, **seed: external_sampling_mccfr.ExternalSamplingSolver(game, **seed),
    "ExternalSamplingSolver(FULL)": lambda game, **seed: drop_in.ExternalSamplingSolver(game, _FULL, **seed),
    "OutcomeSamplingSolver": lambda game, **seed: outcome_sampling_mccfr.OutcomeSamplingSolver(game, **seed),
}
_CPP = {
    "pyspiel.CFRSolver": lambda game, **seed: our_pyspiel.CFRSolver(game, **seed),
    "pyspiel.CFRPlusSolver": lambda game, **seed: our_pyspiel.CFRPlusSolver(game, **seed),
    "pyspiel.External": lambda game, **seed: our_pyspiel.ExternalSamplingMCCFRSolver(game, **seed),
    "pyspiel.External(FULL)": lambda game, **seed: our_pyspiel.ExternalSamplingMCCFRSolver(
        game, avg_type=_CPP_FULL, **seed
    ),
    "pyspiel.Outcome": lambda game, **seed: our_pyspiel.OutcomeSamplingMCCFRSolver(game, **seed),
}
_ALL = _PYTHON | _CPP
_SAMPLING = {name: make for name, make in _ALL.items() if "CFRSolver" not in name and "CFRPlus" not in name}


def _all(makers):
    return pytest.mark.parametrize("make", makers.values(), ids=makers.keys())


def _strategies(solver):
    return solver.average_strategy(), solver.current_strategy()


@_all(_CPP)
def test_policies_are_cpp_ones(make):
    solver = make(pyspiel.load_game("kuhn_poker"), seed=1)
    solver.run(10)
    average, current = _strategies(solver)
    for policy, tabular, expected in (
        (solver.average_policy(), solver.tabular_average_policy(), average),
        (solver.current_policy(), solver.tabular_current_policy(), current),
    ):
        assert type(policy) is pyspiel.PartialTabularPolicy
        state = solver.game.new_initial_state().child(0).child(1)
        key, row = state.information_state_string(), policy.get_state_policy(state)
        assert row == policy.get_state_policy(key) == policy.get_state_policy(state, 0)
        table = policy.policy_table()
        assert row == table[key]
        assert table == tabular.policy_table()
        assert table == TreePolicy(solver.tree, expected).to_pyspiel().policy_table()
    assert np.abs(average - current).max() > 0.01


_MORE = {
    "cfr_br.CFRBRSolver": lambda game, **seed: drop_in.CFRBRSolver(game, True, True, **seed),
    "discounted_cfr._DCFRSolver": lambda game, **seed: discounted_cfr._DCFRSolver(
        game, True, True, False, 1.25, -0.5, 3, **seed
    ),
    "pyspiel.Outcome(0.3)": lambda game, **seed: our_pyspiel.OutcomeSamplingMCCFRSolver(game, 0.3, **seed),
}


@_all(_ALL | _MORE)
def test_a_checkpoint_and_a_pickled_copy_go_on_bit_for_bit_as_the_same_class(make, tmp_path):
    solver = make(pyspiel.load_game("kuhn_poker"), seed=1)
    solver.run(7).save_checkpoint(tmp_path / "run")
    copies = [type(solver).from_checkpoint(tmp_path / "run"), pickle.loads(pickle.dumps(solver))]
    for copy in copies:
        assert type(copy) is type(solver)
        assert type(copy.average_policy()) is type(solver.average_policy())
        assert (copy.iterations, copy.seed) == (7, 1)
    for each in (solver, *copies):
        for _ in range(7):
            each.iteration()
    for copy in copies:
        assert copy.nodes_touched == solver.nodes_touched
        np.testing.assert_array_equal(_strategies(copy), _strategies(solver))


def test_a_checkpoint_of_another_algorithm_is_refused(tmp_path):
    game = pyspiel.load_game("kuhn_poker")
    for solver, kind, runs in (
        (drop_in.ExternalSamplingSolver(game), drop_in.CFRSolver, r"external \+ rm"),
        (drop_in.CFRPlusSolver(game), drop_in.DCFRSolver, r"full \+ rm\+"),
    ):
        solver.run(1).save_checkpoint(tmp_path / "run")
        said = rf"is from a run of {runs}.*, not of {kind.__name__}: load it with Solver\.from_checkpoint"
        with pytest.raises(CheckpointError, match=said):
            kind.from_checkpoint(tmp_path / "run")


@_all(_SAMPLING)
def test_seed_repeats_a_run_and_none_does_not(make):
    game = pyspiel.load_game("leduc_poker")
    runs = [_strategies(make(game, seed=seed).run(100)) for seed in (3, 3, 4, None, None)]
    np.testing.assert_array_equal(runs[0], runs[1])
    for one, other in ((0, 2), (2, 3), (3, 4)):
        assert not np.array_equal(runs[one], runs[other])


def test_negative_seeds_mean_what_they_mean_in_cpp():
    game = pyspiel.load_game("leduc_poker")

    def outcome(seed):
        return our_pyspiel.OutcomeSamplingMCCFRSolver(game, 0.6, seed).run(100).average_strategy()

    def external(seed):
        return our_pyspiel.ExternalSamplingMCCFRSolver(game, seed).run(10).average_strategy()

    np.testing.assert_array_equal(outcome(-1), outcome(-2))
    assert not np.array_equal(outcome(-1), outcome(0))
    np.testing.assert_array_equal(external(-1), external(2**32 - 1))
    assert not np.array_equal(external(-1), external(-2))


def test_simultaneous_games_are_accepted():
    game = pyspiel.load_game("matrix_rps")
    for make in (*_PYTHON.values(), *_CPP.values()):
        make(game, seed=1).run(10)
    solver = cfr.CFRSolver(game)
    solver.run(10)
    assert solver.average_policy().action_probabilities(game.new_initial_state(), 1).keys() == {0, 1, 2}


def test_pyspiel_module_forwards_everything_else():
    replaced = {"CFRSolver", "CFRPlusSolver", "ExternalSamplingMCCFRSolver", "OutcomeSamplingMCCFRSolver"}
    assert set(dir(pyspiel)) <= set(dir(our_pyspiel))
    for name in dir(pyspiel):
        if not name.startswith("__"):
            assert (getattr(our_pyspiel, name) is getattr(pyspiel, name)) == (name not in replaced)
    with pytest.raises(AttributeError, match="no_such_name"):
        our_pyspiel.no_such_name  # noqa: B018


REFUSED = {
    "CFRBRSolver": (drop_in.CFRBRSolver, "kuhn_poker(players=3)"),
    "CFRSolver": (cfr.CFRSolver, "connect_four"),
    "ExternalSamplingSolver": (external_sampling_mccfr.ExternalSamplingSolver, "cliff_walking"),
}


@pytest.mark.parametrize(("make", "game"), REFUSED.values(), ids=REFUSED)
def test_refusals_speak_of_the_class_and_not_of_components(make, game):
    with pytest.raises(MccfrPlusError) as caught:
        make(pyspiel.load_game(game))
    for word in ("estimator", "minimizer", "averaging"):
        assert word not in str(caught.value)
    assert len(str(caught.value)) <= 400
