"""Parallel trajectories: agreement with pyspiel, frequencies, mean regrets that agree with exact ones."""

import numpy as np
import pytest
from neural_states import Table, counterfactual_regrets

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus import ConfigError, neural  # noqa: E402
from mccfr_plus.neural.paths import (  # noqa: E402
    ExternalSampling,
    Paths,
    Trajectories,
    corrected_regrets,
    plain_regrets,
    uniform,
    value_targets,
)
from mccfr_plus.trees.batches import Observer  # noqa: E402
from mccfr_plus.trees.loading import load_game  # noqa: E402

GAMES = [
    "phantom_ttt",
    "kuhn_poker(players=3)",
    "goofspiel(num_cards=3,imp_info=True,points_order=descending)",
    "python_kuhn_poker",
]


def reach_of(paths, player):
    reach, products = np.ones(len(paths.traversals)), np.ones(len(paths.returns))
    for decision, traversal in enumerate(paths.traversals):
        reach[decision] = products[traversal]
        if paths.players[decision] == player:
            products[traversal] *= paths.probabilities[decision]
    return reach


@pytest.mark.parametrize("game", GAMES)
def test_decisions_agree_with_pyspiel(game):
    game = load_game(game)
    observer = Observer(game, "X")
    paths = Trajectories(uniform, (0,), 0.5).sample(observer, 7, np.random.default_rng(1))
    assert len(paths.levels()) == paths.starts.size - 1
    by_traversal = {traversal: np.flatnonzero(paths.traversals == traversal) for traversal in range(7)}
    visited = 0
    for traversal, decisions in by_traversal.items():
        states, last = [(game.new_initial_state(), [])], None
        # Chance outcomes are not recorded: all that agree with what was seen are followed.
        for decision in [*decisions, None]:
            following = []
            while states:
                state, past = states.pop()
                if state.is_chance_node():
                    states += [(state.child(action), past) for action, _ in state.chance_outcomes()]
                elif decision is None:
                    if state.is_terminal() and np.allclose(state.returns(), paths.returns[traversal]):
                        following.append((state, past))
                elif not state.is_terminal() and agrees(game, observer, state, past, paths, decision):
                    action = int(paths.actions[decision])
                    following.append((state.child(action), [*past, action]))
            assert following, (traversal, decision)
            states, last = following, following[0][0]
        visited += len(last.full_history()) + 1
    assert visited == paths.nodes


def agrees(game, observer, state, past, paths, decision):
    player, size = int(paths.players[decision]), observer.size
    if state.current_player() != player or np.flatnonzero(paths.masks[decision]).tolist() != state.legal_actions():
        return False
    history = paths.histories[decision]
    for other in range(game.num_players()):
        own = history[other * size : (other + 1) * size]
        if not np.allclose(own, state.information_state_tensor(other), rtol=1e-3):
            return False
    np.testing.assert_array_equal(paths.infosets[decision], history[player * size : (player + 1) * size])
    turn = history[game.num_players() * size :][: game.num_players()]
    assert turn.tolist() == [float(player == other) for other in range(game.num_players())]
    units = history[game.num_players() * (size + 1) :].reshape(game.num_players() - 1, -1)
    shown = [int(row.argmax()) for row in units if row.any()]
    return shown == past[len(past) - game.num_players() + 1 :]


def test_draws_have_the_recorded_probabilities():
    tree = mccfr_plus.compile_game("kuhn_poker")
    table, traversals, epsilon = Table(tree, 1), 20_000, 0.4
    paths = Trajectories(table, (1,), epsilon).sample(Observer(tree.game, "X"), traversals, np.random.default_rng(1))
    infosets = table.infosets(paths.players, paths.infosets)
    for infoset in range(tree.num_infosets):
        decisions = np.flatnonzero(infosets == infoset)
        player = int(tree.arrays.infosets["player"][infoset])
        for action, own in zip(tree.legal_actions(infoset), table.strategy[tree.slots(infoset)], strict=True):
            assert paths.strategies[decisions, action] == pytest.approx(own)
            chance = epsilon / 2 + (1 - epsilon) * own if player == 1 else own
            drawn = paths.actions[decisions] == action
            assert paths.probabilities[decisions[drawn]] == pytest.approx(chance)
            assert abs(drawn.mean() - chance) < 6 * np.sqrt(chance * (1 - chance) / len(decisions))
    for player in range(2):
        reach = reach_of(paths, player)
        for decision in range(0, len(reach), 997):
            before = np.flatnonzero((paths.traversals == paths.traversals[decision]) & (paths.players == player))
            assert reach[decision] == pytest.approx(np.prod(paths.probabilities[before[before < decision]]))
    # Without exploration the mean returns are the policy's values.
    paths = Trajectories(table, (), 0.0).sample(Observer(tree.game, "X"), traversals, np.random.default_rng(2))
    exact = mccfr_plus.expected_values(tree, mccfr_plus.TreePolicy(tree, table.strategy))
    deviation = paths.returns.std(0) / np.sqrt(traversals)
    assert (np.abs(paths.returns.mean(0) - exact) < 6 * deviation).all()


