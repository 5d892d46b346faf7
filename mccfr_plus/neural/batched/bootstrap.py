"""Discounted regrets where there is no table of them: targets from the network of the iteration before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.memory import Batch, Samples


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

    def __init__(self, learner: Learner, discount: Callable[[int], float], *, predictive: bool, unit: float):
        self._learner, self._discount, self._predictive, self._unit = learner, discount, predictive, unit
        self._samples: list[Samples] = []

    def begin(self) -> None:
        """Drops the samples of the last iteration."""
        self._samples = []

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
