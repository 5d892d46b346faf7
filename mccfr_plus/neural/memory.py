"""What a player's networks learn from: sums per information set, or a uniform sample of all samples.

| memory | contents | loss of its batches |
|---|---|---|
| `Aggregated` | weighted sums of targets and of weights per row | that of all samples, up to a constant |
| `Discounted` | discounted sums of regrets per row, cut off at 0 | that to discounted regrets |
| `Reservoir` | a uniform sample of all samples | the same in expectation over the contents |

The first holds because sum_k w_k (f - y_k)^2 = W (f - Y)^2 + a term without f, with W = sum_k w_k and Y the weighted
mean. The first two need a compiled tree, whose information sets have numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.neural.features import Features
from mccfr_plus.neural.store import Store, draw_batches


class Batch(NamedTuple):
    """The data of a training step."""

    rows: np.ndarray  # [n] int64, of the inputs
    targets: np.ndarray  # [n, num_outputs] float32; 0 at illegal actions
    weights: np.ndarray  # [n, num_outputs] float32: the sample's weight, with mean about 1; 0 at illegal actions

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches of this batch's rows; see `draw_batches`."""
        yield from draw_batches(
            len(self.rows), size, rng, lambda positions: Batch(*(array[positions] for array in self))
        )


class Samples(NamedTuple):
    """Values sampled at information sets of one player, such as regrets."""

    infosets: dict[str, np.ndarray]  # "rows", of `Features`; or where there is no tree, "tensors" and "masks"
    values: np.ndarray  # [num_samples, num_actions] float64, by OpenSpiel's actions; 0 at illegal ones
    weights: np.ndarray | None = None  # [num_samples] float64; None: all are 1


