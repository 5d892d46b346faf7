"""Samples of one player for training: sums per information set, or a uniform sample of all samples.

| memory | contents | loss of its batches |
|---|---|---|
| `Aggregated` | weighted sums of targets and of weights per row | that of all samples, up to a constant |
| `Discounted` | discounted sums of regrets per row, cut off at 0 | that to discounted regrets |
| `Reservoir` | a uniform sample of all samples | the same in expectation over the contents |

The first holds because sum_k w_k (f - y_k)^2 = W (f - Y)^2 + a term without f, with W = sum_k w_k and Y the weighted
mean. Samples are rows of `Features`, not tensors: a sample takes 12 bytes and 4 per action.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
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

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches of this batch's rows; see `draw_batches`."""
        yield from draw_batches(
            len(self.rows), size, rng, lambda positions: Batch(*(array[positions] for array in self))
        )


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

    def __init__(self, features: Features, num_actions: int, **options: float):
        super().__init__(features, num_actions, **options)
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
        discount: Returns the factor of the regrets of the first t iterations in the next one.
        predictive: Whether the targets include the prediction.
        unit: See `Memory`.

    Reference: Xu, Li, Liu, Fu, Fu, Xing, Cheng 2024, "Minimizing weighted counterfactual regret with optimistic online
    mirror descent", equations of DCFR+ and PDCFR+; Xu et al. 2026, "Deep (predictive) discounted counterfactual regret
    minimization", with networks.
    """

    def __init__(
        self,
        features: Features,
        num_actions: int,
        discount: Callable[[int], float],
        *,
        predictive: bool = False,
        unit: float = 1.0,
    ):
        super().__init__(features, num_actions, power=0.0, unit=unit)
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
        counts = self._features.counts
        add_sums(samples.rows, samples.regrets, weights_of(samples), counts, self._latest, self._counts)

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


class Reservoir(RowBuffer, Memory):
    """A uniform sample of all samples. See `RowBuffer` and `Memory`.

    Args:
        features: See `Memory`.
        num_actions: See `Memory`.
        capacity: The largest number of samples.
        rng: See `RowBuffer`.
        **options: ``power`` and ``unit``; see `Memory`.
    """

    def __init__(self, features: Features, num_actions: int, capacity: int, rng: np.ndarray, **options: float):
        columns = {
            "rows": np.zeros(capacity, np.int32),
            "iterations": np.zeros(capacity, np.int32),
            "values": np.zeros((capacity, features.actions.shape[1]), np.float32),
            "weights": np.zeros(capacity, np.float32),  # without the factor of the iteration
        }
        RowBuffer.__init__(self, columns, rng)
        Memory.__init__(self, features, num_actions, **options)

    def add(self, samples: Samples, iteration: int) -> None:
        rows, values, _ = samples
        self.add_rows(rows=rows, iterations=np.full(len(rows), iteration), values=values, weights=weights_of(samples))

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


class TensorReservoir(RowBuffer):
    """A uniform sample of information sets with their tensors, where the game is not enumerated. See `RowBuffer`.

    A row has a tensor, legal actions and a number per action.

    A row takes 4 bytes per entry of the tensor, 5 per action and 8 more.

    Args:
        size: Size of a tensor.
        num_actions: Number of distinct actions of the game.
        capacity: The largest number of rows.
        rng: See `RowBuffer`.
        power: Rows of iteration t have weight t^power.
        unit: Divisor of the numbers in batches.
    """

    def __init__(
        self, size: int, num_actions: int, capacity: int, rng: np.ndarray, *, power: float = 1.0, unit: float = 1.0
    ):
        columns = {
            "tensors": np.zeros((capacity, size), np.float32),
            "masks": np.zeros((capacity, num_actions), bool),
            "values": np.zeros((capacity, num_actions), np.float32),
            "weights": np.zeros(capacity, np.float32),
            "iterations": np.zeros(capacity, np.int32),
        }
        super().__init__(columns, rng)
        self.num_actions, self._power, self._unit = num_actions, power, unit

    @property
    def tensors(self) -> np.ndarray:
        """The tensors that rows of batches refer to, ``[capacity, size]`` float32."""
        return self._columns["tensors"]

    def add(
        self, tensors: np.ndarray, masks: np.ndarray, values: np.ndarray, weights: np.ndarray | None, iteration: int
    ) -> None:
        """Adds rows of an iteration, counted from 1; `weights` multiply the iteration's weight, None: all are 1."""
        count = len(tensors)
        self.add_rows(
            tensors=tensors,
            masks=masks,
            values=values,
            weights=np.ones(count) if weights is None else weights,
            iterations=np.full(count, iteration),
        )

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches; see `Memory.batches`. Their rows are those of `tensors`."""
        stored, columns = len(self), self._columns
        weights = columns["weights"][:stored] * columns["iterations"][:stored].astype(np.float64) ** self._power
        if stored:
            weights /= weights.mean()

        def batch_of(positions: np.ndarray) -> Batch:
            return Batch(
                positions,
                columns["values"][positions] / np.float32(self._unit),
                (weights[positions, None] * columns["masks"][positions]).astype(np.float32),
            )

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
    """Writes values, given in the order of slots, to the columns of OpenSpiel's actions, and weights likewise.

    See `Features` for `actions` and `counts`. `targets` and `out_weights` are modified in place.
    """
    for entry in range(len(rows)):
        row = rows[entry]
        for index in range(counts[row]):
            action = actions[row, index]
            targets[entry, action] = values[entry, index]
            out_weights[entry, action] = weights[entry]
