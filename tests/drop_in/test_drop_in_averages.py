"""The averages of sampling drop-ins against OpenSpiel's definition of them, on the same sequence of strategies."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import external_sampling_mccfr as openspiel_external_sampling_mccfr
from open_spiel.python.algorithms import mccfr

from mccfr_plus import drop_in
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
def test_sampled_average_of_three_players_is_the_full_one_in_expectation(make):
    """SIMPLE has no bias for three players, which OpenSpiel's has.

    What an iteration adds to a slot's sum has expectation c(I) * reach * strategy, given the strategy of the moment,
    with a factor c(I) that does not change over time (and drops out when an infoset's sums are normalized). The
    differences to that have mean 0, run by run; a slot's mean gets a limit of 6 of its own standard errors.
    """
    runs, iterations = 400, 10
    game = pyspiel.load_game("kuhn_poker(players=3)")
    tree = make(game, seed=0).tree
    differences = np.zeros((runs, tree.num_slots))
    infosets = tree.arrays.infosets
    factor = _reach_of_uniform_others(game, tree)
    for run in range(runs):
        solver = make(tree, seed=run)
        for _ in range(iterations):
            strategy = solver.current_strategy()
            before = solver._average.copy()
            solver.iteration()
            reach = np.ones(tree.num_slots + tree.num_players)
            for infoset in infosets:
                slots = slice(infoset["first_slot"], infoset["first_slot"] + infoset["num_actions"])
                reach[slots] = reach[infoset["parent_slot"]] * strategy[slots]
            differences[run] += solver._average - before - factor * reach[: tree.num_slots]
    mean = differences.mean(axis=0)
    error = differences.std(axis=0, ddof=1) / np.sqrt(runs)
    assert (np.abs(mean) <= 6 * error + 1e-12).all()


def _reach_of_uniform_others(game, tree):
    """Returns for each slot the probability to come to its infoset if its player wants to and others are uniform."""
    factor = np.zeros(tree.num_slots)

    def descend(state, reaches):
        if state.is_terminal():
            return
        if state.is_chance_node():
            for action, probability in state.chance_outcomes():
                descend(state.child(action), reaches * probability)
            return
        player = state.current_player()
        factor[tree.slots(tree.infoset(state.information_state_string(), player))] += reaches[player]
        actions = state.legal_actions()
        below = reaches / len(actions)
        below[player] = reaches[player]
        for action in actions:
            descend(state.child(action), below)

    descend(game.new_initial_state(), np.ones(game.num_players()))
    return factor
