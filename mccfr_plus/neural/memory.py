"""What was sampled, kept for training: sums per information set, a uniform sample of everything, or the latest.

| memory | holds | loss that its batches give |
|---|---|---|
| `Aggregated` | weighted sums of targets and of weights per row | that of all samples ever added, up to a constant |
| `Reservoir` | a uniform sample of all samples | the same in expectation over what is kept |
| `Ring` | the latest samples | that of the latest samples |

The first holds because sum_k w_k (f - y_k)^2 = W (f - Y)^2 + a part without f, with W = sum_k w_k and Y the weighted
mean. Samples are rows of `Features`, not tensors: one takes 12 bytes and 4 per action.
"""

from __future__ import annotations

import abc
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from mccfr_plus.estimators.draws import draw_uniform
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.neural.features import Features
from mccfr_plus.neural.sampling import Samples

_SIZE, _SEEN = 0, 1  # entries of `_Stored._counts`


class Batch(NamedTuple):
    """What one training step takes."""

    rows: np.ndarray  # [n] int64, rows of `Features`
    targets: np.ndarray  # [n, num_actions] float32, by OpenSpiel's actions; 0 at illegal ones
    weights: np.ndarray  # [n, num_actions] float32: the sample's weight, with mean about 1; 0 at illegal actions


class Kept(abc.ABC):
    """What a solver keeps from one iteration to the next and can take back: anything that samples are put into."""

    @abc.abstractmethod
    def __len__(self) -> int:
        """Returns how many entries there are."""

    @abc.abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """Returns what is kept, by name: views, as long as nothing is added."""

    @abc.abstractmethod
    def resize(self, size: int) -> None:
        """Makes `state` return arrays for so many entries, to be filled from a checkpoint."""

    @abc.abstractmethod
    def begin(self) -> None:
        """Notes the present contents; what was noted before is forgotten."""

    @abc.abstractmethod
    def rollback(self) -> None:
        """Goes back to the contents at the last `begin`."""


class Memory(Kept):
    """Samples of one player, with iteration t's weighted by t^power.

    Args:
        features: The player's information sets.
        num_actions: Of the game.
        power: Exponent of the weights: 1 for linear ones, 0 for equal ones.
        unit: What targets are divided by.
    """

    def __init__(self, features: Features, num_actions: int, *, power: float = 1.0, unit: float = 1.0):
        self._features = features
        self._num_actions = num_actions
        self._power = power
        self._unit = unit

    @abc.abstractmethod
    def __len__(self) -> int:
        """Returns how many different batch entries there are: samples, or information sets with a sample."""

    @abc.abstractmethod
    def add(self, samples: Samples, iteration: int) -> None:
        """Takes samples of an iteration, counted from 1."""

    @abc.abstractmethod
    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches without end: all entries, always the same object, if there are at most `size`; else so many
        drawn uniformly with replacement.

        Args:
            size: The largest number of entries.
            iteration: The current one, which weights are relative to.
            rng: ``[1]`` uint64, modified in place.
        """

    def prepare(self) -> None:
        """Compiles the kernels, if that is to be done."""
        width = self._features.actions.shape[1]
        self.add(Samples(np.zeros(0, np.int32), np.zeros((0, width))), 1)
        self.batch_of(np.zeros(0, np.int64), np.zeros((0, width)), np.zeros(0))
        draw_positions(1, np.zeros(1, np.uint64), np.zeros(1, np.int64))

    def batch_of(self, rows: np.ndarray, values: np.ndarray, weights: np.ndarray) -> Batch:
        """Returns the batch of some entries: their rows, values in the order of slots, and weights."""
        shape = (len(rows), self._num_actions)
        batch = Batch(rows.astype(np.int64), np.zeros(shape, np.float32), np.zeros(shape, np.float32))
        values = values.astype(np.float64) / self._unit
        fill_batch(batch.rows, values, weights, self._features.actions, self._features.counts, *batch[1:])
        return batch


class Aggregated(Memory):
    """Two sums per information set in place of all samples. See `Memory`."""

    def __init__(self, features: Features, num_actions: int, *, power: float = 1.0, unit: float = 1.0):
        super().__init__(features, num_actions, power=power, unit=unit)
        self.sums = np.zeros(features.actions.shape)  # of weight x target, in the order of slots
        self.weights = np.zeros(len(features.counts))
        self._before: tuple[np.ndarray, ...] = (self.sums.copy(), self.weights.copy())

    def __len__(self) -> int:
        return int(np.count_nonzero(self.weights))

    def add(self, samples: Samples, iteration: int) -> None:
        weights = weights_of(samples) * float(iteration) ** self._power
        add_sums(samples.rows, samples.regrets, weights, self._features.counts, self.sums, self.weights)

    def means(self) -> np.ndarray:
        """Returns the weighted mean of each row's samples, ``[num_rows, max_actions]`` float64; 0 without samples."""
        return self.sums / np.where(self.weights > 0.0, self.weights, 1.0)[:, None]

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        yield from drawn_batches(self, self.weights, self.means(), size, rng)

    def state(self) -> dict[str, np.ndarray]:
        return {"sums": self.sums, "weights": self.weights}

    def resize(self, size: int) -> None:
        pass  # there is a place for every information set

    def begin(self) -> None:
        for kept, array in zip(self._before, (self.sums, self.weights), strict=True):
            kept[...] = array

    def rollback(self) -> None:
        for kept, array in zip(self._before, (self.sums, self.weights), strict=True):
            array[...] = kept


