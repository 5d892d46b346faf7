"""Batched solvers: memories of tensors, network policies, runs, checkpoints, bad input."""

import dataclasses
import itertools
import math

import numpy as np
import pyspiel
import pytest
from checkpoint_contents import contents_of
from neural_states import copy_of, differing

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.cli.policy_source import read_policy  # noqa: E402
from mccfr_plus.errors import (  # noqa: E402
    BudgetError,
    CheckpointError,
    ConfigError,
    GameError,
    PolicyFileError,
    TrainingError,
)
from mccfr_plus.files import file as checkpoint_file  # noqa: E402
from mccfr_plus.neural import (  # noqa: E402
    BatchedConfig,
    BatchedDeepCFR,
    BatchedDeepCFRConfig,
    BatchedDREAM,
    BatchedDREAMConfig,
    BatchedESCHER,
    BatchedESCHERConfig,
    BatchedSolver,
    NetworkPolicy,
    TrainingConfig,
)
from mccfr_plus.neural.memory import Reservoir, Samples, infoset_columns  # noqa: E402
from mccfr_plus.neural.network import MLP, squared_error  # noqa: E402
from mccfr_plus.neural.network_policy import masked_softmax, matched  # noqa: E402

NETWORK = {"hidden_layers": (16,), "train_steps": 6, "batch_size": 32}
POLICY = TrainingConfig(**NETWORK)
COMMON = {**NETWORK, "traversals": 25, "parallel_traversals": 10, "policy_training": POLICY}
# External sampling would visit 285,000 histories of phantom tic-tac-toe in a traversal.
GAME = {BatchedDeepCFR: "liars_dice", BatchedDREAM: "phantom_ttt", BatchedESCHER: "phantom_ttt"}
SOLVERS = [
    (BatchedDeepCFR, BatchedDeepCFRConfig(**(COMMON | {"traversals": 4, "parallel_traversals": 3}))),
    (BatchedDREAM, BatchedDREAMConfig(**COMMON, baseline_training=POLICY)),
    (BatchedDREAM, BatchedDREAMConfig(**COMMON, baseline=False, memory_capacity=60)),
    (BatchedESCHER, BatchedESCHERConfig(**COMMON, value_training=POLICY, value_traversals=15)),
    (BatchedDREAM, BatchedDREAMConfig(**COMMON, baseline_training=POLICY, minimizer="pdcfr+")),
    (BatchedDREAM, BatchedDREAMConfig(**COMMON, baseline_training=POLICY, minimizer="dcfr+")),
]


def rng():
    return np.array([5], np.uint64)


# --- memories ---


def rows_of(numbers, width=2):
    numbers = np.asarray(numbers, np.float32)
    return (
        numbers[:, None] * np.ones((1, 3), np.float32),
        np.ones((len(numbers), width), bool),
        numbers[:, None] * [1, 2],
    )


