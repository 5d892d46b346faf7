"""OpenSpiel's private attributes, as scripts read and set them: what they give, what they set, what is refused."""

import copy
import pickle

import numpy as np
import pyspiel
import pytest
from lazy_games import FaultyGame, FaultyState
from open_spiel.python.algorithms import cfr as openspiel_cfr
from open_spiel.python.algorithms import discounted_cfr as openspiel_discounted_cfr
from open_spiel.python.algorithms import external_sampling_mccfr as openspiel_external
from open_spiel.python.algorithms import outcome_sampling_mccfr as openspiel_outcome
from open_spiel.python.algorithms.exploitability import nash_conv

from mccfr_plus import ConfigError, PolicyError
from mccfr_plus.drop_in import cfr, cfr_br, discounted_cfr, external_sampling_mccfr, outcome_sampling_mccfr
from mccfr_plus.drop_in import pyspiel as our_pyspiel

_FULL = {
    "CFRSolver": (cfr.CFRSolver, openspiel_cfr.CFRSolver, ()),
    "CFRPlusSolver": (cfr.CFRPlusSolver, openspiel_cfr.CFRPlusSolver, ()),
    "_CFRSolver": (cfr._CFRSolver, openspiel_cfr._CFRSolver, (False, True, False)),
    "DCFRSolver": (discounted_cfr.DCFRSolver, openspiel_discounted_cfr.DCFRSolver, (1.5, -0.5, 3)),
    "LCFRSolver": (discounted_cfr.LCFRSolver, openspiel_discounted_cfr.LCFRSolver, ()),
}
_SAMPLING = {
    "external": (external_sampling_mccfr.ExternalSamplingSolver, openspiel_external.ExternalSamplingSolver),
    "outcome": (outcome_sampling_mccfr.OutcomeSamplingSolver, openspiel_outcome.OutcomeSamplingSolver),
}

_full = pytest.mark.parametrize(("ours", "theirs", "arguments"), _FULL.values(), ids=_FULL)
_sampling = pytest.mark.parametrize(("ours", "theirs"), _SAMPLING.values(), ids=_SAMPLING)
_games = pytest.mark.parametrize("name", ["kuhn_poker", "kuhn_poker(players=3)", "liars_dice(dice_sides=3)"])


def _nash_conv(solver):
    return nash_conv(solver._game, solver.average_policy())


def _assert_equal_nodes(ours, theirs):
    assert ours.keys() == theirs.keys()
    for text, node in theirs.items():
        assert ours[text].legal_actions == node.legal_actions
        assert ours[text].index_in_tabular_policy == node.index_in_tabular_policy
        assert ours[text].cumulative_regret == pytest.approx(dict(node.cumulative_regret), abs=1e-10)
        assert ours[text].cumulative_policy == pytest.approx(dict(node.cumulative_policy), abs=1e-10)


@_full
@pytest.mark.parametrize("name", ["kuhn_poker", "liars_dice(dice_sides=2)"])
def test_nodes_are_those_of_openspiel_and_resume_its_run(ours, theirs, arguments, name):
    game = pyspiel.load_game(name)
    mine, reference = ours(game, *arguments), theirs(game, *arguments)
    for _ in range(8):
        mine.evaluate_and_update_policy()
        reference.evaluate_and_update_policy()
    _assert_equal_nodes(mine._info_state_nodes, reference._info_state_nodes)
    for attribute in ("_iteration", "_num_players", "_alternating_updates", "_linear_averaging"):
        assert getattr(mine, attribute) == getattr(reference, attribute)
    assert mine._iteration == 8

    resumed = ours(game, *arguments)
    resumed._info_state_nodes = pickle.loads(pickle.dumps(reference._info_state_nodes))
    resumed._iteration = reference._iteration
    for _ in range(8):
        resumed.evaluate_and_update_policy()
        reference.evaluate_and_update_policy()
    _assert_equal_nodes(resumed._info_state_nodes, reference._info_state_nodes)
    assert _nash_conv(resumed) == pytest.approx(_nash_conv(reference), abs=1e-9)


@_sampling
@_games
def test_info_states_resume_a_run(ours, theirs, name):
    game = pyspiel.load_game(name)
    solver = ours(game, seed=1)
    assert solver._infostates == {}
    solver.run(3000)
    table = pickle.loads(pickle.dumps(solver._infostates))
    assert 0 < len(table) <= solver.tree.num_infosets
    resumed = ours(game, seed=2)
    resumed._infostates = table
    np.testing.assert_allclose(resumed.average_strategy(), solver.average_strategy(), atol=1e-6)
    np.testing.assert_allclose(resumed.current_strategy(), solver.current_strategy(), atol=1e-9)
    assert _nash_conv(resumed.run(3000)) < _nash_conv(ours(game, seed=2).run(10)) / 2


@_sampling
def test_a_table_of_openspiel_is_taken(ours, theirs):
    game = pyspiel.load_game("kuhn_poker")
    np.random.seed(1)  # noqa: NPY002
    reference = theirs(game)
    for _ in range(300):
        reference.iteration()
    solver = ours(game)
    solver._infostates = reference._infostates
    assert _nash_conv(solver) == pytest.approx(_nash_conv(reference), abs=1e-4)
    for text, (regrets, sums) in reference._infostates.items():
        np.testing.assert_allclose(solver._infostates[text][0], regrets, rtol=1e-9)
        np.testing.assert_allclose(solver._infostates[text][1], sums, rtol=1e-9)