class _Stored(Memory):
    """Samples one by one: which information set, in which iteration, what."""

    def __init__(self, features: Features, num_actions: int, capacity: int, *, power: float = 1.0, unit: float = 1.0):
        super().__init__(features, num_actions, power=power, unit=unit)
        self.capacity = capacity
        # Memory that nobody has written to costs nothing.
        self._rows = np.zeros(capacity, np.int32)
        self._iterations = np.zeros(capacity, np.int32)
        self._values = np.zeros((capacity, features.actions.shape[1]), np.float32)
        self._weights = np.zeros(capacity, np.float32)  # beside the iteration's
        self._counts = np.zeros(2, np.int64)
        self._counts_before = self._counts.copy()
        self._replaced: list[tuple[np.ndarray, ...]] = []  # places, and what stood there, since `begin`

    def __len__(self) -> int:
        return int(self._counts[_SIZE])

    @property
    def _stored(self) -> tuple[np.ndarray, ...]:
        return self._rows, self._iterations, self._values, self._weights

    @property
    def seen(self) -> int:
        """How many samples were added, kept or not."""
        return int(self._counts[_SEEN])

    @abc.abstractmethod
    def _places(self, count: int) -> np.ndarray:
        """Returns where the next samples go, ``[count]`` int64; -1 for those that are not kept."""

    def add(self, samples: Samples, iteration: int) -> None:
        count = len(samples.rows)
        size = len(self)
        places = self._places(count)
        old = places[(places >= 0) & (places < size)]
        if len(old):
            self._replaced.append((old, *(array[old] for array in self._stored)))
        store(places, samples.rows, iteration, samples.regrets, weights_of(samples), *self._stored)
        self._counts[_SIZE] = min(size + count, self.capacity)
        self._counts[_SEEN] += count

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        stored = len(self)
        if not stored:
            return
        weight_of = np.arange(max(iteration, 1) + 1, dtype=np.float64) ** self._power
        weight_of /= weight_of[1:].mean()  # by 2 / (t + 1) if linear; Brown et al. 2019, appendix C, take 2 / t
        scale = float(self._weights[:stored].mean(dtype=np.float64))

        def batch_of(positions: np.ndarray) -> Batch:
            weights = weight_of[self._iterations[positions]] * (self._weights[positions] / scale)
            return self.batch_of(self._rows[positions], self._values[positions], weights)

        yield from _drawn(stored, size, rng, batch_of)

    def state(self) -> dict[str, np.ndarray]:
        size = len(self)
        return {
            "rows": self._rows[:size],
            "iterations": self._iterations[:size],
            "values": self._values[:size],
            "weights": self._weights[:size],
            "counts": self._counts,
        }

    def resize(self, size: int) -> None:
        self._counts[_SIZE] = size

    def begin(self) -> None:
        self._replaced = []
        self._counts_before = self._counts.copy()

    def rollback(self) -> None:
        for places, *contents in reversed(self._replaced):
            for array, before in zip(self._stored, contents, strict=True):
                array[places] = before
        self._replaced = []
        self._counts[:] = self._counts_before


