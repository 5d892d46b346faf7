"""The memory of DCFR+ and PDCFR+: one sum of discounted regrets per information set, cut off at 0."""

from __future__ import annotations

import numpy as np

from mccfr_plus.neural.features import Features
from mccfr_plus.neural.memory import Aggregated, add_sums, weights_of
from mccfr_plus.neural.sampling import Samples


class Discounted(Aggregated):
    """Cumulative regrets per information set instead of means.

    With r^t the regrets of iteration t, summed over its traversals,

        R^t = max(R^{t-1} (t-1)^alpha / ((t-1)^alpha + 1) + r^t, 0),

    and the targets of the network are R^t, or with prediction max(R^t t^alpha / (t^alpha + 1) + r^t, 0), where the
    latest regrets predict the next ones. Both are divided by the discounted number of samples of the information set.
    Regret matching ignores that factor, and it makes targets as large at rarely sampled information sets as at others.

    Args:
        features: See `Memory`.
        num_actions: See `Memory`.
        alpha: Exponent of the discount; larger values discount less.
        predictive: Whether the targets include the prediction.
        unit: See `Memory`.

    Reference: Xu, Li, Liu, Fu, Fu, Xing, Cheng 2024, "Minimizing weighted counterfactual regret with optimistic online
    mirror descent", equations of DCFR+ and PDCFR+; Xu et al. 2026, "Deep (predictive) discounted counterfactual regret
    minimization", with networks.
    """

    def __init__(
        self, features: Features, num_actions: int, *, alpha: float, predictive: bool = False, unit: float = 1.0
    ):
        super().__init__(features, num_actions, power=0.0, unit=unit)
        self._alpha, self._predictive = alpha, predictive
        # Of one iteration, and its number.
        self._latest, self._counts = np.zeros_like(self.sums), np.zeros_like(self.weights)
        self._iteration = np.zeros(1, np.int64)

    def add(self, samples: Samples, iteration: int) -> None:
        if iteration != self._iteration[0]:
            self.sums[:], self.weights[:] = self._total_sums(), self.total_weights()
            self._latest[:] = 0.0
            self._counts[:] = 0.0
            self._iteration[0] = iteration
        counts = self._features.counts
        add_sums(samples.rows, samples.regrets, weights_of(samples), counts, self._latest, self._counts)

    def _discount(self, iteration: int) -> float:
        return float(iteration) ** self._alpha / (float(iteration) ** self._alpha + 1.0) if iteration > 0 else 0.0

    def _total_sums(self) -> np.ndarray:
        """Returns R^t, with the latest iteration t included."""
        return np.maximum(self._discount(int(self._iteration[0]) - 1) * self.sums + self._latest, 0.0)

    def total_weights(self) -> np.ndarray:
        """Returns the discounted number of samples of each row, ``[num_rows]`` float64."""
        return self._discount(int(self._iteration[0]) - 1) * self.weights + self._counts

    def means(self) -> np.ndarray:
        """Returns the targets, ``[num_rows, max_actions]`` float64; 0 without samples."""
        sums, weights = self._total_sums(), self.total_weights()
        if self._predictive:
            sums = np.maximum(self._discount(int(self._iteration[0])) * sums + self._latest, 0.0)
        return sums / np.where(weights > 0.0, weights, 1.0)[:, None]

    def state(self) -> dict[str, np.ndarray]:
        return super().state() | {"latest": self._latest, "counts": self._counts, "iteration": self._iteration}
