"""Training: Adam, inputs and targets, losses, divergence."""

import dataclasses
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from mccfr_plus.errors import TrainingError  # noqa: E402
from mccfr_plus.neural import (  # noqa: E402
    BatchedDeepCFR,
    BatchedDeepCFRConfig,
    BatchedNFSP,
    BatchedNFSPConfig,
)
from mccfr_plus.neural.backend import torch_threads  # noqa: E402
from mccfr_plus.neural.config import DeepCFRConfig  # noqa: E402
from mccfr_plus.neural.memory import Aggregated, Reservoir, Samples, infoset_columns  # noqa: E402
from mccfr_plus.neural.network import Learner, Modules, cross_entropy, squared_error  # noqa: E402

CONFIG = DeepCFRConfig(hidden_layers=(16,), train_steps=30, batch_size=64)


def learner_of(features, config=CONFIG, seed=1):
    return Learner(features.tensors, 4, config, np.array([seed, seed + 1], np.uint64), "advantage loss of player 7")


@pytest.fixture
def memory(three_rows):
    memory = Aggregated(three_rows.masks, CONFIG)
    values = np.array([[0, 1.0, 0, -1], [0.5, 0, -0.5, 0], [0, 0, 2, 0]])
    memory.add(Samples(np.array([0, 1, 2], np.int32), three_rows.masks, values, np.ones(3)), 1)
    return memory


def test_steps_equal_adam(three_rows, memory):
    """Kingma, Ba 2015, algorithm 1, line by line in double precision."""
    learner = learner_of(three_rows, dataclasses.replace(CONFIG, train_steps=1))
    reference = learner.vector.detach().numpy().astype(np.float64)
    first, second = np.zeros_like(reference), np.zeros_like(reference)
    for step in range(1, 131):
        learner.fit(memory, 1)
        gradient = learner.gradient.numpy().astype(np.float64)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        reference -= CONFIG.learning_rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        np.testing.assert_allclose(learner.vector.detach(), reference, rtol=1e-4, atol=1e-5)


OPTIMIZERS = [
    lambda parameters: torch.optim.Adam(parameters, lr=0.01, weight_decay=0.1),
    lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1),
    lambda parameters: torch.optim.NAdam(parameters, lr=0.01),
    lambda parameters: torch.optim.RMSprop(parameters, lr=0.01, momentum=0.9, weight_decay=0.1),
    lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=0.1),
    lambda parameters: torch.optim.Adagrad(parameters, lr=0.01, weight_decay=0.1),
]


@pytest.mark.parametrize("factory", OPTIMIZERS)
def test_optimizers_start_as_new_ones(factory, three_rows, memory):
    """Steps equal those of an optimizer that was not asked for its state before."""
    config, modules = dataclasses.replace(CONFIG, train_steps=1), Modules(optimizer=factory)
    learner = Learner(three_rows.tensors, 4, config, np.array([1, 2], np.uint64), "loss", modules)
    reference = torch.nn.Parameter(learner.vector.detach().clone())
    optimizer = factory([reference])
    for _ in range(3):
        learner.fit(memory, 1)
        reference.grad = learner.gradient.clone()
        optimizer.step()
        torch.testing.assert_close(learner.vector, reference)


def test_the_network_is_trained(three_rows, memory):
    learner = learner_of(three_rows, dataclasses.replace(CONFIG, train_steps=2000, learning_rate=1e-2))
    before = learner.vector.detach().clone()
    learner.fit(memory, 1)
    assert (learner.vector != before).float().mean() > 0.5  # units that have died do not move
    assert learner.losses[-1] < 1e-4 * learner.losses[0]
    mask = three_rows.masks
    batch = next(memory.batches(10, 1, np.zeros(1, np.uint64)))
    np.testing.assert_allclose(learner.predict()[mask], batch.targets[mask], atol=0.02)


@pytest.mark.parametrize("batch_size", [4, 64])
def test_inputs_match_their_targets(three_rows, batch_size, monkeypatch):
    memory = Reservoir(infoset_columns(32, three_rows.tensors, 4), np.ones(1, np.uint64))
    rows = np.random.default_rng(1).integers(0, 3, 32).astype(np.int32)
    masks = three_rows.masks[rows]
    memory.add(Samples(rows, masks, (10.0 * rows[:, None] + 1.0) * masks, np.ones(32)), 1)
    learner = learner_of(three_rows, dataclasses.replace(CONFIG, batch_size=batch_size))
    seen = []

    def look(outputs, targets, weights):
        np.testing.assert_array_equal(targets.numpy().max(1), 10 * outputs.detach().numpy()[:, 0] + 1)
        seen.append(len(outputs))
        return outputs.sum()

    monkeypatch.setattr(learner.module, "forward", lambda inputs: inputs + 0.0 * learner.vector[0])
    learner.fit(memory, 1, loss=look)
    assert seen == [min(batch_size, 32)] * 31  # 30 steps, and the look at the last one


def test_warm_and_fresh_starts(three_rows, memory):
    warm = learner_of(three_rows)
    warm.fit(memory, 1)
    moved = warm.vector.detach().clone()
    warm.fit(memory, 2)
    other = learner_of(three_rows)
    other.fit(memory, 1)
    assert warm.losses[0] < 1.01 * other.losses[-1]
    assert int(warm.state()["optimizer/step"][0]) == 60
    fresh = learner_of(three_rows, dataclasses.replace(CONFIG, warm_start=False))
    fresh.fit(memory, 1)
    first = fresh.losses[0]
    fresh.fit(memory, 2)
    assert int(fresh.state()["optimizer/step"][0]) == 30
    assert fresh.losses[0] != first  # other initial parameters
    assert fresh.losses[0] > warm.losses[-1]
    assert not torch.equal(moved, warm.vector)


