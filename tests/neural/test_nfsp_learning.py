"""NFSP's two losses: targets by hand, gradients against autograd, exact values in the tabular limit."""

import math

import numpy as np
import pytest
from neural_states import OVER, OneFeature, decisions_of, features_of, transitions_of

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.errors import TrainingError  # noqa: E402
from mccfr_plus.evaluation.infoset_values import infoset_values  # noqa: E402
from mccfr_plus.neural import NFSP, NFSPConfig  # noqa: E402
from mccfr_plus.neural.network import Modules  # noqa: E402
from mccfr_plus.neural.network_policy import masked_softmax  # noqa: E402
from mccfr_plus.neural.nfsp import Agent  # noqa: E402

CONFIG = NFSPConfig(hidden_layers=(16,), value_learning_rate=0.01, learning_rate=0.01, min_samples=1)
TRANSITIONS = [(0, 3, 1, 0.0), (1, 2, OVER, 8.0), (2, 2, OVER, -2.0), (1, 0, 2, 0.0)]
DECISIONS = [(0, 3), (1, 2), (1, 0), (1, 0), (2, 2)]


def agent_of(features, config=CONFIG, unit=4.0):
    return Agent(OneFeature(features, Modules(), unit), config, 7, np.arange(1, 6, dtype=np.uint64))


def autograd(learner, rows, loss_of):
    """Returns a loss and its gradient by torch, for a network with one hidden layer."""
    parameters = [each.detach().clone().requires_grad_() for each in learner.module.parameters()]
    x = torch.nn.functional.linear(learner.inputs[torch.tensor(rows.tolist())], *parameters[:2]).relu()
    loss = loss_of(torch.nn.functional.linear(x, *parameters[2:]))
    loss.backward()
    return float(loss.detach()), torch.cat([each.grad.reshape(-1) for each in parameters])


def test_value_loss_equals_torch(three_rows, monkeypatch):
    """Targets by hand: 0 + the best of row 1's legal actions; the game is over: 8 / 4; -2 / 4; 0 + that of row 2."""
    agent = agent_of(three_rows)
    learner, outputs = agent.values, np.array([[9, 1, 9, 2], [-0.25, -1, -2, 9], [9, 9, 1, 9]], np.float32)
    monkeypatch.setattr(agent.target, "outputs", lambda rows: outputs[rows])
    targets = torch.tensor([-0.25, 2.0, -0.5, 1.0])
    rows, actions = np.array([0, 1, 2, 1]), torch.tensor([3, 2, 2, 0])

    def loss_of(outputs):
        return torch.nn.functional.mse_loss(outputs[torch.arange(4), actions], targets)

    loss, gradient = autograd(learner, rows, loss_of)
    agent.transitions.add_rows(**transitions_of(three_rows, TRANSITIONS))
    agent.learn(1, 1)
    assert learner.losses == [pytest.approx(loss, rel=1e-5)]
    np.testing.assert_allclose(learner.gradient, gradient, rtol=1e-4, atol=1e-6)


def test_policy_loss_equals_torch(three_rows):
    agent = agent_of(three_rows)
    learner = agent.policy
    decisions = decisions_of(three_rows, DECISIONS)
    is_legal = torch.from_numpy(decisions["masks"])

    def loss_of(outputs):
        masked = torch.where(is_legal, outputs, -1e30)
        return torch.nn.functional.cross_entropy(masked, torch.from_numpy(decisions["actions"]))

    loss, gradient = autograd(learner, decisions["infosets"], loss_of)
    agent.decisions.add_rows(**decisions)
    agent.learn(1, 1)
    assert learner.losses == [pytest.approx(loss, rel=1e-5)]
    np.testing.assert_allclose(learner.gradient, gradient, rtol=1e-4, atol=1e-6)
    assert gradient.abs().max() > 0.01


