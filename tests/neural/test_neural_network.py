"""The network: outputs and gradients agree with torch's own layers and autograd."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from mccfr_plus.neural.network import MLP  # noqa: E402 - torch may be missing

SHAPES = [
    ((5, 3), {}),
    ((5, 8, 3), {}),
    ((5, 8, 8, 6, 6, 3), {}),
    ((5, 8, 3), {"layer_norm": True}),
    ((5, 8, 8, 6, 6, 3), {"skip": True}),
    ((8, 8, 8, 8, 3), {"skip": True, "layer_norm": True}),
]


def network_of(sizes, options, dtype=torch.float64, seed=1):
    network = MLP(sizes, rng=np.random.default_rng(seed), dtype=dtype, **options)
    # Gains and offsets other than 1 and 0 show mistakes that those hide.
    network.parameters += 0.1 * torch.from_numpy(np.random.default_rng(2).normal(size=len(network.parameters))).to(
        dtype
    )
    return network


def reference_of(network, sizes, layer_norm=False, skip=False):
    """Returns the network's function of inputs and of a parameter vector, in torch's own functions."""

    def function(inputs, vector):
        tensors, begin = [], 0
        for number, width in enumerate(sizes[1:]):
            for shape in ((width, sizes[number]), (width,)):
                tensors.append(vector[begin : begin + int(np.prod(shape))].view(shape))
                begin += int(np.prod(shape))
        value = inputs
        for number in range(len(sizes) - 2):
            outputs = torch.nn.functional.linear(value, tensors[2 * number], tensors[2 * number + 1]).relu()
            joined = skip and number > 0 and sizes[number] == sizes[number + 1]
            value = outputs + value if joined else outputs
        if layer_norm:
            gain, offset = vector[begin:].view(2, sizes[-2])
            value = torch.nn.functional.layer_norm(value, (sizes[-2],), gain, offset)
        else:
            assert begin == len(vector)
        return torch.nn.functional.linear(value, tensors[-2], tensors[-1])

    return function


@pytest.mark.parametrize(("sizes", "options"), SHAPES)
def test_outputs_and_gradient_equal_torch(sizes, options):
    network = network_of(sizes, options)
    rng = np.random.default_rng(3)
    inputs, targets = (torch.from_numpy(rng.normal(size=(11, width))) for width in (sizes[0], sizes[-1]))
    weights = torch.from_numpy(rng.exponential(size=(11, sizes[-1])))
    vector = network.parameters.clone().requires_grad_()
    outputs = reference_of(network, sizes, **options)(inputs, vector)
    loss = (weights * (outputs - targets).square()).sum() / 11
    loss.backward()
    np.testing.assert_allclose(network.predict(inputs), outputs.detach(), rtol=1e-12, atol=1e-12)
    for _ in range(2):  # the second time over what the first one left
        assert network.loss_gradient(inputs, targets, weights) == pytest.approx(loss.item(), rel=1e-12)
        np.testing.assert_allclose(network.gradient, vector.grad, rtol=1e-10, atol=1e-12)
    assert (vector.grad != 0).double().mean() > 0.5


def test_weight_0_has_no_influence():
    network = network_of((5, 8, 3), {})
    inputs, targets, weights = torch.ones(2, 5, dtype=torch.float64), torch.zeros(2, 3), torch.ones(2, 3)
    targets, weights = targets.double(), weights.double()
    weights[1, 2] = 0.0
    network.loss_gradient(inputs, targets, weights)
    before = network.gradient.clone()
    targets[1, 2] = 1e6
    network.loss_gradient(inputs, targets, weights)
    assert torch.equal(before, network.gradient)


def test_initial_parameters_have_the_distribution_of_torch():
    network = MLP((100, 50, 40), rng=np.random.default_rng(1))
    for layer, width in zip(network._layers, (100, 50), strict=True):
        bound = width**-0.5
        for part in layer:
            assert part.abs().max() <= bound
        # The variance of a uniform number is bound^2 / 3, and that of its square 4 bound^4 / 45.
        spread = 5 * (4 / 45 / layer.weights.numel()) ** 0.5 * bound**2
        assert float(layer.weights.square().mean()) == pytest.approx(bound**2 / 3, abs=spread)


def test_networks_have_different_initial_parameters():
    rng = np.random.default_rng(1)
    first, second = MLP((5, 4), rng=rng), MLP((5, 4), rng=rng)
    assert not torch.equal(first.parameters, second.parameters)
    assert torch.equal(first.parameters, MLP((5, 4), rng=np.random.default_rng(1)).parameters)


def test_many_rows_are_predicted_in_chunks(monkeypatch):
    network = network_of((5, 8, 3), {})
    inputs = torch.from_numpy(np.random.default_rng(1).normal(size=(20, 5)))
    whole = network.predict(inputs)
    monkeypatch.setattr("mccfr_plus.neural.network._MAX_ROWS", 7)
    np.testing.assert_allclose(network.predict(inputs), whole, rtol=1e-14)
    assert network.predict(inputs[:0]).shape == (0, 3)
