"""Histories by compiled rules are those by pyspiel, bit for bit, if the draws are the same."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from mccfr_plus.neural.batched.branches import sample_branches  # noqa: E402
from mccfr_plus.neural.batched.observer import Observer, draw  # noqa: E402
from mccfr_plus.neural.batched.paths import sample_paths  # noqa: E402
from mccfr_plus.tree.game import load_game  # noqa: E402

GAMES = [
    "kuhn_poker(players=3)",
    "leduc_poker(suit_isomorphism=True)",
    "liars_dice(numdice=2,dice_sides=2,bidding_rule=reset-quantity)",
    "phantom_ttt",
    "phantom_ttt(obstype=reveal-numturns,gameversion=abrupt)",
    "dark_hex(num_rows=2,num_cols=3)",
    "dark_hex(obstype=reveal-numturns,gameversion=adh)",
    "bid_goofspiel",  # of this package: its tensors are its fields'
]


def strategies(player, tensors, masks):
    """Depends on every entry of the tensors, by whole numbers."""
    places = np.arange(tensors.shape[1])[:, None] * 7 + np.arange(masks.shape[1]) * 3 + player
    weights = masks * (1.0 + tensors.astype(np.int64) @ places % 10)
    return weights / weights.sum(1, keepdims=True)


def both(name):
    game = load_game(name)
    found = Observer(game, "X"), Observer(game, "X", by_rules=False)
    assert [type(observer.start(1)).__name__ for observer in found] == ["RulesPositions", "PyspielPositions"]
    return found


@pytest.mark.parametrize("game", GAMES)
def test_paths_are_the_same(game):
    one, other = (sample_paths(each, strategies, (0,), 0.5, 40, np.random.default_rng(1)) for each in both(game))
    for name, left, right in zip(one._fields, one, other, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name, strict=name != "nodes")


@pytest.mark.parametrize("game", GAMES[:3])
def test_branches_are_the_same(game):
    one, other = (sample_branches(each, strategies, 1, 3, np.random.default_rng(1), 10**5) for each in both(game))
    for left, right in zip((*one.decisions, one.regrets), (*other.decisions, other.regrets), strict=True):
        np.testing.assert_array_equal(left, right)
    assert one.nodes == other.nodes


def test_draws_never_take_an_action_of_probability_zero():
    class Largest:
        def random(self, count):
            return np.full(count, 1.0 - 2.0**-53)

    table = np.array([[0.1, 0.2, 0.7, 0.0], [0.0, 1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3, 0.0], [1e-300, 0.0, 3.0, 0.0]])
    assert draw(table, Largest()).tolist() == [2, 1, 2, 2]
