"""Histories by compiled rules and on trees are those by pyspiel, bit for bit, if the draws are the same."""

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.neural import TreeRepresentation  # noqa: E402
from mccfr_plus.neural.paths import ExternalSampling, Trajectories, draw, uniform  # noqa: E402
from mccfr_plus.trees.batches import Observer, Positions  # noqa: E402
from mccfr_plus.trees.loading import load_game  # noqa: E402

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


@pytest.fixture
def independent_draws(monkeypatch):
    monkeypatch.setattr(Positions, "draws", lambda _, rows, rng: rng.random(len(rows)))


def strategies(player, tensors, masks):
    """Depends on every entry of the tensors, by integers."""
    places = np.arange(tensors.shape[1])[:, None] * 7 + np.arange(masks.shape[1]) * 3 + player
    weights = masks * (1.0 + tensors.astype(np.int64) @ places % 10)
    return weights / weights.sum(1, keepdims=True)


def both(name):
    game = load_game(name)
    found = Observer(game, "X"), Observer(game, "X", by_rules=False)
    assert [type(observer.start(1)).__name__ for observer in found] == ["RulesPositions", "PyspielPositions"]
    return found


@pytest.mark.usefixtures("independent_draws")
@pytest.mark.parametrize("game", GAMES)
def test_paths_and_branches_are_the_same(game):
    one, other = (Trajectories(strategies, (0,), 0.5).sample(each, 40, np.random.default_rng(1)) for each in both(game))
    for name, left, right in zip(one._fields, one._replace(ends=0), other._replace(ends=0), strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name, strict=name != "nodes")
    if game in GAMES[:3]:
        sampling = ExternalSampling(strategies, 1)
        one, other = (sampling.sample(each, 3, np.random.default_rng(1)) for each in both(game))
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)


@pytest.mark.usefixtures("independent_draws")
@pytest.mark.parametrize(
    "game", ["kuhn_poker(players=3)", "leduc_poker", "goofspiel(num_cards=3,imp_info=True,points_order=descending)"]
)
def test_histories_on_a_tree_are_the_same(game):
    representation = TreeRepresentation(game)
    tree, observer = representation.tree, Observer(representation.game, "X", by_rules=False)
    tables, draws = [], np.random.default_rng(1)
    for masks in representation.masks:
        weights = masks * (0.1 + draws.random(masks.shape))
        tables.append(weights / weights.sum(1, keepdims=True))
    rows = [{row.tobytes(): number for number, row in enumerate(each)} for each in representation.inputs]

    def by_row(player, rows, masks):
        return tables[player][rows]

    def strategies(player, tensors, masks):
        return tables[player][[rows[player][row.tobytes()] for row in tensors]]

    for sampling in (Trajectories(by_row, (0,), 0.5), ExternalSampling(by_row, 1)):
        here = sampling.sample(representation.observer, 200, np.random.default_rng(2))
        there = sampling._replace(strategies=strategies).sample(observer, 200, np.random.default_rng(2))
        for name in set(here._fields) - {"infosets", "histories", "ends"}:
            np.testing.assert_array_equal(getattr(here, name), getattr(there, name), err_msg=name)
        tensors = [representation.inputs[p][row] for p, row in zip(here.players, here.infosets, strict=True)]
        np.testing.assert_array_equal(tensors, there.infosets)
    paths = Trajectories(by_row).sample(representation.observer, 50, np.random.default_rng(2))
    np.testing.assert_array_equal(tree.arrays.payoffs[tree.arrays.nodes["payload"][paths.ends]], paths.returns)
    assert set(tree.arrays.nodes["kind"][paths.histories]) == set(range(tree.num_players))


def test_slots_may_have_any_order_of_actions():
    """A game need not list its legal actions in ascending order."""
    tree = mccfr_plus.compile_game("kuhn_poker")
    representation = TreeRepresentation(dataclasses.replace(tree, slot_action=1 - tree.slot_action))
    for player in range(2):
        representation.use(player, np.tile([0.25, 0.75], (6, 1)))
    np.testing.assert_array_equal(representation.strategy, np.where(representation.tree.slot_action == 0, 0.25, 0.75))
    assert representation.tree.slot_action[:2].tolist() == [1, 0]


@pytest.mark.parametrize("kind", ["tree", "rules", "pyspiel"])
def test_draws_are_spread_evenly(kind, request):
    """Means over trajectories keep the exact value as their mean, and vary much less than with independent draws."""
    representation, spreads = TreeRepresentation("kuhn_poker"), []
    observer, sampling = representation.observer, Trajectories(representation.strategies())
    if kind != "tree":
        observer, sampling = Observer(representation.game, "X", by_rules=kind == "rules"), Trajectories(uniform)
    for _ in range(2):
        generators = map(np.random.default_rng, range(30))
        means = [sampling.sample(observer, 500, each).returns[:, 0].mean() for each in generators]
        spreads.append(np.std(means))
        assert np.mean(means) == pytest.approx(1 / 8, abs=5 * spreads[-1] / 30**0.5)
        request.getfixturevalue("independent_draws")
    assert spreads[0] < 0.5 * spreads[1]


def test_draws_never_take_an_action_of_probability_zero():
    largest = np.full(4, 1.0 - 2.0**-53)
    table = np.array([[0.1, 0.2, 0.7, 0.0], [0.0, 1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3, 0.0], [1e-300, 0.0, 3.0, 0.0]])
    assert draw(table, largest).tolist() == [2, 1, 2, 2]
