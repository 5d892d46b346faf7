"""NFSP without a tree: memories, learning, runs that resume or fail."""

import dataclasses
import math

import numpy as np
import pytest
from neural_states import copy_of, differing

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.errors import ConfigError, TrainingError  # noqa: E402
from mccfr_plus.neural import BatchedNFSP, BatchedNFSPConfig  # noqa: E402
from mccfr_plus.neural.network_policy import greedy  # noqa: E402
from mccfr_plus.neural.nfsp import Agent, error_of_actions, next_decisions  # noqa: E402
from mccfr_plus.neural.sampling.observer import uniform  # noqa: E402
from mccfr_plus.neural.sampling.paths import Trajectories  # noqa: E402

SMALL = BatchedNFSPConfig(
    episodes=60,
    parallel_episodes=25,
    hidden_layers=(16,),
    learn_every=16,
    batch_size=32,
    min_samples=20,
    target_every=3,
)


def test_transitions_lead_to_the_next_own_decision():
    solver = BatchedNFSP("kuhn_poker", SMALL, seed=1)
    paths = Trajectories(uniform, (), 0.0).sample(solver._env.observer, 50, np.random.default_rng(1))
    ends = 0
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
    config = dataclasses.replace(SMALL, anticipatory=eta, episodes=4000, parallel_episodes=1000)
    solver = BatchedNFSP("kuhn_poker", config, seed=1)
    played, store = np.zeros((2, 2)), Agent.store  # by player, and whether it followed its best response

    def noted(agent, paths, player, is_best):
        played[player, int(is_best)] += len(paths.returns)
        store(agent, paths, player, is_best)

    with monkeypatch.context() as patch:
        patch.setattr(Agent, "store", noted)
        solver._play(4000, 1)
    assert (played.sum(1) == 4000).all()
    assert (abs(played[:, 1] / 4000 - eta) <= 6 * math.sqrt(eta * (1 - eta) / 4000)).all()
    small = BatchedNFSP("kuhn_poker", dataclasses.replace(SMALL, anticipatory=eta), seed=1).run(2)
    for player, agent in enumerate(small._players):
        assert small._steps[player] == agent.transitions.seen + 120  # decisions, and the ends of all episodes
        # Only what best responses do is to be averaged.
        assert (agent.decisions.seen == 0) == (eta == 0.0)
        assert (agent.decisions.seen == agent.transitions.seen) == (eta == 1.0)


def test_best_responses_are_epsilon_greedy():
    solver = BatchedNFSP("kuhn_poker", dataclasses.replace(SMALL, epsilon_start=0.2, epsilon_end=0.2), seed=1)
    paths = Trajectories(uniform, (), 0.0).sample(solver._env.observer, 20, np.random.default_rng(1))
    own = np.flatnonzero(paths.players == 1)
    tensors, masks = paths.infosets[own], paths.masks[own]
    best = solver._responses(1, True, 1)(tensors, masks)
    np.testing.assert_allclose(np.sort(best, 1), np.tile([0.1, 0.9], (len(own), 1)))
    response = solver.best_response_policy().probabilities(1, tensors, masks)
    np.testing.assert_array_equal(best.argmax(1), response.argmax(1))
    assert set(response.ravel().tolist()) == {0.0, 1.0}
    average = solver._responses(1, False, 1)(tensors, masks)
    np.testing.assert_array_equal(average, solver.average_policy().probabilities(1, tensors, masks))
    assert greedy(np.array([[5.0, 1.0, 2.0]]), np.array([[False, True, True]])).tolist() == [[0, 0, 1]]


def test_action_values_converge():
    """In a matrix game against a uniform player they are mean payoffs: rows of the matrix."""
    config = BatchedNFSPConfig(
        episodes=400, anticipatory=0.0, hidden_layers=(32,), learn_every=4, batch_size=128, min_samples=50,
        learning_rate=1e-9, value_learning_rate=3e-3, transition_capacity=20_000, epsilon_start=1, epsilon_end=1,
    )  # fmt: skip
    solver = BatchedNFSP("matrix_brps", config, seed=1).run(8)
    agent = solver._players[0]
    tensors = agent.transitions.state()["infosets"][:1]
    masks = np.ones((1, 3), bool)
    found = agent.values.outputs(tensors)[0] * agent.unit
    other = solver.average_policy().probabilities(1, solver._players[1].transitions.state()["infosets"][:1], masks)[0]
    matrix = np.array([[0, -25, 50], [25, 0, -5], [-50, 5, 0]])
    deviation = 50 / math.sqrt(len(agent.transitions) / 3)  # of a mean payoff, at most
    np.testing.assert_allclose(found, matrix @ other, atol=6 * deviation)
    assert np.ptp(matrix @ other) > 6 * deviation


