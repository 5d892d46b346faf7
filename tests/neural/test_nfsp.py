"""NFSP: transitions, losses and targets by hand, exact values in the tabular limit, the schedule of updates."""

import dataclasses
import math

import numpy as np
import pytest
from neural_states import OVER, OneFeature, decisions_of, features_of, transitions_of
from solver_cases import CASES, PLAY

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.neural import NFSP, NFSPConfig  # noqa: E402
from mccfr_plus.neural.network import Modules  # noqa: E402
from mccfr_plus.neural.network_policy import greedy  # noqa: E402
from mccfr_plus.neural.nfsp import Agent, next_decisions  # noqa: E402
from mccfr_plus.neural.paths import Trajectories, uniform  # noqa: E402
from mccfr_plus.policies.table import infoset_values  # noqa: E402

CONFIG = NFSPConfig(hidden_layers=(16,), value_learning_rate=0.01, learning_rate=0.01, min_samples=1).resolved("tree")
TRANSITIONS = [(0, 3, 1, 0.0), (1, 2, OVER, 8.0), (2, 2, OVER, -2.0), (1, 0, 2, 0.0)]
DECISIONS = [(0, 3), (1, 2), (1, 0), (1, 0), (2, 2)]


def agent_of(features, config=CONFIG, unit=4.0):
    return Agent(OneFeature(features, unit), config, 7, np.arange(1, 6, dtype=np.uint64), Modules())


def of_uniform_play(solver, count):
    return Trajectories(uniform).sample(solver.representation.observer, count, np.random.default_rng(1))


def test_transitions_lead_to_the_next_own_decision():
    solver = CASES["batched NFSP"].new()
    paths, ends = of_uniform_play(solver, 50), 0
    for player, agent in enumerate(solver._players):
        agent.store(paths, player, False)
        found = agent.transitions.state()
        own = np.flatnonzero(paths.players == player)
        following = next_decisions(paths, own)
        assert len(agent.transitions) == len(own)
        for row, decision in enumerate(own):
            later = [p for p in own if p > decision and paths.traversals[p] == paths.traversals[decision]]
            assert following[row] == (later[0] if later else -1)
            np.testing.assert_array_equal(found["infosets"][row], paths.infosets[decision])
            assert found["actions"][row] == paths.actions[decision]
            if later:
                assert found["rewards"][row] == 0
                np.testing.assert_array_equal(found["next_infosets"][row], paths.infosets[later[0]])
                np.testing.assert_array_equal(found["next_masks"][row], paths.masks[later[0]])
            else:
                # In units of half the payoff range, which is 2.
                assert found["rewards"][row] == paths.returns[paths.traversals[decision], player] / 2
                assert not found["next_masks"][row].any()
                ends += 1
    assert 50 <= ends <= 100


@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0])
def test_frequency_of_best_responses(eta, monkeypatch):
    config = dataclasses.replace(PLAY, anticipatory=eta, episodes=4000, parallel_episodes=1000)
    solver = NFSP("kuhn_poker", config, seed=1)
    played, store = np.zeros((2, 2)), Agent.store  # by player, and whether it followed its best response

    def noted(agent, paths, player, is_best):
        played[player, int(is_best)] += len(paths.returns)
        store(agent, paths, player, is_best)

    with monkeypatch.context() as patch:
        patch.setattr(Agent, "store", noted)
        solver._play(4000)
    assert (played.sum(1) == 4000).all()
    assert (abs(played[:, 1] / 4000 - eta) <= 6 * math.sqrt(eta * (1 - eta) / 4000)).all()
    for player, agent in enumerate(solver._players):
        assert solver._steps[player] == agent.transitions.seen + 4000  # decisions, and the ends of all episodes
        # Only best responses are to be averaged.
        assert (agent.decisions.seen == 0) == (eta == 0.0)
        assert (agent.decisions.seen == agent.transitions.seen) == (eta == 1.0)


def test_best_responses_are_epsilon_greedy():
    config = NFSPConfig(epsilon_start=0.2, epsilon_end=0.2)
    solver = NFSP("kuhn_poker", config, representation="batched", seed=1)
    paths = of_uniform_play(solver, 20)
    own = np.flatnonzero(paths.players == 1)
    tensors, masks = paths.infosets[own], paths.masks[own]
    best = solver._responses(1, True)(tensors, masks)
    np.testing.assert_allclose(np.sort(best, 1), np.tile([0.1, 0.9], (len(own), 1)))
    np.testing.assert_array_equal(best.argmax(1), solver._players[1].values.outputs(tensors).argmax(1))
    average = solver._responses(1, False)(tensors, masks)
    np.testing.assert_array_equal(average, solver.average_policy().probabilities(1, tensors, masks))
    assert greedy(np.array([[5.0, 1.0, 2.0]]), np.array([[False, True, True]])).tolist() == [[0, 0, 1]]


