"""Drop-ins of full-traversal solvers have OpenSpiel's policies, information state by information state."""

import functools
import itertools

import naive
import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import cfr as openspiel_cfr
from open_spiel.python.algorithms import discounted_cfr as openspiel_discounted_cfr

from mccfr_plus.drop_in import cfr, discounted_cfr
from mccfr_plus.drop_in import pyspiel as our_pyspiel

_TOLERANCE = 1e-10
_CHECKED = (1, 2, 5, 20)

# With payoffs changed a little: of ties, rounding would decide between uniform and pure play.
_GAMES = {"kuhn_poker": 20, "tiny_hanabi": 20, "kuhn_poker(players=3)": 5}  # and iterations
_perturbed = functools.cache(naive.perturbed)

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
    assert set(ours.state_lookup) == set(theirs.state_lookup)
    return max(np.abs(ours.policy_for_key(key) - theirs.policy_for_key(key)).max() for key in theirs.state_lookup)


def _check(game, pair, iterations):
    our_class, their_class, arguments = pair
    ours, theirs = our_class(game, *arguments), their_class(game, *arguments)
    for iteration in range(1, iterations + 1):
        ours.evaluate_and_update_policy()
        theirs.evaluate_and_update_policy()
        if iteration in _CHECKED:
            assert _difference(ours.current_policy(), theirs.current_policy()) < _TOLERANCE
            assert _difference(ours.average_policy(), theirs.average_policy()) < _TOLERANCE


@pytest.mark.parametrize("pair", _ALL.values(), ids=_ALL.keys())
@pytest.mark.parametrize("game", _GAMES)
def test_policies_are_openspiels(game, pair):
    _check(_perturbed(game), pair, _GAMES[game])


@pytest.mark.parametrize("pair", _PAIRS.values(), ids=_PAIRS.keys())
def test_policies_on_leduc_are_openspiels(pair):
    _check(_perturbed("leduc_poker(suit_isomorphism=True)"), pair, 5)


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