def test_columns_of_a_row_stay_together():
    memory = Reservoir(infoset_columns(20, np.zeros((0, 3)), 2), rng())
    for begin in range(0, 200, 7):
        tensors, masks, values = rows_of(np.arange(begin, min(begin + 7, 200)))
        memory.add(Samples(tensors, masks, values, tensors[:, 0] + 1), 1 + begin // 7)
    state = memory.state()
    assert len(memory) == 20
    numbers = state["infosets"][:, 0].astype(int)
    np.testing.assert_array_equal(state["values"], numbers[:, None] * [1, 2])
    np.testing.assert_array_equal(state["weights"], numbers + 1)
    np.testing.assert_array_equal(state["iterations"], 1 + numbers // 7)


def test_batches_of_tensors():
    memory = Reservoir(infoset_columns(50, np.zeros((0, 3)), 2), rng(), power=1.0, unit=2.0)
    tensors, masks, values = rows_of(np.arange(30))
    masks[:, 1] = np.arange(30) % 2 == 0
    for half, iteration in ((slice(15), 1), (slice(15, 30), 3)):
        memory.add(Samples(tensors[half], masks[half], values[half], np.ones(15)), iteration)
    whole = next(memory.batches(100, 3, rng()))
    assert whole.infosets[:, 0].tolist() == list(range(30))
    np.testing.assert_allclose(whole.targets, values / 2)
    np.testing.assert_allclose(whole.weights, np.where(np.arange(30) < 15, 0.5, 1.5)[:, None] * masks)
    seen = set()
    for _, batch in zip(range(100), memory.batches(8, 3, rng()), strict=False):
        rows = batch.infosets[:, 0].astype(int)
        np.testing.assert_allclose(batch.targets, values[rows] / 2)
        assert ((batch.weights > 0) == masks[rows]).all()
        seen |= set(rows.tolist())
    assert seen == set(range(30))
    assert (
        list(
            zip(range(3), Reservoir(infoset_columns(5, np.zeros((0, 3)), 2), rng()).batches(8, 1, rng()), strict=False)
        )
        == []
    )


# --- policies ---


def test_outputs_to_distributions():
    outputs = np.array([[1.0, 3.0, 50.0], [-1.0, -2.0, -0.5], [0.0, 0.0, 1.0], [1e30, 1e30, 0.0]])
    masks = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1]], bool)
    np.testing.assert_allclose(matched(outputs, masks, True)[:3], [[0.25, 0.75, 0], [1, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(matched(outputs, masks, False)[1], [0.5, 0.5, 0])
    soft = masked_softmax(outputs, masks)
    np.testing.assert_allclose(soft[0], [1 / (1 + math.e**2), math.e**2 / (1 + math.e**2), 0])
    np.testing.assert_allclose(soft.sum(1), 1)
    assert (soft[~masks] == 0).all()


@pytest.mark.parametrize(("kind", "config"), SOLVERS)
def test_policies_are_openspiel_policies(kind, config, tmp_path):
    solver = kind(GAME[kind], config, seed=1).run(2)
    for number, policy in enumerate((solver.average_policy(), solver.current_policy())):
        policy.save(tmp_path / f"{number}")
        copy = NetworkPolicy.load(tmp_path / f"{number}")
        state = solver.game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(state.legal_actions()[0])
                continue
            row = policy.action_probabilities(state)
            assert list(row) == state.legal_actions()
            assert sum(row.values()) == pytest.approx(1, abs=1e-9)
            assert min(row.values()) >= 0
            assert copy.action_probabilities(state) == row
            state.apply_action(max(row, key=row.get))
    solver.save_checkpoint(tmp_path / "solver")
    with pytest.raises(CheckpointError, match="holds no network policy"):
        NetworkPolicy.load(tmp_path / "solver")


FORGED = {
    "game": [None, 7, {}],
    "kind": [None, "strongest", []],
    "discount": ["much", -1.0, [1.0]],
    "network": [
        None,
        [],
        "MLP",
        {"hidden_layers": [3], "layer_norm": False, "skip": False},
        {"hidden_layers": [10**9], "layer_norm": False, "skip": False},
        {"hidden_layers": [4], "layer_norm": False},
    ],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in FORGED.items() for value in values])
def test_forged_headers_of_policies_are_found(name, value, tmp_path):
    game = mccfr_plus.load_game("kuhn_poker")
    NetworkPolicy(game, [MLP(11, 2, (4,), False, False) for _ in range(2)], "softmax").save(tmp_path / "good")
    header, arrays = contents_of(tmp_path / "good")
    checkpoint_file.write(tmp_path / "forged", {**header, name: value}, arrays)
    with pytest.raises(CheckpointError):
        NetworkPolicy.load(tmp_path / "forged")


def test_policies_of_unfit_games_and_with_numbers_that_are_none(tmp_path):
    game = mccfr_plus.load_game("kuhn_poker")
    networks = [MLP(11, 2, (4,), False, False) for _ in range(2)]
    NetworkPolicy(game, networks, "softmax").save(tmp_path / "good")
    with pytest.raises(GameError, match="tic_tac_toe provides no information_state_tensor"):
        NetworkPolicy.load(tmp_path / "good", "tic_tac_toe")
    networks[1].layers[0].bias.data[2] = math.nan
    NetworkPolicy(game, networks, "softmax").save(tmp_path / "bad")
    with pytest.raises(CheckpointError, match="not finite"):
        NetworkPolicy.load(tmp_path / "bad")


def test_a_policy_without_its_game_is_no_policy(tmp_path):
    checkpoint_file.write(tmp_path / "forged", {"network_policy": 1}, {"numbers": np.ones(2)})
    with pytest.raises(PolicyFileError, match=r"lacks .*game"):
        read_policy(tmp_path / "forged", mccfr_plus.load_game("kuhn_poker"))


def test_average_policy_is_the_mean_of_the_strategies():
    """A policy network with a unit per information set finds the weighted mean of the strategies in its memory."""
    config = dataclasses.replace(
        SOLVERS[1][1],
        traversals=200,
        policy_training=TrainingConfig(hidden_layers=(64, 64), train_steps=1500, learning_rate=3e-3),
    )
    solver = BatchedDREAM("kuhn_poker", config, seed=1).run(4)
    policy = solver.average_policy()
    found = solver._env._memories[0].state()
    assert np.unique(found["iterations"]).tolist() == [1, 2, 3, 4]
    # Of player 0 in the histories in which player 1 explored, as many in each iteration.
    assert np.bincount(found["iterations"])[1:].min() >= 200
    tensors, place = np.unique(found["infosets"], axis=0, return_inverse=True)
    means = np.zeros((len(tensors), 2))
    weights = found["iterations"][:, None] * found["weights"][:, None]
    np.add.at(means, place, weights * found["values"])
    means /= means.sum(1, keepdims=True)
    np.testing.assert_allclose(policy.probabilities(0, tensors, np.ones((len(tensors), 2), bool)), means, atol=0.02)
    assert np.abs(means - 0.5).max() > 0.2
    again = solver.average_policy()
    np.testing.assert_array_equal(policy.probabilities(0, tensors, np.ones((len(tensors), 2), bool)),
                                  again.probabilities(0, tensors, np.ones((len(tensors), 2), bool)))  # fmt: skip


# --- runs ---


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (BatchedDREAM, BatchedDREAMConfig(traversals=500, hidden_layers=(32, 32), train_steps=60, batch_size=256)),
        (BatchedESCHER, BatchedESCHERConfig(traversals=500, hidden_layers=(32, 32), train_steps=60, batch_size=256)),
    ],
)
def test_converges(kind, config):
    """Uniform play is exploitable by 0.458 in Kuhn poker; a solver whose networks learn nothing stays above 0.2."""
    small = TrainingConfig(hidden_layers=(32, 32), train_steps=60, batch_size=256)
    training = {"baseline_training": small} if kind is BatchedDREAM else {"value_training": small}
    policy = TrainingConfig(hidden_layers=(32, 32), train_steps=600)
    solver = kind("kuhn_poker", dataclasses.replace(config, policy_training=policy, **training), seed=1)
    for _ in range(6):
        if mccfr_plus.exploitability("kuhn_poker", solver.run(5).average_policy()) < 0.12:
            break
    assert mccfr_plus.exploitability("kuhn_poker", solver.average_policy()) < 0.12


