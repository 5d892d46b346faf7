"""Memories: latest rows or a uniform sample, rows keep their targets and weights, sums, batches, rollback."""

import itertools

import numpy as np
import pytest
from neural_states import copy_of, differing

from mccfr_plus.neural.memory import Aggregated, Reservoir, Samples, Store, draw_batches, infoset_columns
from mccfr_plus.parameters import new_state

NUM_ACTIONS = 4
KINDS = ["aggregated", "reservoir"]
STORES = ["ring", "reservoir"]
Z = 4.753  # of the normal distribution at 1 - 1e-6


def limit_of_chi_squared(freedom, z=Z):
    """Wilson, Hilferty 1931: the quantile of chi-squared at 1 - 1e-6."""
    return freedom * (1 - 2 / (9 * freedom) + z * np.sqrt(2 / (9 * freedom))) ** 3


def store_of(kind, capacity=64, seed=1):
    columns = {"number": np.zeros(capacity, np.int64), "double": np.zeros((capacity, 2))}
    return Store(columns, None if kind == "ring" else new_state(seed))


def add(store, numbers):
    numbers = np.asarray(numbers)
    store.add_rows(number=numbers, double=np.stack([2 * numbers, -numbers], 1))


def check_rows(number, double):
    """Columns of a row stay together."""
    np.testing.assert_array_equal(double, np.stack([2 * number, -number], 1))


def test_ring_keeps_the_latest():
    store = store_of("ring", 8)
    for start in range(0, 20, 5):
        add(store, range(start, start + 5))
    assert sorted(store.state()["number"].tolist()) == list(range(12, 20))
    add(store, range(30))  # more than the capacity
    assert sorted(store.state()["number"].tolist()) == list(range(22, 30))
    check_rows(store.state()["number"], store.state()["double"])
    assert (len(store), store.seen) == (8, 50)


def test_reservoir_is_uniform():
    """Chi-squared of how often each of 60 rows is among the 15 kept, in 4,000 runs; fails by chance once in 1e6."""
    count, capacity, runs = 60, 15, 4000
    kept = np.zeros(count)
    for run in range(runs):
        store = store_of("reservoir", capacity, run)
        for numbers in np.split(np.arange(count), [1, 4, 20, 21, 50]):
            add(store, numbers)
        numbers = store.state()["number"]
        assert len(np.unique(numbers)) == len(numbers) == capacity  # without replacement
        kept[numbers] += 1
    check_rows(store.state()["number"], store.state()["double"])
    share = capacity / count
    # The counts' covariance is runs * share * (1 - share) * count / (count - 1) * (identity - 1 / count).
    statistic = ((kept - runs * share) ** 2).sum() / (runs * share * (1 - share)) * (count - 1) / count
    assert limit_of_chi_squared(count - 1, -Z) < statistic < limit_of_chi_squared(count - 1)


@pytest.mark.parametrize("kind", STORES)
def test_draws_are_uniform(kind):
    store = store_of(kind, 50)
    add(store, range(40))
    for size in (40, 99):  # a store smaller than a batch gives all its rows
        assert next(store.batches(size, 1, new_state(1)))[0].tolist() == list(range(40))
    draws = list(itertools.islice(store.batches(20, 1, new_state(1)), 2000))
    check_rows(*draws[0])
    counts = np.bincount(np.concatenate([number for number, _ in draws]), minlength=40)
    assert ((counts - 1000) ** 2 / 1000).sum() < limit_of_chi_squared(39)
    add(store, range(40, 90))
    assert len(store) == 50
    empty = store_of(kind)
    add(empty, [])
    assert list(empty.batches(5, 1, new_state(1))) == list(draw_batches(0, 5, new_state(1), list)) == []


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("before", [0, 10, 200])
def test_rollback(kind, before):
    store = store_of(kind)
    add(store, range(before))
    store.begin()
    kept = copy_of(store)
    for start in (1000, 2000):
        add(store, range(start, start + 70))
    assert (store.state()["number"] >= 1000).any()
    for _ in range(2):
        store.rollback()
        assert differing(store, kept) == []


def memory_of(kind, features, capacity=64, power=1.0, unit=1.0):
    if kind == "aggregated":
        return Aggregated(features.masks, power=power, unit=unit)
    return Reservoir(infoset_columns(capacity, features.tensors, NUM_ACTIONS), new_state(1), power=power, unit=unit)


def samples_of(rows, rng, features):
    """Returns samples that identify their row and action: action a of row r has value 10 r + a + noise below 0.5."""
    rows = np.asarray(rows, np.int32)
    values = 10.0 * rows[:, None] + np.arange(NUM_ACTIONS) + rng.uniform(0.0, 0.49, (len(rows), NUM_ACTIONS))
    return Samples(rows, features.masks[rows], values * features.masks[rows], np.ones(len(rows)))


def in_row(features, row, values, weight=1.0):
    """Returns samples of one information set."""
    rows = np.full(len(values), row, np.int32)
    return Samples(rows, features.masks[rows], np.array(values, np.float64), np.full(len(values), weight))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 16, 1000])  # drawn, drawn, all
