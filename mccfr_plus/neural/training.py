"""Fits a player's network to a memory: Adam on the weighted squared error."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from mccfr_plus.errors import TrainingError
from mccfr_plus.kernels.random_numbers import next_word
from mccfr_plus.neural.adam import Adam
from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.device import CPU, Guest
from mccfr_plus.neural.memory import Batch
from mccfr_plus.neural.network import MLP

_INITIAL, _BATCHES = 0, 1  # entries of `rngs`


class HasBatches(Protocol):
    """What a network learns from: a `Memory`, or something simpler."""

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """See `Memory.batches`."""


class Learner:
    """A network with its optimizer, and the information sets that it answers for.

    Args:
        tensors: ``[num_rows, tensor_size]`` float32, the information sets.
        num_actions: Number of outputs.
        config: Shape of the network and how it is trained.
        rngs: ``[2]`` uint64, states of the generators of initial parameters and of batches; kept, not copied.
        name: What error messages call the loss.
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
        self._guest: Guest | None = None

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(int(next_word(self._rngs[_INITIAL : _INITIAL + 1])))

    def state(self) -> dict[str, np.ndarray]:
        """Returns the arrays that carry from one fit to the next, by name: views."""
        return {
            "parameters": self.network.parameters.numpy(),
            **self.optimizer.state(),
            "rngs": self._rngs,
        }

    def use(self, device: torch.device) -> None:
        """Trains and predicts on a device from now on; what carries from one fit to the next stays with the CPU."""
        self._inputs = self._inputs.to(device)
        self._guest = Guest(self.network, self.optimizer, device)

    @property
    def device(self) -> torch.device:
        """Where it trains."""
        return CPU if self._guest is None else self._guest.device

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[tuple[MLP, Adam]]:
        """Gives the network and the optimizer that work in a ``with`` block; an error makes a guest's work void."""
        if self._guest is None:
            yield self.network, self.optimizer
            return
        self._guest.fetch()
        yield self._guest.network, self._guest.optimizer
        self._guest.give_back()

    def restart(self) -> None:
        """Forgets what was learned: fresh parameters and moments."""
        self.network.initialize(self._generator())
        self.optimizer.restart()

    def fit(self, memory: HasBatches, iteration: int, tensors: np.ndarray | None = None) -> None:
        """Trains on a memory; if it is empty, nothing happens.

        Args:
            memory: Of the same information sets.
            iteration: The current one, counted from 1.
            tensors: ``[num_rows, tensor_size]`` float32 or float16, what the memory's rows mean; None: the learner's.

        Raises:
            TrainingError: If the loss is no finite number, or the network's answers are not.
        """
        config = self.config
        if not config.warm_start:
            self.restart()
        self.losses = []
        batches = memory.batches(config.batch_size, iteration, self._rngs[_BATCHES : _BATCHES + 1])
        seen: Batch | None = None
        source = self._inputs if tensors is None else torch.from_numpy(tensors).to(self.device)
        with self._at_work() as (network, optimizer):
            for step, batch in zip(range(config.train_steps), batches, strict=False):
                if batch is not seen:  # where a batch is all of the memory it is the same object every time
                    seen = batch
                    rows, targets, weights = (torch.from_numpy(array).to(self.device) for array in batch)
                    inputs = source.index_select(0, rows).float()
                loss = network.loss_gradient(inputs, targets, weights)
                self._check(loss, f"is {loss} at training step {step + 1} of {config.train_steps}", iteration)
                self.losses.append(loss)
                optimizer.step()

    def predict(self) -> np.ndarray:
        """Returns the network's answers for all information sets, ``[num_rows, num_actions]`` float32."""
        with self._at_work() as (network, _):
            return network.predict(self._inputs).cpu().numpy()

    def check_predictions(self, predictions: np.ndarray, iteration: int) -> None:
        """Raises TrainingError if a prediction is no finite number."""
        self._check(float(predictions.sum(dtype=np.float64)), "was finite, but its predictions are not", iteration)

    def _check(self, value: float, what: str, iteration: int) -> None:
        if not math.isfinite(value):
            config = self.config
            clip = "" if config.gradient_clip else ", set gradient_clip"
            raise TrainingError(
                f"training diverged in iteration {iteration}: the {self.name} {what}. The solver is as it was after "
                f"iteration {iteration - 1}. Lower learning_rate (it is {config.learning_rate:g}){clip}, or look for "
                "payoffs that are not finite."
            )
