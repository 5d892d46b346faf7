"""Runs the estimators' kernel from Python: once, or many times with sums kept inside compiled code."""

from __future__ import annotations

import numba
import numpy as np

from mccfr_plus.kernels.no_refcount import borrow
from mccfr_plus.checks.sampler import sample_gradient
from mccfr_plus.estimators import Baseline, Guide
from mccfr_plus.kernels.loop import max_visits
from mccfr_plus.solver.registry import estimator_of
from mccfr_plus.kernels.scratch import (
    NODES_TOUCHED,
    NUM_VISITS,
    VISITED,
    Workspace,
    new_workspace,
)


@numba.njit(error_model="numpy")
def _sample(
    count,
    batch,
    parameters,
    guide,
    baseline,
    rate,
    expected,
    tree,
    strategy,
    workspace,
    player,
    shared,
    total,
    squares,
    hits,
):
    """Adds up `count` gradients: what stands at touched slots and at the empty sequence, and nothing else."""
    tree, workspace, strategy = borrow(tree), borrow(workspace), borrow(strategy)
    empty = tree.slot_range[-1] + player
    for _ in range(count):
        sample_gradient(
            parameters,
            guide,
            baseline,
            rate,
            expected,
            tree,
            strategy,
            workspace,
            0 if shared else player,
            shared,
            batch,
            VISITED,
        )
        begin = tree.infoset_range[player]
        for position in range(begin, begin + workspace.num_touched[player]):
            first = workspace.touched[position]["first_slot"]
            for slot in range(first, first + workspace.touched[position]["num_actions"]):
                total[slot] += workspace.gradient[slot]
                squares[slot] += workspace.gradient[slot] ** 2
                hits[slot] += workspace.gradient[slot] != 0
        total[-1] += workspace.gradient[empty]
        squares[-1] += workspace.gradient[empty] ** 2
        hits[-1] += workspace.gradient[empty] != 0


@numba.njit(error_model="numpy")
def _project(
    count,
    batch,
    parameters,
    guide,
    baseline,
    rate,
    expected,
    tree,
    strategy,
    workspace,
    player,
    shared,
    signs,
    total,
    squares,
):
    """Adds up values and squares of `count` sampled gradients times the columns of `signs`."""
    tree, workspace, strategy = borrow(tree), borrow(workspace), borrow(strategy)
    empty = tree.slot_range[-1] + player
    sums = np.zeros(signs.shape[1])
    for _ in range(count):
        sample_gradient(
            parameters,
            guide,
            baseline,
            rate,
            expected,
            tree,
            strategy,
            workspace,
            0 if shared else player,
            shared,
            batch,
            VISITED,
        )
        sums[:] = workspace.gradient[empty] * signs[-1]
        begin = tree.infoset_range[player]
        for position in range(begin, begin + workspace.num_touched[player]):
            first = workspace.touched[position]["first_slot"]
            for slot in range(first, first + workspace.touched[position]["num_actions"]):
                for column in range(len(sums)):
                    sums[column] += workspace.gradient[slot] * signs[slot, column]
        total += sums
        squares += sums**2


class Sampler:
    """An estimator at work on a tree, with a workspace that starts full of rubbish."""

    def __init__(self, tree, short_name, state: int = 1, baseline: Baseline | None = None, batch: int = 1):
        self.tree = tree
        self.batch = batch
        self.estimator = estimator_of(short_name)
        self.arrays = tree.arrays_with_leaves
        nodes = tree.arrays.nodes
        chance, own = self.estimator.walks_all_chance, self.estimator.walks_all_own
        size = max(max_visits(nodes, p, False, chance, own) for p in range(tree.num_players))
        if self.estimator.updates_all_players:
            size = max_visits(nodes, -9, False, False, False)
        workspace = new_workspace(
            tree.arrays,
            tree.shape,
            np.array([state], np.uint64),
            max_visits=size,
            once=self.estimator.draws_once,
            frames=baseline is not None,
        )
        workspace.gradient[:] = 1e9  # nobody may count what stands at slots that a walk does not touch
        self.workspace: Workspace = workspace
        self.strategy = tree.uniform_strategy()
        self.guide = np.zeros(0)
        if self.estimator.guide == Guide.SAMPLING:
            self.guide = self.estimator.sampling_strategy(tree)
        elif self.estimator.guide != Guide.NONE:
            self.guide = np.zeros(tree.num_slots)
        self.baselines = np.zeros((tree.num_players, tree.num_nodes) if baseline else (0, 0))
        self.rate = baseline.rate if baseline else 0.0
        self.expected = baseline is not None and baseline.backup == "expected"

    def use(self, strategy: np.ndarray) -> None:
        self.strategy = strategy
        self.workspace.reach_valid[:] = 0

    def _first(self, player: int) -> tuple:
        parameters = self.estimator.parameters()
        parts = (
            self.batch,
            parameters,
            self.guide,
            self.baselines,
            self.rate,
            self.expected,
            self.arrays,
            self.strategy,
        )
        return (*parts, self.workspace, player, self.estimator.updates_all_players)

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
        return self.workspace.touched[begin : begin + self.workspace.num_touched[player]].copy()

    def visits(self) -> np.ndarray:
        return self.workspace.visits[: self.workspace.counts[NUM_VISITS]].copy()

    @property
    def nodes_touched(self) -> int:
        return int(self.workspace.counts[NODES_TOUCHED])
