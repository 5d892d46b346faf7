"""Regrets that are discounted and never fall below 0, one sum per information set: DCFR+ and PDCFR+."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mccfr_plus.neural.features import Features
from mccfr_plus.neural.memory import Aggregated, Batch, add_sums, drawn_batches, weights_of
from mccfr_plus.neural.sampling import Samples


class Discounted(Aggregated):
    """Cumulative regrets per information set, in place of means.

    With r^t the regrets of iteration t, summed over its traversals,

        R^t = max(R^{t-1} (t-1)^alpha / ((t-1)^alpha + 1) + r^t, 0),

    and what the network learns are R^t, or with prediction max(R^t t^alpha / (t^alpha + 1) + r^t, 0), which takes the
    latest regrets for the next ones. Both are divided by the discounted number of samples at the information set:
    regret matching does not see that, and targets are as large where play seldom comes as where it often does.

    Args:
        features: See `Memory`.
        num_actions: See `Memory`.
        alpha: How slowly the past is forgotten.
        predictive: Whether the latest regrets count once more.
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
        self._latest, self._counts = np.zeros_like(self.sums), np.zeros_like(self.weights)  # of one iteration
        self._iteration = np.zeros(1, np.int64)  # which that is

    def add(self, samples: Samples, iteration: int) -> None:
        if iteration != self._iteration[0]:
            self.sums[:], self.weights[:] = self._summed()
            self._latest[:] = 0.0
            self._counts[:] = 0.0
            self._iteration[0] = iteration
        counts = self._features.counts
        add_sums(samples.rows, samples.regrets, weights_of(samples), counts, self._latest, self._counts)

    def _discount(self, iteration: int) -> float:
        return float(iteration) ** self._alpha / (float(iteration) ** self._alpha + 1.0) if iteration > 0 else 0.0

    def _summed(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns R^t and the discounted numbers of samples, with those of the latest iteration t."""
        discount = self._discount(int(self._iteration[0]) - 1)
        return np.maximum(discount * self.sums + self._latest, 0.0), discount * self.weights + self._counts

    def means(self) -> np.ndarray:
        """Returns what is to be learned, ``[num_rows, max_actions]`` float64; 0 without samples."""
        sums, weights = self._summed()
        if self._predictive:
            sums = np.maximum(self._discount(int(self._iteration[0])) * sums + self._latest, 0.0)
        return sums / np.where(weights > 0.0, weights, 1.0)[:, None]

    def __len__(self) -> int:
        return int(np.count_nonzero(self._summed()[1]))

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        _, weights = self._summed()
        yield from drawn_batches(self, weights, self.means(), size, rng)

    def state(self) -> dict[str, np.ndarray]:
        own = {"latest": self._latest, "counts": self._counts, "iteration": self._iteration}
        return super().state() | own

    def prepare(self) -> None:
        self.begin()
        super().prepare()  # which adds nothing, in another iteration
        self.rollback()

    def begin(self) -> None:
        self._before = tuple(array.copy() for array in self.state().values())

    def rollback(self) -> None:
        for kept, array in zip(self._before, self.state().values(), strict=True):
            array[...] = kept
