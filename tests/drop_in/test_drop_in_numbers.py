"""Drop-ins of full-traversal solvers have OpenSpiel's policies, information state by information state."""

import itertools

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import cfr as openspiel_cfr
from open_spiel.python.algorithms import discounted_cfr as openspiel_discounted_cfr

from mccfr_plus.drop_in import cfr, discounted_cfr
from mccfr_plus.drop_in import pyspiel as our_pyspiel

_TOLERANCE = 1e-10
_CHECKED = (1, 2, 5, 20)

# Below this, positive regrets that sum up to 0 on paper are told from true ones by rounding alone.
_TIE = 1e-12

_GAMES = ["kuhn_poker", "tiny_hanabi", "kuhn_poker(players=3)"]

_PAIRS = {
    "CFR": (cfr.CFRSolver, openspiel_cfr.CFRSolver, ()),
    "CFR+": (cfr.CFRPlusSolver, openspiel_cfr.CFRPlusSolver, ()),
    "DCFR": (discounted_cfr.DCFRSolver, openspiel_discounted_cfr.DCFRSolver, ()),
    "DCFR(2, 0.5, 3)": (discounted_cfr.DCFRSolver, openspiel_discounted_cfr.DCFRSolver, (2, 0.5, 3)),
    "LCFR": (discounted_cfr.LCFRSolver, openspiel_discounted_cfr.LCFRSolver, ()),
}
_CHOICES = {
    f"CFR{choices}": (cfr._CFRSolver, openspiel_cfr._CFRSolver, choices)
    for choices in itertools.product([True, False], repeat=3)
}
_DISCOUNTED_CHOICES = {  # OpenSpiel's discounted CFR does nothing if updates are not alternating
    f"DCFR{choices}": (
        discounted_cfr._DCFRSolver,
        openspiel_discounted_cfr._DCFRSolver,
        (True, *choices, 1.5, 0.5, 2),
    )
    for choices in itertools.product([True, False], repeat=2)
}
_ALL = _PAIRS | _CHOICES | _DISCOUNTED_CHOICES


def _difference(ours, theirs):
    """Returns the largest difference of a probability in two policies for the same information states."""
    assert set(ours.state_lookup) == set(theirs.state_lookup)
    return max(np.abs(ours.policy_for_key(key) - theirs.policy_for_key(key)).max() for key in theirs.state_lookup)


class _SettledTies:
    """Makes OpenSpiel's solver play what ours plays at information states without positive regret but for rounding.

    Sums of the same numbers in another order differ by 1e-17, which regret matching may turn into another policy: a
    residue is played with probability 1. In exact arithmetic there is no residue and the policy is uniform.

    Stands in for OpenSpiel's `_update_current_policy`, which its solvers call after each player's update (once for
    all, if updates are simultaneous). Our solver has done the whole iteration by then.
    """

    def __init__(self, ours, alternating):
        self._ours, self._alternating = ours, alternating
        self._original = openspiel_cfr._update_current_policy
        self._calls = 0
        self._after = ours.current_policy()

    def our_iteration(self):
        self._calls = 0
        self._before = self._after
        self._ours.iteration()
        self._after = self._ours.current_policy()

    def __call__(self, current_policy, info_state_nodes):
        self._original(current_policy, info_state_nodes)
        for player, info_states in enumerate(self._after.states_per_player):
            is_updated = player <= self._calls or not self._alternating
            played = self._after if is_updated else self._before
            for info_state in info_states:
                self._settle(info_state_nodes[info_state], info_state, current_policy, played, is_updated)
        self._calls += 1

    def _settle(self, node, info_state, current_policy, played, is_updated):
        if _positive(node.cumulative_regret) >= _TIE:
            return
        row = played.policy_for_key(info_state)
        if is_updated:
            residue = _positive(self._ours.regrets(info_state))
            assert residue < _TIE
            if residue == 0.0:
                np.testing.assert_allclose(row[node.legal_actions], 1 / len(node.legal_actions), rtol=0, atol=1e-15)
        current_policy.policy_for_key(info_state)[:] = row


def _positive(regrets):
    return sum(max(regret, 0.0) for regret in regrets.values())


def _differences(monkeypatch, game, pair, iterations):
    """Returns the largest differences of current and average policies after some iterations."""
    our_class, their_class, arguments = pair
    ours, theirs = our_class(game, *arguments), their_class(game, *arguments)
    ties = _SettledTies(ours, ours.config.alternating)
    monkeypatch.setattr(openspiel_cfr, "_update_current_policy", ties)
    found = []
    for iteration in range(1, iterations + 1):
        ties.our_iteration()
        theirs.evaluate_and_update_policy()
        if iteration in _CHECKED:
            found.append(_difference(ours.current_policy(), theirs.current_policy()))
            found.append(_difference(ours.average_policy(), theirs.average_policy()))
    return found


@pytest.mark.parametrize("pair", _ALL.values(), ids=_ALL.keys())
@pytest.mark.parametrize("game", _GAMES)
def test_policies_are_openspiels(monkeypatch, game, pair):
    assert max(_differences(monkeypatch, pyspiel.load_game(game), pair, 20)) < _TOLERANCE


@pytest.mark.parametrize("pair", _PAIRS.values(), ids=_PAIRS.keys())
def test_policies_on_leduc_are_openspiels(monkeypatch, pair):
    assert max(_differences(monkeypatch, pyspiel.load_game("leduc_poker"), pair, 5)) < _TOLERANCE


@pytest.mark.parametrize("name", ["CFRSolver", "CFRPlusSolver"])
@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "tiny_hanabi"])
def test_cpp_policies_are_openspiels(game, name):
    game = pyspiel.load_game(game)
    ours, theirs = getattr(our_pyspiel, name)(game), getattr(pyspiel, name)(game)
    for _ in range(20):
        ours.evaluate_and_update_policy()
        theirs.evaluate_and_update_policy()
    for method in ("tabular_average_policy", "tabular_current_policy"):
        if not hasattr(theirs, method):  # OpenSpiel's CFRPlusSolver does not give its current policy as a table
            continue
        expected = getattr(theirs, method)().policy_table()
        table = getattr(ours, method)().policy_table()
        assert set(table) == set(expected)
        for info_state, probabilities in expected.items():
            np.testing.assert_allclose(table[info_state], probabilities, rtol=0, atol=_TOLERANCE)
