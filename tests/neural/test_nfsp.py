"""NFSP: memories, schedule of updates, convergence, rollback, checkpoints."""

import dataclasses
import math

import numpy as np
import pyspiel
import pytest
from neural_states import copy_of, differing, failing_at_the_third_call

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus import CheckpointError  # noqa: E402
from mccfr_plus.errors import BudgetError, ConfigError, GameError, TrainingError  # noqa: E402
from mccfr_plus.evaluation.infoset_values import infoset_values  # noqa: E402
from mccfr_plus.neural import NFSP, DeepCFR, NFSPConfig  # noqa: E402

# Memories so small that the ring goes round and the reservoir leaves out.
SMALL = NFSPConfig(
    episodes=150,
    parallel_episodes=20,
    hidden_layers=(8,),
    batch_size=16,
    learn_every=32,
    target_every=3,
    min_samples=20,
    transition_capacity=300,
    decision_capacity=60,
    anticipatory=0.3,
)
CONFIGS = [
    SMALL,
    dataclasses.replace(SMALL, parallel_episodes=60, gradient_clip=0.1, hidden_layers=(8, 8), min_samples=1),
]


# --- what is learned ---


def test_kuhn_poker_is_learned():
    """Uniform play is exploitable by 0.458; a solver that does not learn one of its networks stays there."""
    config = NFSPConfig(episodes=500, hidden_layers=(32,), learn_every=32, min_samples=100, value_learning_rate=5e-3)
    solver = NFSP("kuhn_poker", config, seed=1)
    solver.run(target_exploitability=0.2, seconds=30)
    assert solver.exploitability() <= 0.2
    assert pyspiel.exploitability(solver.tree.game, solver.average_policy()) == pytest.approx(solver.exploitability())


def test_action_values_become_exact():
    """With eta = 0 all players always play the first average policy. Q-learning is off-policy and converges to
    the values of actions before a best response to it, which enumeration gives.

    The last steps of Adam, with batches of 512, leave noise of the order of the deviation of a batch's mean: payoffs
    deviate by at most 2, and an information set has a sixth of a batch or more of its depth, so 2 / sqrt(512 / 12).
    """
    config = NFSPConfig(
        episodes=2000,
        hidden_layers=(32,),
        batch_size=512,
        learn_every=64,
        parallel_episodes=50,
        target_every=50,
        min_samples=100,
        anticipatory=0.0,
        value_learning_rate=3e-3,
    )
    solver = NFSP("kuhn_poker", config, seed=1)
    average = solver.average_strategy()
    solver.run(10)
    assert len(solver._players[0].decisions) == 0
    assert solver.losses == (None, None)
    np.testing.assert_array_equal(solver.average_strategy(), average)
    tree = solver.tree
    for player, own in enumerate(solver._players):
        ours = slice(*tree.arrays.slot_range[player : player + 2])
        strategy = average.copy()
        for _ in range(3):
            exact = infoset_values(tree, strategy).action_values
            for infoset in range(*tree.arrays.infoset_range[player : player + 2]):
                slots = tree.slots(infoset)
                strategy[slots] = np.arange(slots.stop - slots.start) == exact[slots].argmax()
        learned = own.values.predict().ravel() * 2.0  # in units of half the payoff range, which is 2
        assert np.abs(learned - exact[ours]).max() < 2 / math.sqrt(512 / 12)
        assert np.sqrt(np.square(learned - exact[ours]).mean()) < 0.1
        mixed = average.copy()
        mixed[ours] = solver.best_response_policy().strategy()[ours]
        best = mccfr_plus.evaluate(tree, mccfr_plus.TreePolicy(tree, average)).best_response_values[player]
        assert mccfr_plus.expected_values(tree, mccfr_plus.TreePolicy(tree, mixed))[player] > best - 0.05


def test_only_best_responses_enter_the_reservoir():
    never, always = (
        NFSP("leduc_poker", dataclasses.replace(SMALL, anticipatory=eta, episodes=20), seed=1).run(1) for eta in (0, 1)
    )
    for player in range(2):
        assert len(never._players[player].decisions) == 0
        assert len(never._players[player].transitions) > 20  # best responses learn from average policies too
        own = always._players[player]
        assert own.decisions.seen == own.transitions.seen > 20
    config = dataclasses.replace(SMALL, epsilon_start=0.0, epsilon_end=0.0, learn_every=1 << 40)  # nothing is trained
    greedy = NFSP("leduc_poker", config, seed=1).run(1)
    best = greedy.best_response_policy().strategy()
    for player, own in enumerate(greedy._players):
        begin = int(greedy.tree.arrays.infoset_range[player])
        decisions = own.decisions.state()
        assert len(own.decisions) > 5
        for row, action in zip(decisions["infosets"], decisions["actions"], strict=True):
            legal = greedy.tree.legal_actions(begin + row)
            assert best[greedy.tree.slots(begin + row)][legal.index(action)] == 1