def test_rows_keep_their_targets(kind, size, three_rows):
    rng = np.random.default_rng(1)
    memory = memory_of(kind, three_rows)
    for iteration in range(1, 6):
        memory.add(samples_of(rng.integers(0, 3, 40), rng, three_rows), iteration)
    for batch in itertools.islice(memory.batches(size, 5, new_state(2)), 20):
        assert len(batch.infosets) == min(size, 3 if kind == "aggregated" else 64)
        for row, targets, weights in zip(*batch, strict=True):
            legal = np.flatnonzero(three_rows.masks[row])
            assert (np.floor(targets[legal]) == 10 * row + legal).all()
            illegal = np.setdiff1d(np.arange(NUM_ACTIONS), legal)
            assert not targets[illegal].any()
            assert not weights[illegal].any()
            assert (weights[legal] > 0).all()
            assert np.ptp(weights[legal]) == 0


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_every_sample_has_the_weight_of_its_iteration(power, three_rows):
    memory = memory_of("reservoir", three_rows, power=power)
    for iteration in (1, 2, 4):
        memory.add(in_row(three_rows, 0, [[0, iteration, 0, iteration]] * 3), iteration)
    batch = next(memory.batches(100, 4, new_state(1)))
    iterations = batch.targets[:, 1]
    weight = np.array([1, 2, 4]) ** power  # of those in the memory
    np.testing.assert_allclose(batch.weights[:, 1], iterations**power / weight.mean(), rtol=1e-6)
    assert sorted(iterations.tolist()) == [1, 1, 1, 2, 2, 2, 4, 4, 4]


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_sums_give_the_gradient_of_all_samples(power, three_rows):
    """sum_k w_k (f - y_k) over samples is W (f - Y) over information sets, for any f."""
    rng = np.random.default_rng(1)
    every, sums = memory_of("reservoir", three_rows, 1000, power), memory_of("aggregated", three_rows, power=power)
    for iteration in range(1, 8):
        samples = samples_of(rng.integers(0, 3, 20), rng, three_rows)
        every.add(samples, iteration)
        sums.add(samples, iteration)
    slopes = []
    prediction = rng.normal(size=(3, NUM_ACTIONS))
    for memory in (every, sums):
        batch = next(memory.batches(1000, 7, new_state(1)))
        slope = np.zeros((3, NUM_ACTIONS))
        np.add.at(slope, batch.infosets, batch.weights * (prediction[batch.infosets] - batch.targets))
        slopes.append(slope / batch.weights.max(1).sum())
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-4, atol=1e-5)
    assert np.abs(slopes[0]).max() > 1


def test_samples_may_have_weights(three_rows):
    """A mean is that of weight x iteration's weight; a stored sample's counts in its batches."""
    values, weights = np.array([[1.0, 2, 3, 0], [5.0, 6, 7, 0], [0, 9.0, 0, 9]]), np.array([1.0, 3.0, 0.5])
    rows = np.array([1, 1, 0], np.int32)
    samples = Samples(rows, three_rows.masks[rows], values, weights)
    memory = memory_of("aggregated", three_rows)
    memory.add(samples, 1)
    memory.add(in_row(three_rows, 1, [[10, 10, 10, 0]], 2.0), 2)
    means, total = memory.means()
    np.testing.assert_allclose(means[1, :3], (values[0] + 3 * values[1] + 2 * 2 * 10)[:3] / (1 + 3 + 4))
    np.testing.assert_allclose(total, [0.5, 8.0, 0.0])
    reservoir = memory_of("reservoir", three_rows, 10, power=0.0)
    reservoir.add(samples, 1)
    np.testing.assert_allclose(next(reservoir.batches(10, 1, new_state(1))).weights.max(1), weights / weights.mean())


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_small_memories(kind, three_rows):
    """Nothing rather than rows that were never written; all entries, whose targets are divided by the unit."""
    memory = memory_of(kind, three_rows, unit=4.0)
    assert list(memory.batches(10, 1, new_state(1))) == []
    masks = three_rows.masks[1:]
    memory.add(Samples(np.array([1, 2], np.int32), masks, masks * 8.0, np.ones(2)), 1)
    first, _, third = itertools.islice(memory.batches(10, 1, new_state(1)), 3)
    assert first.infosets.tolist() == [1, 2]
    np.testing.assert_array_equal(first.targets, masks * 2.0)
    assert first is third


def test_tensors_instead_of_rows():
    memory = Reservoir(infoset_columns(20, np.zeros((0, 3)), 2), new_state(1))
    for iteration in range(1, 30):
        numbers = iteration * 7 + np.arange(7.0)
        tensors = np.repeat(numbers[:, None], 3, 1).astype(np.float32)
        values = numbers[:, None] * [1, 2]
        memory.add(Samples(tensors, np.ones((7, 2), bool), values, numbers + 1), iteration)
    state = memory.state()
    numbers = state["infosets"][:, 0]
    np.testing.assert_array_equal(state["values"], numbers[:, None] * [1, 2])
    np.testing.assert_array_equal(state["weights"], numbers + 1)
    np.testing.assert_array_equal(state["iterations"], numbers // 7)
    batch = next(memory.batches(8, 30, new_state(1)))
    np.testing.assert_array_equal(batch.targets, batch.infosets[:, :1] * [1, 2])