def test_policy_learns_frequencies(three_rows):
    """Of three decisions in row 1 two are action 0; action 1 is legal and never taken; 3 is illegal."""
    agent = agent_of(three_rows)
    agent.decisions.add_rows(**decisions_of(three_rows, DECISIONS))
    agent.learn(1500, 1)
    logits = agent.policy.predict()
    legal = np.exp(logits[1, :3]) / np.exp(logits[1, :3]).sum()
    np.testing.assert_allclose(legal, [2 / 3, 0, 1 / 3], atol=0.01)


def test_divergence_is_an_error(three_rows):
    agent = agent_of(three_rows)
    agent.transitions.add_rows(**transitions_of(three_rows, TRANSITIONS))
    agent.decisions.add_rows(**decisions_of(three_rows, DECISIONS))
    for learner, name in ((agent.policy, "policy"), (agent.values, "value")):  # the latter is trained first
        learner.vector.data[-1] = math.nan
        with pytest.raises(TrainingError, match=f"iteration 5: the {name} loss of player 7 is nan at training step 1"):
            agent.learn(1, 5)


def exact_transitions(tree, player):
    """Returns a player's transitions in Kuhn poker under uniform play, in proportion to their probabilities."""
    result = []

    def visit(state, copies, last):
        if state.is_terminal():
            result.extend([(*last, OVER, state.returns()[player])] * copies)
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
    return result


@pytest.mark.parametrize("player", [0, 1])
def test_tabular_limit_is_the_exact_value_of_each_action(player):
    """One-hot features, a linear model and all transitions: Q-learning converges to the action values if the player
    plays a best response afterwards, which enumeration gives.
    """
    tree = mccfr_plus.compile_game("kuhn_poker")
    features = features_of(tree)[player]
    features = features._replace(tensors=np.eye(len(features.masks), dtype=np.float32))
    config = NFSPConfig(hidden_layers=(), value_learning_rate=0.05, min_samples=1, target_every=400)
    agent = agent_of(features, config, unit=2.0)
    agent.transitions.add_rows(**transitions_of(features, exact_transitions(tree, player), unit=2.0))
    agent.learn(4 * 400, 1)  # a player decides at most twice
    begin, end = tree.arrays.infoset_range[player : player + 2]
    strategy = tree.uniform_strategy()
    for _ in range(3):  # policy iteration: greedy for the player, uniform for the other
        exact = infoset_values(tree, strategy).action_values
        for infoset in range(begin, end):
            slots = tree.slots(infoset)
            strategy[slots] = np.arange(slots.stop - slots.start) == exact[slots].argmax()
    ours = slice(*tree.arrays.slot_range[player : player + 2])
    np.testing.assert_allclose(2.0 * agent.values.predict().ravel(), exact[ours], atol=2e-3)
    if player == 0:  # where there is a later decision, its value counts
        assert np.abs(exact[ours] - infoset_values(tree, tree.uniform_strategy()).action_values[ours]).max() > 0.2


def test_tables_use_legal_actions_only(monkeypatch):
    solver = NFSP("leduc_poker", seed=1)
    tree, average, best = solver.tree, np.full(solver.tree.num_slots, np.nan), np.zeros(solver.tree.num_slots)
    for player, (own, features) in enumerate(zip(solver._players, features_of(tree), strict=True)):
        found = np.random.default_rng(player).normal(size=(len(features.masks), 3)).astype(np.float32)
        found[~features.masks] = 1e30
        found = found.astype(np.float64)
        for learner in (own.values, own.policy):
            monkeypatch.setattr(learner, "predict", lambda iteration=None, found=found: found)
        for row, outputs in enumerate(found):
            infoset = int(tree.arrays.infoset_range[player]) + row
            legal = outputs[tree.legal_actions(infoset)].astype(np.float64)
            best[tree.slots(infoset)][legal.argmax()] = 1.0
            average[tree.slots(infoset)] = np.exp(legal) / np.exp(legal).sum()
    np.testing.assert_allclose(solver.average_strategy(), average, rtol=1e-12)
    np.testing.assert_array_equal(solver.best_response_policy().strategy(), best)


def test_softmax_of_large_logits_is_finite():
    assert masked_softmax(np.array([[1e5, -1e5]]), np.ones((1, 2), bool)).tolist() == [[1.0, 0.0]]
