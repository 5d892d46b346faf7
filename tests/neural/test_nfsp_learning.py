"""NFSP's two losses: targets by hand, gradients against autograd, exact values in the tabular limit."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.errors import TrainingError  # noqa: E402
from mccfr_plus.evaluation.infoset_values import infoset_values  # noqa: E402
from mccfr_plus.neural.config import TrainingConfig  # noqa: E402
from mccfr_plus.neural.episodes import DECISION, TERMINAL_ROW, TRANSITION  # noqa: E402
from mccfr_plus.neural.features import features_of  # noqa: E402
from mccfr_plus.neural.network import DEFAULTS  # noqa: E402
from mccfr_plus.neural.nfsp import PolicyLearner, ValueLearner  # noqa: E402
from mccfr_plus.neural.strategy_tables import fill_softmax, find_best  # noqa: E402

CONFIG = TrainingConfig(hidden_layers=(16,), learning_rate=0.01)
TRANSITIONS = np.array(
    [(0, 3, 1, 0.0), (1, 2, TERMINAL_ROW, 8.0), (2, 2, TERMINAL_ROW, -2.0), (1, 0, 2, 0.0)], TRANSITION
)
DECISIONS = np.array([(0, 3), (1, 2), (1, 0), (1, 0), (2, 2)], DECISION)


def rngs():
    return np.array([1, 2], np.uint64)


def values_of(features, config=CONFIG, unit=4.0):
    return ValueLearner(features, 4, config, rngs(), "value loss of player 7", DEFAULTS, unit)


def policy_of(features, config=CONFIG):
    return PolicyLearner(features, 4, config, rngs(), "policy loss of player 7", DEFAULTS)


def autograd(learner, rows, loss_of):
    """Returns a loss and its gradient by torch, for a network with one hidden layer."""
    parameters = [each.detach().clone().requires_grad_() for each in learner.module.parameters()]
    x = torch.nn.functional.linear(learner.inputs[torch.tensor(rows.tolist())], *parameters[:2]).relu()
    loss = loss_of(torch.nn.functional.linear(x, *parameters[2:]))
    loss.backward()
    return float(loss.detach()), torch.cat([each.grad.reshape(-1) for each in parameters])


def test_targets_by_hand(three_rows):
    learner = values_of(three_rows)
    learner.target_values[:] = [10.0, 20.0, 30.0, 0.0]
    # 0 + 20; the game is over: 8 / 4; -2 / 4; 0 + 30
    assert learner.targets(TRANSITIONS).tolist() == [20.0, 2.0, -0.5, 30.0]


def test_value_loss_equals_torch(three_rows):
    learner = values_of(three_rows)
    learner.target_values[:3] = [0.5, -0.25, 1.0]
    targets = torch.tensor([-0.25, 2.0, -0.5, 1.0])
    actions = torch.tensor(TRANSITIONS["action"].tolist())

    def loss_of(outputs):
        return torch.nn.functional.mse_loss(outputs[torch.arange(4), actions], targets)

    loss, gradient = autograd(learner, TRANSITIONS["row"], loss_of)
    learner.learn(TRANSITIONS, 1)
    assert learner.losses == [pytest.approx(loss, rel=1e-5)]
    np.testing.assert_allclose(learner.gradient, gradient, rtol=1e-4, atol=1e-6)


def test_policy_loss_equals_torch(three_rows):
    learner = policy_of(three_rows)
    is_legal = torch.from_numpy(three_rows.mask(4)[DECISIONS["row"]])

    def loss_of(outputs):
        masked = torch.where(is_legal, outputs, -1e30)
        return torch.nn.functional.cross_entropy(masked, torch.tensor(DECISIONS["action"].tolist()))

    loss, gradient = autograd(learner, DECISIONS["row"], loss_of)
    learner.learn(DECISIONS, 1)
    assert learner.losses == [pytest.approx(loss, rel=1e-5)]
    np.testing.assert_allclose(learner.gradient, gradient, rtol=1e-4, atol=1e-6)
    assert gradient.abs().max() > 0.01


def test_policy_learns_frequencies(three_rows):
    """Of three decisions in row 1 two are action 0; action 1 is legal and never taken; 3 is illegal."""
    learner = policy_of(three_rows)
    for _ in range(1500):
        learner.learn(DECISIONS, 1)
    logits = learner.predict()
    legal = np.exp(logits[1, :3]) / np.exp(logits[1, :3]).sum()
    np.testing.assert_allclose(legal, [2 / 3, 0, 1 / 3], atol=0.01)


@pytest.mark.parametrize("kind", [values_of, policy_of])
def test_divergence_is_an_error(kind, three_rows):
    learner = kind(three_rows)
    learner.vector.data[-1] = math.nan
    with pytest.raises(
        TrainingError, match=r"iteration 5: the (value|policy) loss of player 7 is nan at training step 1"
    ):
        learner.learn(TRANSITIONS if kind is values_of else DECISIONS, 5)


def exact_transitions(tree, player):
    """Returns a player's transitions in Kuhn poker under uniform play, in proportion to their probabilities."""
    result = []

    def visit(state, copies, last):
        if state.is_terminal():
            result.extend([(*last, TERMINAL_ROW, state.returns()[player])] * copies)
        elif state.is_chance_node():
            for action, _ in state.chance_outcomes():
                visit(state.child(action), copies, last)
        else:
            row = tree.infoset(state.information_state_string()) - int(tree.arrays.infoset_range[player])
            is_own = state.current_player() == player
            if is_own and last:
                result.extend([(*last, row, 0.0)] * copies)
            for action in state.legal_actions():
                visit(state.child(action), copies // 2, (row, action) if is_own else last)

    visit(tree.game.new_initial_state(), 8, None)
    return np.array(result, TRANSITION)


@pytest.mark.parametrize("player", [0, 1])
def test_tabular_limit_is_the_exact_value_of_each_action(player):
    """One-hot features, a linear model and all transitions: Q-learning converges to the action values if the player
    plays a best response afterwards, which enumeration gives.
    """
    tree = mccfr_plus.compile_game("kuhn_poker")
    features = features_of(tree)[player]
    features = features._replace(tensors=np.eye(len(features.counts), dtype=np.float32))
    transitions = exact_transitions(tree, player)
    learner = ValueLearner(
        features, 2, TrainingConfig(hidden_layers=(), learning_rate=0.05), rngs(), "value loss", DEFAULTS, unit=2.0
    )
    for _ in range(4):  # a player decides at most twice
        for _ in range(400):
            learner.learn(transitions, 1)
        learner.target_values[:-1] = learner.predict().max(axis=1)
    begin, end = tree.arrays.infoset_range[player : player + 2]
    strategy = tree.uniform_strategy()
    for _ in range(3):  # policy iteration: greedy for the player, uniform for the other
        exact = infoset_values(tree, strategy).action_values
        for infoset in range(begin, end):
            slots = tree.slots(infoset)
            strategy[slots] = np.arange(slots.stop - slots.start) == exact[slots].argmax()
    ours = slice(*tree.arrays.slot_range[player : player + 2])
    np.testing.assert_allclose(2.0 * learner.predict().ravel(), exact[ours], atol=2e-3)
    if player == 0:  # where there is a later decision, its value counts
        assert np.abs(exact[ours] - infoset_values(tree, tree.uniform_strategy()).action_values[ours]).max() > 0.2


def test_tables_use_legal_actions_only():
    tree = mccfr_plus.compile_game("leduc_poker")
    strategy, expected = np.full(tree.num_slots, np.nan), np.full(tree.num_slots, np.nan)
    for player, features in enumerate(features_of(tree)):
        answers = np.random.default_rng(player).normal(size=(len(features.counts), 3)).astype(np.float32)
        answers[~features.mask(3)] = 1e30
        begin = int(tree.arrays.infoset_range[player])
        fill_softmax(answers, features.actions, tree.arrays.infosets, begin, strategy)
        best = np.full(len(answers), -1, np.int32)
        find_best(answers, features.actions, features.counts, best)
        for row, index in enumerate(best):
            legal = answers[row, tree.legal_actions(begin + row)].astype(np.float64)
            assert index == legal.argmax()
            expected[tree.slots(begin + row)] = np.exp(legal) / np.exp(legal).sum()
    np.testing.assert_allclose(strategy, expected, rtol=1e-12)


def test_softmax_of_large_logits_is_finite():
    tree = mccfr_plus.compile_game("kuhn_poker")
    features = features_of(tree)[0]
    strategy = np.zeros(tree.num_slots)
    logits = np.tile(np.array([1e5, -1e5], np.float32), (len(features.counts), 1))
    fill_softmax(logits, features.actions, tree.arrays.infosets, 0, strategy)
    assert strategy[: 2 * len(logits)].tolist() == [1.0, 0.0] * len(logits)
