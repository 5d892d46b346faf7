"""Networks and their training: outputs, losses, Adam, inputs and targets, warm starts, divergence, devices."""

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from mccfr_plus.neural.config import TrainingConfig  # noqa: E402
from mccfr_plus.neural.memory import Aggregated, Reservoir, Samples, infoset_columns  # noqa: E402
from mccfr_plus.neural.network import CPU, Learner, Modules, cross_entropy, device_of  # noqa: E402
from mccfr_plus.neural.network_policy import matched  # noqa: E402
from mccfr_plus.parameters import new_state  # noqa: E402

CONFIG = TrainingConfig(hidden_layers=(16,), train_steps=30, batch_size=64)
NAME = "advantage loss of player 7"


def learner_of(features, config=CONFIG, seed=1, **modules):
    rngs = np.array([seed, seed + 1], np.uint64)
    return Learner(features.tensors, 4, config, rngs, NAME, "regrets", Modules(**modules))


@pytest.fixture
def memory(three_rows):
    memory = Aggregated(three_rows.masks)
    values = np.array([[0, 1.0, 0, -1], [0.5, 0, -0.5, 0], [0, 0, 2, 0]])
    memory.add(Samples(np.array([0, 1, 2], np.int32), three_rows.masks, values, np.ones(3)), 1)
    return memory


@pytest.mark.parametrize("batch_size", [4, 64])
def test_inputs_match_their_targets(three_rows, batch_size):
    memory = Reservoir(infoset_columns(32, three_rows.tensors, 4), new_state(1))
    rows = np.random.default_rng(1).integers(0, 3, 32).astype(np.int32)
    masks = three_rows.masks[rows]
    memory.add(Samples(rows, masks, (10.0 * rows[:, None] + 1.0) * masks, np.ones(32)), 1)
    learner, seen = learner_of(three_rows, dataclasses.replace(CONFIG, batch_size=batch_size)), []
    learner.module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))

    def look(outputs, targets, weights):
        np.testing.assert_array_equal(targets.numpy().max(1), 10 * seen[-1].numpy()[:, 0] + 1)
        return outputs.sum()

    learner.fit(memory, 1, loss=look)
    assert [len(each) for each in seen] == [min(batch_size, 32)] * 30


def test_warm_and_fresh_starts(three_rows, memory):
    warm, other = learner_of(three_rows), learner_of(three_rows)
    warm.fit(memory, 1)
    first = warm.losses[0]
    warm.fit(memory, 2)
    other.fit(memory, 1)
    assert warm.losses[0] < 1.01 * other.losses[-1]
    assert warm.state()["optimizer/0/step"] == 60
    fresh = learner_of(three_rows, dataclasses.replace(CONFIG, warm_start=False))
    for iteration in (1, 2):
        fresh.fit(memory, iteration)
        assert fresh.state()["optimizer/0/step"] == 30
        assert warm.losses[-1] < fresh.losses[0] != first  # other initial parameters


def test_regret_matching_uses_legal_actions_only():
    draws = np.random.default_rng(1)
    masks = draws.random((200, 5)) < 0.5
    masks[:, 2] = True
    values = np.where(masks, draws.normal(size=masks.shape) - 0.7, 1e9)
    strategies = matched(values, masks)
    assert (strategies[~masks] == 0).all()
    for found, row, mask in zip(strategies, values, masks, strict=True):
        positive = np.maximum(row[mask], 0.0)
        expected = positive / positive.sum() if positive.sum() > 0 else row[mask] == row[mask].max()
        np.testing.assert_allclose(found[mask], expected, rtol=1e-14)


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


def test_all_tensors_are_on_the_device(three_rows, memory, monkeypatch):
    """Torch's "meta" device has no numbers, but refuses tensors of others. Some numbers are read from it."""
    assert device_of("cpu") == CPU
    monkeypatch.setattr(torch.Tensor, "item", lambda tensor: 0.5)
    monkeypatch.setattr(torch.Tensor, "isfinite", lambda tensor: torch.ones(1, dtype=torch.bool))
    monkeypatch.setattr(torch.Tensor, "cpu", lambda tensor: torch.zeros(tensor.shape))
    learner = learner_of(three_rows, device=torch.device("meta"), optimizer=torch.optim.SGD)
    learner.fit(memory, 1)
    assert learner.losses == [0.5] * 30
    assert learner.outputs().shape == (3, 4)
    assert {each.device.type for each in learner.module.parameters()} == {"meta"}