def test_schedule_of_updates(monkeypatch):
    solver = NFSP("leduc_poker", dataclasses.replace(SMALL, min_samples=60), seed=1)
    own, reported, expected = solver._players[1], [], {"values": 0, "policy": 0}
    learn, assign = own.learn, own.target.assign

    def count(updates, iteration):
        assert int(own.updates[0]) + updates == int(solver._steps[1]) // 32  # all that are due
        expected["values"] += updates * (len(own.transitions) >= 60)
        expected["policy"] += updates * (len(own.decisions) >= 60)
        learn(updates, iteration)

    monkeypatch.setattr(own, "learn", count)
    monkeypatch.setattr(own.target, "assign", lambda other: (reported.append("target"), assign(other)))
    for name in expected:
        learner = getattr(own, name)
        step = learner._step
        monkeypatch.setattr(learner, "_step", lambda *a, name=name, step=step: (reported.append(name), step(*a)))
    solver.run(3)
    updates = int(own.updates[0])
    assert updates == int(solver._steps[1]) // 32
    assert reported.count("target") == updates // 3
    assert {name: reported.count(name) for name in expected} == expected
    assert 0 < expected["policy"] < expected["values"] < updates


def test_batch_of_a_small_memory_has_all_records():
    config = dataclasses.replace(SMALL, batch_size=60, min_samples=1, episodes=40)
    solver = NFSP("kuhn_poker", config, seed=1)
    seen = []
    for own in solver._players:
        step = own.policy._step
        own.policy._step = lambda iteration, step=step, own=own: (
            seen.append((len(own.policy._latest[0]), len(own.decisions))),
            step(iteration),
        )
    solver.run(1)
    assert all(size == min(60, stored) for size, stored in seen)
    assert min(seen)[0] < 60


def test_nothing_is_learned_below_min_samples():
    solver = NFSP("kuhn_poker", dataclasses.replace(SMALL, min_samples=60, episodes=20), seed=1)
    state = copy_of(solver)
    solver.run(1)
    assert (solver.losses, solver.value_losses) == ((None, None), (None, None))
    np.testing.assert_array_equal(solver.state()["player0/policy/parameters"], state["player0/policy/parameters"])


# --- policies ---


@pytest.mark.parametrize(
    "game", ["kuhn_poker(players=3)", "leduc_poker", "goofspiel(num_cards=3,imp_info=True,points_order=descending)"]
)
def test_policies_are_distributions_over_legal_actions(game):
    solver = NFSP(game, SMALL, seed=1)
    solver.run(3)
    for policy in (solver.average_policy(), solver.current_policy(), solver.best_response_policy()):
        assert isinstance(policy, mccfr_plus.TreePolicy)
        for info_state, row in policy.items():
            actions, probabilities = zip(*row, strict=True)
            assert list(actions) == solver.tree.legal_actions(solver.tree.infoset(info_state))
            assert min(probabilities) >= 0
            assert sum(probabilities) == pytest.approx(1, abs=1e-12)
    assert np.array_equal(solver.average_strategy(), solver.current_strategy())
    assert set(solver.best_response_policy().strategy()) == {0.0, 1.0}
    for player, own in enumerate(solver._players):
        logits, values = own.policy.predict().astype(np.float64), own.values.predict()
        begin = int(solver.tree.arrays.infoset_range[player])
        for row in range(len(logits)):
            slots, legal = solver.tree.slots(begin + row), solver.tree.legal_actions(begin + row)
            share = np.exp(logits[row, legal]) / np.exp(logits[row, legal]).sum()
            np.testing.assert_allclose(solver.average_strategy()[slots], share, rtol=1e-9)
            assert solver.best_response_policy().strategy()[slots].argmax() == values[row, legal].argmax()


# --- runs ---


def test_every_phase_of_an_iteration_changes_the_result():
    solver = NFSP("leduc_poker", SMALL, seed=1).run(2)
    before = copy_of(solver)
    solver.iteration()
    after = solver.state()
    for name in before:
        if name not in ("average", "strategy"):  # which are of Deep CFR
            assert not np.array_equal(before[name], after[name]), name
    assert all(loss > 0 for loss in (*solver.losses, *solver.value_losses))


def test_same_seed_is_bitwise_identical_without_global_state():
    numpy_before = repr(np.random.get_state(legacy=False))  # noqa: NPY002 - with its position, which every draw moves
    torch_before, threads = torch.get_rng_state(), torch.get_num_threads()
    first, second, other = (NFSP("kuhn_poker", SMALL, seed=seed).run(4) for seed in (1, 1, 2))
    assert differing(first, second.state()) == []
    assert not np.array_equal(first.current_strategy(), other.current_strategy())
    assert repr(np.random.get_state(legacy=False)) == numpy_before  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert torch.get_num_threads() == threads


