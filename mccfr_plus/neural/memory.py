"""What solvers keep between iterations, and what networks learn from: stores of rows, and memories of regrets."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from mccfr_plus.estimators.traversal import draw_uniform
from mccfr_plus.kernels.compile import allocating_kernel
from mccfr_plus.neural.config import PDCFR_PLUS

T = TypeVar("T")


class Store:
    """A ring buffer of rows; or with ``rng`` a uniform sample, without replacement, of all rows (Vitter 1985, R).

    ``columns``, by name, are ``[capacity, ...]`` zeros: pages that were never written take no memory.
    """

    def __init__(self, columns: dict[str, np.ndarray], rng: np.ndarray | None = None):
        self._columns, self._is_reservoir = columns, rng is not None
        self.rng = np.zeros(1, np.uint64) if rng is None else rng
        self._capacity, self.seen = len(next(iter(columns.values()))), np.zeros(1, np.int64)  # rows added so far
        self.begin()

    def __len__(self) -> int:
        return min(int(self.seen[0]), self._capacity)

    def add_rows(self, **rows: np.ndarray) -> None:
        """Adds rows, ``[count, ...]`` by name of the column, the oldest ones first."""
        count, size = len(next(iter(rows.values()))), len(self)
        places = self.seen[0] + np.arange(count)
        if self._is_reservoir:  # row n goes to a uniform place of 0 .. n, or is dropped
            places[places >= self._capacity] = draw_numbers(places[places >= self._capacity] + 1, self.rng)
        else:
            places %= self._capacity
        is_kept = places < self._capacity
        places = places[is_kept]
        old = places[places < size]
        if len(old):
            self._replaced.append((old, [column[old] for column in self._columns.values()]))
        for name, column in self._columns.items():
            column[places] = rows[name][is_kept]  # NumPy keeps the last one of several rows for one place
        self.seen += count

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        return draw_batches(len(self), size, rng, lambda places: tuple(c[places] for c in self._columns.values()))

    def state(self, size: int | None = None) -> dict[str, np.ndarray]:
        """Returns the contents, or arrays to be filled with `size` rows, by name: views until something is added."""
        columns = {name: column[: len(self) if size is None else size] for name, column in self._columns.items()}
        return columns | {"seen": self.seen} | ({"rng": self.rng} if self._is_reservoir else {})

    def begin(self) -> None:
        self._replaced: list[tuple[np.ndarray, list[np.ndarray]]] = []  # places and former contents
        self._before = self.seen.copy(), self.rng.copy()

    def rollback(self) -> None:
        for places, contents in reversed(self._replaced):
            for column, before in zip(self._columns.values(), contents, strict=True):
                column[places] = before
        self._replaced = []
        self.seen[:], self.rng[:] = self._before


def draw_batches(count: int, size: int, rng: np.ndarray, batch_of: Callable[[np.ndarray], T]) -> Iterator[T]:
    """Yields batches of `count` entries without end, made by `batch_of` of their numbers, ``[n]`` int64.

    A batch is all entries, always the same object, if there are at most `size`; else `size` drawn with replacement.
    """
    if 0 < count <= size:
        yield from itertools.repeat(batch_of(np.arange(count)))
    while count:
        yield batch_of(draw_numbers(np.full(size, count), rng))


class Examples(NamedTuple):
    """What a network is trained on."""

    infosets: np.ndarray  # [n] int64, rows of the network's inputs; or the inputs, [n, size] float32
    targets: np.ndarray  # [n, num_outputs] float32; 0 at illegal actions
    weights: np.ndarray  # [n, num_outputs] float32, with mean about 1; 0 at illegal actions

    @classmethod
    def of(cls, infosets: np.ndarray, targets: np.ndarray, weights: np.ndarray, masks: np.ndarray) -> Self:
        return cls(infosets, targets.astype(np.float32, copy=False), (weights[:, None] * masks).astype(np.float32))

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator["Examples"]:
        return draw_batches(len(self.infosets), size, rng, lambda rows: Examples(*(array[rows] for array in self)))


class Samples(NamedTuple):
    """Values sampled at information sets of one player, such as regrets."""

    infosets: np.ndarray  # [num_samples] rows of a tree, or [num_samples, size] float32 tensors
    masks: np.ndarray  # [num_samples, num_actions] bool, legal actions
    values: np.ndarray  # [num_samples, num_actions] float64, by OpenSpiel's actions; 0 at illegal ones
    weights: np.ndarray  # [num_samples] float64

    @classmethod
    def of(cls, found: Any, player: int, values: np.ndarray, weights: np.ndarray | None) -> Self:
        """Returns the values at a player's decisions in `Paths` or `Branches`; without weights, all are 1."""
        own = np.flatnonzero(found.players == player)
        weights = np.ones(len(own)) if weights is None else weights[own]
        return cls(found.infosets[own], found.masks[own], values[own], weights)


