"""What a player's network of regrets learns from.

| memory | contents | loss of its batches |
|---|---|---|
| `Aggregated` | weighted sums of targets and of weights per row | that of all samples, up to a constant |
| `Reservoir` | a uniform sample of all samples | the same in expectation over the contents |
| `Bootstrapped` | the samples of one iteration | that to discounted regrets, with those before by the network |

The first holds because sum_k w_k (f - y_k)^2 = W (f - Y)^2 + a term without f, with W = sum_k w_k and Y the weighted
mean. It needs a compiled tree, whose information sets have numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.neural.config import CFR, PDCFR_PLUS
from mccfr_plus.neural.store import Store, draw_batches


class Batch(NamedTuple):
    """The data of a training step."""

    infosets: np.ndarray  # [n] int64, rows of the network's inputs; or the inputs, [n, size] float32
    targets: np.ndarray  # [n, num_outputs] float32; 0 at illegal actions
    weights: np.ndarray  # [n, num_outputs] float32: the sample's weight, with mean about 1; 0 at illegal actions

    @classmethod
    def of(cls, infosets: np.ndarray, targets: np.ndarray, weights: np.ndarray, masks: np.ndarray) -> Batch:
        """Returns the batch with weights ``[n]`` at legal actions."""
        return cls(infosets, targets.astype(np.float32, copy=False), (weights[:, None] * masks).astype(np.float32))

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches of this batch's rows; see `draw_batches`."""
        yield from draw_batches(
            len(self.infosets), size, rng, lambda positions: Batch(*(array[positions] for array in self))
        )


class Samples(NamedTuple):
    """Values sampled at information sets of one player, such as regrets."""

    infosets: np.ndarray  # [num_samples] rows of a tree, or [num_samples, size] float32 tensors
    masks: np.ndarray  # [num_samples, num_actions] bool, legal actions
    values: np.ndarray  # [num_samples, num_actions] float64, by OpenSpiel's actions; 0 at illegal ones
    weights: np.ndarray  # [num_samples] float64

    @classmethod
    def of(cls, found: Any, player: int, values: np.ndarray, weights: np.ndarray | None) -> Samples:
        """Returns the values at a player's decisions in `Paths` or `Branches`; weights None: all are 1."""
        own = np.flatnonzero(found.players == player)
        return cls(
            found.infosets[own], found.masks[own], values[own], np.ones(len(own)) if weights is None else weights[own]
        )


class Aggregated:
    """Two sums per information set instead of its samples.

    With r^t the sum of iteration t's weighted samples, n^t that of their weights and d_t the config's discount,

        R^t = d_{t-1} R^{t-1} + r^t,    N^t = d_{t-1} N^{t-1} + n^t,

    and the targets are R^t / N^t. With d_t = (t / (t + 1))^gamma that is the mean with weight t^gamma of iteration t.
    DCFR+ cuts R^t off at 0. So does PDCFR+, whose targets are max(d_t R^t + r^t, 0) / N^t: the latest regrets predict
    the next ones. Regret matching ignores N^t, which makes targets as large at rarely sampled information sets as at
    others.

    Args:
        masks: ``[num_rows, num_actions]`` bool, legal actions of the player's information sets.
        config: An `AdvantageConfig`.
        unit: Divisor of the targets.

    Reference: Xu, Li, Liu, Fu, Fu, Xing, Cheng 2024, "Minimizing weighted counterfactual regret with optimistic online
    mirror descent", equations of DCFR+ and PDCFR+; Xu et al. 2026, "Deep (predictive) discounted counterfactual regret
    minimization", with networks.
    """

    def __init__(self, masks: np.ndarray, config: Any, unit: float = 1.0):
        self._masks, self._discount, self._unit = masks, config.discount, unit
        self._floor = -np.inf if config.minimizer == CFR else 0.0
        self._is_predictive = config.minimizer == PDCFR_PLUS
        # Before the latest iteration, and of it.
        self._sums, self._latest = np.zeros(masks.shape), np.zeros(masks.shape)
        self._weights, self._counts = np.zeros(len(masks)), np.zeros(len(masks))
        self._iteration = np.zeros(1, np.int64)

    def add(self, samples: Samples, iteration: int) -> None:
        """Adds samples of an iteration, counted from 1."""
        if iteration != self._iteration[0]:
            self._sums[:], self._weights[:] = self.sums, self.weights
            self._latest[:], self._counts[:], self._iteration[0] = 0.0, 0.0, iteration
        add_sums(samples.infosets, samples.values, samples.weights, self._latest, self._counts)

    @property
    def _factor(self) -> float:
        return self._discount(int(self._iteration[0]) - 1) if self._iteration[0] else 0.0

    @property
    def sums(self) -> np.ndarray:
        """R^t, ``[num_rows, num_actions]`` float64."""
        return np.maximum(self._factor * self._sums + self._latest, self._floor)

    @property
    def weights(self) -> np.ndarray:
        """N^t, ``[num_rows]`` float64."""
        return self._factor * self._weights + self._counts

    def means(self) -> np.ndarray:
        """Returns the targets, ``[num_rows, num_actions]`` float64; 0 without samples."""
        sums, weights = self.sums, self.weights
        if self._is_predictive:
            sums = np.maximum(self._discount(int(self._iteration[0])) * sums + self._latest, 0.0)
        return sums / np.where(weights > 0.0, weights, 1.0)[:, None]

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches without end; see `draw_batches`.

        Args:
            size: The largest number of entries.
            iteration: The current iteration.
            rng: ``[1]`` uint64, modified in place.
        """
        weights = self.weights
        rows = np.flatnonzero(weights)
        if len(rows):
            targets = self.means()[rows] / self._unit
            whole = Batch.of(rows, targets, weights[rows] / weights[rows].mean(), self._masks[rows])
            yield from whole.batches(size, iteration, rng)

    def state(self) -> dict[str, np.ndarray]:
        """Returns the contents, by name: views."""
        sums = {"sums": self._sums, "weights": self._weights, "latest": self._latest, "counts": self._counts}
        return sums | {"iteration": self._iteration}


class Reservoir(Store):
    """A uniform sample of all samples. Those of iteration t have weight t^power.

    A row takes 8 bytes, 5 per action, and 4 on a tree or per entry of the tensor.

    Args:
        columns: See `infoset_columns`.
        rng: See `Store`.
        power: Exponent of the weights: 1 for linear ones, 0 for equal ones.
        unit: Divisor of the targets.
    """

    def __init__(self, columns: dict[str, np.ndarray], rng: np.ndarray, *, power: float = 1.0, unit: float = 1.0):
        capacity = len(columns["masks"])
        more = {
            "values": np.zeros(columns["masks"].shape, np.float32),
            "weights": np.zeros(capacity, np.float32),  # without the factor of the iteration
            "iterations": np.zeros(capacity, np.int32),
        }
        super().__init__(columns | more, rng)
        self._power, self._unit = power, unit

    def add(self, samples: Samples, iteration: int) -> None:
        """Adds samples of an iteration, counted from 1."""
        self.add_rows(**samples._asdict(), iterations=np.full(len(samples.values), iteration))

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Yields batches; see `Aggregated.batches`."""
        stored, columns = len(self), self._columns
        weights = columns["weights"][:stored] * columns["iterations"][:stored].astype(np.float64) ** self._power
        if stored:
            weights /= weights.mean()

        def batch_of(positions: np.ndarray) -> Batch:
            infosets, masks, values = (columns[name][positions] for name in ("infosets", "masks", "values"))
            return Batch.of(infosets, values / np.float32(self._unit), weights[positions], masks)

        yield from draw_batches(stored, size, rng, batch_of)


