"""The base class of batched solvers."""

from __future__ import annotations

from typing import ClassVar

from mccfr_plus.neural.advantages import AdvantageSolver
from mccfr_plus.neural.batched.config import BatchedConfig
from mccfr_plus.neural.batched.env import BatchedEnv
from mccfr_plus.neural.batched.network_policy import NetworkPolicy


class BatchedSolver(AdvantageSolver):
    """A solver on many histories at once, with a network of regrets per player and one for its average.

    A subclass defines `regrets`, and may define `weights`, `exploration` and ``config_class``, a `BatchedConfig`. See
    `BatchedDeepCFR` for the arguments.
    """

    config_class: ClassVar[type] = BatchedConfig
    environment: ClassVar[type] = BatchedEnv
    _env: BatchedEnv

    def average_policy(self) -> NetworkPolicy:  # type: ignore[override]
        """Returns the average policy. Its networks are trained on the first call after an iteration.

        Raises:
            TrainingError: If their training diverges.
        """
        return self._env.average.policy(self.iterations)

    def current_policy(self) -> NetworkPolicy:  # type: ignore[override]
        """Returns a copy of the policy of the next iteration."""
        return self._env.current_policy(self.iterations)
