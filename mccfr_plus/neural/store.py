"""Rows that a solver keeps between iterations: the latest ones, or a uniform sample of all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from mccfr_plus.estimators.draws import draw_uniform
from mccfr_plus.kernels.compile import kernel

_SIZE, _SEEN = 0, 1  # entries of `Store._counts`

T = TypeVar("T")


class Store:
    """A ring buffer of rows; or a uniform sample, without replacement, of all rows (Vitter 1985, algorithm R).

    An iteration that fails is undone: `rollback` restores the contents at the last `begin`.

    Args:
        columns: By name, ``[capacity, ...]``, zeros. Pages that were never written take no memory.
        rng: ``[1]`` uint64, the state of the generator of algorithm R, modified in place. None: a ring buffer, which
            keeps the latest rows.
    """

    def __init__(self, columns: dict[str, np.ndarray], rng: np.ndarray | None = None):
        self._columns, self._is_reservoir = columns, rng is not None
        self.rng = np.zeros(1, np.uint64) if rng is None else rng
        self.capacity = len(next(iter(columns.values())))
        self._counts = np.zeros(2, np.int64)
        self._before = self._counts.copy(), self.rng.copy()
        self._replaced: list[tuple[np.ndarray, list[np.ndarray]]] = []  # places and former contents, since `begin`

    def __len__(self) -> int:
        return int(self._counts[_SIZE])

    @property
    def seen(self) -> int:
        """Number of rows added so far, dropped ones included."""
        return int(self._counts[_SEEN])

    def add_rows(self, **rows: np.ndarray) -> None:
        """Adds rows, ``[count, ...]`` by name of the column, the oldest ones first."""
        count, size = len(next(iter(rows.values()))), len(self)
        places = (self.seen + np.arange(count)) % self.capacity
        if self._is_reservoir:
            reservoir_places(self.seen, self.capacity, self.rng, places)
        old = places[(places >= 0) & (places < size)]
        if len(old):
            self._replaced.append((old, [column[old] for column in self._columns.values()]))
        is_kept = places >= 0
        places = places[is_kept]
        for name, column in self._columns.items():
            column[places] = rows[name][is_kept]  # NumPy keeps the last one of several rows for one place
        self._counts[_SIZE] = min(size + count, self.capacity)
        self._counts[_SEEN] += count

    def drawn(self, size: int, rng: np.ndarray) -> Iterator[dict[str, np.ndarray]]:
        """Yields batches of rows, by column: copies; see `draw_batches`."""
        return draw_batches(len(self), size, rng, lambda places: {k: c[places] for k, c in self._columns.items()})

    def state(self, size: int | None = None) -> dict[str, np.ndarray]:
        """Returns the contents, or arrays to be filled with `size` rows, by name: views until something is added."""
        size = len(self) if size is None else size
        columns = {name: column[:size] for name, column in self._columns.items()}
        return columns | {"counts": self._counts} | ({"rng": self.rng} if self._is_reservoir else {})

    def begin(self) -> None:
        """Marks the present contents as those to which `rollback` returns."""
        self._replaced = []
        self._before = self._counts.copy(), self.rng.copy()

    def rollback(self) -> None:
        """Restores the contents at the last `begin`."""
        for places, contents in reversed(self._replaced):
            for column, before in zip(self._columns.values(), contents, strict=True):
                column[places] = before
        self._replaced = []
        self._counts[:], self.rng[:] = self._before


def named(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arrays and stores of parts, by name. A part is one of these, or its ``state`` returns others."""
    found: dict[str, Any] = {}
    for name, part in parts.items():
        if isinstance(part, np.ndarray | Store):
            found[name] = part
        else:
            found |= {f"{name}/{inner}": each for inner, each in named(part.state()).items()}
    return found


def draw_batches(count: int, size: int, rng: np.ndarray, batch_of: Callable[[np.ndarray], T]) -> Iterator[T]:
    """Yields batches without end: all entries, always the same object, if there are at most `size`; else `size` entries
    drawn uniformly with replacement. Yields nothing if there are no entries.

    Args:
        count: The number of entries.
        size: The largest number of entries of a batch.
        rng: ``[1]`` uint64, modified in place.
        batch_of: Returns the batch of entries ``[n]`` int64.
    """
    if 0 < count <= size:
        yield from itertools.repeat(batch_of(np.arange(count)))
    positions = np.zeros(size, np.int64)
    while count:
        draw_positions(count, rng, positions)
        yield batch_of(positions.copy())


@kernel
def reservoir_places(seen, capacity, rng, places):
    """Writes the places of the next rows by algorithm R; -1 for rows that are dropped.

    Row n, counted from 0, goes to place n; in a full reservoir to a uniform place of 0 .. n, and is dropped if that is
    not below the capacity. `rng` and `places` are modified in place.
    """
    for row in range(len(places)):
        place = seen + row
        if place >= capacity:
            place = draw_uniform(place + 1, rng)
        places[row] = place if place < capacity else -1


@kernel
def draw_positions(count, rng, positions):
    """Fills `positions` with uniform numbers 0 .. count - 1. `rng` and `positions` are modified in place."""
    for index in range(len(positions)):
        positions[index] = draw_uniform(count, rng)


def prepare_kernels() -> None:
    """Compiles the kernels of stores."""
    reservoir_places(0, 1, np.zeros(1, np.uint64), np.zeros(0, np.int64))
    draw_positions(1, np.zeros(1, np.uint64), np.zeros(1, np.int64))
