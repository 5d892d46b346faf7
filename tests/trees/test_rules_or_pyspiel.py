"""By compiled rules and through pyspiel: the same trees, and the same results on trees that are not stored."""

import pytest

import mccfr_plus
from mccfr_plus.trees.info_states import InfoStates

STORED = "goofspiel(imp_info=True,num_cards=5,points_order=descending)"


@pytest.mark.parametrize("game", [STORED, "one_card_poker(deck_size=5)"])
def test_stored_trees_are_the_same(game):
    by_rules, through_pyspiel = (mccfr_plus.compile_game(game, rules=rules) for rules in (True, False))
    assert isinstance(by_rules.info_states, InfoStates)
    assert isinstance(through_pyspiel.info_states, list)
    for ours, theirs in zip(by_rules.arrays, through_pyspiel.arrays, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert by_rules.fingerprint == through_pyspiel.fingerprint


@pytest.mark.usefixtures("interpreted_loops")
def test_games_that_are_not_stored_have_the_same_results():
    by_rules, lazy = (mccfr_plus.Solver("leduc_poker", "outcome", tree=t, seed=3).run(200) for t in ("rules", "lazy"))
    assert by_rules.nodes_touched == lazy.nodes_touched
    assert by_rules.exploitability() == pytest.approx(lazy.exploitability(), abs=1e-12)