def test_the_cpp_classes_have_the_attributes_too(interpreted_loops):
    game = pyspiel.load_game("kuhn_poker")
    solver = our_pyspiel.CFRPlusSolver(game).run(3)
    _assert_equal_nodes(solver._info_state_nodes, cfr.CFRPlusSolver(game).run(3)._info_state_nodes)
    large = our_pyspiel.OutcomeSamplingMCCFRSolver(pyspiel.load_game("phantom_ttt"), seed=1)
    large.run(3)
    state = large._game.new_initial_state()
    for policy in (large._average_policy, large._current_policy):
        assert sum(policy.action_probabilities(state).values()) == pytest.approx(1.0)


def test_players_who_share_texts_have_no_table(monkeypatch):
    monkeypatch.setattr(FaultyState, "information_state_string", lambda self, player=None: "to move")
    solver = cfr.CFRSolver(FaultyGame({"length": 2}))
    with pytest.raises(PolicyError, match="have the information state string"):
        solver._info_state_nodes  # noqa: B018


def test_the_current_policy_can_be_set():
    game = pyspiel.load_game("kuhn_poker")
    start = cfr.CFRSolver(game).run(10).average_policy()
    solver, reference = cfr._CFRSolver(game, False, False, False), openspiel_cfr._CFRSolver(game, False, False, False)
    solver._current_policy = start
    reference._current_policy.action_probability_array[:] = start.action_probability_array
    solver.evaluate_and_update_policy()
    reference.evaluate_and_update_policy()
    _assert_equal_nodes(solver._info_state_nodes, reference._info_state_nodes)


_OVERRIDES = {
    "_regret_matching": external_sampling_mccfr.ExternalSamplingSolver,
    "_update_regrets": external_sampling_mccfr.ExternalSamplingSolver,
    "_baseline": outcome_sampling_mccfr.OutcomeSamplingSolver,
    "_lookup_infostate_info": our_pyspiel.OutcomeSamplingMCCFRSolver,
    "_compute_counterfactual_regret_for_player": cfr.CFRPlusSolver,
    "_initialize_info_state_nodes": discounted_cfr.DCFRSolver,
    "_compute_best_responses": cfr_br.CFRBRSolver,
}


@pytest.mark.parametrize(("name", "base"), _OVERRIDES.items(), ids=_OVERRIDES)
def test_methods_of_openspiels_iteration_cannot_be_replaced_in_silence(name, base):
    with pytest.raises(ConfigError, match=f"Mine overrides {name}, .* Minimizer"):
        type("Mine", (base,), {name: lambda *_: None})
    mixin = type("Mixin", (), {name: lambda *_: None})
    with pytest.raises(ConfigError, match=f"Mine overrides {name}"):
        type("Mine", (mixin, base), {})
    solver = base(pyspiel.load_game("kuhn_poker"))
    with pytest.raises(ConfigError, match=f"{name} cannot be set"):
        setattr(solver, name, None)
    with pytest.raises(AttributeError, match=f"{name}: docs/how-to/drop-in.md"):
        getattr(solver, name)


def test_subclasses_may_have_attributes_and_methods_of_their_own():
    class Mine(cfr.CFRSolver):
        def evaluate_and_update_policy(self):
            super().evaluate_and_update_policy()
            self.seen = self._iteration

    solver = Mine(pyspiel.load_game("kuhn_poker"))
    solver.evaluate_and_update_policy()
    assert solver.seen == 1
    assert copy.deepcopy(solver).seen == 1


def test_what_would_have_no_effect_is_refused():
    game = pyspiel.load_game("kuhn_poker")
    solver, sampling = cfr.CFRSolver(game), outcome_sampling_mccfr.OutcomeSamplingSolver(game, seed=1).run(10)
    text, node = next(iter(solver._info_state_nodes.items()))
    for name in ("_average_policy", "_linear_averaging", "_root_node", "_game"):
        with pytest.raises(ConfigError, match=f"{name} cannot be set"):
            setattr(solver, name, None)
    with pytest.raises(ConfigError, match=r"_expl cannot be set: .* new solver with other arguments"):
        sampling._expl = 0.1
    with pytest.raises(TypeError, match="no effect"):
        solver._info_state_nodes[text] = node
    with pytest.raises(TypeError, match="no effect"):
        node.cumulative_regret[0] += 1.0
    with pytest.raises(AttributeError):
        node.cumulative_regret = {}
    with pytest.raises(TypeError):
        sampling._infostates["0"][0] = np.zeros(2)
    for array in (*sampling._infostates["0"], solver._current_policy.action_probability_array):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert solver.evaluate_and_update_policy() is None


def test_tables_of_another_game_are_refused():
    game, leduc = pyspiel.load_game("kuhn_poker"), pyspiel.load_game("leduc_poker")
    solver = external_sampling_mccfr.ExternalSamplingSolver(game, seed=1).run(10)
    before = solver.average_strategy()
    with pytest.raises(PolicyError, match="has no information state"):
        solver._infostates = external_sampling_mccfr.ExternalSamplingSolver(leduc, seed=1).run(10)._infostates
    with pytest.raises(PolicyError, match="must have 2 actions at '0'"):
        solver._infostates = {"0": [np.zeros(3), np.zeros(3)]}
    with pytest.raises(ConfigError, match="finite"):
        solver._infostates = {"0": [np.array([np.nan, 0]), np.zeros(2)]}
    with pytest.raises(PolicyError, match="has no information state"):
        cfr.CFRSolver(game)._info_state_nodes = cfr.CFRSolver(leduc)._info_state_nodes
    np.testing.assert_array_equal(solver.average_strategy(), before)
    large = external_sampling_mccfr.ExternalSamplingSolver(pyspiel.load_game("phantom_ttt"))
    with pytest.raises(ConfigError, match="average_policy"):
        large._infostates  # noqa: B018
