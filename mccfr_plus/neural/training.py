"""Fits a player's network to a memory: Adam on the weighted squared error."""

from __future__ import annotations

import math

import numpy as np

from mccfr_plus.errors import TrainingError
from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.config import DeepCFRConfig
from mccfr_plus.neural.memory import Batch, Memory
from mccfr_plus.neural.network import MLP
from mccfr_plus.rng import next_word

# Kingma, Ba 2015, algorithm 1, with their defaults.
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8

# Moments of units that have died shrink into denormal numbers, with which a step took 1.4 times as long after 40
# iterations. Between two looks the first moment shrinks by 1e-3, so that none gets from the threshold to 1e-38.
_FLUSH_EVERY, _NOTHING = 64, 1e-33

_INITIAL, _BATCHES = 0, 1  # entries of `rngs`


class Learner:
    """A network with its optimizer, and the information sets that it answers for.

    Args:
        tensors: ``[num_rows, tensor_size]`` float32, the information sets.
        num_actions: Number of outputs.
        config: Shape of the network and how it is trained.
        rngs: ``[2]`` uint64, states of the generators of initial parameters and of batches; kept, not copied.
        name: What error messages call the loss.
    """

    def __init__(self, tensors: np.ndarray, num_actions: int, config: DeepCFRConfig, rngs: np.ndarray, name: str):
        self.config = config
        self.name = name
        self._inputs = torch.from_numpy(tensors)
        self._rngs = rngs
        sizes = (tensors.shape[1], *config.hidden_layers, num_actions)
        self.network = MLP(sizes, layer_norm=config.layer_norm, skip=config.skip, rng=self._generator())
        parameters = self.network.parameters
        self._mean, self._square = torch.zeros_like(parameters), torch.zeros_like(parameters)  # Adam's two moments
        self._steps = np.zeros(1, np.int64)  # that the moments have seen
        self.losses: list[float] = []  # of the last fit, step by step

    def _generator(self) -> np.random.Generator:
        return np.random.default_rng(int(next_word(self._rngs[_INITIAL : _INITIAL + 1])))

    def state(self) -> dict[str, np.ndarray]:
        """Returns the arrays that carry from one fit to the next, by name: views."""
        return {
            "parameters": self.network.parameters.numpy(),
            "mean": self._mean.numpy(),
            "square": self._square.numpy(),
            "steps": self._steps,
            "rngs": self._rngs,
        }

    def restart(self) -> None:
        """Forgets what was learned: fresh parameters and moments."""
        self.network.initialize(self._generator())
        self._mean.zero_()
        self._square.zero_()
        self._steps[0] = 0

    def fit(self, memory: Memory, iteration: int) -> None:
        """Trains on a memory; if it is empty, nothing happens.

        Args:
            memory: Of the same information sets.
            iteration: The current one, counted from 1.

        Raises:
            TrainingError: If the loss is no finite number, or the network's answers are not.
        """
        config = self.config
        if not config.warm_start:
            self.restart()
        self.losses = []
        batches = memory.batches(config.batch_size, iteration, self._rngs[_BATCHES : _BATCHES + 1])
        seen: Batch | None = None
        for step, batch in zip(range(config.train_steps), batches, strict=False):
            if batch is not seen:  # where a batch is all of the memory it is the same object every time
                seen = batch
                rows, targets, weights = (torch.from_numpy(array) for array in batch)
                inputs = self._inputs.index_select(0, rows)
            loss = self.network.loss_gradient(inputs, targets, weights)
            self._check(loss, f"is {loss} at training step {step + 1} of {config.train_steps}", iteration)
            self.losses.append(loss)
            self._step()

    def predict(self) -> np.ndarray:
        """Returns the network's answers for all information sets, ``[num_rows, num_actions]`` float32."""
        return self.network.predict(self._inputs).numpy()

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

    def _step(self) -> None:
        """Moves the parameters by one step of Adam."""
        config, gradient = self.config, self.network.gradient
        with torch.no_grad():
            if config.gradient_clip is not None:
                norm = float(gradient.norm())
                if norm > config.gradient_clip:
                    gradient.mul_(config.gradient_clip / norm)
            self._steps[0] += 1
            steps = int(self._steps[0])
            self._mean.lerp_(gradient, 1.0 - _BETA_1)
            self._square.mul_(_BETA_2).addcmul_(gradient, gradient, value=1.0 - _BETA_2)
            if steps % _FLUSH_EVERY == 0:
                self._mean.mul_(self._mean.abs() > _NOTHING)
                self._square.mul_(self._square > _NOTHING)
            divisor = self._square.sqrt().div_(math.sqrt(1.0 - _BETA_2**steps)).add_(_EPSILON)
            rate = config.learning_rate / (1.0 - _BETA_1**steps)
            self.network.parameters.addcdiv_(self._mean, divisor, value=-rate)
