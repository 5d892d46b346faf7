"""Runs the estimators' kernel from Python: once, or many times with sums kept inside compiled code."""

from __future__ import annotations

import numba
import numpy as np

from mccfr_plus.borrowed import borrow
from mccfr_plus.estimators.schemes import estimate
from mccfr_plus.loop import max_visits
from mccfr_plus.parts import estimator_of
from mccfr_plus.workspace import NODES_TOUCHED, NUM_VISITS, Workspace, new_workspace


@numba.njit(error_model="numpy")
def _sample(count, parameters, tree, strategy, workspace, player, total, squares, hits):
    """Adds up `count` gradients: what stands at touched slots and at the empty sequence, and nothing else."""
    tree, workspace, strategy = borrow(tree), borrow(workspace), borrow(strategy)
    empty = tree.slot_range[-1] + player
    for _ in range(count):
        estimate(parameters, tree, strategy, workspace, player)
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
def _project(count, parameters, tree, strategy, workspace, player, signs, total, squares):
    """Adds up values and squares of `count` sampled gradients times the columns of `signs`."""
    tree, workspace, strategy = borrow(tree), borrow(workspace), borrow(strategy)
    empty = tree.slot_range[-1] + player
    sums = np.zeros(signs.shape[1])
    for _ in range(count):
        estimate(parameters, tree, strategy, workspace, player)
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

    def __init__(self, tree, short_name: str, state: int = 1):
        self.tree = tree
        self.estimator = estimator_of(short_name)
        self.arrays = tree.arrays_with_leaves
        nodes = tree.arrays.nodes
        chance, own = self.estimator.walks_all_chance, self.estimator.walks_all_own
        size = max(max_visits(nodes, p, False, chance, own) for p in range(tree.num_players))
        workspace = new_workspace(tree.arrays, tree.shape.max_stack, size, np.array([state], np.uint64))
        workspace.gradient[:] = 1e9  # nobody may count what stands at slots that a walk does not touch
        self.workspace: Workspace = workspace
        self.strategy = tree.uniform_strategy()

    def use(self, strategy: np.ndarray) -> None:
        self.strategy = strategy
        self.workspace.reach_valid[:] = 0

    def sum(self, player: int, count: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the sums of gradients, of their squares, and how often they were not 0, ``[num_slots + 1]``."""
        out = np.zeros((3, self.tree.num_slots + 1))
        parameters = self.estimator.parameters()
        _sample(count, parameters, self.arrays, self.strategy, self.workspace, player, *out)
        return tuple(out)

    def project(self, player: int, count: int, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out = np.zeros((2, signs.shape[1]))
        parameters = self.estimator.parameters()
        _project(count, parameters, self.arrays, self.strategy, self.workspace, player, signs, *out)
        return tuple(out)

    def touched(self, player: int) -> np.ndarray:
        begin = self.arrays.infoset_range[player]
        return self.workspace.touched[begin : begin + self.workspace.num_touched[player]].copy()

    def visits(self) -> np.ndarray:
        return self.workspace.visits[: self.workspace.counts[NUM_VISITS]].copy()

    @property
    def nodes_touched(self) -> int:
        return int(self.workspace.counts[NODES_TOUCHED])