def test_limits_and_history():
    solver = NFSP("kuhn_poker", SMALL, seed=1)
    reported = []
    assert solver.run(2, callback=reported.append, evaluate_every=0) is solver
    assert solver.history.iterations.tolist() == [1, 2]
    assert solver.history.nodes[-1] == solver.nodes_touched
    assert solver.history.exploitability[-1] == solver.exploitability()
    solver.run(seconds=0.05)
    assert solver.iterations > 2


def test_bad_games_and_configs():
    with pytest.raises(GameError, match=r"nim provides no information_state_tensor, which is what NFSP sees"):
        NFSP("nim")
    with pytest.raises(BudgetError):
        NFSP("dark_hex(board_size=4)")
    with pytest.raises(ConfigError, match="give a NFSPConfig"):
        NFSP("kuhn_poker", {"episodes": 3})
    with pytest.raises(ConfigError, match="seed=-1"):
        NFSP("kuhn_poker", seed=-1)
    assert repr(NFSP("kuhn_poker", SMALL)) == f"NFSP('kuhn_poker()', {SMALL!r})"


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("kind", ["values", "policy"])
@pytest.mark.parametrize("error", ["nan", "interrupt"])
def test_failed_iteration_is_rolled_back(config, kind, error, monkeypatch):
    solver, reference = (NFSP("kuhn_poker", config, seed=1).run(3) for _ in range(2))
    before, seconds = copy_of(solver), solver.seconds
    module = getattr(solver._players[1], kind).module
    fail, calls = failing_at_the_third_call(module.forward, error)
    with monkeypatch.context() as patch:
        patch.setattr(module, "forward", fail)
        if error == "nan":
            name = {"values": "value", "policy": "policy"}[kind]
            with pytest.raises(
                TrainingError,
                match=rf"iteration 4: the {name} loss of player 1 (is nan at training step|was finite, but)",
            ):
                solver.run(5)
        else:
            with pytest.raises(KeyboardInterrupt):
                solver.run(5)
    assert len(calls) == 3
    assert (solver.iterations, solver.seconds) == (3, seconds)
    assert differing(solver, before) == []
    assert differing(solver.run(2), reference.run(2)) == []  # nothing outside of the state has changed


@pytest.mark.parametrize("kind", ["values", "policy"])
def test_predictions_that_are_not_finite(kind):
    solver = NFSP("kuhn_poker", dataclasses.replace(SMALL, min_samples=60, episodes=20), seed=1)
    getattr(solver._players[0], kind).vector.data[-1] = math.inf
    with pytest.raises(TrainingError, match="was finite, but its predictions are not"):
        solver.iteration()


# --- checkpoints ---


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("method", ["load", "restore"])
def test_resumed_run_is_bitwise_identical(config, method, tmp_path):
    path = tmp_path / "run.checkpoint"
    solver = NFSP("kuhn_poker", config, seed=1).run(4, evaluate_every=0)
    solver.save_checkpoint(path)
    saved = copy_of(solver)
    copy = NFSP.from_checkpoint(path) if method == "load" else NFSP("kuhn_poker", config, seed=5).run(2).restore(path)
    assert differing(copy, saved) == []
    assert (copy.config, copy.seed, copy.iterations) == (config, 1, 4)
    assert (copy.nodes_touched, copy.seconds, copy.history.kept()) == (
        solver.nodes_touched,
        solver.seconds,
        solver.history.kept(),
    )
    assert np.array_equal(copy.average_strategy(), solver.average_strategy())
    assert np.array_equal(copy.best_response_policy().strategy(), solver.best_response_policy().strategy())
    solver.run(4)
    copy.run(4)
    assert differing(copy, solver) == []


def test_checkpoints_of_other_runs_and_before_the_first_iteration(tmp_path):
    path = tmp_path / "run.checkpoint"
    NFSP("kuhn_poker", SMALL, seed=1).save_checkpoint(path)
    assert differing(NFSP.from_checkpoint(path).run(2), NFSP("kuhn_poker", SMALL, seed=1).run(2)) == []
    with pytest.raises(CheckpointError, match=r"holds a run of NFSP, not of DeepCFR: load it with NFSP.from"):
        DeepCFR.from_checkpoint(path)
    with pytest.raises(CheckpointError, match=r"its anticipatory is 0.3, and the solver's is 0.5"):
        NFSP("kuhn_poker", dataclasses.replace(SMALL, anticipatory=0.5)).restore(path)