def autograd(learner, rows, loss_of):
    """Returns a loss and its gradients by torch, for a network with one hidden layer."""
    parameters = [each.detach().clone().requires_grad_() for each in learner.module.parameters()]
    x = torch.nn.functional.linear(learner.inputs[torch.tensor(rows.tolist())], *parameters[:2]).relu()
    loss = loss_of(torch.nn.functional.linear(x, *parameters[2:]))
    loss.backward()
    return float(loss.detach()), [each.grad for each in parameters]


def check_loss(learner, loss, gradients):
    assert learner.losses == [pytest.approx(loss, rel=1e-5)]
    for parameter, gradient in zip(learner.module.parameters(), gradients, strict=True):
        np.testing.assert_allclose(parameter.grad, gradient, rtol=1e-4, atol=1e-6)
        assert gradient.abs().max() > 0


def test_value_loss_equals_torch(three_rows, monkeypatch):
    """Targets by hand: 0 + the best of row 1's legal actions; the game is over: 8 / 4; -2 / 4; 0 + that of row 2."""
    agent = agent_of(three_rows)
    outputs = np.array([[9, 1, 9, 2], [-0.25, -1, -2, 9], [9, 9, 1, 9]], np.float32)
    monkeypatch.setattr(agent.target, "outputs", lambda rows: outputs[rows])
    targets, actions = torch.tensor([-0.25, 2.0, -0.5, 1.0]), torch.tensor([3, 2, 2, 0])

    def loss_of(outputs):
        return torch.nn.functional.mse_loss(outputs[torch.arange(4), actions], targets)

    expected = autograd(agent.values, np.array([0, 1, 2, 1]), loss_of)
    agent.transitions.add_rows(**transitions_of(three_rows, TRANSITIONS))
    agent.learn(1, 1)
    check_loss(agent.values, *expected)


def test_policy_loss_equals_torch(three_rows):
    agent, decisions = agent_of(three_rows), decisions_of(three_rows, DECISIONS)
    is_legal = torch.from_numpy(decisions["masks"])

    def loss_of(outputs):
        masked = torch.where(is_legal, outputs, -1e30)
        return torch.nn.functional.cross_entropy(masked, torch.from_numpy(decisions["actions"]))

    expected = autograd(agent.policy, decisions["infosets"], loss_of)
    agent.decisions.add_rows(**decisions)
    agent.learn(1, 1)
    check_loss(agent.policy, *expected)


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


def values_of_best_response(tree, strategy, player):
    """Returns the action values, ``[num_slots]``, if a player plays a best response afterwards, by policy iteration."""
    strategy = strategy.copy()
    for _ in range(3):
        exact = infoset_values(tree, strategy).action_values
        for infoset in range(*tree.arrays.infoset_range[player : player + 2]):
            slots = tree.slots(infoset)
            strategy[slots] = np.arange(slots.stop - slots.start) == exact[slots].argmax()
    return exact


@pytest.mark.parametrize("player", [0, 1])
def test_tabular_limit_is_the_exact_value_of_each_action(player):
    """One-hot features, a linear model and all transitions: Q-learning converges to the exact values."""
    tree = mccfr_plus.compile_game("kuhn_poker")
    features = features_of(tree)[player]
    features = features._replace(tensors=np.eye(len(features.masks), dtype=np.float32))
    config = dataclasses.replace(CONFIG, hidden_layers=(), value_learning_rate=0.05, target_every=400)
    agent = agent_of(features, config, unit=2.0)
    agent.transitions.add_rows(**transitions_of(features, exact_transitions(tree, player), unit=2.0))
    agent.learn(4 * 400, 1)  # a player decides at most twice
    exact = values_of_best_response(tree, tree.uniform_strategy(), player)
    ours = slice(*tree.arrays.slot_range[player : player + 2])
    np.testing.assert_allclose(2.0 * agent.values.outputs().ravel(), exact[ours], atol=2e-3)
    if player == 0:  # where there is a later decision, its value counts
        assert np.abs(exact[ours] - infoset_values(tree, tree.uniform_strategy()).action_values[ours]).max() > 0.2


def test_target_network_is_renewed_every_target_every_updates():
    solver = CASES["batched NFSP"].new()
    agent = solver._players[0]
    agent.store(of_uniform_play(solver, 100), 0, True)
    inputs = agent.transitions.state()["infosets"]
    for update in range(1, 10):
        before = agent.target.outputs(inputs)
        agent.learn(1, 1)
        assert agent.updates[0] == update
        after = agent.target.outputs(inputs)
        assert np.array_equal(after, agent.values.outputs(inputs)) == (update % 3 == 0)
        assert np.array_equal(before, after) != (update % 3 == 0)
