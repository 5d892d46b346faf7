"""Networks of the values of histories, and those of histories that are not enumerated."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.memory import Batch
from mccfr_plus.neural.network import Modules
from mccfr_plus.neural.sampling.paths import Paths, value_targets


class ValueLearner(Learner):
    """A network of the values of actions at histories. If payoffs of two players sum to a constant, it learns one's.

    Args:
        env: The environment.
        inputs: ``[num_rows, num_inputs]`` float32, the histories that `predict` is about; perhaps none.
        num_actions: Outputs per player.
        config, rngs, modules: See `Learner`; without features, which are of information sets.
    """

    def __init__(
        self,
        env: Any,
        inputs: np.ndarray,
        num_actions: int,
        config: TrainingConfig,
        rngs: np.ndarray,
        modules: Modules,
    ):
        self._sum = env.constant_sum if env.num_players == 2 else None
        heads = env.num_players if self._sum is None else 1
        self._units = np.array([env.unit_of(player) for player in range(heads)])
        self._shape = (-1, heads, num_actions)
        name, modules = f"loss of the values of {env.name}", modules._replace(features=None)
        super().__init__(inputs, heads * num_actions, config, rngs, name, modules)

    def values_of(self, outputs: np.ndarray) -> np.ndarray:
        """Returns the values that outputs, float64, stand for, ``[n, num_players, num_actions]``."""
        values = outputs.reshape(self._shape) * self._units[:, None]
        return values if self._sum is None else np.concatenate([values, self._sum - values], axis=1)

    def fit_values(
        self, infosets: np.ndarray, rows: np.ndarray, actions: np.ndarray, values: np.ndarray, iteration: int
    ) -> None:
        """Trains on values of actions, ``[n, num_players]``, each of which is at a row of the infosets, ``[n]``.

        Raises:
            TrainingError: If the network diverges.
        """
        targets = np.zeros((len(infosets), *self._shape[1:]), np.float32)
        weights = np.zeros_like(targets)
        targets[rows, :, actions] = values[:, : len(self._units)] / self._units
        weights[rows, :, actions] = 1.0
        flat = (len(infosets), self._shape[1] * self._shape[2])
        self.fit(Batch(infosets, targets.reshape(flat), weights.reshape(flat)), iteration)


class PathValues:
    """A network with an output per action, so that one forward pass at a history replaces one at each history after it.

    Args:
        env: A `BatchedEnv`.
        config, rngs, modules: See `ValueLearner`.
    """

    def __init__(self, env: Any, config: TrainingConfig, rngs: np.ndarray, modules: Modules):
        no_inputs = np.zeros((0, env.observer.history_size), np.float32)
        self.learner = ValueLearner(env, no_inputs, env.num_actions, config, rngs, modules)
        self._trained = np.zeros(1, np.int64)  # iteration of the last training
        self._samples: list[tuple[np.ndarray, ...]] = []

    def at(self, paths: Paths) -> np.ndarray:
        """Returns the action values at decisions, ``[num_decisions, num_players, num_actions]``; 0 if untrained."""
        if not self._trained[0]:
            return np.zeros((len(paths.masks), paths.returns.shape[1], paths.masks.shape[1]))
        return self.learner.values_of(self.learner.outputs(paths.histories))

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
        self.learner.fit_values(histories, np.arange(len(actions)), actions, found, iteration)
        self._trained[0] = iteration

    def prepare(self) -> None:
        """Does nothing: there are no kernels of its own."""

    def state(self) -> dict[str, np.ndarray]:
        """Returns what changes in an iteration, by name."""
        return self.learner.state() | {"trained": self._trained}
