"""The averages of sampling drop-ins against OpenSpiel's definition of them, on the same sequence of strategies."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import external_sampling_mccfr as openspiel_external_sampling_mccfr
from open_spiel.python.algorithms import mccfr

from mccfr_plus import TreePolicy, drop_in
from mccfr_plus.drop_in import pyspiel as our_pyspiel


class _FullAverage(openspiel_external_sampling_mccfr.ExternalSamplingSolver):
    """OpenSpiel's FULL average of strategies that somebody else gives."""

    def add(self, policy):
        for info_state, pairs in policy.items():
            probabilities = np.array([probability for _, probability in pairs])
            entry = self._infostates.setdefault(info_state, [None, np.zeros(len(pairs))])
            entry[mccfr.REGRET_INDEX] = probabilities  # regret matching gives them back as they are
        self._full_update_average(self._game.new_initial_state(), np.ones(self._num_players))


@pytest.mark.parametrize("module", ["python", "cpp"])
@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)"])
def test_full_average_is_openspiels(game, module):
    game = pyspiel.load_game(game)
    if module == "python":
        solver = drop_in.ExternalSamplingSolver(game, drop_in.AverageType.FULL, seed=1)
    else:
        solver = our_pyspiel.ExternalSamplingMCCFRSolver(game, 1, pyspiel.MCCFRAverageType.FULL)
    reference = _FullAverage(game, drop_in.AverageType.FULL)
    for _ in range(30):
        reference.add(solver.tabular_current_policy().policy_table())
        solver.iteration()
    expected = reference.average_policy().to_tabular()
    average = solver.tabular_average_policy().policy_table()
    for info_state, pairs in average.items():
        probabilities = [probability for _, probability in pairs]
        np.testing.assert_allclose(probabilities, expected.policy_for_key(info_state), rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", [drop_in.ExternalSamplingSolver, drop_in.OutcomeSamplingSolver])
@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)"])
def test_simple_average_is_the_full_one_too(make, game):
    """SIMPLE has no bias for three players, which OpenSpiel's has, and no variance."""
    game = pyspiel.load_game(game)
    solver, reference = make(game, seed=1), _FullAverage(game, drop_in.AverageType.FULL)
    for _ in range(30):
        # OpenSpiel's FULL adds all players' strategies up before the iteration, an alternating run each before its own
        # update: the same for a player's own sums, which depend on nobody else's.
        reference.add(TreePolicy(solver.tree, solver.current_strategy()).to_pyspiel().policy_table())
        solver.iteration()
    expected = reference.average_policy().to_tabular()
    for info_state in solver.tree.info_states:
        row = [probability for _, probability in solver.average_policy()[info_state]]
        np.testing.assert_allclose(row, expected.policy_for_key(info_state)[: len(row)], rtol=0, atol=1e-12)