class Reservoir(_Stored):
    """A uniform sample, without replacement, of all samples ever added (Vitter 1985, algorithm R). See `Memory`.

    Args:
        features: See `Memory`.
        num_actions: See `Memory`.
        capacity: How many samples are kept.
        rng: ``[1]`` uint64, the state of the generator that decides what is kept; kept, not copied.
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
        super().__init__(features, num_actions, capacity, power=power, unit=unit)
        self._rng = rng

    def _places(self, count: int) -> np.ndarray:
        places = np.empty(count, np.int64)
        reservoir_places(self.seen, self.capacity, self._rng, places)
        return places


class Ring(_Stored):
    """The latest samples. See `Memory`."""

    def _places(self, count: int) -> np.ndarray:
        return (self.seen + np.arange(count)) % self.capacity


def drawn_batches(
    memory: Memory, weights: np.ndarray, targets: np.ndarray, size: int, rng: np.ndarray
) -> Iterator[Batch]:
    """Yields batches of the rows that have a weight; see `Memory.batches`.

    Args:
        memory: Whose rows.
        weights: ``[num_rows]``.
        targets: ``[num_rows, max_actions]``, in the order of slots.
        size: The largest number of entries.
        rng: ``[1]`` uint64, modified in place.
    """
    rows = np.flatnonzero(weights)
    if not len(rows):
        return
    relative = weights / weights[rows].mean()

    def batch_of(positions: np.ndarray) -> Batch:
        drawn = rows[positions]
        return memory.batch_of(drawn, targets[drawn], relative[drawn])

    yield from _drawn(len(rows), size, rng, batch_of)


def weights_of(samples: Samples) -> np.ndarray:
    """Returns the weights of samples, ``[num_samples]`` float64."""
    return np.ones(len(samples.rows)) if samples.weights is None else samples.weights


def _drawn(count: int, size: int, rng: np.ndarray, batch_of: Callable[[np.ndarray], Batch]) -> Iterator[Batch]:
    """Yields the batch of all entries again and again, or batches of `size` drawn ones; see `Memory.batches`."""
    if count <= size:
        yield from itertools.repeat(batch_of(np.arange(count)))
    positions = np.zeros(size, np.int64)
    while True:
        draw_positions(count, rng, positions)
        yield batch_of(positions)


@kernel
def add_sums(rows, targets, new_weights, counts, sums, weights):
    """Adds weight x targets and the weight itself at each sample's row. `sums` and `weights` are modified in place."""
    for sample in range(len(rows)):
        row, weight = rows[sample], new_weights[sample]
        for action in range(counts[row]):
            sums[row, action] += weight * targets[sample, action]
        weights[row] += weight


@kernel
def reservoir_places(seen, capacity, rng, places):
    """Writes where algorithm R puts the next samples: the n-th, counted from 0, at n, or if the reservoir is full at a
    uniform one of 0 .. n, which is nowhere (-1) if it is too large. `rng` and `places` are modified in place.
    """
    for sample in range(len(places)):
        place = seen + sample
        if place >= capacity:
            place = draw_uniform(place + 1, rng)
        places[sample] = place if place < capacity else -1


@kernel
def store(places, new_rows, iteration, new_values, new_weights, rows, iterations, values, weights):
    """Writes samples to their places, a later one over an earlier one. The last four are modified in place."""
    for sample in range(len(places)):
        place = places[sample]
        if place >= 0:
            rows[place] = new_rows[sample]
            iterations[place] = iteration
            weights[place] = new_weights[sample]
            for action in range(values.shape[1]):
                values[place, action] = new_values[sample, action]


@kernel
def draw_positions(count, rng, positions):
    """Fills `positions` with uniform numbers 0 .. count - 1. `rng` and `positions` are modified in place."""
    for index in range(len(positions)):
        positions[index] = draw_uniform(count, rng)


@kernel
def fill_batch(rows, values, weights, actions, counts, targets, out_weights):
    """Spreads values from the order of slots to OpenSpiel's actions.

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
