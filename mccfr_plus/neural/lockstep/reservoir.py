"""A uniform sample of everything that was ever added, with the tensors themselves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mccfr_plus.neural.memory import Batch, draw_positions, reservoir_places

_SIZE, _SEEN = 0, 1  # entries of `_counts`


class TensorReservoir:
    """Rows of a tensor, legal actions and a number per action (Vitter 1985, algorithm R).

    Tensors are kept in half precision, which is exact for the zeros and ones that nearly all of them consist of. A row
    takes 2 bytes per entry of the tensor, 5 per action and 8 more; memory that nobody has written to costs nothing.

    Args:
        size: Of a tensor.
        num_actions: Of the game.
        capacity: How many rows are kept.
        rng: ``[1]`` uint64, the state of the generator that decides what is kept; kept, not copied.
        power: Iteration t's rows weigh t^power.
        unit: What numbers are divided by in batches.
    """

    def __init__(
        self, size: int, num_actions: int, capacity: int, rng: np.ndarray, *, power: float = 1.0, unit: float = 1.0
    ):
        self.capacity = capacity
        self.tensors = np.zeros((capacity, size), np.float16)
        self._masks = np.zeros((capacity, num_actions), bool)
        self._values = np.zeros((capacity, num_actions), np.float32)
        self._weights = np.zeros(capacity, np.float32)
        self._iterations = np.zeros(capacity, np.int32)
        self._counts = np.zeros(2, np.int64)
        self._rng, self._power, self._unit = rng, power, unit
        self._counts_before = self._counts.copy()
        self._replaced: list[tuple[np.ndarray, list[np.ndarray]]] = []  # places, and what stood there, since `begin`

    def __len__(self) -> int:
        return int(self._counts[_SIZE])

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.tensors, self._masks, self._values, self._weights, self._iterations

    def add(
        self, tensors: np.ndarray, masks: np.ndarray, values: np.ndarray, weights: np.ndarray | None, iteration: int
    ) -> None:
        """Takes rows of an iteration, counted from 1; `weights` come on top of the iteration's, None for ones."""
        count, size = len(tensors), len(self)
        places = np.empty(count, np.int64)
        reservoir_places(int(self._counts[_SEEN]), self.capacity, self._rng, places)
        kept = np.flatnonzero(places >= 0)
        kept = kept[np.unique(places[kept][::-1], return_index=True)[1] * -1 + len(kept) - 1]  # the last one at a place
        places = places[kept]
        old = places[places < size]
        if len(old):
            self._replaced.append((old, [array[old] for array in self._arrays]))
        weights = np.ones(count) if weights is None else weights
        for array, new in zip(self._arrays, (tensors, masks, values, weights), strict=False):
            array[places] = new[kept]
        self._iterations[places] = iteration
        self._counts[_SIZE] = min(size + count, self.capacity)
        self._counts[_SEEN] += count

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches without end, as `Memory.batches` does; their rows are those of `tensors`."""
        stored = len(self)
        if not stored:
            return
        weights = self._weights[:stored] * self._iterations[:stored].astype(np.float64) ** self._power
        weights /= weights.mean()
        positions = np.arange(stored) if stored <= size else np.zeros(size, np.int64)
        while True:
            if stored > size:
                draw_positions(stored, rng, positions)
            masks = self._masks[positions]
            yield Batch(
                positions.copy(),
                self._values[positions] / np.float32(self._unit),
                (weights[positions, None] * masks).astype(np.float32),
            )

    def state(self) -> dict[str, np.ndarray]:
        """Returns what is kept, by name: views, as long as nothing is added."""
        size = len(self)
        names = ("tensors", "masks", "values", "weights", "iterations")
        views = {name: array[:size] for name, array in zip(names, self._arrays, strict=True)}
        return views | {"counts": self._counts}

    def resize(self, size: int) -> None:
        """Makes `state` return arrays for so many rows, to be filled from a checkpoint."""
        self._counts[_SIZE] = size

    def begin(self) -> None:
        """Notes the present contents; what was noted before is forgotten."""
        self._replaced = []
        self._counts_before = self._counts.copy()

    def rollback(self) -> None:
        """Goes back to the contents at the last `begin`."""
        for places, contents in reversed(self._replaced):
            for array, before in zip(self._arrays, contents, strict=True):
                array[places] = before
        self._replaced = []
        self._counts[:] = self._counts_before

    def prepare(self) -> None:
        """Compiles the kernels, if that is to be done."""
        reservoir_places(0, 1, self._rng, np.empty(0, np.int64))
        draw_positions(1, np.zeros(1, np.uint64), np.zeros(1, np.int64))
