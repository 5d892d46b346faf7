"""Training on another device. Torch's "meta" device stands for one: it has no numbers, but refuses those of others."""

import numpy as np
import pytest
from neural_states import OVER, OneFeature, copy_of, decisions_of, differing, transitions_of

torch = pytest.importorskip("torch")
from mccfr_plus import ConfigError  # noqa: E402
from mccfr_plus.neural import NFSPConfig  # noqa: E402
from mccfr_plus.neural.backend import CPU, device_of  # noqa: E402
from mccfr_plus.neural.config import TrainingConfig  # noqa: E402
from mccfr_plus.neural.memory import Batch  # noqa: E402
from mccfr_plus.neural.network import Learner, Modules  # noqa: E402
from mccfr_plus.neural.nfsp import Agent  # noqa: E402

CONFIG = TrainingConfig(hidden_layers=(5, 5), layer_norm=True, skip=True, gradient_clip=0.1, train_steps=70)
MEMORY = Batch(np.arange(3), np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((3, 4), np.float32))


def regression(features, modules):
    learner = Learner(features.tensors, 4, CONFIG, np.zeros(2, np.uint64), "loss", modules)
    return learner, lambda: learner.fit(MEMORY, 1)


def agent_of(features, modules):
    config = NFSPConfig(hidden_layers=(5, 5), gradient_clip=0.1, min_samples=1)
    return Agent(OneFeature(features, modules, 1.0), config, 0, np.zeros(5, np.uint64))


def q_learning(features, modules):
    agent = agent_of(features, modules)
    agent.transitions.add_rows(**transitions_of(features, [(0, 1, 1, 0.0), (1, 2, OVER, 3.0)]))
    return agent.values, lambda: agent.learn(1, 1)


def imitation(features, modules):
    agent = agent_of(features, modules)
    agent.decisions.add_rows(**decisions_of(features, [(0, 1), (1, 2), (2, 2)]))
    return agent.policy, lambda: agent.learn(1, 1)


every_learner = pytest.mark.parametrize("make", [regression, q_learning, imitation])


@every_learner
def test_all_tensors_are_on_the_device(make, three_rows, monkeypatch):
    # The meta device returns some numbers when they are read. Adam in one pass is not for it.
    monkeypatch.setattr(torch.Tensor, "item", lambda tensor: 0.5)
    monkeypatch.setattr(torch.Tensor, "cpu", lambda tensor: torch.zeros(tensor.shape))
    modules = Modules(optimizer=torch.optim.Adam, device=torch.device("meta"))
    learner, learn = make(three_rows, modules)
    learn()
    assert learner.losses
    assert learner.predict().shape == (3, 4)
    assert {learner.vector.device.type, learner.gradient.device.type} == {"meta"}


@every_learner
def test_a_copy_on_the_device_learns_the_same(make, three_rows, monkeypatch):
    one, learn = make(three_rows, Modules())
    with monkeypatch.context() as patch:
        patch.setattr("mccfr_plus.neural.network.CPU", torch.device("meta"))  # so that the CPU is another device
        other, learn_there = make(three_rows, Modules())
        before = copy_of(other)
        for _ in range(3):
            learn()
            learn_there()
        assert differing(one, other) == []
        assert differing(before, other) != []
        np.testing.assert_array_equal(one.predict(), other.predict())
        for name, array in other.state().items():
            array[...] = before[name]  # as a rollback does
        assert float((other.vector.detach() - one.vector.detach()).abs().max()) == 0  # not yet on the device
        np.testing.assert_array_equal(other.predict(), make(three_rows, Modules())[0].predict())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@every_learner
def test_a_gpu(make, three_rows):
    (one, learn), (other, learn_there) = (
        make(three_rows, modules) for modules in (Modules(), Modules(device=torch.device("cuda")))
    )
    learn()
    learn_there()
    np.testing.assert_allclose(one.predict(), other.predict(), atol=1e-3)


def test_which_device():
    assert device_of("cpu") == CPU
    assert (device_of(None) == CPU) is not torch.cuda.is_available()
    for name in ("nowhere", "meta"):
        with pytest.raises(ConfigError, match=f"device='{name}': torch cannot compute there"):
            device_of(name)
