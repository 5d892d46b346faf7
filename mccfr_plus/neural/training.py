"""Trains a player's network on a memory: Adam on the weighted squared error."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import numpy as np

from mccfr_plus.errors import TrainingError
from mccfr_plus.kernels.random_numbers import next_word
from mccfr_plus.neural.adam import Adam
from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.memory import Batch, Memory, TensorReservoir
from mccfr_plus.neural.network import MLP

_INITIAL, _BATCHES = 0, 1  # entries of `rngs`


class Learner:
    """A network with its optimizer and its inputs.

    Args:
        tensors: ``[num_rows, tensor_size]`` float32, the information sets.
        num_actions: Number of outputs.
        config: Shape of the network and how it is trained.
        rngs: ``[2]`` uint64, states of the generators of initial parameters and of batches. Modified in place.
        name: The name of the loss in error messages.
    """

    def __init__(self, tensors: np.ndarray, num_actions: int, config: TrainingConfig, rngs: np.ndarray, name: str):
        self.config = config
        self.name = name
        self._inputs = torch.from_numpy(tensors)
        self._rngs = rngs
        sizes = (tensors.shape[1], *config.hidden_layers, num_actions)
        self.network = MLP(sizes, layer_norm=config.layer_norm, skip=config.skip, rng=self._generator())
        self.optimizer = Adam(self.network, config.learning_rate, config.gradient_clip)
        self.losses: list[float] = []  # of the last fit, step by step
        self._device_copy: tuple[MLP, Adam] | None = None

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(int(next_word(self._rngs[_INITIAL : _INITIAL + 1])))

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between fits: views, by name."""
        return {"parameters": self.network.parameters.numpy(), **self.optimizer.state(), "rngs": self._rngs}

    def use(self, device: torch.device) -> None:
        """Trains and predicts on a device from now on. `state` stays on the CPU."""
        self._inputs = self._inputs.to(device)
        network = self.network.copy(device)
        self._device_copy = network, Adam(network, self.config.learning_rate, self.config.gradient_clip)

    @contextlib.contextmanager
    def _on_device(self) -> Iterator[tuple[MLP, Adam]]:
        """Yields the network and the optimizer on their device; an error in the block discards their changes."""
        if self._device_copy is None:
            yield self.network, self.optimizer
            return
        network, optimizer = self._device_copy
        network.assign(self.network)
        optimizer.assign(self.optimizer)
        yield network, optimizer
        self.network.assign(network)
        self.optimizer.assign(optimizer)

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        """Returns an array on the device."""
        return torch.from_numpy(array).to(self._inputs.device)

    def fit(self, memory: Memory | TensorReservoir | Batch, iteration: int, tensors: np.ndarray | None = None) -> None:
        """Trains on a memory; an empty one changes nothing.

        Args:
            memory: The data.
            iteration: The current one, counted from 1.
            tensors: ``[num_rows, tensor_size]`` float32, the inputs of the memory's rows; None: those of the
                learner.

        Raises:
            TrainingError: If the loss is not finite.
        """
        config = self.config
        if not config.warm_start:
            self.network.initialize(self._generator())
            self.optimizer.restart()
        self.losses = []
        batches = memory.batches(config.batch_size, iteration, self._rngs[_BATCHES : _BATCHES + 1])
        last: Batch | None = None
        source = self._inputs if tensors is None else self._tensor(tensors)
        with self._on_device() as (network, optimizer):
            for step, batch in zip(range(config.train_steps), batches, strict=False):
                if batch is not last:  # a batch of all entries is the same object every time
                    last = batch
                    rows, targets, weights = (self._tensor(array) for array in batch)
                    inputs = source.index_select(0, rows)
                loss = network.loss_gradient(inputs, targets, weights)
                self._check(loss, f"is {loss} at training step {step + 1} of {config.train_steps}", iteration)
                self.losses.append(loss)
                optimizer.step()

    def predict(self, iteration: int | None = None) -> np.ndarray:
        """Returns the network's outputs for all information sets, ``[num_rows, num_actions]`` float32.

        Args:
            iteration: The current one, for the error message; None: outputs need not be finite.

        Raises:
            TrainingError: If an output is not finite.
        """
        with self._on_device() as (network, _):
            outputs = network.predict(self._inputs).cpu().numpy()
        if iteration is not None:
            self._check(float(outputs.sum(dtype=np.float64)), "was finite, but its predictions are not", iteration)
        return outputs

    def _check(self, value: float, what: str, iteration: int) -> None:
        clip = "" if self.config.gradient_clip else ", set gradient_clip"
        advice = (
            f"The solver is as it was after iteration {iteration - 1}. Lower learning_rate (it is "
            f"{self.config.learning_rate:g}){clip}, or look for payoffs that are not finite."
        )
        check_finite(value, f"{self.name} {what}", iteration, advice)


def check_finite(value: float, what: str, iteration: int, advice: str) -> None:
    """Raises TrainingError if a value is not finite; `what` names the loss and its value, `advice` is for the user."""
    if not math.isfinite(value):
        raise TrainingError(f"training diverged in iteration {iteration}: the {what}. {advice}")
