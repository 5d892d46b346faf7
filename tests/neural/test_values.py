"""Values of histories: tensors, targets by exact passes and by hand, and networks that learn them."""

import naive
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.estimators.escher import refresh_values  # noqa: E402
from mccfr_plus.games.rules import CHANCE, TERMINAL  # noqa: E402
from mccfr_plus.neural.config import TrainingConfig  # noqa: E402
from mccfr_plus.neural.network import Modules  # noqa: E402
from mccfr_plus.neural.representation import TreeRepresentation  # noqa: E402
from mccfr_plus.neural.values import TreeValues, back_up  # noqa: E402
from mccfr_plus.trees.batches import histories_of  # noqa: E402

GAMES = ["kuhn_poker", "kuhn_poker(players=3)", "goofspiel(num_cards=3,imp_info=True,points_order=descending)"]


def exact_values(tree, strategy):
    values = np.zeros((tree.num_players, tree.num_nodes))
    for player in range(tree.num_players):
        refresh_values(tree.arrays, strategy, values[player], player)
    return values


def tree_of(tree, strategy):
    representation = TreeRepresentation(tree)
    representation.strategy[:] = strategy
    return representation


def values_of(representation, uses_model, config=None):
    return TreeValues(representation, uses_model, config or TrainingConfig(), np.array([3, 4], np.uint64), Modules())


@pytest.mark.parametrize("game", GAMES)
def test_tensors_equal_those_of_the_states(game):
    """Both players' tensors, whose turn it is, and the last actions of as many players as the others are."""
    tree = mccfr_plus.compile_game(game)
    histories, nodes, expected = histories_of(tree, "ESCHER"), tree.arrays.nodes, {}

    def visit(node, state, own):
        turn = np.zeros(tree.num_players + 1)
        turn[tree.num_players if state.is_chance_node() else state.current_player()] = 1
        tensors = [state.information_state_tensor(player) for player in range(tree.num_players)]
        units = np.zeros((tree.num_players - 1, tree.game.num_distinct_actions()))
        for place, action in enumerate(reversed(own[1 - tree.num_players :]), 1):
            units[-place, action] = 1
        expected[node] = np.concatenate([*tensors, turn, units.ravel()])
        labels = tree.outcome_action if state.is_chance_node() else tree.slot_action
        for index in range(nodes[node]["num_children"]):
            action = int(labels[nodes[node]["payload"] + index])
            child = state.child(action)
            if not child.is_terminal():
                below = own if state.is_chance_node() else [*own, action]
                visit(int(nodes[node]["first_child"]) + index, child, below)

    visit(0, tree.game.new_initial_state(), [])
    assert sorted(expected) == np.flatnonzero(nodes["kind"] != TERMINAL).tolist()
    np.testing.assert_allclose(histories, [expected[node] for node in sorted(expected)])
    assert len(np.unique(histories, axis=0)) == len(histories)


@pytest.mark.parametrize("game", GAMES)
def test_targets_are_exact_where_everything_was_sampled(game):
    tree = mccfr_plus.compile_game(game)
    strategy = naive.random_strategy(tree, 1)
    values, targets = np.full((2, tree.num_players, tree.num_nodes), np.nan)
    back_up(tree.arrays, strategy, np.ones(tree.num_nodes, np.int64), True, values, targets)
    np.testing.assert_allclose(targets, exact_values(tree, strategy), atol=1e-13)


def test_targets_by_hand():
    """In Kuhn poker, J against Q, pass, bet, then fold or call: one history after another is sampled."""
    tree = mccfr_plus.compile_game("kuhn_poker")
    nodes, strategy = tree.arrays.nodes, naive.random_strategy(tree, 1)
    values = np.random.default_rng(2).normal(size=(2, tree.num_nodes))
    path, index = [0], [0, 0, 0, 1, 0]
    for step in index:
        path.append(int(nodes[path[-1]]["first_child"]) + step)
    assert nodes[path[-1]]["kind"] == TERMINAL
    visited = np.zeros(tree.num_nodes, np.int64)
    visited[path[-1]] = 5
    for uses_model in (True, False):
        targets = np.zeros_like(values)
        back_up(tree.arrays, strategy, visited, uses_model, values, targets)
        for player in range(2):
            value = tree.arrays.payoffs[nodes[path[-1]]["payload"], player]
            for node, step in zip(path[-2::-1], index[::-1], strict=True):
                record = nodes[node]
                children = values[player, record["first_child"] :][: record["num_children"]].copy()
                children[step] = value
                if record["kind"] != CHANCE:
                    value = children @ strategy[record["payload"] :][: record["num_children"]]
                elif uses_model:
                    value = children @ tree.arrays.chance["probability"][record["payload"] :][: record["num_children"]]
                # Else the outcome that was seen is all that there is.
                assert targets[player, node] == pytest.approx(value, abs=1e-13)
        unseen = visited == 0
        np.testing.assert_array_equal(targets[:, unseen], values[:, unseen])


@pytest.mark.parametrize("uses_model", [True, False])
def test_only_sampled_histories_are_learned(uses_model, monkeypatch):
    tree = mccfr_plus.compile_game("kuhn_poker")
    learned, seen = values_of(tree_of(tree, naive.random_strategy(tree, 1)), uses_model), []
    monkeypatch.setattr(learned.learner, "fit", lambda batch, iteration: seen.append(batch))
    learned.learn(1)
    assert len(seen[0].infosets) == 0
    nodes, path = tree.arrays.nodes, [0]
    while nodes[path[-1]]["num_children"]:
        path.append(int(nodes[path[-1]]["first_child"]))
    learned.visited[path[-1]] = 3
    learned.learn(1)
    np.testing.assert_array_equal(np.flatnonzero(learned.visited), path)
    assert set(learned.visited[path]) == {3}
    assert seen[1].weights.sum() == np.isin(path, learned._nodes).sum() >= 2
    assert ((seen[1].targets != 0) <= (seen[1].weights > 0)).all()
