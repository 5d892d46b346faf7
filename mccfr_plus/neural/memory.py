"""Samples of one player for training: sums per information set, or a uniform sample of all samples.

| memory | contents | loss of its batches |
|---|---|---|
| `Aggregated` | weighted sums of targets and of weights per row | that of all samples, up to a constant |
| `Reservoir` | a uniform sample of all samples | the same in expectation over the contents |

The first holds because sum_k w_k (f - y_k)^2 = W (f - Y)^2 + a term without f, with W = sum_k w_k and Y the weighted
mean. Samples are rows of `Features`, not tensors: a sample takes 12 bytes and 4 per action.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.neural.buffer import Buffer, RowBuffer, draw_batches, draw_positions
from mccfr_plus.neural.features import Features
from mccfr_plus.neural.sampling import Samples


class Batch(NamedTuple):
    """The data of a training step."""

    rows: np.ndarray  # [n] int64, rows of `Features`
    targets: np.ndarray  # [n, num_actions] float32, by OpenSpiel's actions; 0 at illegal ones
    weights: np.ndarray  # [n, num_actions] float32: the sample's weight, with mean about 1; 0 at illegal actions


class Memory(Buffer):
    """Samples of one player; those of iteration t have weight t^power.

    Args:
        features: The player's information sets.
        num_actions: Number of distinct actions of the game.
        power: Exponent of the weights: 1 for linear ones, 0 for equal ones.
        unit: Divisor of the targets.
    """

    def __init__(self, features: Features, num_actions: int, *, power: float = 1.0, unit: float = 1.0):
        self._features = features
        self._num_actions = num_actions
        self._power = power
        self._unit = unit

    @abc.abstractmethod
    def __len__(self) -> int:
        """Returns the number of batch entries: samples, or information sets with a sample."""

    @abc.abstractmethod
    def add(self, samples: Samples, iteration: int) -> None:
        """Adds samples of an iteration, counted from 1."""

    @abc.abstractmethod
    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches without end; see `draw_batches`.

        Args:
            size: The largest number of entries.
            iteration: The current iteration, to which weights are relative.
            rng: ``[1]`` uint64, modified in place.
        """

    def prepare(self) -> None:
        """Compiles the kernels."""
        width = self._features.actions.shape[1]
        self.begin()
        self.add(Samples(np.zeros(0, np.int32), np.zeros((0, width))), 1)
        self.rollback()
        self.batch_of(np.zeros(0, np.int64), np.zeros((0, width)), np.zeros(0))
        draw_positions(1, np.zeros(1, np.uint64), np.zeros(1, np.int64))

    def batch_of(self, rows: np.ndarray, values: np.ndarray, weights: np.ndarray) -> Batch:
        """Returns the batch of some rows, of their values in the order of slots, and of their weights."""
        shape = (len(rows), self._num_actions)
        batch = Batch(rows.astype(np.int64), np.zeros(shape, np.float32), np.zeros(shape, np.float32))
        values = values.astype(np.float64) / self._unit
        fill_batch(batch.rows, values, weights, self._features.actions, self._features.counts, *batch[1:])
        return batch


class Aggregated(Memory):
    """Two sums per information set instead of its samples. See `Memory`."""

    def __init__(self, features: Features, num_actions: int, *, power: float = 1.0, unit: float = 1.0):
        super().__init__(features, num_actions, power=power, unit=unit)
        self.sums = np.zeros(features.actions.shape)  # of weight x target, in the order of slots
        self.weights = np.zeros(len(features.counts))
        self._before: dict[str, np.ndarray] = {}

    def __len__(self) -> int:
        return int(np.count_nonzero(self.total_weights()))

    def add(self, samples: Samples, iteration: int) -> None:
        weights = weights_of(samples) * float(iteration) ** self._power
        add_sums(samples.rows, samples.regrets, weights, self._features.counts, self.sums, self.weights)

    def total_weights(self) -> np.ndarray:
        """Returns the total weight of each row's samples, ``[num_rows]`` float64."""
        return self.weights

    def means(self) -> np.ndarray:
        """Returns the weighted mean of each row's samples, ``[num_rows, max_actions]`` float64; 0 without samples."""
        return self.sums / np.where(self.weights > 0.0, self.weights, 1.0)[:, None]

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        weights, targets = self.total_weights(), self.means()
        rows = np.flatnonzero(weights)
        if not len(rows):
            return
        relative = weights / weights[rows].mean()

        def batch_of(positions: np.ndarray) -> Batch:
            drawn = rows[positions]
            return self.batch_of(drawn, targets[drawn], relative[drawn])

        yield from draw_batches(len(rows), size, rng, batch_of)

    def state(self) -> dict[str, np.ndarray]:
        return {"sums": self.sums, "weights": self.weights}

    def resize(self, size: int) -> None:
        pass  # there is a place for every information set

    def begin(self) -> None:
        self._before = {name: array.copy() for name, array in self.state().items()}

    def rollback(self) -> None:
        for name, array in self.state().items():
            array[...] = self._before[name]