@pytest.mark.parametrize(("kind", "config"), SOLVERS)
def test_resumed_run_is_bitwise_identical(kind, config, tmp_path):
    solver = kind(GAME[kind], config, seed=1).run(2)
    solver.save_checkpoint(tmp_path / "file")
    copy = kind.from_checkpoint(tmp_path / "file")
    assert (copy.config, copy.iterations, copy.nodes_touched) == (config, 2, solver.nodes_touched)
    solver.run(2)
    copy.run(2)
    assert differing(solver, copy) == []


@pytest.mark.parametrize(("kind", "config"), SOLVERS)
def test_failed_iteration_is_rolled_back(kind, config, monkeypatch):
    solver, reference = (kind(GAME[kind], config, seed=1).run(2) for _ in range(2))
    before = copy_of(solver)
    with monkeypatch.context() as patch:
        module = solver._players[1].learner.module
        forward = module.forward
        patch.setattr(module, "forward", lambda inputs: forward(inputs) * (math.nan if module.training else 1.0))
        with pytest.raises(TrainingError, match="iteration 3: the advantage loss of player 1 is nan"):
            solver.run(3)
    assert solver.iterations == 2
    assert differing(solver, before) == []
    assert differing(solver.run(2), reference.run(2)) == []


@pytest.mark.parametrize("warm_start", [True, False])
@pytest.mark.parametrize(("minimizer", "alpha"), [("dcfr+", 1.5), ("pdcfr+", 2.3)])
def test_bootstrapped_targets(minimizer, alpha, warm_start, monkeypatch):
    """max(R, 0) (t-1)^alpha / ((t-1)^alpha + 1) + r, and r where the next regrets are predicted."""
    own = COMMON | {"batch_size": 1000, "warm_start": warm_start}
    config = BatchedDREAMConfig(**own, baseline=False, minimizer=minimizer)
    solver = BatchedDREAM("kuhn_poker", config, seed=1).run(2)
    learner, memory = solver._players[0]
    sampled, seen = [], []
    add, fit = memory.add, learner.fit

    def added(samples, iteration):
        sampled.append((samples.infosets, samples.values / 2.0, samples.weights))  # half of the range is 2
        add(samples, iteration)

    def fitted(batches, iteration):
        (batch,) = itertools.islice(batches.batches(1000, iteration, rng()), 1)
        seen.append((batch, batch.infosets, learner.outputs(batch.infosets)))

        def loss(outputs, targets, weights):
            np.testing.assert_array_equal(targets, batch.targets)  # by the network before, also with a fresh one
            return squared_error(outputs, targets, weights)

        fit(batches, iteration, loss)

    monkeypatch.setattr(memory, "add", added)
    monkeypatch.setattr(learner, "fit", fitted)
    solver.run(1)
    tensors, regrets, weights = (np.concatenate(arrays) for arrays in zip(*sampled, strict=True))
    ((batch, inputs, before),) = seen
    np.testing.assert_array_equal(inputs, tensors)
    expected = np.maximum(before[:, :2], 0.0) * 2**alpha / (2**alpha + 1) + regrets
    assert np.abs(expected - regrets).max() > 0.01
    expected = expected if minimizer == "dcfr+" else np.concatenate([expected, regrets], axis=1)
    np.testing.assert_allclose(batch.targets, expected, atol=1e-6)
    np.testing.assert_allclose(batch.weights, np.tile(weights[:, None] / weights.mean(), expected.shape[1]), rtol=1e-6)
    # The next strategy matches what is predicted: cumulative regrets, discounted for the next iteration, plus r.
    outputs, masks = learner.outputs(tensors), np.ones((len(tensors), 2), bool)
    if minimizer == "pdcfr+":
        outputs = np.maximum(outputs[:, :2], 0.0) * 3**alpha / (3**alpha + 1) + outputs[:, 2:]
    for found in (
        solver._env.strategies()(0, tensors, masks),
        solver.current_policy().probabilities(0, tensors, masks),
    ):
        np.testing.assert_allclose(found, matched(outputs, masks, True), atol=1e-12)
    assert not any("memory/" in name for name in solver.state())  # nothing is kept


