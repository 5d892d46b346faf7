"""Memories with the tensors themselves: a uniform sample of everything that was ever added, and the latest."""

from __future__ import annotations

import abc
from collections.abc import Iterator

import numpy as np

from mccfr_plus.neural.memory import Batch, draw_positions, reservoir_places

_SIZE, _SEEN = 0, 1  # entries of `_counts`


class _Columns(abc.ABC):
    """Columns of rows, of which so many are kept. Memory that nobody has written to costs nothing.

    Args:
        columns: By name, ``[capacity, ...]``, zeros.
    """

    def __init__(self, columns: dict[str, np.ndarray]):
        self._columns = columns
        self.capacity = len(next(iter(columns.values())))
        self._counts = np.zeros(2, np.int64)
        self._counts_before = self._counts.copy()
        self._replaced: list[tuple[np.ndarray, list[np.ndarray]]] = []  # places, and what stood there, since `begin`

    def __len__(self) -> int:
        return int(self._counts[_SIZE])

    @property
    def seen(self) -> int:
        """How many rows were added, kept or not."""
        return int(self._counts[_SEEN])

    @abc.abstractmethod
    def _places(self, count: int) -> np.ndarray:
        """Returns where the next rows go, ``[count]`` int64; -1 for those that are not kept."""

    def _add(self, rows: dict[str, np.ndarray]) -> None:
        """Takes rows, a later one in place of an earlier one where they meet."""
        count, size = len(next(iter(rows.values()))), len(self)
        places = self._places(count)
        kept = np.flatnonzero(places >= 0)
        kept = kept[len(kept) - 1 - np.unique(places[kept][::-1], return_index=True)[1]]  # the last one at a place
        places = places[kept]
        old = places[places < size]
        if len(old):
            self._replaced.append((old, [column[old] for column in self._columns.values()]))
        for name, column in self._columns.items():
            column[places] = rows[name][kept]
        self._counts[_SIZE] = min(size + count, self.capacity)
        self._counts[_SEEN] += count

    def state(self) -> dict[str, np.ndarray]:
        """Returns what is kept, by name: views, as long as nothing is added."""
        size = len(self)
        return {name: column[:size] for name, column in self._columns.items()} | {"counts": self._counts}

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
            for column, before in zip(self._columns.values(), contents, strict=True):
                column[places] = before
        self._replaced = []
        self._counts[:] = self._counts_before

    def prepare(self) -> None:
        """Compiles the kernels, if that is to be done."""
        reservoir_places(0, 1, np.zeros(1, np.uint64), np.empty(0, np.int64))
        draw_positions(1, np.zeros(1, np.uint64), np.zeros(1, np.int64))


class TensorReservoir(_Columns):
    """Rows of a tensor, legal actions and a number per action (Vitter 1985, algorithm R).

    Tensors are kept in half precision, which is exact for the zeros and ones that nearly all of them consist of. A row
    takes 2 bytes per entry of the tensor, 5 per action and 8 more.

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
        super().__init__(
            {
                "tensors": np.zeros((capacity, size), np.float16),
                "masks": np.zeros((capacity, num_actions), bool),
                "values": np.zeros((capacity, num_actions), np.float32),
                "weights": np.zeros(capacity, np.float32),
                "iterations": np.zeros(capacity, np.int32),
            }
        )
        self._rng, self._power, self._unit = rng, power, unit

    @property
    def tensors(self) -> np.ndarray:
        """What rows of batches mean, ``[capacity, size]`` float16."""
        return self._columns["tensors"]

    def _places(self, count: int) -> np.ndarray:
        places = np.empty(count, np.int64)
        reservoir_places(self.seen, self.capacity, self._rng, places)
        return places

    def add(
        self, tensors: np.ndarray, masks: np.ndarray, values: np.ndarray, weights: np.ndarray | None, iteration: int
    ) -> None:
        """Takes rows of an iteration, counted from 1; `weights` come on top of the iteration's, None for ones."""
        count = len(tensors)
        self._add(
            {
                "tensors": tensors,
                "masks": masks,
                "values": values,
                "weights": np.ones(count) if weights is None else weights,
                "iterations": np.full(count, iteration),
            }
        )

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches without end, as `Memory.batches` does; their rows are those of `tensors`."""
        stored, columns = len(self), self._columns
        if not stored:
            return
        weights = columns["weights"][:stored] * columns["iterations"][:stored].astype(np.float64) ** self._power
        weights /= weights.mean()
        positions = np.arange(stored) if stored <= size else np.zeros(size, np.int64)
        while True:
            if stored > size:
                draw_positions(stored, rng, positions)
            yield Batch(
                positions.copy(),
                columns["values"][positions] / np.float32(self._unit),
                (weights[positions, None] * columns["masks"][positions]).astype(np.float32),
            )


class TransitionRing(_Columns):
    """The latest transitions of a player: what it saw and did, what it got, and what it saw when it was next to move.

    Args:
        size: Of a tensor.
        num_actions: Of the game.
        capacity: How many are kept.
    """

    def __init__(self, size: int, num_actions: int, capacity: int):
        super().__init__(
            {
                "tensors": np.zeros((capacity, size), np.float16),
                "actions": np.zeros(capacity, np.int64),
                "rewards": np.zeros(capacity, np.float32),
                "next_tensors": np.zeros((capacity, size), np.float16),
                "next_masks": np.zeros((capacity, num_actions), bool),  # nothing is legal where the game was over
            }
        )

    def _places(self, count: int) -> np.ndarray:
        return (self.seen + np.arange(count)) % self.capacity

    def add(self, **rows: np.ndarray) -> None:
        """Takes transitions, the oldest ones first: ``tensors``, ``actions``, ``rewards``, ``next_tensors``,
        ``next_masks``.
        """
        self._add(rows)

    def draw(self, size: int, rng: np.ndarray) -> dict[str, np.ndarray]:
        """Returns so many transitions, drawn uniformly with replacement, by column; all if there are no more.

        Args:
            size: How many.
            rng: ``[1]`` uint64, modified in place.
        """
        positions = np.arange(len(self))
        if len(self) > size:
            positions = np.zeros(size, np.int64)
            draw_positions(len(self), rng, positions)
        return {name: column[positions] for name, column in self._columns.items()}