class Reservoir(RowBuffer, Memory):
    """A uniform sample of all samples. See `RowBuffer` and `Memory`.

    Args:
        features: See `Memory`.
        num_actions: See `Memory`.
        capacity: The largest number of samples.
        rng: See `RowBuffer`.
        power: See `Memory`.
        unit: See `Memory`.
    """

    def __init__(
        self,
        features: Features,
        num_actions: int,
        capacity: int,
        rng: np.ndarray,
        *,
        power: float = 1.0,
        unit: float = 1.0,
    ):
        columns = {
            "rows": np.zeros(capacity, np.int32),
            "iterations": np.zeros(capacity, np.int32),
            "values": np.zeros((capacity, features.actions.shape[1]), np.float32),
            "weights": np.zeros(capacity, np.float32),  # without the factor of the iteration
        }
        RowBuffer.__init__(self, columns, rng)
        Memory.__init__(self, features, num_actions, power=power, unit=unit)

    def add(self, samples: Samples, iteration: int) -> None:
        iterations = np.full(len(samples.rows), iteration)
        self.add_rows(rows=samples.rows, iterations=iterations, values=samples.regrets, weights=weights_of(samples))

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        stored = len(self)
        if not stored:
            return
        rows, iterations, values, weights = self._columns.values()
        weight_of = np.arange(max(iteration, 1) + 1, dtype=np.float64) ** self._power
        weight_of /= weight_of[1:].mean()  # by 2 / (t + 1) if linear; Brown et al. 2019, appendix C, take 2 / t
        scale = float(weights[:stored].mean(dtype=np.float64))

        def batch_of(positions: np.ndarray) -> Batch:
            relative = weight_of[iterations[positions]] * (weights[positions] / scale)
            return self.batch_of(rows[positions], values[positions], relative)

        yield from draw_batches(stored, size, rng, batch_of)


def weights_of(samples: Samples) -> np.ndarray:
    """Returns the weights of samples, ``[num_samples]`` float64."""
    return np.ones(len(samples.rows)) if samples.weights is None else samples.weights


@kernel
def add_sums(rows, targets, new_weights, counts, sums, weights):
    """Adds weight x targets and the weight itself at each sample's row. `sums` and `weights` are modified in place."""
    for sample in range(len(rows)):
        row, weight = rows[sample], new_weights[sample]
        for action in range(counts[row]):
            sums[row, action] += weight * targets[sample, action]
        weights[row] += weight


@kernel
def fill_batch(rows, values, weights, actions, counts, targets, out_weights):
    """Writes values, given in the order of slots, to the columns of OpenSpiel's actions.

    Args:
        rows: ``[n]``, rows of `Features`.
        values: ``[n, max_actions]``, in the order of slots.
        weights: ``[n]``.
        actions: See `Features`.
        counts: See `Features`.
        targets: ``[n, num_actions]`` float32, zeros. Modified in place.
        out_weights: The same.
    """
    for entry in range(len(rows)):
        row = rows[entry]
        for index in range(counts[row]):
            action = actions[row, index]
            targets[entry, action] = values[entry, index]
            out_weights[entry, action] = weights[entry]
