"""Memories: rows keep their targets and weights, sums give the gradient of all samples, rollback."""

import itertools

import numpy as np
import pytest
from neural_states import copy_of, differing

from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.neural import DeepCFRConfig
from mccfr_plus.neural.memory import Aggregated, Reservoir, Samples, infoset_columns

NUM_ACTIONS = 4
KINDS = ["aggregated", "reservoir"]


def memory_of(kind, features, capacity=64, power=1.0, unit=1.0, seed=1):
    if kind == "aggregated":
        return Aggregated(features.masks, DeepCFRConfig(weighting="linear" if power else "uniform"), unit)
    return Reservoir(infoset_columns(capacity, features.tensors, NUM_ACTIONS), new_state(seed), power=power, unit=unit)


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
    entries = 3 if kind == "aggregated" else 64
    assert kind == "aggregated" or len(memory) == 64
    for batch in itertools.islice(memory.batches(size, 5, new_state(2)), 20):
        assert len(batch.infosets) == min(size, entries)
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


@pytest.mark.parametrize("kind", KINDS)
def test_unit_divides_targets(kind, three_rows):
    memory = memory_of(kind, three_rows, unit=4.0)
    memory.add(in_row(three_rows, 2, [[0.0, 0.0, 8.0, 0.0]]), 1)
    assert next(memory.batches(5, 1, new_state(1))).targets.tolist() == [[0.0, 0.0, 2.0, 0.0]]


@pytest.mark.parametrize("kind", KINDS)
def test_batch_of_a_small_memory_has_all_entries(kind, three_rows):
    memory = memory_of(kind, three_rows)
    assert list(memory.batches(10, 1, new_state(1))) == []  # none, rather than rows that were never written
    masks = three_rows.masks[1:]
    memory.add(Samples(np.array([1, 2], np.int32), masks, masks.astype(float), np.ones(2)), 1)
    batches = list(itertools.islice(memory.batches(10, 1, new_state(1)), 3))
    assert batches[0].infosets.tolist() == [1, 2]
    assert batches[0] is batches[2]


@pytest.mark.parametrize("before", [0, 10, 200])
def test_rollback(before, three_rows):
    rng = np.random.default_rng(1)
    memory = memory_of("reservoir", three_rows)
    memory.add(samples_of(rng.integers(0, 3, before), rng, three_rows), 1)
    memory.begin()
    kept = copy_of(memory)
    for iteration in (2, 3):
        memory.add(samples_of(rng.integers(0, 3, 70), rng, three_rows), iteration)
    assert differing(memory, kept)
    memory.rollback()
    assert differing(memory, kept) == []
    memory.rollback()
    assert differing(memory, kept) == []


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
    np.testing.assert_allclose(2 * total, [0.5, 8.0, 0.0])  # in units of the latest iteration's
    reservoir = memory_of("reservoir", three_rows, 10, power=0.0)
    reservoir.add(samples, 1)
    batch = next(reservoir.batches(10, 1, np.zeros(1, np.uint64)))
    np.testing.assert_allclose(batch.weights.max(1), weights / weights.mean())
