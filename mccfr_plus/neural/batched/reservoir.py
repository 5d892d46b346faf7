"""A uniform sample of information sets with their tensors, where the game is not enumerated."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mccfr_plus.neural.buffer import RowBuffer, draw_batches
from mccfr_plus.neural.memory import Batch


class TensorReservoir(RowBuffer):
    """Rows of a tensor, legal actions and a number per action. See `RowBuffer`.

    Tensors are stored in half precision, which is exact for zeros and ones. A row takes 2 bytes per entry of the
    tensor, 5 per action and 8 more.

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
            "tensors": np.zeros((capacity, size), np.float16),
            "masks": np.zeros((capacity, num_actions), bool),
            "values": np.zeros((capacity, num_actions), np.float32),
            "weights": np.zeros(capacity, np.float32),
            "iterations": np.zeros(capacity, np.int32),
        }
        super().__init__(columns, rng)
        self._power, self._unit = power, unit

    @property
    def tensors(self) -> np.ndarray:
        """The tensors that rows of batches refer to, ``[capacity, size]`` float16."""
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
