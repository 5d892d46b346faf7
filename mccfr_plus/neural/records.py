"""Memories of records, such as transitions: the latest, or a uniform sample of all.

`memory` holds samples for weighted least squares; this holds anything that is a numpy record.
"""

from __future__ import annotations

import abc

import numpy as np

from mccfr_plus.neural.memory import Kept, draw_positions, reservoir_places

_SIZE, _SEEN = 0, 1  # entries of `_Records._counts`


class _Records(Kept):
    """Records of one player.

    Args:
        dtype: Of a record.
        capacity: How many are kept.
    """

    def __init__(self, dtype: np.dtype, capacity: int):
        self.capacity = capacity
        self._records = np.zeros(capacity, dtype)  # memory that nobody has written to costs nothing
        self._counts = np.zeros(2, np.int64)
        self._counts_before = self._counts.copy()
        self._replaced: list[tuple[np.ndarray, np.ndarray]] = []  # places, and what stood there, since `begin`

    def __len__(self) -> int:
        return int(self._counts[_SIZE])

    @property
    def seen(self) -> int:
        """How many records were added, kept or not."""
        return int(self._counts[_SEEN])

    @property
    def records(self) -> np.ndarray:
        """What is kept, ``[len(self)]``: a view."""
        return self._records[: len(self)]

    @abc.abstractmethod
    def _places(self, count: int) -> np.ndarray:
        """Returns where the next records go, ``[count]`` int64; -1 for those that are not kept."""

    def add(self, records: np.ndarray) -> None:
        """Takes records, ``[count]``."""
        count, size = len(records), len(self)
        if not count:
            return
        places = self._places(count)
        old = places[(places >= 0) & (places < size)]
        if len(old):
            self._replaced.append((old, self._records[old]))
        is_kept = places >= 0
        self._records[places[is_kept]] = records[is_kept]  # of two for one place the later one stays
        self._counts[_SIZE] = min(size + count, self.capacity)
        self._counts[_SEEN] += count

    def draw(self, size: int, rng: np.ndarray) -> np.ndarray:
        """Returns all records if there are at most `size`, else so many drawn uniformly with replacement: a copy.

        Args:
            size: The largest number of records.
            rng: ``[1]`` uint64, modified in place.
        """
        if len(self) <= size:
            return self.records.copy()
        positions = np.empty(size, np.int64)
        draw_positions(len(self), rng, positions)
        return self._records[positions]

    def state(self) -> dict[str, np.ndarray]:
        return {"records": self.records, "counts": self._counts}

    def resize(self, size: int) -> None:
        self._counts[_SIZE] = size

    def begin(self) -> None:
        self._replaced = []
        self._counts_before = self._counts.copy()

    def rollback(self) -> None:
        for places, before in reversed(self._replaced):
            self._records[places] = before
        self._replaced = []
        self._counts[:] = self._counts_before


class RecordRing(_Records):
    """The latest records. See `_Records`."""

    def _places(self, count: int) -> np.ndarray:
        return (self.seen + np.arange(count)) % self.capacity


class RecordReservoir(_Records):
    """A uniform sample, without replacement, of all records ever added (Vitter 1985, algorithm R).

    Args:
        dtype: Of a record.
        capacity: How many are kept.
        rng: ``[1]`` uint64, the state of the generator that decides what is kept; kept, not copied.
    """

    def __init__(self, dtype: np.dtype, capacity: int, rng: np.ndarray):
        super().__init__(dtype, capacity)
        self._rng = rng

    def _places(self, count: int) -> np.ndarray:
        places = np.empty(count, np.int64)
        reservoir_places(self.seen, self.capacity, self._rng, places)
        return places