def test_learns_kuhn_poker():
    """Uniform play is exploitable by 0.458."""
    config = BatchedNFSPConfig(episodes=1000, hidden_layers=(64,), learn_every=32, batch_size=128, min_samples=200)
    solver = BatchedNFSP("kuhn_poker", config, seed=1)
    for _ in range(8):
        if mccfr_plus.exploitability("kuhn_poker", solver.run(5).average_policy()) < 0.25:
            break
    assert mccfr_plus.exploitability("kuhn_poker", solver.average_policy()) < 0.25


@pytest.mark.parametrize("game", ["phantom_ttt", "kuhn_poker(players=3)", "goofspiel(num_cards=4,imp_info=True)"])
def test_resumed_run_is_bitwise_identical(game, tmp_path):
    config = dataclasses.replace(SMALL, decision_capacity=50, transition_capacity=90)
    solver = BatchedNFSP(game, config, seed=1).run(2)
    solver.save_checkpoint(tmp_path / "file")
    copy = BatchedNFSP.from_checkpoint(tmp_path / "file")
    solver.run(2)
    copy.run(2)
    assert differing(solver, copy) == []
    assert all(loss > 0 for loss in solver.losses + solver.value_losses)


@pytest.mark.parametrize(("network", "what"), [("values", "value loss"), ("policy", "policy loss")])
def test_failed_iteration_is_rolled_back(network, what, monkeypatch):
    solver, reference = (BatchedNFSP("kuhn_poker", SMALL, seed=1).run(3) for _ in range(2))
    before = copy_of(solver)
    with monkeypatch.context() as patch:
        broken = getattr(solver._players[1], network)
        patch.setattr(
            broken.module, "forward", lambda inputs: broken.vector[:2] * math.nan * inputs.new_ones(len(inputs), 2)
        )
        with pytest.raises(TrainingError, match=f"iteration 4: the {what} of player 1 is nan"):
            solver.run(2)
    assert differing(solver, before) == []
    assert differing(solver.run(2), reference.run(2)) == []


def test_bad_configs():
    with pytest.raises(ConfigError, match="parallel_episodes=0"):
        BatchedNFSPConfig(parallel_episodes=0)
    with pytest.raises(ConfigError, match=r"anticipatory=1\.5"):
        BatchedNFSPConfig(anticipatory=1.5)


def test_targets_use_the_best_legal_action_of_the_target_network():
    solver = BatchedNFSP("phantom_ttt", SMALL, seed=1)
    agent, draws = solver._players[0], np.random.default_rng(1)
    agent.target.vector.data += torch.from_numpy(draws.normal(size=len(agent.target.vector)).astype(np.float32))
    size, count = solver._env.observer.size, 30
    next_masks = draws.random((count, 9)) < 0.3
    next_masks[:5] = False  # the game was over
    rewards = np.where(np.arange(count) < 5, 1.0, 0.0)
    tensors, next_tensors = (draws.integers(0, 2, (count, size)) for _ in range(2))
    actions = draws.integers(0, 9, count)
    agent.transitions.add_rows(
        infosets=tensors, actions=actions, rewards=rewards, next_infosets=next_tensors, next_masks=next_masks
    )
    inputs, *more = next(agent.transitions.batches(32, 1, np.zeros(1, np.uint64)))
    np.testing.assert_array_equal(inputs, tensors)
    guesses = torch.zeros((count, 9), requires_grad=True)
    error_of_actions(guesses, *map(torch.from_numpy, more)).backward()
    slopes = guesses.grad.numpy()  # 2 / count x (0 - target) at the action, 0 elsewhere
    outputs = agent.target.outputs(next_tensors.astype(np.float32))
    for row in range(count):
        best = outputs[row, next_masks[row]].max() if next_masks[row].any() else 0.0
        assert slopes[row, actions[row]] * count / -2 == pytest.approx(rewards[row] + best, abs=1e-5)
        assert slopes[row].sum() == slopes[row, actions[row]]
    assert (outputs.argmax(1)[5:] != np.where(next_masks, outputs, -np.inf).argmax(1)[5:]).any()


def test_target_network_is_renewed_every_target_every_updates():
    solver = BatchedNFSP("kuhn_poker", dataclasses.replace(SMALL, target_every=3), seed=1)
    agent = solver._players[0]
    paths = Trajectories(uniform, (), 0.0).sample(solver._env.observer, 100, np.random.default_rng(1))
    agent.store(paths, 0, True)
    for update in range(1, 10):
        before = agent.target.vector.detach().clone()
        agent.learn(1, 1)
        assert agent.updates[0] == update
        is_new = torch.equal(agent.target.vector, agent.values.vector)
        assert is_new == (update % 3 == 0)
        assert torch.equal(before, agent.target.vector) != is_new
