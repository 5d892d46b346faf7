"""Networks, their training on a memory, and torch's threads and devices. No other module imports torch."""

import contextlib
import copy
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mccfr_plus.errors import ConfigError, TrainingError
from mccfr_plus.kernels.intrinsics import next_word

try:
    import torch
except ImportError:
    raise ConfigError("neural solvers need torch: pip install 'mccfr_plus[neural]'.") from None

CPU = torch.device("cpu")
_MAX_ROWS = 1 << 15  # of a forward pass: bounds its memory

NetworkFactory: TypeAlias = Callable[[int, int], torch.nn.Module]  # of the numbers of inputs and outputs
OptimizerFactory: TypeAlias = Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer]

# What a network learns. Roles of NFSP's networks are "values", of the best response, and "average".
ROLES = ("regrets", "values", "average")


class Modules(NamedTuple):
    """How networks are made and trained. A factory may be a mapping of roles to factories."""

    network: NetworkFactory | Mapping[str, NetworkFactory] | None = None  # None: the `MLP` of the config
    optimizer: OptimizerFactory | Mapping[str, OptimizerFactory] | None = None  # None: Adam
    device: torch.device = CPU

    def factory(self, name: str, role: str) -> Any:
        """Returns ``network`` or ``optimizer`` of a role, or None for the default."""
        given = getattr(self, name)
        factories = given if isinstance(given, Mapping) else dict.fromkeys(ROLES, given)
        if not all(key in ROLES and (callable(each) or each is None) for key, each in factories.items()):
            roles = ", ".join(ROLES)
            raise ConfigError(f"{name}={given!r}: give a function, or a mapping from some of {roles} to functions.")
        return factories.get(role)


def torch_threads(count: int) -> contextlib.AbstractContextManager:
    """Sets torch's global number of threads until the ``with`` block ends."""
    stack = contextlib.ExitStack()
    stack.callback(torch.set_num_threads, torch.get_num_threads())
    torch.set_num_threads(count)
    return stack


def denormals_flushed() -> contextlib.AbstractContextManager:
    """Rounds denormal numbers to 0 until the ``with`` block ends: Adam's steps on them take 1.4 times as long."""
    stack = contextlib.ExitStack()
    stack.callback(torch.set_flush_denormal, 1e-310 * 0.5 == 0.0)
    torch.set_flush_denormal(True)
    return stack


def device_of(name: Any) -> torch.device:
    """Returns a device for training, or a ConfigError if torch has none of that name. None: a GPU if there is one."""
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.zeros(1, device=device).cpu()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError):
        raise ConfigError(f"device={name!r}: torch cannot use this device. Give 'cpu', 'cuda' or None.") from None
    return device


def summary_writer(directory: str) -> Any:
    """Returns TensorBoard's writer, or a ConfigError if TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("TensorBoardLogger needs TensorBoard: pip install tensorboard.") from None
    return SummaryWriter(directory)


class MLP(torch.nn.Sequential):
    """Linear layers with ReLU between them; ``hidden_layers`` are their widths."""

    def __init__(self, num_inputs: int, num_outputs: int, hidden_layers: Sequence[int]):
        self.hidden_layers = list(hidden_layers)
        sizes = itertools.pairwise((num_inputs, *hidden_layers, num_outputs))
        layers = [layer for pair in sizes for layer in (torch.nn.Linear(*pair), torch.nn.ReLU())]
        super().__init__(*layers[:-1])


def forward(module: torch.nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """Returns a module's outputs on the CPU."""
    if module.training:  # setting the mode takes longer than a small network on one row
        module.eval()
    with torch.inference_mode():
        if len(inputs) <= _MAX_ROWS:
            return module(inputs).cpu()
        return torch.cat([module(rows) for rows in inputs.split(_MAX_ROWS)]).cpu()


def new_module(factory: NetworkFactory, num_inputs: int, num_outputs: int) -> torch.nn.Module:
    """Returns a factory's module, or a ConfigError if it has other inputs or outputs."""
    module: Any = factory(num_inputs, num_outputs)
    found: Any
    try:
        with torch.no_grad():
            found = tuple(module.eval()(torch.zeros(2, num_inputs)).shape)
    except (AttributeError, RuntimeError, ValueError, TypeError) as error:
        found = " ".join(str(error).split())[:200]
    if found != (2, num_outputs):
        raise ConfigError(
            f"network={getattr(factory, '__name__', factory)} must return a module that turns a batch of two inputs "
            f"of width {num_inputs} into outputs of shape (2, {num_outputs}), but it gives {found}."
        )
    return module


def array_of(tensor: Any) -> np.ndarray:
    """Returns a tensor or number as an array, which is a view on the CPU."""
    return torch.as_tensor(tensor).detach().cpu().numpy()


