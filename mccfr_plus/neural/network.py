"""Networks and how they are trained: factories, parameters as one vector, losses, steps of the optimizer."""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.errors import ConfigError, TrainingError
from mccfr_plus.kernels.random_numbers import next_word
from mccfr_plus.neural.backend import CPU, adam, torch

_DENORMAL = 1e-310
_FIRST = {"step": 0.0, "mu_product": 1.0}  # what a new optimizer has of what a step with gradient 0 changes
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


class MLP(torch.nn.Module):
    """Linear layers with ReLU, of inputs and outputs so wide; see `NetworkConfig` for the other arguments."""

    def __init__(self, num_inputs: int, num_outputs: int, hidden_layers: Sequence[int], layer_norm: bool, skip: bool):
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


class Learner:
    """A module with its optimizer. Its trained parameters are one vector, on its device, with a copy in NumPy arrays.

    One vector makes a step of the optimizer, a rollback and a copy one call each: at 128 x 2 a step takes 0.95 of the
    time of separate tensors.

    Args:
        inputs: ``[num_rows, num_inputs]`` float32, the information sets that rows stand for; perhaps none.
        num_outputs: Width of the output.
        config: A `NetworkConfig`; a `TrainingConfig`, unless `fit` gets the number of steps.
        rngs: ``[2]`` uint64, states of the generators of initial parameters and of batches. Modified in place.
        name: The name of the loss in error messages.
        modules: Factories of the network and of its optimizer, and the device; None: the defaults.
        is_trained: False: parameters are assigned only.

    Attributes:
        losses: Of the last fit, step by step.
    """

    def __init__(
        self,
        inputs: np.ndarray,
        num_outputs: int,
        config: Any,
        rngs: np.ndarray,
        name: str,
        modules: Modules | None = None,
        is_trained: bool = True,
    ):
        self._sizes, self.config, self._modules = (inputs.shape[1], num_outputs), config, modules or Modules()
        self.name, self._of_parameters, self._of_batches = name, rngs[:1], rngs[1:]
        self.device, self.losses = self._modules.device, list[float]()
        self._latest: Any = None  # inputs and other arguments of the loss, and the loss, of steps since `check`
        self.inputs = self._on_device(inputs)
        self.module = self._new_module()
        trained = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        self.vector = torch.nn.Parameter(torch.nn.utils.parameters_to_vector(trained).detach())
        self.gradient = self.vector.grad = torch.zeros_like(self.vector)
        torch.nn.utils.vector_to_parameters(self.vector.data, trained)  # which become views
        pieces = self.gradient.split([parameter.numel() for parameter in trained])
        for parameter, piece in zip(trained, pieces, strict=True):
            parameter.grad = piece.view(parameter.shape)
        state = self.module.state_dict(keep_vars=True)
        others = {name: each for name, each in state.items() if not each.requires_grad}  # such as running means
        self._held: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}  # on the device, and on the CPU
        self._hold({"parameters": self.vector} | others)
        self._generators = {"rngs": rngs} if is_trained else {}
        self._optimizer: Any = self._new_optimizer() if is_trained else None

    def _hold(self, tensors: dict[str, torch.Tensor]) -> None:
        """Adds tensors to `state`."""
        for name, tensor in tensors.items():
            self._held[name] = tensor.data, tensor.data if self.device == CPU else tensor.data.cpu().clone()

    def _new_module(self) -> torch.nn.Module:
        """Returns a module with fresh parameters; torch's global generator stays as it is."""
        config, (factory, _, _, features) = self.config, self._modules
        shape = {name: getattr(config, name) for name in ("hidden_layers", "layer_norm", "skip")}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(next_word(self._of_parameters)))
            return new_module(factory or functools.partial(MLP, **shape), *self._sizes, features).to(self.device)

    def _new_optimizer(self) -> Any:
        self.gradient.zero_()
        if self._modules.optimizer is None:
            optimizer: Any = Adam(self.vector, self.config.learning_rate)
        else:
            optimizer = self._modules.optimizer([self.vector])
            if not isinstance(optimizer, torch.optim.Optimizer):
                raise ConfigError(f"optimizer= returned {optimizer!r}: it must return a torch.optim.Optimizer.")
        before = self.vector.detach().clone()
        self.vector.data.zero_()  # else weight decay would make gradients
        optimizer.step()  # with gradient 0: allocates its state
        self.vector.data.copy_(before)
        kept = {name: value for name, value in optimizer.state[self.vector].items() if isinstance(value, torch.Tensor)}
        for name in kept.keys() & _FIRST:
            kept[name].fill_(_FIRST[name])
        self._hold({f"optimizer/{name}": tensor for name, tensor in kept.items()})
        return optimizer

    def state(self) -> dict[str, np.ndarray]:
        """Returns the parameters and all else that changes: views, by name, on the CPU."""
        return {name: array_of(copied) for name, (_, copied) in self._held.items()} | self._generators

    def _pull(self) -> None:
        """Copies `state` to the device. On the CPU they are the same memory."""
        if self.device != CPU:
            for tensor, copied in self._held.values():
                tensor.copy_(copied)

    def assign(self, other: Learner) -> None:
        """Copies the parameters of a network of the same shape."""
        for name, (_, copied) in self._held.items():
            copied.copy_(other._held[name][1])

    def _on_device(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device)

    def _given(self, infosets: np.ndarray) -> torch.Tensor:
        """Returns the inputs of information sets: tensors, ``[n, num_inputs]`` float32, or rows, ``[n]``."""
        if infosets.ndim > 1:
            return self._on_device(infosets)
        return self.inputs.index_select(0, self._on_device(infosets.astype(np.int64, copy=False)))

    def fit(self, memory: Any, iteration: int, loss: Any = None, steps: int | None = None) -> list[float]:
        """Trains on a memory; an empty one changes nothing.

        Denormal numbers are 0 meanwhile: moments of units without gradients shrink to such, with which steps took 1.4
        times as long.

        Args:
            memory: The data: its ``batches`` are those of `Batch`, or have other arrays after the information sets.
            iteration: The current one, counted from 1.
            loss: The loss of outputs and of what batches hold after the information sets; None: `squared_error`.
            steps: How many, from the present parameters; None: as the config says.

        Returns:
            The losses of the steps. One that is not finite is a TrainingError.
        """
        self._pull()
        # Before fresh parameters are drawn: targets may come from the present ones.
        batches = memory.batches(self.config.batch_size, iteration, self._of_batches)
        if steps is None and not self.config.warm_start:
            self.module.load_state_dict(self._new_module().state_dict())  # in place
            self._optimizer = self._new_optimizer()
        self.losses = []
        last: Any = None
        was_set = _DENORMAL * 0.5 == 0.0
        torch.set_flush_denormal(True)
        try:
            with torch.random.fork_rng(devices=[]):  # modules may draw numbers, as dropout does
                source: Any = torch.default_generator if self.device == CPU else torch  # which seeds devices, too
                source.manual_seed(int(self._of_batches[0]) ^ iteration)
                for batch in itertools.islice(batches, self.config.train_steps if steps is None else steps):
                    if batch is not last:  # a batch of all entries is the same object every time
                        last, (infosets, *others) = batch, batch
                        arguments = [self._on_device(each) for each in others]
                        self._latest = self._given(infosets), arguments, loss or squared_error
                    self._step(iteration)
        finally:
            torch.set_flush_denormal(was_set)
        if steps is None:
            self.check(iteration)
        if self.device != CPU:
            for tensor, copied in self._held.values():
                copied.copy_(tensor.cpu())
        return self.losses

    def _loss(self) -> torch.Tensor:
        """Returns the loss of the latest batch."""
        given, arguments, loss = self._latest
        return loss(self.module(given), *arguments)

    def _step(self, iteration: int) -> None:
        if not self.module.training:
            self.module.train()
        self.gradient.zero_()
        value = self._loss()
        value.backward()
        number = value.item()
        self._check(number, f"is {number} at training step {len(self.losses) + 1}", iteration)
        if self.config.gradient_clip is not None:
            torch.nn.utils.clip_grad_norm_([self.vector], self.config.gradient_clip)
        self._optimizer.step()
        self.losses.append(number)

    def check(self, iteration: int) -> None:
        """Raises a TrainingError if the loss of the latest batch is not finite after its step. `fit` does so, too."""
        if self._latest is not None:
            self.module.eval()
            with torch.inference_mode():
                value = self._loss().item()
            self._latest = None
            self._check(value, f"is {value} after the last training step", iteration)

    def _check(self, value: float, what: str, iteration: int) -> None:
        if math.isfinite(value):
            return
        clip = "" if self.config.gradient_clip else ", set gradient_clip"
        raise TrainingError(
            f"training diverged in iteration {iteration}: the {self.name} {what}. The solver is as it was after "
            f"iteration {iteration - 1}. Lower learning_rate (it is {self.config.learning_rate:g}){clip}, or look for "
            "payoffs that are not finite."
        )

    def outputs(self, infosets: np.ndarray | None = None) -> np.ndarray:
        """Returns the outputs, ``[n, num_outputs]`` float64, for information sets: tensors or rows; None: all rows."""
        self._pull()
        given = self.inputs if infosets is None else self._given(infosets)
        return forward(self.module, given).numpy().astype(np.float64)

    def predict(self, iteration: int | None = None) -> np.ndarray:
        """Returns the network's outputs for all information sets, ``[num_rows, num_outputs]`` float64.

        One that is not finite is a TrainingError, which names the iteration, unless that is None.
        """
        outputs = self.outputs()
        if iteration is not None:
            self._check(float(outputs.sum()), "was finite, but its predictions are not", iteration)
        return outputs

    def copy(self) -> torch.nn.Module:
        """Returns a copy of the module, on the CPU."""
        self._pull()
        result = copy.deepcopy(self.module).cpu().eval()
        result.zero_grad()
        return result


