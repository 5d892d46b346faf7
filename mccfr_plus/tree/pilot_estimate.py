"""Learns from pilot beams how much of a game tree lies below a candidate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_FEATURES = 1 << 14  # number of different features; a collision costs accuracy, but no bias
_MOST = 10.0  # logarithm of the largest ratio to the average of a level
_TINY = 1e-300  # in place of what is too small beside its level for a float
_NEWEST = 0.3  # weight of the newest run in the average size below a level


class Level(NamedTuple):
    """The kept histories of a level and the candidates that they were drawn from; logarithms to base e."""

    logs: np.ndarray  # [kept, measures], the mass of each
    features: np.ndarray  # [kept]
    parents: np.ndarray  # [candidates], index in the level above, ascending
    candidates: np.ndarray  # [candidates], their features
    factors: np.ndarray  # [candidates, measures], a candidate's mass over its parent's


class PilotEstimate:
    """How much lies below a candidate, relative to its level.

    Candidates are told apart by the mover, its number of actions and the action's index: enough to know that a fold
    ends the game, and that a high bid leaves few higher ones. What was seen of them at the same depth counts more.

    What lies below a history is estimated as its own mass and what is expected below *all* its children, not as what a
    run happened to find there. So the ends of the game are learned first, and the rest follows from the bottom up.

    Args:
        num_measures: Number of measures.
    """

    def __init__(self, num_measures: int):
        # One observation of the average: what was never seen counts as average.
        self._sums = np.ones((_FEATURES, num_measures))
        self._counts = np.ones((_FEATURES, 1))
        self._sums_at_depth = np.zeros((_FEATURES, num_measures))
        self._counts_at_depth = np.zeros((_FEATURES, 1))
        self._means: list[np.ndarray] = []  # per depth, logarithm of the average size below a history there

    @staticmethod
    def features(kinds: np.ndarray, counts: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Returns a number per candidate, from its parent's kind and number of actions and which of them it is."""
        return ((kinds * 1_000_003 + counts) * 7_919 + indices) % _FEATURES

    def of(self, features: np.ndarray, depth: int) -> np.ndarray:
        """Returns what is expected below each, ``[candidates, measures]``; 1 is the average of the level."""
        anywhere = self._sums[features] / self._counts[features]
        here = _at_depth(features, depth)
        return (self._sums_at_depth[here] + anywhere) / (self._counts_at_depth[here] + 1.0)

    def learn(self, levels: list[Level]) -> None:
        """Adds what one run saw of its levels, from the last level up. Modified in place."""
        num_measures = self._sums.shape[1]
        self._means += [np.zeros(num_measures) for _ in range(len(levels) - len(self._means))]
        for depth in range(len(levels) - 1, 0, -1):
            level = levels[depth]
            size = np.ones_like(level.logs)
            shift = 0.0
            if depth + 1 < len(levels):
                next_level = levels[depth + 1]
                expected = np.log(self.of(next_level.candidates, depth + 1)) + self._means[depth + 1]
                expected += next_level.factors
                shift = np.maximum(expected.max(axis=0), 0.0)
                size = np.exp(-shift) * size
                np.add.at(size, next_level.parents, np.exp(expected - shift))
            below = np.log(np.maximum(size, _TINY)) + shift
            mean = log_sum(level.logs + below) - log_sum(level.logs)
            relative = np.exp(np.clip(below - mean, -_MOST, _MOST))
            for sums, counts, places in (
                (self._sums, self._counts, level.features),
                (self._sums_at_depth, self._counts_at_depth, _at_depth(level.features, depth)),
            ):
                np.add.at(sums, places, relative)
                np.add.at(counts, places, 1.0)
            self._means[depth] += (mean - self._means[depth]) * (_NEWEST if self._means[depth].any() else 1.0)


def log_sum(logs: np.ndarray) -> np.ndarray:
    """Returns the logarithm of the sum over the first axis of numbers given by their logarithms."""
    top = logs.max(axis=0)
    return top + np.log(np.exp(logs - top).sum(axis=0))


def _at_depth(features: np.ndarray, depth: int) -> np.ndarray:
    return (features * 31 + depth * 1_009) % _FEATURES