class Learner:
    """A module with its optimizer. ``inputs`` are those of known information sets, ``[num_rows, num_inputs]`` float32.

    ``rngs``, ``[2]`` uint64, are states of the generators of initial parameters and of batches, modified in place.
    """

    def __init__(
        self, inputs: np.ndarray, num_outputs: int, config: Any, rngs: Any, name: str, role: str, modules: Modules
    ):
        self._sizes, self.config, self._modules = (inputs.shape[1], num_outputs), config, modules
        self.name, self._role, self.rngs, self.losses = name, role, rngs, list[float]()
        self.inputs = self._on_device(inputs)
        self._renew()

    def _renew(self) -> None:
        """Makes a module with fresh parameters and its optimizer; torch's global generator stays as it is."""
        network, optimizer = (self._modules.factory(name, self._role) for name in ("network", "optimizer"))
        network = network or functools.partial(MLP, hidden_layers=self.config.hidden_layers)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(next_word(self.rngs[:1])))
            self.module = new_module(network, *self._sizes).to(self._modules.device)
        trained = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        adam = functools.partial(torch.optim.Adam, lr=self.config.learning_rate, fused=True)
        self.optimizer = (optimizer or adam)(trained)
        if not isinstance(self.optimizer, torch.optim.Optimizer):
            raise ConfigError(f"optimizer= returned {self.optimizer!r}: it must return a torch.optim.Optimizer.")

    def state(self) -> dict[str, np.ndarray]:
        """Returns what changes in training, by name: views where the device is the CPU."""
        found = {f"module/{name}": tensor for name, tensor in self.module.state_dict().items()}
        for number, values in self.optimizer.state_dict()["state"].items():
            found |= {f"optimizer/{number}/{name}": value for name, value in values.items() if value is not None}
        return {name: array_of(value) for name, value in found.items()} | {"rngs": self.rngs}

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        tensors = {name: torch.from_numpy(array.copy()) for name, array in state.items() if name != "rngs"}
        self.module.load_state_dict({name: tensors[f"module/{name}"] for name in self.module.state_dict()})
        of_optimizer: dict[int, dict[str, torch.Tensor]] = {}
        for name in (name for name in tensors if name.startswith("optimizer/")):
            _, number, key = name.split("/")
            of_optimizer.setdefault(int(number), {})[key] = tensors[name]
        self.optimizer.load_state_dict(self.optimizer.state_dict() | {"state": of_optimizer})
        self.rngs[:] = state["rngs"]

    def begin(self) -> None:
        self._before = {name: array.copy() for name, array in self.state().items()}

    def rollback(self) -> None:
        self.load(self._before)

    def assign(self, other: "Learner") -> None:
        self.module.load_state_dict(other.module.state_dict())

    def _on_device(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self._modules.device)

    def _given(self, infosets: np.ndarray) -> torch.Tensor:
        if infosets.ndim > 1:
            return self._on_device(infosets)
        return self.inputs.index_select(0, self._on_device(infosets.astype(np.int64, copy=False)))

    def fit(self, memory: Any, iteration: int, loss: Any = None, steps: int | None = None) -> list[float]:
        """Trains on a memory and returns the losses of the steps; an empty memory changes nothing.

        The memory's batches are information sets and the loss's arguments after the outputs.
        """
        # Before fresh parameters are drawn: targets may come from the present ones.
        batches = memory.batches(self.config.batch_size, iteration, self.rngs[1:])
        if steps is None:
            steps = self.config.train_steps
            if not self.config.warm_start:
                self._renew()
        self.losses, last = [], None
        self.module.train()
        with torch.random.fork_rng(devices=[]), denormals_flushed():
            source: Any = torch.default_generator if self._modules.device == CPU else torch  # which seeds devices, too
            source.manual_seed(int(self.rngs[1]) ^ iteration)  # modules may draw numbers, as dropout does
            for batch in itertools.islice(batches, steps):
                if batch is not last:  # a batch of all entries is the same object every time
                    last, (infosets, *others) = batch, batch
                    given, arguments = self._given(infosets), [self._on_device(each) for each in others]
                self._step(given, arguments, loss or squared_error, iteration)
        if self.losses and not all(parameter.isfinite().all() for parameter in self.module.parameters()):
            self._fail("gave parameters that are not finite", iteration)
        return self.losses

    def _step(self, given: torch.Tensor, arguments: Sequence[torch.Tensor], loss: Any, iteration: int) -> None:
        self.optimizer.zero_grad()
        value = loss(self.module(given), *arguments)
        value.backward()
        if not math.isfinite(number := value.item()):
            self._fail(f"is {number} at training step {len(self.losses) + 1}", iteration)
        self.optimizer.step()
        self.losses.append(number)

    def _fail(self, what: str, iteration: int) -> None:
        raise TrainingError(
            f"training diverged in iteration {iteration}: the {self.name} {what}. The solver is as it was after "
            f"iteration {iteration - 1}. Lower learning_rate (it is {self.config.learning_rate:g}), or look for "
            "payoffs that are not finite."
        )

    def outputs(self, infosets: np.ndarray | None = None) -> np.ndarray:
        """Returns the outputs, ``[n, num_outputs]`` float64, for tensors or rows; None: all rows."""
        given = self.inputs if infosets is None else self._given(infosets)
        return forward(self.module, given).numpy().astype(np.float64)

    def copy(self) -> torch.nn.Module:
        result = copy.deepcopy(self.module).cpu().eval()
        result.zero_grad()
        return result


def squared_error(outputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Returns sum_k sum_a w_ka (f_ka - y_ka)^2 / n, with outputs f, targets y and weights w."""
    return (weights * (outputs - targets).square()).sum() / len(outputs)


def cross_entropy(outputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Returns -sum_k w_k sum_a y_ka log softmax_a(f_k) / n, with outputs f; weights w are 0 at illegal actions."""
    illegal = weights <= 0
    logs = torch.log_softmax(outputs.masked_fill(illegal, -torch.inf), 1).masked_fill(illegal, 0.0)
    return -(weights * targets * logs).sum() / len(outputs)