class Aggregated:
    """Two sums per information set instead of its samples. Those of iteration t have weight t^power.

    Args:
        features: The player's information sets.
        power: Exponent of the weights: 1 for linear ones, 0 for equal ones.
        unit: Divisor of the targets.
    """

    tensors = None  # rows are those of a player's information sets

    def __init__(self, features: Features, *, power: float = 1.0, unit: float = 1.0):
        self._masks, self._power, self._unit = features.masks, power, unit
        self.sums = np.zeros(features.masks.shape)  # of weight x target
        self.weights = np.zeros(len(features.masks))
        self._before: dict[str, np.ndarray] = {}

    def __len__(self) -> int:
        return int(np.count_nonzero(self.total_weights()))

    def add(self, samples: Samples, iteration: int) -> None:
        """Adds samples of an iteration, counted from 1."""
        weights = weights_of(samples) * float(iteration) ** self._power
        add_sums(samples.infosets["rows"], samples.values, weights, self.sums, self.weights)

    def total_weights(self) -> np.ndarray:
        """Returns the total weight of each row's samples, ``[num_rows]`` float64."""
        return self.weights

    def means(self) -> np.ndarray:
        """Returns the weighted mean of each row's samples, ``[num_rows, num_actions]`` float64; 0 without samples."""
        return self.sums / np.where(self.weights > 0.0, self.weights, 1.0)[:, None]

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches without end; see `draw_batches`.

        Args:
            size: The largest number of entries.
            iteration: The current iteration.
            rng: ``[1]`` uint64, modified in place.
        """
        weights, targets = self.total_weights(), self.means() / self._unit
        rows = np.flatnonzero(weights)
        if not len(rows):
            return
        relative = weights / weights[rows].mean()

        def batch_of(positions: np.ndarray) -> Batch:
            drawn = rows[positions]
            return batch_at(drawn, targets[drawn], relative[drawn], self._masks[drawn])

        yield from draw_batches(len(rows), size, rng, batch_of)

    # As those of `Store`, where there is a place for every information set.

    def state(self) -> dict[str, np.ndarray]:
        """Returns the contents, by name: views."""
        return {"sums": self.sums, "weights": self.weights}

    def resize(self, size: int) -> None:
        """Does nothing."""

    def begin(self) -> None:
        """Marks the present contents as those to which `rollback` returns."""
        self._before = {name: array.copy() for name, array in self.state().items()}

    def rollback(self) -> None:
        """Restores the contents at the last `begin`."""
        for name, array in self.state().items():
            array[...] = self._before[name]


class Discounted(Aggregated):
    """Cumulative regrets per information set instead of means.

    With r^t the regrets of iteration t, summed over its traversals,

        R^t = max(R^{t-1} (t-1)^alpha / ((t-1)^alpha + 1) + r^t, 0),

    and the targets of the network are R^t, or with prediction max(R^t t^alpha / (t^alpha + 1) + r^t, 0), where the
    latest regrets predict the next ones. Both are divided by the discounted number of samples of the information set.
    Regret matching ignores that factor, and it makes targets as large at rarely sampled information sets as at others.

    Args:
        features: The player's information sets.
        discount: Returns the factor of the regrets of the first t iterations in the next one.
        predictive: Whether the targets include the prediction.
        unit: Divisor of the targets.

    Reference: Xu, Li, Liu, Fu, Fu, Xing, Cheng 2024, "Minimizing weighted counterfactual regret with optimistic online
    mirror descent", equations of DCFR+ and PDCFR+; Xu et al. 2026, "Deep (predictive) discounted counterfactual regret
    minimization", with networks.
    """

    def __init__(
        self, features: Features, discount: Callable[[int], float], *, predictive: bool = False, unit: float = 1.0
    ):
        super().__init__(features, power=0.0, unit=unit)
        self._discount, self._predictive = discount, predictive
        # Of one iteration, and its number.
        self._latest, self._counts = np.zeros_like(self.sums), np.zeros_like(self.weights)
        self._iteration = np.zeros(1, np.int64)

    def add(self, samples: Samples, iteration: int) -> None:
        if iteration != self._iteration[0]:
            self.sums[:], self.weights[:] = self._total_sums(), self.total_weights()
            self._latest[:] = 0.0
            self._counts[:] = 0.0
            self._iteration[0] = iteration
        add_sums(samples.infosets["rows"], samples.values, weights_of(samples), self._latest, self._counts)

    def _total_sums(self) -> np.ndarray:
        """Returns R^t, with the latest iteration t included."""
        return np.maximum(self._discount(int(self._iteration[0]) - 1) * self.sums + self._latest, 0.0)

    def total_weights(self) -> np.ndarray:
        """Returns the discounted number of samples of each row, ``[num_rows]`` float64."""
        return self._discount(int(self._iteration[0]) - 1) * self.weights + self._counts

    def means(self) -> np.ndarray:
        """Returns the targets, ``[num_rows, num_actions]`` float64; 0 without samples."""
        sums, weights = self._total_sums(), self.total_weights()
        if self._predictive:
            sums = np.maximum(self._discount(int(self._iteration[0])) * sums + self._latest, 0.0)
        return sums / np.where(weights > 0.0, weights, 1.0)[:, None]

    def state(self) -> dict[str, np.ndarray]:
        return super().state() | {"latest": self._latest, "counts": self._counts, "iteration": self._iteration}


class Reservoir(Store):
    """A uniform sample of all samples. Those of iteration t have weight t^power.

    On a tree a row takes 12 bytes and 4 per action; else 8 bytes, 4 per entry of the tensor and 5 per action.

    Args:
        infosets: Columns of the information sets, zeros; see `Samples`.
        num_actions: Number of distinct actions of the game.
        rng: See `Store`.
        features: The player's information sets, if there is a tree.
        power: Exponent of the weights: 1 for linear ones, 0 for equal ones.
        unit: Divisor of the targets.
    """

    def __init__(
        self,
        infosets: dict[str, np.ndarray],
        num_actions: int,
        rng: np.ndarray,
        features: Features | None = None,
        *,
        power: float = 1.0,
        unit: float = 1.0,
    ):
        capacity = len(next(iter(infosets.values())))
        columns = {
            "values": np.zeros((capacity, num_actions), np.float32),
            "weights": np.zeros(capacity, np.float32),  # without the factor of the iteration
            "iterations": np.zeros(capacity, np.int32),
        }
        super().__init__(infosets | columns, rng)
        self._features, self._power, self._unit = features, power, unit

    @property
    def tensors(self) -> np.ndarray | None:
        """The tensors that rows of batches refer to, ``[capacity, size]`` float32; None if `Features` has them."""
        return self._columns.get("tensors")

    def add(self, samples: Samples, iteration: int) -> None:
        """Adds samples of an iteration, counted from 1."""
        iterations, weights = np.full(len(samples.values), iteration), weights_of(samples)
        self.add_rows(**samples.infosets, values=samples.values, weights=weights, iterations=iterations)

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches; see `Aggregated.batches`. Their rows are those of `tensors`."""
        stored, columns = len(self), self._columns
        weights = columns["weights"][:stored] * columns["iterations"][:stored].astype(np.float64) ** self._power
        if stored:
            weights /= weights.mean()

        def batch_of(positions: np.ndarray) -> Batch:
            if self._features is None:
                rows, masks = positions, columns["masks"][positions]
            else:
                rows = columns["rows"][positions].astype(np.int64)
                masks = self._features.masks[rows]
            return batch_at(rows, columns["values"][positions] / np.float32(self._unit), weights[positions], masks)

        yield from draw_batches(stored, size, rng, batch_of)


def tensor_columns(capacity: int, size: int, num_actions: int) -> dict[str, np.ndarray]:
    """Returns columns of information sets where there is no tree, for a `Store`."""
    return {"tensors": np.zeros((capacity, size), np.float32), "masks": np.zeros((capacity, num_actions), bool)}


def batch_at(rows: np.ndarray, targets: np.ndarray, weights: np.ndarray, masks: np.ndarray) -> Batch:
    """Returns the batch of some rows, with weights ``[n]`` at legal actions."""
    return Batch(rows, targets.astype(np.float32, copy=False), (weights[:, None] * masks).astype(np.float32))


def weights_of(samples: Samples) -> np.ndarray:
    """Returns the weights of samples, ``[num_samples]`` float64."""
    return np.ones(len(samples.values)) if samples.weights is None else samples.weights


@kernel
def add_sums(rows, targets, new_weights, sums, weights):
    """Adds weight x targets and the weight itself at each sample's row. `sums` and `weights` are modified in place."""
    for sample in range(len(rows)):
        row, weight = rows[sample], new_weights[sample]
        for action in range(targets.shape[1]):
            sums[row, action] += weight * targets[sample, action]
        weights[row] += weight
