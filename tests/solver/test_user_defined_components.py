"""User-defined components: equal to built-in ones, written from the contract, refused if incomplete."""

from dataclasses import dataclass
from typing import ClassVar

import naive
import numba
import numpy as np
import pytest

from mccfr_plus import ConfigError, Estimator, Minimizer, PowerAverage, Solver
from mccfr_plus.trees.scratch import touch


@numba.njit
def users_regret_matching(values, strategy, tables, first, last, iteration, parameters):
    value = 0.0
    for slot in range(first, last):
        value += strategy[slot] * values[slot]
    total = 0.0
    for slot in range(first, last):
        tables[0, slot] = tables[0, slot] + values[slot] - value
        strategy[slot] = max(tables[0, slot], 0.0)
        total += strategy[slot]
    for slot in range(first, last):
        strategy[slot] = strategy[slot] * (1.0 / total) if total > 0.0 else 1.0 / (last - first)
    return value


@dataclass(frozen=True)
class UsersRegretMatching(Minimizer):
    """Regret matching, with parameters that it does not read."""

    short_name: ClassVar[str] = "mine"
    kernel = staticmethod(users_regret_matching)

    def parameters(self):
        return np.arange(9.0)


def test_a_users_minimizer_is_bitwise_identical_to_the_built_in_one():
    mine = Solver("kuhn_poker", "external", UsersRegretMatching(), seed=3).run(100)
    built_in = Solver(mine.tree, "external", "rm", seed=3).run(100)
    np.testing.assert_array_equal(mine.average_strategy(), built_in.average_strategy())
    np.testing.assert_array_equal(mine.current_strategy(), built_in.current_strategy())
    assert np.abs(mine.average_strategy() - 0.5).max() > 0.1
    # The loop passes on what `parameters` returns, and does not write to it.
    np.testing.assert_array_equal(mine._engine.parameters[0], np.arange(9.0))


@numba.njit
def users_gradient(parameters, sampling_weights, tree, strategy, scratch, player):
    """Adds the exact gradient, by a depth-first traversal with its path on a stack: from the contract alone."""
    stack, pending = scratch.stack, 1
    stack[0]["node"], stack[0]["slot"], stack[0]["weight"] = 0, tree.slot_range[-1] + player, 1.0
    while pending > 0:
        pending -= 1
        node, slot, weight = stack[pending]["node"], stack[pending]["slot"], stack[pending]["weight"]
        record = tree.nodes[node]
        kind, first, count = record["kind"], record["payload"], record["num_children"]
        scratch.counts[0]["nodes_touched"] += 1
        if kind == -4:
            scratch.gradient[slot] += weight * tree.payoffs[first, player]
        if kind == player:
            touch(tree, scratch, player, first, count, slot)
        for index in range(count):
            stack[pending]["node"] = record["first_child"] + index
            stack[pending]["slot"] = first + index if kind == player else slot
            share = 1.0
            if kind == -1:
                share = tree.chance[first + index]["probability"]
            elif kind != player:
                share = strategy[first + index]
            stack[pending]["weight"] = weight * share
            pending += 1


class UsersFull(Estimator):
    short_name = "mine"
    kernel = staticmethod(users_gradient)


def test_an_estimator_written_from_the_contract():
    tree, averaging = naive.tree_of("random:3:3"), PowerAverage(1.0, "exact")
    mine = Solver(tree, UsersFull(), "rm+", averaging).run(10)
    built_in = Solver(tree, "full", "rm+", averaging).run(10)
    np.testing.assert_allclose(mine.average_strategy(), built_in.average_strategy(), atol=1e-10)
    assert mine.nodes_touched == built_in.nodes_touched


class NoKernelMinimizer(Minimizer):
    short_name = "none"


def test_a_component_without_a_kernel_is_refused():
    with pytest.raises(ConfigError, match="has no kernel"):
        Solver("kuhn_poker", "external", NoKernelMinimizer())
