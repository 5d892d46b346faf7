"""The default network: a multilayer perceptron. Factories for others, and their parameters as one vector."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.neural.backend import CPU, torch

_MAX_ROWS = 1 << 15  # of a forward pass in `predict`: bounds its memory

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


class Featured(torch.nn.Module):
    """A network of what a function makes of the inputs."""

    def __init__(self, features: Features, network: torch.nn.Module):
        super().__init__()
        self.features, self.network = features, network

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Returns the outputs, ``[n, num_outputs]``, for inputs ``[n, num_inputs]``."""
        return self.network(self.features(inputs))


class Network:
    """A module whose trained parameters are one vector, on its device, with a copy in NumPy arrays.

    One vector makes a step of the optimizer, a rollback and a copy one call each: at 128 x 2 a step takes 0.95 of the
    time of separate tensors.

    Args:
        inputs: ``[num_rows, num_inputs]`` float32, the information sets that rows stand for; perhaps none.
        num_outputs: Width of the output.
        config: A `TrainingConfig`: the default network's shape.
        seed: Of the initial parameters.
        modules: Factories and the device.

    Raises:
        ConfigError: If a factory does not make a module with such inputs and outputs.
    """

    def __init__(self, inputs: np.ndarray, num_outputs: int, config: Any, seed: int, modules: Modules):
        self._sizes, self.config, self._modules = (inputs.shape[1], num_outputs), config, modules
        self.device = modules.device
        self.inputs = self.tensor(inputs)
        self.module = self._new_module(seed)
        trained = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        self.vector = torch.nn.Parameter(torch.cat([each.detach().reshape(-1) for each in trained]))
        self.gradient = self.vector.grad = torch.zeros_like(self.vector)
        begin = 0
        for parameter in trained:
            piece = slice(begin, begin + parameter.numel())
            parameter.data = self.vector.data[piece].view(parameter.shape)
            parameter.grad = self.gradient[piece].view(parameter.shape)
            begin = piece.stop
        names = {id(parameter) for parameter in trained}
        others = {name: each for name, each in self.module.state_dict(keep_vars=True).items() if id(each) not in names}
        self._tensors: dict[str, torch.Tensor] = {}
        self._arrays: dict[str, np.ndarray] = {}
        self._hold({"parameters": self.vector.data} | others)

    def _hold(self, tensors: dict[str, torch.Tensor]) -> None:
        """Adds tensors to `state`."""
        self._tensors |= tensors
        arrays = {name: array_of(tensor) for name, tensor in tensors.items()}
        self._arrays |= arrays if self.device == CPU else {name: array.copy() for name, array in arrays.items()}

    def _new_module(self, seed: int) -> torch.nn.Module:
        with torch.random.fork_rng(devices=[]):  # torch's global generator stays as it is
            torch.manual_seed(seed)
            config, (factory, _, _, features) = self.config, self._modules

            def mlp(num_inputs: int, num_outputs: int) -> torch.nn.Module:
                return MLP(num_inputs, num_outputs, config.hidden_layers, config.layer_norm, config.skip)

            return checked_module(factory or mlp, *self._sizes, features).to(self.device)

    def state(self) -> dict[str, np.ndarray]:
        """Returns the parameters and all else that changes: views, by name, on the CPU."""
        return dict(self._arrays)

    def pull(self) -> None:
        """Copies `state` to the device. On the CPU they are the same memory."""
        if self.device != CPU:
            for name, tensor in self._tensors.items():
                tensor.data.copy_(torch.from_numpy(self._arrays[name]).view(tensor.shape))

    def push(self) -> None:
        """Copies the device's tensors to `state`."""
        if self.device != CPU:
            for name, tensor in self._tensors.items():
                self._arrays[name][...] = array_of(tensor)

    def initialize(self, seed: int) -> None:
        """Draws fresh parameters."""
        fresh = self._new_module(seed).state_dict()
        with torch.no_grad():
            for name, tensor in self.module.state_dict().items():
                tensor.copy_(fresh[name])

    def assign(self, other: Network) -> None:
        """Copies the parameters of a network of the same shape."""
        for name, array in self._arrays.items():
            array[...] = other._arrays[name]

    def tensor(self, array: np.ndarray) -> torch.Tensor:
        """Returns an array on the device."""
        return torch.from_numpy(array).to(self.device)

    def given(self, infosets: np.ndarray) -> torch.Tensor:
        """Returns the inputs of information sets: tensors, ``[n, num_inputs]`` float32, or rows, ``[n]``."""
        if infosets.ndim > 1:
            return self.tensor(infosets)
        return self.inputs.index_select(0, self.tensor(infosets.astype(np.int64, copy=False)))

    def outputs(self, infosets: np.ndarray) -> np.ndarray:
        """Returns the outputs for information sets, ``[n, num_outputs]`` float64; see `given`."""
        self.pull()
        return forward(self.module, self.given(infosets)).numpy().astype(np.float64)

    def copy(self) -> torch.nn.Module:
        """Returns a copy of the module, on the CPU."""
        self.pull()
        result = copy.deepcopy(self.module).cpu().eval()
        for parameter in result.parameters():
            parameter.grad = None
        return result


def forward(module: torch.nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """Returns a module's outputs, ``[n, num_outputs]``, on the CPU."""
    if module.training:  # setting the mode takes longer than a small network on one row
        module.eval()
    with torch.inference_mode():
        if len(inputs) <= _MAX_ROWS:
            return module(inputs).cpu()
        return torch.cat([module(rows) for rows in inputs.split(_MAX_ROWS)]).cpu()


def checked_module(
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
    return module if features is None else Featured(features, module)


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """Returns a tensor as an array of at least one dimension; a view of one on the CPU."""
    array = tensor.detach().cpu().numpy()
    return array.reshape(1) if array.ndim == 0 else array
