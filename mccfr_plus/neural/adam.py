"""Adam, on a network whose parameters are one vector (Kingma, Ba 2015, algorithm 1)."""

from __future__ import annotations

import math

import numpy as np

from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.network import MLP

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8  # the paper's defaults

# Moments of units that have died shrink into denormal numbers, with which a step took 1.4 times as long after 40
# iterations. Between two looks the first moment shrinks by 1e-3, so that none gets from the threshold to 1e-38.
_FLUSH_EVERY, _NOTHING = 64, 1e-33


class Adam:
    """Moves a network's parameters against its gradient.

    Args:
        network: What is trained; its `gradient` is read, and scaled if it is clipped.
        learning_rate: The step size.
        gradient_clip: The largest norm of a gradient; larger ones are scaled down to it. None: never.
    """

    def __init__(self, network: MLP, learning_rate: float, gradient_clip: float | None = None):
        self._network = network
        self._learning_rate, self._clip = learning_rate, gradient_clip
        self._mean, self._square = torch.zeros_like(network.parameters), torch.zeros_like(network.parameters)
        self._steps = np.zeros(1, np.int64)  # that the moments have seen

    def state(self) -> dict[str, np.ndarray]:
        """Returns the arrays that carry from one step to the next, by name: views."""
        return {"mean": self._mean.numpy(), "square": self._square.numpy(), "steps": self._steps}

    def copy(self, network: MLP) -> Adam:
        """Returns one with the same settings and moments for a network of the same shape, where that one is."""
        copy = Adam(network, self._learning_rate, self._clip)
        copy.take(self)
        return copy

    def take(self, other: Adam) -> None:
        """Takes over the moments of another one, which may be on another device."""
        self._mean.copy_(other._mean)
        self._square.copy_(other._square)
        self._steps[:] = other._steps

    def restart(self) -> None:
        """Forgets all steps."""
        self._mean.zero_()
        self._square.zero_()
        self._steps[0] = 0

    def step(self) -> None:
        """Makes one step by the network's present gradient."""
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
            if steps % _FLUSH_EVERY == 0:
                self._mean.mul_(self._mean.abs() > _NOTHING)
                self._square.mul_(self._square > _NOTHING)
            divisor = self._square.sqrt().div_(math.sqrt(1.0 - _BETA_2**steps)).add_(_EPSILON)
            rate = self._learning_rate / (1.0 - _BETA_1**steps)
            self._network.parameters.addcdiv_(self._mean, divisor, value=-rate)
