"""Memories of records: the latest or a uniform sample, drawn uniformly, and all can go back."""

import numpy as np
import pytest

from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.neural.episodes import DECISION, TRANSITION
from mccfr_plus.neural.records import RecordReservoir, RecordRing

Z = 4.753  # of the normal distribution at 1 - 1e-6


def limit_of_chi_squared(freedom, z=Z):
    """Wilson, Hilferty 1931: the quantile of chi-squared at 1 - 1e-6."""
    return freedom * (1 - 2 / (9 * freedom) + z * np.sqrt(2 / (9 * freedom))) ** 3


def decisions_of(numbers):
    return np.array([(number, 2 * number) for number in numbers], DECISION)


def memory_of(kind, capacity=64, seed=1):
    return RecordRing(DECISION, capacity) if kind == "ring" else RecordReservoir(DECISION, capacity, new_state(seed))


def test_ring_keeps_the_latest():
    memory = memory_of("ring", 8)
    for start in range(0, 20, 5):
        memory.add(decisions_of(range(start, start + 5)))
    assert sorted(memory.records["row"].tolist()) == list(range(12, 20))
    memory.add(decisions_of(range(30)))  # more than it holds
    assert sorted(memory.records["row"].tolist()) == list(range(22, 30))
    assert (memory.records["action"] == 2 * memory.records["row"]).all()
    assert (len(memory), memory.seen) == (8, 50)


def test_reservoir_is_uniform():
    """Chi-squared of how often each of 60 records is among the 15 kept, in 4,000 runs; fails by chance once in 1e6."""
    count, capacity, runs = 60, 15, 4000
    kept = np.zeros(count)
    for run in range(runs):
        memory = memory_of("reservoir", capacity, run)
        for part in np.split(np.arange(count), [1, 4, 20, 21, 50]):
            memory.add(decisions_of(part))
        rows = memory.records["row"]
        assert len(np.unique(rows)) == len(rows) == capacity  # without replacement
        kept[rows] += 1
    share = capacity / count
    # The counts' covariance is runs * share * (1 - share) * count / (count - 1) * (identity - 1 / count).
    statistic = ((kept - runs * share) ** 2).sum() / (runs * share * (1 - share)) * (count - 1) / count
    assert limit_of_chi_squared(count - 1, -Z) < statistic < limit_of_chi_squared(count - 1)


@pytest.mark.parametrize("kind", ["ring", "reservoir"])
def test_draws_are_uniform_and_whole_records(kind):
    memory = memory_of(kind, 50)
    memory.add(decisions_of(range(40)))
    assert memory.draw(40, new_state(1)).tolist() == memory.draw(99, new_state(1)).tolist() == memory.records.tolist()
    rng = new_state(1)
    drawn = np.concatenate([memory.draw(20, rng) for _ in range(2000)])
    assert (drawn["action"] == 2 * drawn["row"]).all()
    counts = np.bincount(drawn["row"], minlength=40)
    assert ((counts - 1000) ** 2 / 1000).sum() < limit_of_chi_squared(39)
    memory.add(decisions_of(range(40, 90)))
    assert len(memory) == 50
    assert set(memory.draw(49, rng)["row"].tolist()) <= set(memory.records["row"].tolist())


def test_nothing_is_drawn_from_nothing():
    memory = RecordRing(TRANSITION, 10)
    memory.add(np.zeros(0, TRANSITION))
    assert len(memory.draw(5, new_state(1))) == 0


@pytest.mark.parametrize("kind", ["ring", "reservoir"])
@pytest.mark.parametrize("before", [0, 10, 200])
def test_rollback(kind, before):
    memory = memory_of(kind)
    memory.add(decisions_of(range(before)))
    memory.begin()
    kept = {name: array.copy() for name, array in memory.state().items()}
    for start in (1000, 2000):
        memory.add(decisions_of(range(start, start + 70)))
    assert (memory.records["row"] >= 1000).any()
    for _ in range(2):
        memory.rollback()
        for name, array in memory.state().items():
            np.testing.assert_array_equal(array, kept[name], err_msg=name)
