"""Networks: the default one against torch's functions, factories of others, one vector of parameters."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from mccfr_plus.errors import CheckpointError, ConfigError  # noqa: E402
from mccfr_plus.neural import (  # noqa: E402
    DREAM,
    NFSP,
    BatchedDREAM,
    BatchedDREAMConfig,
    BatchedNFSP,
    BatchedNFSPConfig,
    DeepCFR,
    DeepCFRConfig,
    DREAMConfig,
    NetworkPolicy,
    NFSPConfig,
    TrainingConfig,
)
from mccfr_plus.neural.network import (  # noqa: E402
    MLP,
    Learner,
    forward,
)

SHAPES = [
    (5, 3, (), False, False),
    (5, 3, (8,), False, False),
    (5, 3, (8, 8, 6, 6), False, False),
    (5, 3, (8,), True, False),
    (5, 3, (8, 8, 6, 6), False, True),
    (8, 3, (8, 8, 8), True, True),
]
SMALL = TrainingConfig(hidden_layers=(8,), train_steps=3, batch_size=16)
KWARGS = {"hidden_layers": (8,), "train_steps": 3, "batch_size": 16, "traversals": 20}
BATCHED = {**KWARGS, "policy_training": SMALL}
PLAY = {"episodes": 60, "min_samples": 20, "batch_size": 16, "learn_every": 16}
SOLVERS = [
    (DeepCFR, DeepCFRConfig(**KWARGS)),
    (DREAM, DREAMConfig(**KWARGS, baseline_training=SMALL)),
    (NFSP, NFSPConfig(**PLAY)),
    (BatchedDREAM, BatchedDREAMConfig(**BATCHED, baseline_training=SMALL)),
    (BatchedNFSP, BatchedNFSPConfig(**PLAY)),
]


class Gated(torch.nn.Module):
    """Not a perceptron, with a buffer that training changes."""

    def __init__(self, num_inputs, num_outputs):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(num_inputs)
        self.first, self.gate = torch.nn.Linear(num_inputs, 8), torch.nn.Linear(num_inputs, 8)
        self.last = torch.nn.Linear(8, num_outputs)

    def forward(self, inputs):
        inputs = self.norm(inputs)
        return self.last(self.first(inputs) * self.gate(inputs).sigmoid())


def momentum(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def reference(network, inputs):
    """Returns the outputs of an `MLP` by torch's functions."""
    hidden_layers, layer_norm, skip = network.shape.values()
    parameters, value, width = dict(network.named_parameters()), inputs, inputs.shape[1]
    for number, following in enumerate(hidden_layers):
        names = f"layers.{number}.weight", f"layers.{number}.bias"
        outputs = torch.nn.functional.linear(value, *(parameters[name] for name in names)).relu()
        value = outputs + value if skip and number > 0 and width == following else outputs
        width = following
    if layer_norm:
        value = torch.nn.functional.layer_norm(value, (width,), parameters["norm.weight"], parameters["norm.bias"])
    last = len(hidden_layers)
    return torch.nn.functional.linear(value, parameters[f"layers.{last}.weight"], parameters[f"layers.{last}.bias"])


@pytest.mark.parametrize("shape", SHAPES)
def test_outputs_equal_torch(shape):
    torch_state = torch.get_rng_state()
    network = MLP(*shape)
    torch.set_rng_state(torch_state)
    draws = np.random.default_rng(2)
    with torch.no_grad():
        for parameter in network.parameters():  # gains and offsets other than 1 and 0
            parameter += 0.1 * torch.from_numpy(draws.normal(size=parameter.shape)).float()
    inputs = torch.from_numpy(draws.normal(size=(11, shape[0]))).float()
    np.testing.assert_allclose(forward(network, inputs), reference(network, inputs).detach(), rtol=1e-5, atol=1e-6)


def test_parameters_are_one_vector():
    seeds = [np.full(2, seed, np.uint64) for seed in (1, 1, 2)]
    networks = [Learner(np.zeros((0, 5), np.float32), 3, SMALL, own, "loss") for own in seeds]
    assert torch.equal(networks[0].vector, networks[1].vector)
    assert not torch.equal(networks[0].vector, networks[2].vector)
    pieces = torch.cat([each.detach().reshape(-1) for each in networks[0].module.parameters()])
    assert torch.equal(pieces, networks[0].vector.detach())
    inputs = np.ones((4, 5), np.float32)
    before = networks[2].outputs(inputs)
    networks[2].state()["parameters"][:] = networks[0].state()["parameters"]
    np.testing.assert_array_equal(networks[2].outputs(inputs), networks[0].outputs(inputs))
    assert (networks[2].outputs(inputs) != before).all()
    copy = networks[0].copy()
    networks[0].vector.data.zero_()
    assert (forward(copy, torch.ones(4, 5)).numpy() == networks[1].outputs(inputs)).all()
    networks[0].module(torch.ones(4, 5)).sum().backward()
    gradients = torch.cat([each.grad.reshape(-1) for each in networks[0].module.parameters()])
    assert torch.equal(gradients, networks[0].gradient)
    assert gradients.abs().max() > 0


