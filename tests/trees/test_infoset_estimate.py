"""Estimated numbers of infosets, against counts."""

import pytest

import mccfr_plus
from mccfr_plus.games.compiled_rules import compiled_rules
from mccfr_plus.trees.sizes.infoset_estimate import estimate_infosets

GAMES = [
    "kuhn_poker(players=3)",
    "leduc_poker",
    "liars_dice(dice_sides=3)",
    "dark_hex(num_rows=2,num_cols=2,obstype=reveal-numturns)",
]


@pytest.mark.parametrize("game", GAMES)
def test_the_truth_is_within_five_standard_errors(game):
    tree = mccfr_plus.compile_game(game)
    found = estimate_infosets(compiled_rules(tree.game))
    assert 0 < found.relative_error < 0.04
    assert abs(found.slots - tree.num_slots) < 5 * found.relative_error * tree.num_slots
    assert abs(found.infosets - tree.num_infosets) < 10 * found.relative_error * tree.num_infosets


def test_phantom_tic_tac_toe():
    found = estimate_infosets(compiled_rules(mccfr_plus.load_game("phantom_ttt")))
    assert found.slots == pytest.approx(12_157_266, rel=5 * found.relative_error)
    assert found.relative_error < 0.04
