"""A multilayer perceptron with one parameter vector and a hand-written backward pass.

At the sizes of these solvers the overhead of torch's autograd is about as large as its computations. A step without it
is 1.3 (256 x 3) to 1.9 (64 x 3) times as fast. Parameters, gradient and Adam's moments are one array each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from mccfr_plus.neural.backend import torch

_EPSILON = 1e-5  # of the normalization, as in torch
_MAX_ROWS = 1 << 15  # of a forward pass in `predict`: bounds its memory


# Returns the loss of outputs [n, num_outputs] and its derivative by them, of the same shape.
Loss = Callable[[torch.Tensor], tuple[float, torch.Tensor]]


class Layer(NamedTuple):
    """One layer's parameters, or their gradient: views of the vector."""

    weights: torch.Tensor  # [num_outputs, num_inputs]
    bias: torch.Tensor  # [num_outputs]


class MLP:
    """Linear layers with ReLU; optionally with skip connections and a normalized last hidden layer.

    Args:
        sizes: Widths: of the input, of each hidden layer, of the output.
        layer_norm: Whether the last hidden layer is normalized (Ba, Kiros, Hinton 2016).
        skip: Whether a hidden layer's input is added to its output where both are equally wide (He et al. 2016).
        rng: Draws the initial parameters; torch's global generator is not used.
        dtype: float32, or float64 for checks.
        device: None: the CPU.
    """

    def __init__(
        self,
        sizes: tuple[int, ...],
        *,
        layer_norm: bool = False,
        skip: bool = False,
        rng: np.random.Generator,
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
    ):
        self.sizes = sizes
        self._layer_norm, self._skip = layer_norm, skip
        self._skips = [skip and 0 < i < len(sizes) - 2 and sizes[i] == sizes[i + 1] for i in range(len(sizes) - 1)]
        shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((n, m), (n,)) for m, n in itertools.pairwise(sizes)]
        if layer_norm:
            shapes.append(((sizes[-2],), (sizes[-2],)))  # gain and offset
        self._shapes = shapes
        size = sum(math.prod(shape) for pair in shapes for shape in pair)
        self.parameters = torch.zeros(size, dtype=dtype, device=device)
        self.gradient = torch.zeros(size, dtype=dtype, device=device)
        self._layers, self._gradients = self._views(self.parameters), self._views(self.gradient)
        self.initialize(rng)

    def shape(self) -> dict[str, Any]:
        """Returns the arguments of a network of the same shape, in JSON's types."""
        return {"sizes": list(self.sizes), "layer_norm": self._layer_norm, "skip": self._skip}

    @classmethod
    def of_shape(cls, shape: dict[str, Any], device: torch.device | None = None) -> Self:
        """Returns a network of a shape, with parameters 0."""
        options = {**shape, "sizes": tuple(shape["sizes"])}
        network = cls(**options, rng=np.random.default_rng(0), device=device)
        network.parameters.zero_()
        return network

    def copy(self, device: torch.device | None = None) -> Self:
        """Returns a copy on a device; None: the CPU."""
        network = self.of_shape(self.shape(), device)
        network.assign(self)
        return network

    def assign(self, other: MLP) -> None:
        """Copies the parameters of a network of the same shape, which may be on another device."""
        self.parameters.copy_(other.parameters)

    def _views(self, vector: torch.Tensor) -> list[Layer]:
        pieces = iter(vector.split([math.prod(shape) for pair in self._shapes for shape in pair]))
        return [Layer(*(next(pieces).view(shape) for shape in pair)) for pair in self._shapes]

    def initialize(self, rng: np.random.Generator) -> None:
        """Draws fresh parameters: uniform within 1 / sqrt(number of inputs) of 0, as torch's own linear layers."""
        for (weights, bias), width in zip(self._layers, self.sizes[:-1], strict=False):
            bound = 1.0 / math.sqrt(width)
            for tensor in (weights, bias):
                tensor.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(tensor.shape))))
        if self._layer_norm:
            self._layers[-1].weights.fill_(1.0)
            self._layers[-1].bias.fill_(0.0)

    def predict(self, inputs: torch.Tensor) -> torch.Tensor:
        """Returns the outputs, ``[n, sizes[-1]]``, for inputs ``[n, sizes[0]]``."""
        with torch.no_grad():
            return torch.cat([self._forward(rows).outputs for rows in inputs.split(_MAX_ROWS)])

    def loss_gradient(self, inputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> float:
        """Returns the loss sum_k sum_a w_ka (f_a(x_k) - y_ka)^2 / n and writes its gradient to ``gradient``.

        Inputs x are ``[n, sizes[0]]``; targets y and weights w are ``[n, sizes[-1]]``.
        """

        def loss(outputs: torch.Tensor) -> tuple[float, torch.Tensor]:
            error = outputs - targets
            slope = error * weights
            value = float((error * slope).sum()) / len(inputs)
            return value, slope.mul_(2.0 / len(inputs))

        return self.differentiate(inputs, loss)

    def differentiate(self, inputs: torch.Tensor, loss: Loss) -> float:
        """Returns a loss at inputs ``[n, sizes[0]]`` and writes its gradient to ``gradient``."""
        with torch.no_grad():
            trace = self._forward(inputs)
            value, slope = loss(trace.outputs)
            self._backward(trace, slope)
        return value

    def _forward(self, inputs: torch.Tensor) -> _Trace:
        hidden, activated, value = [inputs], [], inputs
        for number, (weights, bias) in enumerate(self._layers[: len(self.sizes) - 2]):
            activated.append(torch.addmm(bias, value, weights.t()).relu_())
            value = activated[-1] + value if self._skips[number] else activated[-1]
            hidden.append(value)
        statistics = None
        if self._layer_norm:
            gain, offset = self._layers[-1]
            value, *statistics = torch.native_layer_norm(value, [self.sizes[-2]], gain, offset, _EPSILON)
        weights, bias = self._layers[len(self.sizes) - 2]
        return _Trace(hidden, activated, statistics, value, torch.addmm(bias, value, weights.t()))

    def _backward(self, trace: _Trace, slope: torch.Tensor) -> None:
        """Writes the gradient, given the loss's derivative by the outputs, ``[n, sizes[-1]]``."""
        last = len(self.sizes) - 2
        slope = self._through(last, trace.last, slope, needs_inputs=last > 0)
        if trace.statistics is not None:
            gain, offset = self._layers[-1]
            mean, scale = trace.statistics
            slope, of_gain, of_offset = torch.ops.aten.native_layer_norm_backward(
                slope, trace.hidden[-1], [self.sizes[-2]], mean, scale, gain, offset, [True, True, True]
            )
            self._gradients[-1].weights.copy_(of_gain)
            self._gradients[-1].bias.copy_(of_offset)
        for number in range(last - 1, -1, -1):
            of_sum = torch.ops.aten.threshold_backward(slope, trace.activated[number], 0)
            below = self._through(number, trace.hidden[number], of_sum, needs_inputs=number > 0)
            slope = below + slope if self._skips[number] else below

    def _through(self, number: int, inputs: torch.Tensor, slope: torch.Tensor, needs_inputs: bool) -> torch.Tensor:
        """Writes the gradient of a linear layer and returns the derivative by its inputs, if that is needed."""
        gradient = self._gradients[number]
        torch.mm(slope.t(), inputs, out=gradient.weights)
        torch.sum(slope, 0, out=gradient.bias)
        return torch.mm(slope, self._layers[number].weights) if needs_inputs else slope


class _Trace(NamedTuple):
    """The values of a forward pass that the backward pass reads."""

    hidden: list[torch.Tensor]  # the inputs, and each hidden layer's outputs, skip connections included
    activated: list[torch.Tensor]  # each hidden layer's outputs without them
    statistics: list[torch.Tensor] | None  # mean and 1 / deviation of each row, if the last hidden layer is normalized
    last: torch.Tensor  # the input of the output layer
    outputs: torch.Tensor
