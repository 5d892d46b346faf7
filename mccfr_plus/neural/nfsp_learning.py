"""The two networks of a player in NFSP: action values of a best response, and an average policy."""

from __future__ import annotations

import numpy as np

from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.buffer import RowBuffer
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.features import Features
from mccfr_plus.neural.network import Loss
from mccfr_plus.neural.training import Learner


class _NFSPLearner(Learner):
    """A network that is trained step by step. See `Learner`."""

    def _step(self, rows: np.ndarray, loss: Loss, iteration: int) -> None:
        """Makes a step of Adam on a loss at rows of information sets."""
        inputs = self._inputs.index_select(0, self._tensor(rows))
        with self._on_device() as (network, optimizer):
            value = network.differentiate(inputs, loss)
            self._check(value, f"is {value} at its training step {len(self.losses) + 1} there", iteration)
            self.losses.append(value)
            optimizer.step()

    def draw_from(self, memory: RowBuffer, size: int) -> np.ndarray:
        """Returns a batch of records; see `RowBuffer.draw`."""
        return memory.draw(size, self._rngs[1:])["records"]


class ValueLearner(_NFSPLearner):
    """Action values, by Q-learning with a target network (Mnih et al. 2015, algorithm 1).

    Only the largest output of the target network at each information set is used, so it is stored as a table of these.
    `unit` divides the values; see `Learner` for the other arguments.
    """

    def __init__(
        self, features: Features, num_actions: int, config: TrainingConfig, rngs: np.ndarray, name: str, unit: float
    ):
        super().__init__(features.tensors, num_actions, config, rngs, name)
        self._unit = unit
        # [num_rows + 1] float32; the last entry, with index `TERMINAL_ROW`, is the end of the game.
        self.target_values = np.zeros(len(features.counts) + 1, np.float32)

    def state(self) -> dict[str, np.ndarray]:
        return {**super().state(), "target_values": self.target_values}

    def targets(self, transitions: np.ndarray) -> np.ndarray:
        """Returns r + max_a' Q'(s', a') with the target network's Q' (r at the end of the game), ``[n]`` float32."""
        return transitions["reward"] / np.float32(self._unit) + self.target_values[transitions["next_row"]]

    def learn(self, transitions: np.ndarray, iteration: int) -> None:
        """Makes a step on the mean squared error of the actions taken in transitions, ``[n]`` TRANSITION.

        Reference: Heinrich, Silver 2016, algorithm 1.

        Raises:
            TrainingError: If the loss is not finite.
        """
        actions = self._tensor(transitions["action"].astype(np.int64))[:, None]
        targets = self._tensor(self.targets(transitions))[:, None]

        def loss(outputs: torch.Tensor) -> tuple[float, torch.Tensor]:
            error = outputs.gather(1, actions) - targets
            slope = torch.zeros_like(outputs).scatter_(1, actions, error * (2.0 / len(error)))
            return float(error.square().mean()), slope

        self._step(transitions["row"].astype(np.int64), loss, iteration)


class PolicyLearner(_NFSPLearner):
    """An average policy, trained by cross-entropy on the actions in a memory. See `Learner`."""

    def __init__(self, features: Features, num_actions: int, config: TrainingConfig, rngs: np.ndarray, name: str):
        super().__init__(features.tensors, num_actions, config, rngs, name)
        self._is_illegal = ~features.mask(num_actions)

    def learn(self, decisions: np.ndarray, iteration: int) -> None:
        """Makes a step on the mean of -log Pi(s, a) over decisions, ``[n]`` DECISION.

        Reference: Heinrich, Silver 2016, algorithm 1.

        Raises:
            TrainingError: If the loss is not finite.
        """
        rows = decisions["row"].astype(np.int64)
        actions = self._tensor(decisions["action"].astype(np.int64))[:, None]
        is_illegal = self._tensor(self._is_illegal[rows])

        def loss(outputs: torch.Tensor) -> tuple[float, torch.Tensor]:
            log = outputs.masked_fill(is_illegal, -torch.inf).log_softmax(1)
            slope = log.exp()
            slope.scatter_add_(1, actions, torch.full_like(actions, -1.0, dtype=slope.dtype))
            return float(-log.gather(1, actions).mean()), slope.div_(len(rows))

        self._step(rows, loss, iteration)
