"""Action values at histories that are not enumerated, learned by a network from sampled trajectories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.memory import Batch
from mccfr_plus.neural.network import Modules
from mccfr_plus.neural.sampling.paths import Paths, value_targets


class PathValues:
    """A network with an output per action, so that one forward pass at a history replaces one at each history after it.

    Args:
        env: A `BatchedEnv`.
        unit: Divisor of the values.
        config, rngs, solver_name, modules: See `LearnedValues`.
    """

    def __init__(
        self, env: Any, unit: float, config: TrainingConfig, rngs: np.ndarray, solver_name: str, modules: Modules
    ):
        self._players, self._actions, self._unit = env.num_players, env.num_actions, unit
        # One output serves both players of a zero-sum game.
        is_zero_sum = env.game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
        self._num_heads = 1 if self._players == 2 and is_zero_sum else self._players
        num_outputs, name = self._num_heads * self._actions, f"loss of the values of {solver_name}"
        no_inputs = np.zeros((0, env.observer.history_size), np.float32)
        self.learner = Learner(no_inputs, num_outputs, config, rngs, name, modules)
        self._trained = np.zeros(1, np.int64)  # iteration of the last training
        self._samples: list[tuple[np.ndarray, ...]] = []

    def at(self, paths: Paths) -> np.ndarray:
        """Returns the action values at decisions, ``[num_decisions, num_players, num_actions]``; 0 if untrained."""
        if not self._trained[0]:
            return np.zeros((len(paths.traversals), self._players, self._actions))
        outputs = self.learner.outputs(paths.histories) * self._unit
        outputs = outputs.reshape(len(outputs), -1, self._actions)
        return outputs if self._num_heads == self._players else np.concatenate([outputs, -outputs], axis=1)

    def evict(self) -> None:
        """Drops the sampled histories."""
        self._samples = []

    def note(self, paths: Paths, values: np.ndarray) -> None:
        """Adds sampled histories, with the values at them, to what is learned from."""
        self._samples.append((paths.histories, paths.actions, value_targets(paths, values)))

    def learn(self, iteration: int) -> None:
        """Trains on the histories since `evict`.

        Raises:
            TrainingError: If the network diverges.
        """
        histories, actions, found = (np.concatenate(arrays) for arrays in zip(*self._samples, strict=True))
        rows = np.arange(len(actions))
        targets = np.zeros((len(rows), self._num_heads, self._actions), np.float32)
        weights = np.zeros_like(targets)
        targets[rows, :, actions] = found[:, : self._num_heads] / self._unit
        weights[rows, :, actions] = 1.0
        flat = (len(rows), self._num_heads * self._actions)
        self.learner.fit(Batch(histories, targets.reshape(flat), weights.reshape(flat)), iteration)
        self._trained[0] = iteration

    def prepare(self) -> None:
        """Does nothing: there are no kernels of its own."""

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between calls: views, by name."""
        return self.learner.state() | {"trained": self._trained}
