"""Trains networks: batches, losses, steps of the optimizer, divergence."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from mccfr_plus.errors import ConfigError, TrainingError
from mccfr_plus.kernels.random_numbers import next_word
from mccfr_plus.neural.backend import adam, torch
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.network import DEFAULTS, Modules, Network, forward

_INITIAL, _BATCHES = 0, 1  # entries of `rngs`
_DENORMAL = 1e-310


class Learner(Network):
    """A network with its optimizer.

    Args:
        inputs: ``[num_rows, num_inputs]`` float32, the information sets that `predict` is about; perhaps none.
        num_outputs: Width of the output.
        config: Shape of the default network and how it is trained.
        rngs: ``[2]`` uint64, states of the generators of initial parameters and of batches. Modified in place.
        name: The name of the loss in error messages.
        modules: Factories of the network and of its optimizer, and the device.

    Attributes:
        losses: Of the last fit, step by step.
    """

    def __init__(
        self,
        inputs: np.ndarray,
        num_outputs: int,
        config: TrainingConfig,
        rngs: np.ndarray,
        name: str,
        modules: Modules = DEFAULTS,
    ):
        self.name, self._rngs = name, rngs
        super().__init__(inputs, num_outputs, config, self._seed(), modules)
        self.losses: list[float] = []
        self._optimizer = self._new_optimizer()

    def _seed(self) -> int:
        return int(next_word(self._rngs[_INITIAL : _INITIAL + 1]))

    def _new_optimizer(self) -> Any:
        self.gradient.zero_()
        if self._modules.optimizer is None:
            optimizer: Any = Adam(self.vector, self.gradient, self.config.learning_rate)
        else:
            optimizer = self._modules.optimizer([self.vector])
            if not isinstance(optimizer, torch.optim.Optimizer):
                raise ConfigError(f"optimizer= returned {optimizer!r}: it must return a torch.optim.Optimizer.")
        before = self.vector.detach().clone()
        optimizer.step()  # with gradient 0: allocates its state
        self.vector.data.copy_(before)
        kept = {name: value for name, value in optimizer.state[self.vector].items() if isinstance(value, torch.Tensor)}
        if "step" in kept:
            kept["step"].zero_()
        self._hold({f"optimizer/{name}": tensor for name, tensor in kept.items()})
        return optimizer

    def state(self) -> dict[str, np.ndarray]:
        return super().state() | {"rngs": self._rngs}

    def fit(self, memory: Any, iteration: int, loss: Any = None, steps: int | None = None) -> list[float]:
        """Trains on a memory; an empty one changes nothing.

        Denormal numbers are 0 meanwhile: moments of units without gradients shrink to such, with which steps took 1.4
        times as long.

        Args:
            memory: The data: its ``batches`` are those of `Batch`, or have other arrays after the information sets.
            iteration: The current one, counted from 1.
            loss: The loss of outputs and of what batches hold after the information sets; None: `squared_error`.
            steps: How many; None: as many as the config says.

        Returns:
            The losses of the steps.

        Raises:
            TrainingError: If a loss is not finite.
        """
        config = self.config
        self.pull()
        # Before fresh parameters are drawn: targets may come from the present ones.
        batches = memory.batches(config.batch_size, iteration, self._rngs[_BATCHES : _BATCHES + 1])
        if not config.warm_start:
            self.initialize(self._seed())
            self._optimizer = self._new_optimizer()
        self.losses = []
        last: Any = None
        was_set = _DENORMAL * 0.5 == 0.0
        torch.set_flush_denormal(True)
        try:
            for batch in itertools.islice(batches, config.train_steps if steps is None else steps):
                if batch is not last:  # a batch of all entries is the same object every time
                    last, (infosets, *others) = batch, batch
                    given, arguments = self.given(infosets), [self.tensor(each) for each in others]
                self._step(given, arguments, loss or squared_error, iteration)
        finally:
            torch.set_flush_denormal(was_set)
        self.push()
        return self.losses

    def _step(self, given: torch.Tensor, arguments: list[torch.Tensor], loss: Any, iteration: int) -> None:
        if not self.module.training:
            self.module.train()
        self.gradient.zero_()
        value = loss(self.module(given), *arguments)
        value.backward()
        number = value.item()
        self._check(number, f"is {number} at training step {len(self.losses) + 1}", iteration)
        if self.config.gradient_clip is not None:
            torch.nn.utils.clip_grad_norm_([self.vector], self.config.gradient_clip)
        self._optimizer.step()
        self.losses.append(number)

    def predict(self, iteration: int | None = None) -> np.ndarray:
        """Returns the network's outputs for all information sets, ``[num_rows, num_outputs]`` float32.

        Args:
            iteration: The current one, for the error message; None: outputs need not be finite.

        Raises:
            TrainingError: If an output is not finite.
        """
        self.pull()
        outputs = forward(self.module, self.inputs).numpy()
        if iteration is not None:
            self._check(float(outputs.sum(dtype=np.float64)), "was finite, but its predictions are not", iteration)
        return outputs

    def _check(self, value: float, what: str, iteration: int) -> None:
        if math.isfinite(value):
            return
        clip = "" if self.config.gradient_clip else ", set gradient_clip"
        raise TrainingError(
            f"training diverged in iteration {iteration}: the {self.name} {what}. The solver is as it was after "
            f"iteration {iteration - 1}. Lower learning_rate (it is {self.config.learning_rate:g}){clip}, or look for "
            "payoffs that are not finite."
        )


class Adam:
    """Adam for one vector (Kingma, Ba 2015), with the paper's constants.

    `torch.optim.Adam` does the same in three times as long, of which at these sizes most is bookkeeping. That made a
    step of 128 x 2 and batch 468 0.1 slower, and NFSP's steps 0.2.
    """

    def __init__(self, vector: torch.nn.Parameter, gradient: torch.Tensor, learning_rate: float):
        mean, square = torch.zeros_like(vector.data), torch.zeros_like(vector.data)
        steps = torch.zeros((), dtype=torch.float32, device=vector.device)
        self.state = {vector: {"mean": mean, "square": square, "step": steps}}
        self._vector, self._gradient, self._rate = vector, gradient, learning_rate

    def step(self) -> None:
        """Makes a step with the vector's gradient."""
        kept = self.state[self._vector]
        with torch.no_grad():
            adam(
                [self._vector], [self._gradient], [kept["mean"]], [kept["square"]], [], [kept["step"]],
                foreach=False, fused=self._vector.device.type != "meta", amsgrad=False, beta1=0.9, beta2=0.999,
                lr=self._rate, weight_decay=0.0, eps=1e-8, maximize=False,
            )  # fmt: skip


def squared_error(outputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Returns sum_k sum_a w_ka (f_ka - y_ka)^2 / n, with outputs f, targets y and weights w ``[n, num_outputs]``."""
    return (weights * (outputs - targets).square()).sum() / len(outputs)


def cross_entropy(outputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Returns -sum_k w_k sum_a y_ka log softmax_a(f_k) / n.

    Args:
        outputs: ``[n, num_actions]``.
        targets: ``[n, num_actions]``, distributions over legal actions.
        weights: ``[n, num_actions]``, the row's weight at legal actions and 0 at others.
    """
    illegal = weights <= 0
    logs = torch.log_softmax(outputs.masked_fill(illegal, -torch.inf), 1).masked_fill(illegal, 0.0)
    return -(weights * targets * logs).sum() / len(outputs)
