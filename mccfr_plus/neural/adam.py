"""Adam for a network whose parameters are one vector (Kingma, Ba 2015, algorithm 1)."""

from __future__ import annotations

import math

import numpy as np

from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.network import MLP

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8  # the paper's defaults

# Moments of units without gradients shrink to denormal numbers, with which a step took 1.4 times as long after 40
# iterations. They are set to 0 below a threshold. In 64 steps the first moment shrinks by 1e-3, so none reaches 1e-38.
_FLUSH_INTERVAL, _FLUSH_THRESHOLD = 64, 1e-33


class Adam:
    """Adam on a network's `parameters`.

    Args:
        network: Its `gradient` is read, and scaled in place if it is clipped.
        learning_rate: The step size.
        gradient_clip: The largest norm of a gradient; larger ones are scaled down to it. None: no limit.
    """

    def __init__(self, network: MLP, learning_rate: float, gradient_clip: float | None = None):
        self._network = network
        self._learning_rate, self._clip = learning_rate, gradient_clip
        self._mean, self._square = torch.zeros_like(network.parameters), torch.zeros_like(network.parameters)
        self._steps = np.zeros(1, np.int64)  # number of steps

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between steps: views, by name."""
        return {"mean": self._mean.numpy(), "square": self._square.numpy(), "steps": self._steps}

    def assign(self, other: Adam) -> None:
        """Copies the moments of another one, which may be on another device."""
        self._mean.copy_(other._mean)
        self._square.copy_(other._square)
        self._steps[:] = other._steps

    def restart(self) -> None:
        """Sets the moments and the number of steps to 0."""
        self._mean.zero_()
        self._square.zero_()
        self._steps[0] = 0

    def step(self) -> None:
        """Makes a step with the network's gradient."""
        gradient = self._network.gradient
        with torch.no_grad():
            if self._clip is not None:
                norm = float(gradient.norm())
                if norm > self._clip:
                    gradient.mul_(self._clip / norm)
            self._steps[0] += 1
            steps = int(self._steps[0])
            self._mean.lerp_(gradient, 1.0 - _BETA_1)
            self._square.mul_(_BETA_2).addcmul_(gradient, gradient, value=1.0 - _BETA_2)
            if steps % _FLUSH_INTERVAL == 0:
                self._mean.mul_(self._mean.abs() > _FLUSH_THRESHOLD)
                self._square.mul_(self._square > _FLUSH_THRESHOLD)
            divisor = self._square.sqrt().div_(math.sqrt(1.0 - _BETA_2**steps)).add_(_EPSILON)
            rate = self._learning_rate / (1.0 - _BETA_1**steps)
            self._network.parameters.addcdiv_(self._mean, divisor, value=-rate)
