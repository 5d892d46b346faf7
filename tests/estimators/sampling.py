"""Runs the estimators' kernel from Python, with a strategy that tests choose."""

from __future__ import annotations

import numpy as np
from interpreted import interpreted

from mccfr_plus.checks.sampler import add_samples
from mccfr_plus.estimators import SamplingWeights
from mccfr_plus.estimators.traversal import list_infoset
from mccfr_plus.kernels.slots import bind
from mccfr_plus.solver.config import estimate_with, estimator_of
from mccfr_plus.solver.loop import ESTIMATE, UPDATE_ALL_PLAYERS
from mccfr_plus.trees.scratch import Scratch, new_scratch


class Sampler:
    """An estimator at work on a tree, with a scratch that starts full of rubbish; as Python if not `compiled`."""

    def __init__(self, tree, short_name, state=1, baseline=None, batch=1, arrays=None, compiled=True):
        self.tree = tree
        self.batch = batch
        self.estimator = estimator_of(short_name)
        self.arrays = tree.arrays_with_leaves if arrays is None else arrays
        scratch = new_scratch(
            self.arrays,
            tree.shape,
            np.array([state], np.uint64),
            max_visits=tree.num_nodes,
            sample_per_infoset=self.estimator.sample_per_infoset,
            values=np.zeros((tree.num_players, tree.num_nodes) if baseline else (0, 0)),
        )
        scratch.gradient[:] = 1e9  # what stands at slots that a traversal does not touch must not count
        self.scratch: Scratch = scratch
        self.strategy = tree.uniform_strategy()
        self.sampling_weights = np.zeros(0)
        if self.estimator.sampling_weights == SamplingWeights.SAMPLING:
            self.sampling_weights = self.estimator.sampling_strategy(tree)
        elif self.estimator.sampling_weights != SamplingWeights.NONE:
            self.sampling_weights = np.zeros(tree.num_slots)
        self.baselines = scratch.values
        self.parameters = self.estimator.parameters()
        if baseline is not None:
            self.parameters = np.append(self.parameters, baseline.rate)
        estimate = estimate_with(self.estimator, baseline, list_visit=list_infoset)
        bindings = {ESTIMATE: estimate, UPDATE_ALL_PLAYERS: self.estimator.update_all_players}
        self._sample = bind(add_samples, bindings) if compiled else interpreted(bind(add_samples, bindings))

    def use(self, strategy: np.ndarray) -> None:
        self.strategy = strategy
        self.scratch.reach_valid[:] = 0

    def _add(self, player: int, count: int, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Adds up gradients; see `add_samples`. Of the empty sequences, the player's own is in the last place."""
        own = np.append(np.arange(self.tree.num_slots), self.tree.num_slots + player)
        moments, projected = np.zeros((3, self.tree.num_slots + self.tree.num_players)), np.zeros((2, signs.shape[1]))
        of_slots = np.zeros((moments.shape[1], signs.shape[1]))
        of_slots[own] = signs
        traverser = 0 if self.estimator.update_all_players else player
        arguments = self.parameters, self.sampling_weights, self.arrays, self.strategy, self.scratch, player, traverser
        self._sample(count, *arguments, self.batch, of_slots, moments, projected, np.empty(signs.shape[1]))
        return moments[:, own], projected

    def sum(self, player: int, count: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the sums of gradients, of their squares, and how often they were not 0, ``[num_slots + 1]``."""
        return tuple(self._add(player, count, np.zeros((self.tree.num_slots + 1, 0)))[0])

    def project(self, player: int, count: int, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the sums of gradients times the columns of `signs`, and of their squares, ``[num_columns]``."""
        return tuple(self._add(player, count, signs)[1])

    def touched(self, player: int) -> np.ndarray:
        begin = self.arrays.infoset_range[player]
        return self.scratch.touched[begin : begin + self.scratch.num_touched[player]].copy()

    def visits(self) -> np.ndarray:
        return self.scratch.visits[: self.scratch.counts[0]["num_visits"]].copy()

    @property
    def nodes_touched(self) -> int:
        return int(self.scratch.counts[0]["nodes_touched"])