def test_gradients_are_clipped(three_rows, memory):
    free = learner_of(three_rows)
    free.fit(memory, 1)
    norm = float(free.gradient.norm())
    assert norm > 1e-3
    learner = learner_of(three_rows, dataclasses.replace(CONFIG, gradient_clip=1e-3))
    learner.fit(memory, 1)
    assert float(learner.gradient.norm()) == pytest.approx(1e-3, rel=1e-3)
    same = learner_of(three_rows, dataclasses.replace(CONFIG, gradient_clip=1e3))
    same.fit(memory, 1)
    np.testing.assert_array_equal(same.vector.detach(), free.vector.detach())


def test_moments_do_not_become_denormal_numbers(three_rows, memory):
    learner = learner_of(three_rows)
    learner.fit(memory, 1, steps=1)
    before = torch.tensor(1e-310, dtype=torch.float64) * 0.5
    learner.fit(memory, 1, lambda outputs, *_: 0.0 * outputs.sum(), 1500)  # 0.9^1500 is 1e-69
    moments = torch.from_numpy(learner.state()["optimizer/mean"])
    assert not ((moments != 0) & (moments.abs() < 1.2e-38)).any()
    assert torch.tensor(1e-310, dtype=torch.float64) * 0.5 == before  # what the process does is as before


def test_empty_memory_trains_nothing(three_rows):
    learner = learner_of(three_rows)
    before = learner.vector.detach().clone()
    learner.fit(Aggregated(three_rows.masks, CONFIG), 1)
    assert learner.losses == []
    assert torch.equal(before, learner.vector)


def test_divergence_names_the_loss(three_rows, memory):
    learner = learner_of(three_rows, dataclasses.replace(CONFIG, learning_rate=1e30))
    with pytest.raises(
        TrainingError, match=r"iteration 3: the advantage loss of player 7 is (inf|nan) at training step"
    ):
        learner.fit(memory, 3)
    with pytest.raises(
        TrainingError, match=r"after iteration 2. Lower learning_rate \(it is 0.002\), set gradient_clip"
    ):
        learner_of(three_rows)._check(math.nan, "is nan", 3)


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (BatchedDeepCFR, BatchedDeepCFRConfig(traversals=100, train_steps=1, learning_rate=1e25)),
        (
            BatchedNFSP,
            BatchedNFSPConfig(episodes=30, min_samples=1, target_every=1, learn_every=40, learning_rate=1e25),
        ),
    ],
)
def test_divergence_at_the_last_step_undoes_the_iteration(kind, config):
    solver = kind("kuhn_poker", config, seed=1)
    before = {name: array.copy() for name, array in solver.state().items()}
    with pytest.raises(TrainingError, match=r"iteration 1: .* is (inf|nan) after the last training step"):
        solver.run(1)
    for name, array in before.items():
        np.testing.assert_array_equal(solver.state()[name], array, err_msg=name)


def test_predictions_must_be_finite(three_rows, monkeypatch):
    learner = learner_of(three_rows)
    outputs = torch.full((3, 4), 3e38)  # their sum is more than a float32 holds
    monkeypatch.setattr(learner.module, "forward", lambda inputs: outputs)
    learner.predict(1)
    outputs[1, 2] = math.inf
    learner.predict()
    with pytest.raises(TrainingError, match=r"iteration 1: the .* was finite, but its predictions are not"):
        learner.predict(1)


def test_cross_entropy_equals_torch():
    draws = np.random.default_rng(2)
    masks = draws.random((6, 5)) < 0.7
    masks[:, 0] = True
    targets = np.where(masks, draws.exponential(size=(6, 5)), 0)
    targets = torch.from_numpy(targets / targets.sum(1, keepdims=True))
    weights, legal = torch.from_numpy(draws.exponential(size=(6, 1))), torch.from_numpy(masks)
    outputs = [torch.from_numpy(draws.normal(size=(6, 5))).requires_grad_()]
    outputs.append(outputs[0].detach().clone().requires_grad_())
    loss = cross_entropy(outputs[0], targets, weights * legal)
    each = torch.nn.functional.cross_entropy(outputs[1].masked_fill(~legal, -1e30), targets, reduction="none")
    expected = (weights[:, 0] * each).mean()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-10)
    loss.backward()
    expected.backward()
    np.testing.assert_allclose(outputs[0].grad, outputs[1].grad, atol=1e-12)
    assert (outputs[0].grad[~legal] == 0).all()


def test_weight_0_has_no_influence():
    outputs, targets, weights = torch.ones(2, 3, requires_grad=True), torch.zeros(2, 3), torch.ones(2, 3)
    weights[1, 2] = 0.0
    losses = [squared_error(outputs, targets + torch.eye(3)[2] * torch.eye(2)[1][:, None] * x, weights) for x in (0, 9)]
    assert losses[0].item() == losses[1].item() == 2.5


def test_global_state_of_torch_and_numpy_is_unchanged(three_rows, memory):
    numpy_before = repr(np.random.get_state(legacy=False))  # noqa: NPY002 - with its position, which every draw moves
    torch_before, threads = torch.get_rng_state(), torch.get_num_threads()
    with torch_threads(1):
        assert torch.get_num_threads() == 1
        learner_of(three_rows, dataclasses.replace(CONFIG, batch_size=1, warm_start=False)).fit(memory, 1)
    assert repr(np.random.get_state(legacy=False)) == numpy_before  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert torch.get_num_threads() == threads