def test_mean_regrets_equal_those_of_the_kernels():
    """Divided by own reach they are counterfactual regrets, for any baselines."""
    tree = mccfr_plus.compile_game("kuhn_poker")
    table, traversals = Table(tree, 3), 20_000
    observer, expected = Observer(tree.game, "X"), counterfactual_regrets(tree, table.strategy)
    for player in range(2):
        paths = Trajectories(table, (player,), 0.5).sample(observer, traversals, np.random.default_rng(player))
        infosets = table.infosets(paths.players, paths.infosets)
        values = np.random.default_rng(5).normal(size=paths.masks.shape)
        found = corrected_regrets(paths, values, player) / reach_of(paths, player)[:, None]
        assert (found[~paths.masks] == 0).all()
        for infoset in np.flatnonzero(tree.arrays.infosets["player"] == player):
            decisions = infosets == infoset
            for slot, action in zip(
                range(tree.slots(infoset).start, tree.slots(infoset).stop), tree.legal_actions(infoset), strict=True
            ):
                total = np.zeros(traversals)
                np.add.at(total, paths.traversals[decisions], found[decisions, action])
                assert abs(total.mean() - expected[slot]) < 6 * total.std() / np.sqrt(traversals), (player, infoset)
        assert np.abs(expected).max() > 0.05


@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker"])
def test_mean_regrets_of_external_sampling(game):
    """Traversals reach an infoset with the probability of chance and other players: no weights. A z-test per slot."""
    tree = mccfr_plus.compile_game(game)
    table, traversals = Table(tree, 1), 3000 if game == "leduc_poker" else 10_000
    expected, observer = counterfactual_regrets(tree, table.strategy), Observer(tree.game, "X")
    tested = 0
    for player in range(tree.num_players):
        found = ExternalSampling(table, player).sample(observer, traversals, np.random.default_rng(player))
        own = found.players == player
        assert (found.regrets[~own] == 0).all()
        assert (found.regrets[~found.masks] == 0).all()
        assert abs((found.strategies * found.regrets).sum(1)).max() < 1e-12  # the mean over the strategy is 0
        infosets = table.infosets(found.players[own], found.infosets[own])
        regrets = found.regrets[own]
        for infoset in np.unique(infosets):
            decisions = infosets == infoset
            if decisions.sum() < 300:
                continue
            # With perfect recall a traversal reaches an infoset at most once: the values are independent.
            assert decisions.sum() <= traversals
            for slot, action in zip(
                range(tree.slots(infoset).start, tree.slots(infoset).stop), tree.legal_actions(infoset), strict=True
            ):
                values = regrets[decisions, action]
                mean = values.sum() / traversals
                deviation = np.sqrt(np.square(values).sum() / traversals - mean**2) / np.sqrt(traversals)
                assert abs(mean - expected[slot]) <= 6 * deviation + 1e-12, (player, infoset, action)
                tested += 1
    assert tested > 10


def test_by_hand():
    """Two histories of two players: one of length 2, one of length 1."""
    paths = Paths(
        starts=np.array([0, 2, 3]),
        traversals=np.array([0, 1, 0]),
        players=np.array([0, 0, 1]),
        infosets=np.zeros((3, 1), np.float32),
        histories=np.zeros((3, 1), np.float32),
        masks=np.ones((3, 2), bool),
        strategies=np.array([[0.25, 0.75], [0.5, 0.5], [0.2, 0.8]]),
        actions=np.array([1, 0, 0]),
        probabilities=np.array([0.5, 0.5, 0.2]),
        returns=np.array([[4.0, -4.0], [2.0, -2.0]]),
        ends=np.zeros(2, np.int64),
        nodes=5,
    )
    table = np.array([[1.0, 2.0], [3.0, 5.0], [7.0, 9.0]])  # of player 0
    values = np.stack([table, -table], axis=1)
    # By tree backup the action before the last decision has value 0.2 x 4 + 0.8 x 9 = 8.
    np.testing.assert_allclose(value_targets(paths, values), [[8.0, -8.0], [2.0, -2.0], [4.0, -4.0]])
    # Corrected there: 7 + (4 - 7) / 0.2 = -8, in the mean 0.2 x -8 + 0.8 x 9 = 5.6; above 2 + (5.6 - 2) / 0.5 = 9.2.
    found = corrected_regrets(paths, table, 0)
    mean = 0.25 * 1.0 + 0.75 * 9.2
    np.testing.assert_allclose(found[0], [1.0 - mean, 9.2 - mean])
    np.testing.assert_allclose(found[1], [1.0 - 3.0, 5.0 - 3.0])  # 3 + (2 - 3) / 0.5 = 1, against 5
    np.testing.assert_allclose(plain_regrets(paths, table)[0], [1 - 1.75, 2 - 1.75])
    np.testing.assert_allclose(reach_of(paths, 0), [1.0, 1.0, 0.5])
    np.testing.assert_allclose(reach_of(paths, 1), [1.0, 1.0, 1.0])
    np.testing.assert_allclose(paths.importance((0,)), [1.0, 1.0, 1.0])  # 1/2 under uniform play too
    np.testing.assert_allclose(paths.importance((1,)), [1.0, 1.0, 1.0])
    paths.masks[0] = [True, False]
    np.testing.assert_allclose(paths.importance((0, 1)), [1.0, 1.0, 2.0])


def test_escher_draws_own_actions_from_the_balanced_strategy():
    """In Kuhn poker three of the four sequences at player 0's first decision begin with a pass."""
    config = neural.ESCHERConfig(values="exact", sampling="balanced")
    solver = neural.ESCHER("kuhn_poker", config, seed=1)
    (paths,) = solver.representation.sample(solver._histories(0), 200, 200)
    first, second = paths.levels()[0], paths.levels()[2]
    assert set(zip(paths.actions[first], paths.probabilities[first], strict=True)) == {(0, 0.75), (1, 0.25)}
    assert set(paths.probabilities[second]) == {0.5}
    assert set(paths.probabilities[paths.players == 1]) == {0.5}  # its own strategy, uniform at first
    assert solver.run(30).exploitability() < 0.2
    with pytest.raises(ConfigError, match="sampling='balanced' needs a compiled tree"):
        neural.ESCHER("kuhn_poker", neural.ESCHERConfig(sampling="balanced"), representation="batched")