class Bootstrapped:
    """The samples of one iteration; nothing is kept for the next one.

    The targets of iteration t are

        max(R, 0) (t-1)^alpha / ((t-1)^alpha + 1) + r,

    where R is the output of the network before and r are the sampled regrets. With prediction the network has a second
    output per action, which learns r, and strategies match max(R, 0) t^alpha / (t^alpha + 1) + r.

    Args:
        learner: The network.
        discount: Returns the factor of the regrets of the first t iterations in the next one.
        predictive: Whether there is a second output per action.
        unit: Divisor of the regrets.

    Reference: Xu et al. 2026, "Deep (predictive) discounted counterfactual regret minimization", where r has a network
    of its own. With DREAM's baselines this is VR-DeepDCFR+ and VR-DeepPDCFR+.
    """

    def __init__(self, learner: Any, discount: Callable[[int], float], *, predictive: bool, unit: float):
        self._learner, self._discount, self._predictive, self._unit = learner, discount, predictive, unit
        self._samples: list[Samples] = []

    def begin(self) -> None:
        """Drops the samples of the last iteration."""
        self._samples = []

    def state(self) -> dict[str, np.ndarray]:
        """Returns nothing: there is nothing between iterations."""
        return {}

    def add(self, samples: Samples, iteration: int) -> None:
        """Adds samples of the iteration."""
        self._samples.append(samples)

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[Batch]:
        """Returns batches; see `Aggregated.batches`. Their targets are those by the network as it is now."""
        infosets, masks, regrets, weights = (np.concatenate(each) for each in zip(*self._samples, strict=True))
        regrets = regrets / self._unit
        before = self._learner.outputs(infosets)[:, : regrets.shape[1]]
        targets = self._discount(iteration - 1) * np.maximum(before, 0.0) + regrets
        if self._predictive:
            targets, masks = np.concatenate([targets, regrets], axis=1), np.tile(masks, 2)
        return Batch.of(infosets, targets, weights / weights.mean(), masks).batches(size, iteration, rng)


def infoset_columns(capacity: int, inputs: np.ndarray, num_actions: int) -> dict[str, np.ndarray]:
    """Returns columns of information sets for a `Store`.

    Args:
        capacity: The number of rows.
        inputs: ``[num_rows, size]``, those of the network: if there are some, the columns hold their rows.
        num_actions: Number of distinct actions of the game.
    """
    infosets = np.zeros(capacity, np.int32) if len(inputs) else np.zeros((capacity, inputs.shape[1]), np.float32)
    return {"infosets": infosets, "masks": np.zeros((capacity, num_actions), bool)}


@kernel
def add_sums(rows, targets, new_weights, sums, weights):
    """Adds weight x targets and the weight itself at each sample's row. `sums` and `weights` are modified in place."""
    for sample in range(len(rows)):
        row, weight = rows[sample], new_weights[sample]
        for action in range(targets.shape[1]):
            sums[row, action] += weight * targets[sample, action]
        weights[row] += weight
