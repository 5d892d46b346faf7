"""Runs the estimators' kernel from Python: once, or many times with sums kept inside compiled code."""

from __future__ import annotations

import numba
import numpy as np
from mccfr_plus.kernels.loop import max_visits

from mccfr_plus.checks.sampler import sample_gradient
from mccfr_plus.estimators import Baseline, SamplingWeights
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import (
    NODES_TOUCHED,
    NUM_VISITS,
    VISITED,
    Scratch,
    new_scratch,
)
from mccfr_plus.solver.registry import estimator_of


@numba.njit(error_model="numpy")
def _sample(
    count,
    batch,
    parameters,
    sampling_weights,
    baseline,
    rate,
    expected,
    tree,
    strategy,
    scratch,
    player,
    shared,
    total,
    squares,
    hits,
):
    """Adds up `count` gradients: what stands at touched slots and at the empty sequence, and nothing else."""
    tree, scratch, strategy = no_refcount(tree), no_refcount(scratch), no_refcount(strategy)
    empty = tree.slot_range[-1] + player
    for _ in range(count):
        sample_gradient(
            parameters,
            sampling_weights,
            baseline,
            rate,
            expected,
            tree,
            strategy,
            scratch,
            0 if shared else player,
            shared,
            batch,
            VISITED,
        )
        begin = tree.infoset_range[player]
        for position in range(begin, begin + scratch.num_touched[player]):
            first = scratch.touched[position]["first_slot"]
            for slot in range(first, first + scratch.touched[position]["num_actions"]):
                total[slot] += scratch.gradient[slot]
                squares[slot] += scratch.gradient[slot] ** 2
                hits[slot] += scratch.gradient[slot] != 0
        total[-1] += scratch.gradient[empty]
        squares[-1] += scratch.gradient[empty] ** 2
        hits[-1] += scratch.gradient[empty] != 0


@numba.njit(error_model="numpy")
def _project(
    count,
    batch,
    parameters,
    sampling_weights,
    baseline,
    rate,
    expected,
    tree,
    strategy,
    scratch,
    player,
    shared,
    signs,
    total,
    squares,
):
    """Adds up values and squares of `count` sampled gradients times the columns of `signs`."""
    tree, scratch, strategy = no_refcount(tree), no_refcount(scratch), no_refcount(strategy)
    empty = tree.slot_range[-1] + player
    sums = np.zeros(signs.shape[1])
    for _ in range(count):
        sample_gradient(
            parameters,
            sampling_weights,
            baseline,
            rate,
            expected,
            tree,
            strategy,
            scratch,
            0 if shared else player,
            shared,
            batch,
            VISITED,
        )
        sums[:] = scratch.gradient[empty] * signs[-1]
        begin = tree.infoset_range[player]
        for position in range(begin, begin + scratch.num_touched[player]):
            first = scratch.touched[position]["first_slot"]
            for slot in range(first, first + scratch.touched[position]["num_actions"]):
                for column in range(len(sums)):
                    sums[column] += scratch.gradient[slot] * signs[slot, column]
        total += sums
        squares += sums**2


class Sampler:
    """An estimator at work on a tree, with a scratch that starts full of rubbish."""

    def __init__(self, tree, short_name, state: int = 1, baseline: Baseline | None = None, batch: int = 1):
        self.tree = tree
        self.batch = batch
        self.estimator = estimator_of(short_name)
        self.arrays = tree.arrays_with_leaves
        nodes = tree.arrays.nodes
        chance, own = self.estimator.visits_all_chance, self.estimator.visits_all_own
        size = max(max_visits(nodes, p, False, chance, own) for p in range(tree.num_players))
        if self.estimator.updates_all_players:
            size = max_visits(nodes, -9, False, False, False)
        scratch = new_scratch(
            tree.arrays,
            tree.shape,
            np.array([state], np.uint64),
            max_visits=size,
            sample_per_infoset=self.estimator.samples_per_infoset,
            frames=baseline is not None,
        )
        scratch.gradient[:] = 1e9  # nobody may count what stands at slots that a traversal does not touch
        self.scratch: Scratch = scratch
        self.strategy = tree.uniform_strategy()
        self.sampling_weights = np.zeros(0)
        if self.estimator.sampling_weights == SamplingWeights.SAMPLING:
            self.sampling_weights = self.estimator.sampling_strategy(tree)
        elif self.estimator.sampling_weights != SamplingWeights.NONE:
            self.sampling_weights = np.zeros(tree.num_slots)
        self.baselines = np.zeros((tree.num_players, tree.num_nodes) if baseline else (0, 0))
        self.rate = baseline.rate if baseline else 0.0
        self.expected = baseline is not None and baseline.backup == "expected"

    def use(self, strategy: np.ndarray) -> None:
        self.strategy = strategy
        self.scratch.reach_valid[:] = 0

    def _first(self, player: int) -> tuple:
        parameters = self.estimator.parameters()
        parts = (
            self.batch,
            parameters,
            self.sampling_weights,
            self.baselines,
            self.rate,
            self.expected,
            self.arrays,
            self.strategy,
        )
        return (*parts, self.scratch, player, self.estimator.updates_all_players)

    def sum(self, player: int, count: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the sums of gradients, of their squares, and how often they were not 0, ``[num_slots + 1]``."""
        out = np.zeros((3, self.tree.num_slots + 1))
        _sample(count, *self._first(player), *out)
        return tuple(out)

    def project(self, player: int, count: int, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out = np.zeros((2, signs.shape[1]))
        _project(count, *self._first(player), signs, *out)
        return tuple(out)

    def touched(self, player: int) -> np.ndarray:
        begin = self.arrays.infoset_range[player]
        return self.scratch.touched[begin : begin + self.scratch.num_touched[player]].copy()

    def visits(self) -> np.ndarray:
        return self.scratch.visits[: self.scratch.counts[NUM_VISITS]].copy()

    @property
    def nodes_touched(self) -> int:
        return int(self.scratch.counts[NODES_TOUCHED])
