"""Stores of rows: the latest rows or a uniform sample of all; uniform draws; rollback."""

import itertools

import numpy as np
import pytest
from neural_states import copy_of, differing

from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.neural.memory import Store, draw_batches

KINDS = ["ring", "reservoir"]
Z = 4.753  # of the normal distribution at 1 - 1e-6


def limit_of_chi_squared(freedom, z=Z):
    """Wilson, Hilferty 1931: the quantile of chi-squared at 1 - 1e-6."""
    return freedom * (1 - 2 / (9 * freedom) + z * np.sqrt(2 / (9 * freedom))) ** 3


def buffer_of(kind, capacity=64, seed=1):
    columns = {"number": np.zeros(capacity, np.int64), "double": np.zeros((capacity, 2))}
    return Store(columns, None if kind == "ring" else new_state(seed))


def add(buffer, numbers):
    numbers = np.asarray(numbers)
    buffer.add_rows(number=numbers, double=np.stack([2 * numbers, -numbers], 1))


def check_rows(number, double):
    """Columns of a row stay together."""
    np.testing.assert_array_equal(double[:, 0], 2 * number)
    np.testing.assert_array_equal(double[:, 1], -number)


def check_contents(buffer):
    state = buffer.state()
    check_rows(state["number"], state["double"])


def test_ring_keeps_the_latest():
    buffer = buffer_of("ring", 8)
    for start in range(0, 20, 5):
        add(buffer, range(start, start + 5))
    assert sorted(buffer.state()["number"].tolist()) == list(range(12, 20))
    add(buffer, range(30))  # more than the capacity
    assert sorted(buffer.state()["number"].tolist()) == list(range(22, 30))
    check_contents(buffer)
    assert (len(buffer), buffer.seen) == (8, 50)


def test_reservoir_is_uniform():
    """Chi-squared of how often each of 60 rows is among the 15 kept, in 4,000 runs; fails by chance once in 1e6."""
    count, capacity, runs = 60, 15, 4000
    kept = np.zeros(count)
    for run in range(runs):
        buffer = buffer_of("reservoir", capacity, run)
        for numbers in np.split(np.arange(count), [1, 4, 20, 21, 50]):
            add(buffer, numbers)
        numbers = buffer.state()["number"]
        assert len(np.unique(numbers)) == len(numbers) == capacity  # without replacement
        kept[numbers] += 1
    check_contents(buffer)
    share = capacity / count
    # The counts' covariance is runs * share * (1 - share) * count / (count - 1) * (identity - 1 / count).
    statistic = ((kept - runs * share) ** 2).sum() / (runs * share * (1 - share)) * (count - 1) / count
    assert limit_of_chi_squared(count - 1, -Z) < statistic < limit_of_chi_squared(count - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_are_uniform(kind):
    buffer = buffer_of(kind, 50)
    add(buffer, range(40))
    everything = buffer.state()["number"].tolist()
    for size in (40, 99):
        assert next(buffer.batches(size, 1, new_state(1)))[0].tolist() == everything == list(range(40))
    rng = new_state(1)
    draws = list(itertools.islice(buffer.batches(20, 1, rng), 2000))
    check_rows(*draws[0])
    counts = np.bincount(np.concatenate([number for number, _ in draws]), minlength=40)
    assert ((counts - 1000) ** 2 / 1000).sum() < limit_of_chi_squared(39)
    add(buffer, range(40, 90))
    assert len(buffer) == 50
    assert set(next(buffer.batches(49, 1, rng))[0].tolist()) <= set(buffer.state()["number"].tolist())


def test_an_empty_buffer_gives_nothing():
    buffer = buffer_of("ring")
    add(buffer, [])
    assert list(buffer.batches(5, 1, new_state(1))) == list(draw_batches(0, 5, new_state(1), list)) == []


def test_batches_are_drawn_uniformly():
    batches = draw_batches(50, 40, new_state(1), np.copy)
    counts = np.bincount(np.concatenate([next(batches) for _ in range(1000)]), minlength=50)
    assert ((counts - 800) ** 2 / 800).sum() < limit_of_chi_squared(49)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", [0, 10, 200])
def test_rollback(kind, before):
    buffer = buffer_of(kind)
    add(buffer, range(before))
    buffer.begin()
    kept = copy_of(buffer)
    for start in (1000, 2000):
        add(buffer, range(start, start + 70))
    assert (buffer.state()["number"] >= 1000).any()
    for _ in range(2):
        buffer.rollback()
        assert differing(buffer, kept) == []