def test_many_rows_are_predicted_in_chunks(monkeypatch):
    network = MLP(5, 3, (8,), False, False)
    inputs = torch.from_numpy(np.random.default_rng(1).normal(size=(20, 5))).float()
    whole = forward(network, inputs)
    monkeypatch.setattr("mccfr_plus.neural.network._MAX_ROWS", 7)
    np.testing.assert_allclose(forward(network, inputs), whole, rtol=1e-5)
    assert forward(network, inputs[:0]).shape == (0, 3)


@pytest.mark.parametrize(("kind", "config"), SOLVERS)
def test_any_network_and_optimizer(kind, config, tmp_path):
    """A run, and one that is resumed: bitwise the same, running means and momentum included."""
    modules = {"network": Gated, "optimizer": momentum}
    solver = kind("kuhn_poker", config, seed=1, **modules).run(2)
    names = {name.split("/")[-1] for name in solver.state()}
    assert {"norm.running_mean", "momentum_buffer"} <= names
    solver.save_checkpoint(tmp_path / "file")
    copy = kind.from_checkpoint(tmp_path / "file", **modules).run(1)
    solver.run(1)
    for name, array in solver.state().items():
        np.testing.assert_array_equal(array, copy.state()[name], err_msg=name)
    with pytest.raises(CheckpointError):
        kind.from_checkpoint(tmp_path / "file")
    policy = solver.average_policy()
    if isinstance(policy, NetworkPolicy):
        policy.save(tmp_path / "policy")
        state = solver.game.new_initial_state().child(0).child(1)
        found = NetworkPolicy.load(tmp_path / "policy", network=Gated).action_probabilities(state)
        assert found == policy.action_probabilities(state)
        with pytest.raises(CheckpointError, match="give network="):
            NetworkPolicy.load(tmp_path / "policy")


def dropping(num_inputs, num_outputs):
    return torch.nn.Sequential(torch.nn.Linear(num_inputs, 8), torch.nn.Dropout(), torch.nn.Linear(8, num_outputs))


@pytest.mark.parametrize(("kind", "config"), SOLVERS)
def test_a_network_that_draws_numbers_is_repeatable(kind, config):
    """Whatever state torch's global generator has, which stays as it is."""
    found = []
    for state in (1, 2):
        torch.manual_seed(state)
        before = torch.get_rng_state()
        solver = kind("kuhn_poker", config, seed=1, network=dropping).run(2)
        row = solver.average_policy().action_probabilities(solver.game.new_initial_state().child(0).child(1))
        found.append(solver.state() | {"policy": np.array(list(row.values()))})
        assert torch.equal(torch.get_rng_state(), before)
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name], err_msg=name)


def test_features(tmp_path):
    """Every second entry of the tensors, for networks of information sets alone; tensors as they are change nothing."""

    def halves(tensors):
        return tensors[:, ::2]

    config = BatchedDREAMConfig(traversals=20, train_steps=2, policy_training=TrainingConfig(train_steps=2))
    solver = BatchedDREAM("kuhn_poker", config, seed=1, features=halves).run(1)
    widths = [learner.module.layers[0].in_features for learner in [own.learner for own in solver._players]]
    assert (widths, solver.values.learner.module.layers[0].in_features) == ([6, 6], solver._env.observer.history_size)
    policy, state = solver.average_policy(), solver.game.new_initial_state().child(0).child(1)
    policy.save(tmp_path / "policy")
    found = NetworkPolicy.load(tmp_path / "policy", features=halves).action_probabilities(state)
    assert found == policy.action_probabilities(state)
    with pytest.raises(CheckpointError, match="does not fit: its array"):
        NetworkPolicy.load(tmp_path / "policy")
    solver = BatchedDREAM("kuhn_poker", config, seed=1, features=halves, network=Gated).run(1)
    (network, _), start = solver.average_policy()._networks, Gated(6, 2)
    assert not torch.equal(network.norm.running_mean, start.norm.running_mean)  # it was trained in training mode
    one, other = (
        NFSP("kuhn_poker", NFSPConfig(episodes=300), seed=1, features=each).run(1) for each in (None, lambda x: x)
    )
    np.testing.assert_array_equal(one.average_strategy(), other.average_strategy())


def test_bad_factories():
    wrong = {  # patterns
        r"network=<lambda> has outputs of shape \(2, 7\).*\(2, 2\) are needed": lambda n, m: torch.nn.Linear(n, 7),
        r"network=<lambda> fails for inputs of shape \(2, 11\)": lambda n, m: torch.nn.Linear(3, m),
        r"returned int: it must return a torch\.nn\.Module": lambda n, m: 3,
        "parameters that are not float32": lambda n, m: torch.nn.Linear(n, m).double(),
    }
    for message, factory in wrong.items():
        with pytest.raises(ConfigError, match=message):
            DeepCFR("kuhn_poker", network=factory)
    with pytest.raises(ConfigError, match=r"must return a torch\.optim\.Optimizer"):
        DeepCFR("kuhn_poker", optimizer=lambda parameters: None)
    with pytest.raises(ConfigError, match="device='nowhere'"):
        DeepCFR("kuhn_poker", device="nowhere")
