"""Limits and measuring points."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from mccfr_plus import ConfigError, compile_game
from mccfr_plus.experiments.comparison import LEAST, MOST, Limit, affordable_points, evaluation_points, limit_of


def test_points_are_evenly_spaced_on_a_logarithmic_axis():
    points = evaluation_points(Limit("nodes", 1e8), 41)
    assert points[0] == 1e4
    assert points[-1] == 1e8
    steps = [b / a for a, b in itertools.pairwise(points)]
    assert all(math.isclose(step, 10 ** (4 / 40), rel_tol=1e-3) for step in steps)
    assert all(point == int(point) for point in points)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "one limit, none given"),
        ({"nodes": 1e6, "seconds": 3.0}, "nodes and seconds given"),
        ({"iterations": math.nan}, "must be a number"),
    ],
)
def test_what_is_no_limit(given, message):
    with pytest.raises(ConfigError, match=message):
        limit_of(**{"nodes": None, "iterations": None, "seconds": None, **given})


def test_how_many_points_are_affordable():
    tree = compile_game("leduc_poker")
    assert affordable_points(tree, Limit("nodes", 1e4), 0.3) == LEAST
    assert affordable_points(tree, Limit("nodes", 1e12), 0.3) == MOST
    assert affordable_points(tree, Limit("seconds", 1e12), 0.3) == 25
    # Ten evaluations at 2 visits for each of two players' 9,457 histories, in 4% of the run.
    assert affordable_points(tree, Limit("nodes", 10 * 2 * 2 * 9457 / 0.04 + 1), 2.0) == 10


@pytest.mark.parametrize("per_iteration", [lambda rng: 1, lambda rng: 3000, lambda rng: rng.integers(2, 30)])
def test_steps_lead_to_the_first_iteration_at_a_target(per_iteration):
    """Wherever a run was interrupted before: here every step may break off in its middle."""
    limit, targets, found = Limit("nodes", 1e6), (1e3, 1e4, 1e5, 1e6), []
    touched = np.cumsum([per_iteration(rng) for rng in [np.random.default_rng(1)] for _ in range(1_000_001)])
    for seed in range(20):
        rng, solver = np.random.default_rng(seed), SimpleNamespace(iterations=0, nodes_touched=0)
        found.append([])
        for target in targets:
            steps = 0
            while limit.done(solver) < target:
                count = limit.iterations_to(solver, target)
                solver.iterations += count if seed == 0 else int(rng.integers(1, count + 1))
                solver.nodes_touched = int(touched[solver.iterations - 1])
                steps += 1
            found[-1].append(solver.iterations)
            assert seed > 0 or steps < 60
    assert all(row == found[0] for row in found)
    assert found[0] == [int(np.searchsorted(touched, target)) + 1 for target in targets]