class Adam:
    """Adam for one vector (Kingma, Ba 2015), with the paper's constants.

    `torch.optim.Adam` does the same in three times as long, of which at these sizes most is bookkeeping. That made a
    step of 128 x 2 and batch 468 0.1 slower, and NFSP's steps 0.2. The first one also imports torch's compiler, in 2 s.
    """

    def __init__(self, vector: torch.nn.Parameter, learning_rate: float):
        mean, square = torch.zeros_like(vector.data), torch.zeros_like(vector.data)
        step = torch.zeros((), dtype=torch.float32, device=vector.device)
        self.state = {vector: {"mean": mean, "square": square, "step": step}}
        self._step = functools.partial(
            adam, [vector], [vector.grad], [mean], [square], [], [step],  # type: ignore[list-item]
            foreach=False, fused=vector.device.type != "meta", amsgrad=False, beta1=0.9, beta2=0.999,
            lr=learning_rate, weight_decay=0.0, eps=1e-8, maximize=False,
        )  # fmt: skip

    def step(self) -> None:
        """Makes a step with the vector's gradient."""
        with torch.no_grad():
            self._step()


def squared_error(outputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Returns sum_k sum_a w_ka (f_ka - y_ka)^2 / n, with outputs f, targets y and weights w ``[n, num_outputs]``."""
    return (weights * (outputs - targets).square()).sum() / len(outputs)


def cross_entropy(outputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Returns -sum_k w_k sum_a y_ka log softmax_a(f_k) / n, with outputs f, targets y, which are distributions over
    legal actions, and weights w, which are 0 at other actions, each ``[n, num_actions]``.
    """
    illegal = weights <= 0
    logs = torch.log_softmax(outputs.masked_fill(illegal, -torch.inf), 1).masked_fill(illegal, 0.0)
    return -(weights * targets * logs).sum() / len(outputs)