class Aggregated:
    """Two sums per information set of a compiled tree instead of its samples, those of iteration t times t^power.

    The loss equals that of all samples up to a constant. Targets are weighted means divided by `unit`.
    """

    def __init__(self, masks: np.ndarray, *, power: float = 1.0, unit: float = 1.0):
        self._masks, self._power, self._unit = masks, power, unit
        self.sums = np.zeros((len(masks), masks.shape[1] + 1))  # of weights x values, and of weights

    def add(self, samples: Samples, iteration: int) -> None:
        weights = samples.weights[:, None] * float(iteration) ** self._power
        np.add.at(self.sums, samples.infosets, np.concatenate([weights * samples.values, weights], axis=1))

    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns weighted means, 0 without samples, and weights, ``[num_rows]``."""
        weights = self.sums[:, -1]
        return self.sums[:, :-1] / np.where(weights > 0.0, weights, 1.0)[:, None], weights

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Examples]:
        means, weights = self.means()
        rows = np.flatnonzero(weights)
        shares = weights[rows] / (weights[rows].mean() if len(rows) else 1.0)
        examples = Examples.of(rows, means[rows] / self._unit, shares, self._masks[rows])
        return examples.batches(size, iteration, rng)

    def parts(self) -> dict[str, np.ndarray]:
        return {"sums": self.sums}


class Reservoir(Store):
    """A uniform sample of all samples. Those of iteration t have weight t^power. `unit` is the divisor of targets."""

    def __init__(self, columns: dict[str, np.ndarray], rng: np.ndarray, *, power: float = 1.0, unit: float = 1.0):
        masks = columns["masks"]  # weights are without the factor of the iteration
        more = {"values": np.zeros(masks.shape, np.float32), "weights": np.zeros(len(masks), np.float32)}
        super().__init__(columns | more | {"iterations": np.zeros(len(masks), np.int32)}, rng)
        self._power, self._unit = power, unit

    def add(self, samples: Samples, iteration: int) -> None:
        self.add_rows(**samples._asdict(), iterations=np.full(len(samples.values), iteration))

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Examples]:
        stored, columns = len(self), self._columns
        weights = columns["weights"][:stored] * columns["iterations"][:stored].astype(np.float64) ** self._power
        weights /= weights.mean() if stored else 1.0

        def batch_of(places: np.ndarray) -> Examples:
            infosets, masks, values = (columns[name][places] for name in ("infosets", "masks", "values"))
            return Examples.of(infosets, values / np.float32(self._unit), weights[places], masks)

        return draw_batches(stored, size, rng, batch_of)


class Bootstrapped:
    """The samples of one iteration. Targets are max(R, 0) (t-1)^alpha / ((t-1)^alpha + 1) + r in iteration t.

    R is the output of the network before, r the sampled regrets. With prediction a second output per action learns r,
    and strategies match max(R, 0) t^alpha / (t^alpha + 1) + r.

    Reference: Xu et al. 2026, "Deep (predictive) discounted counterfactual regret minimization".
    """

    def __init__(self, learner: Any, config: Any, unit: float):
        self._learner, self._config, self._unit = learner, config, unit
        self.begin()

    def begin(self) -> None:
        self._samples: list[Samples] = []

    def parts(self) -> dict[str, np.ndarray]:
        return {}

    def add(self, samples: Samples, iteration: int) -> None:
        self._samples.append(samples)

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Examples]:
        infosets, masks, regrets, weights = (np.concatenate(each) for each in zip(*self._samples, strict=True))
        regrets = regrets / self._unit
        before = self._learner.outputs(infosets)[:, : regrets.shape[1]]
        targets = self._config.discount(iteration - 1) * np.maximum(before, 0.0) + regrets
        mean = weights.mean() if len(weights) else 1.0
        if self._config.minimizer == PDCFR_PLUS:
            targets, masks = np.concatenate([targets, regrets], axis=1), np.tile(masks, 2)
        return Examples.of(infosets, targets, weights / mean, masks).batches(size, iteration, rng)


def infoset_columns(capacity: int, inputs: np.ndarray, num_actions: int) -> dict[str, np.ndarray]:
    """Returns zeroed columns of information sets for a `Store`: rows of ``inputs``, if there are some, else tensors."""
    infosets = np.zeros(capacity, np.int32) if len(inputs) else np.zeros((capacity, inputs.shape[1]), np.float32)
    return {"infosets": infosets, "masks": np.zeros((capacity, num_actions), bool)}


@allocating_kernel
def draw_numbers(counts, rng):
    """Returns a uniform number 0 .. count - 1 for each count; `rng` is modified in place."""
    numbers = np.empty(len(counts), np.int64)
    for index in range(len(counts)):
        numbers[index] = draw_uniform(counts[index], rng)
    return numbers
