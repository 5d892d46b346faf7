"""The default network, a multilayer perceptron, and factories of others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.neural.backend import CPU, torch

_MAX_ROWS = 1 << 15  # of a forward pass: bounds its memory

NetworkFactory = Callable[[int, int], torch.nn.Module]  # of the numbers of inputs and outputs
Features = Callable[[torch.Tensor], torch.Tensor]  # of tensors [n, size], to inputs [n, any width]
OptimizerFactory = Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer]


class Modules(NamedTuple):
    """What networks are made of."""

    network: NetworkFactory | None = None  # None: the `MLP` of the config
    optimizer: OptimizerFactory | None = None  # None: Adam with the config's step size
    device: torch.device = CPU
    features: Features | None = None  # of information-state tensors; None: the tensors themselves


DEFAULTS = Modules()


class MLP(torch.nn.Module):
    """Linear layers with ReLU; optionally with skip connections and a normalized last hidden layer.

    Args:
        num_inputs: Width of the input.
        num_outputs: Width of the output.
        hidden_layers: Widths of the hidden layers; ``()`` for a linear model.
        layer_norm: Whether the last hidden layer is normalized (Ba, Kiros, Hinton 2016).
        skip: Whether a hidden layer's input is added to its output where both are equally wide (He et al. 2016).
    """

    def __init__(
        self,
        num_inputs: int,
        num_outputs: int,
        hidden_layers: Sequence[int] = (128, 128),
        layer_norm: bool = False,
        skip: bool = False,
    ):
        super().__init__()
        sizes = (num_inputs, *hidden_layers, num_outputs)
        self.shape = {"hidden_layers": list(hidden_layers), "layer_norm": layer_norm, "skip": skip}
        self.layers = torch.nn.ModuleList(torch.nn.Linear(*pair) for pair in itertools.pairwise(sizes))
        self.norm = torch.nn.LayerNorm(sizes[-2]) if layer_norm else None
        self._skips = [skip and i > 0 and sizes[i] == sizes[i + 1] for i in range(len(hidden_layers))]

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Returns the outputs, ``[n, num_outputs]``, for inputs ``[n, num_inputs]``."""
        value, (*layers, last) = inputs, self.layers
        for layer, is_added in zip(layers, self._skips, strict=True):
            hidden = layer(value).relu_()
            value = hidden + value if is_added else hidden
        return last(value if self.norm is None else self.norm(value))


def forward(module: torch.nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """Returns a module's outputs, ``[n, num_outputs]``, on the CPU."""
    if module.training:  # setting the mode takes longer than a small network on one row
        module.eval()
    with torch.inference_mode():
        if len(inputs) <= _MAX_ROWS:
            return module(inputs).cpu()
        return torch.cat([module(rows) for rows in inputs.split(_MAX_ROWS)]).cpu()


def new_module(
    factory: NetworkFactory, num_inputs: int, num_outputs: int, features: Features | None = None
) -> torch.nn.Module:
    """Returns what a factory makes, for inputs or for what a function makes of them.

    Raises:
        ConfigError: If that is no module of float32 parameters with such inputs and outputs.
    """
    what = f"network={getattr(factory, '__name__', factory)}"
    width = num_inputs if features is None else features(torch.zeros(2, num_inputs)).shape[1]
    module = factory(width, num_outputs)
    wanted = (2, num_outputs)
    if not isinstance(module, torch.nn.Module):
        raise ConfigError(f"{what} returned {type(module).__name__}: it must return a torch.nn.Module.")
    if any(parameter.dtype != torch.float32 for parameter in module.parameters()):
        raise ConfigError(f"{what} returned a module with parameters that are not float32.")
    try:
        with torch.no_grad():
            found = tuple(module.eval()(torch.zeros(2, width)).shape)
    except (RuntimeError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(f"{what} fails for inputs of shape (2, {width}): {reason}") from None
    if found != wanted:
        raise ConfigError(
            f"{what} has outputs of shape {found} for two inputs of width {width}; {wanted} are needed: make its "
            "last layer as wide as the second argument says."
        )
    if features is not None:
        module.register_forward_pre_hook(lambda _, inputs: features(*inputs))
    return module


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """Returns a tensor as an array of at least one dimension; a view of one on the CPU."""
    return np.atleast_1d(tensor.detach().cpu().numpy())