def test_divergence_of_the_average_policy_is_an_error():
    config = dataclasses.replace(SOLVERS[1][1], policy_training=TrainingConfig(learning_rate=1e30, train_steps=30))
    solver = BatchedDREAM("kuhn_poker", config, seed=1).run(1)
    with pytest.raises(
        TrainingError, match=r"policy_training's loss of the average policy of player 0.*Lower learning_rate"
    ):
        solver.average_policy()


@pytest.mark.parametrize("game", ["kuhn_poker(players=3)", "matrix_pd", "goofspiel(num_cards=4,imp_info=True)"])
@pytest.mark.parametrize(("kind", "config"), SOLVERS)
def test_other_games(kind, config, game):
    """More players, general-sum payoffs, simultaneous moves."""
    solver = kind(game, config, seed=1).run(2)
    heads = 1 if game.startswith("goofspiel") else solver.game.num_players()
    assert (
        solver.values is None or solver.values.learner.predict().shape[1] == heads * solver.game.num_distinct_actions()
    )
    assert solver.nodes_touched > 50


def test_bad_input():
    with pytest.raises(GameError, match=r"nim provides no information_state_tensor, which is what BatchedDREAM sees"):
        BatchedDREAM("nim")
    with pytest.raises(ConfigError, match="give a BatchedDREAMConfig"):
        BatchedDREAM("kuhn_poker", SOLVERS[3][1])
    with pytest.raises(ConfigError, match="memory='aggregated': give one of reservoir"):
        BatchedDREAMConfig(memory="aggregated")
    with pytest.raises(ConfigError, match="values='exact': give one of network"):
        BatchedESCHERConfig(values="exact")
    with pytest.raises(ConfigError, match="parallel_traversals=0"):
        BatchedESCHERConfig(parallel_traversals=0)
    solver = BatchedDREAM("kuhn_poker", SOLVERS[1][1])
    assert isinstance(solver.game, pyspiel.Game)


def test_a_batched_solver_without_regrets_is_no_algorithm():
    with pytest.raises(ConfigError, match=r"BatchedSolver lacks regrets\(paths, player\)"):
        BatchedSolver("kuhn_poker", BatchedConfig(traversals=2, train_steps=1), seed=1).run(1)


def test_batched_solvers_are_evaluated_where_the_game_can_be_compiled():
    solver = BatchedDREAM("kuhn_poker", SOLVERS[1][1], seed=1).run(2, evaluate_every=0)
    assert solver.history.iterations.tolist() == [1, 2]
    exact = mccfr_plus.evaluate("kuhn_poker", solver.average_policy())
    assert solver.history.exploitability[-1] == solver.exploitability() == exact.exploitability
    assert solver.run(target_exploitability=exact.exploitability + 1.0, evaluate_every=0).iterations == 3
    large = BatchedDREAM("phantom_ttt", SOLVERS[1][1], seed=1)
    with pytest.raises(BudgetError, match=r"needs the whole tree: .* give a number of iterations or seconds"):
        large.run(3, target_exploitability=0.1)
    assert large.iterations == 0


def test_weights_of_dream_are_relative_to_uniform_play():
    """Own draws are uniform with probability 1/2: each makes a history at most twice as rare as under uniform play."""
    solver = BatchedDREAM("phantom_ttt", SOLVERS[1][1], seed=1).run(2)
    paths = next(solver._env.sample(solver._histories(0), 10, 10))
    weights = solver.weights(paths, 0)
    for decision in range(len(weights)):
        before = [
            p for p in range(decision) if paths.traversals[p] == paths.traversals[decision] and paths.players[p] == 0
        ]
        factors = [1.0 / (paths.masks[p].sum() * paths.probabilities[p]) for p in before]
        assert weights[decision] == pytest.approx(np.prod(factors))
        assert weights[decision] <= 2.0 ** len(before)
    assert weights.max() > 1.5
