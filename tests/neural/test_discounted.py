"""DCFR+ and PDCFR+: sums by their definitions, the tabular limit, resumes."""

import dataclasses

import numpy as np
import pytest
from neural_states import copy_of, differing

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.errors import ConfigError  # noqa: E402
from mccfr_plus.neural import DeepCFR, DeepCFRConfig  # noqa: E402
from mccfr_plus.neural.memory import Aggregated, Samples  # noqa: E402

SMALL = DeepCFRConfig(traversals=40, hidden_layers=(16,), train_steps=5, batch_size=16)


def discount(iteration, alpha):
    return iteration**alpha / (iteration**alpha + 1)


@pytest.mark.parametrize("predictive", [False, True])
def test_sums_equal_the_definition(three_rows, predictive):
    config, alpha = DeepCFRConfig(minimizer="pdcfr+" if predictive else "dcfr+"), 2.3 if predictive else 1.5
    memory = Aggregated(three_rows.masks, config)
    rng = np.random.default_rng(1)
    regrets, counts = np.zeros((3, 4)), np.zeros(3)
    for iteration in range(1, 8):
        new, seen = np.zeros((3, 4)), np.zeros(3)
        for _ in range(3):  # parts of an iteration
            rows = rng.integers(0, 3 if iteration > 2 else 1, 5).astype(np.int32)
            masks = three_rows.masks[rows]
            samples = Samples(rows, masks, rng.normal(size=(5, 4)) * masks, np.ones(5))
            memory.add(samples, iteration)
            for row, values in zip(rows, samples.values, strict=True):
                new[row] += values
                seen[row] += 1
        regrets = np.maximum(discount(iteration - 1, alpha) * regrets + new, 0) if iteration > 1 else np.maximum(new, 0)
        counts = discount(iteration - 1, alpha) * counts + seen if iteration > 1 else seen
        target = np.maximum(discount(iteration, alpha) * regrets + new, 0) if predictive else regrets
        means, weights = memory.means()
        np.testing.assert_allclose(means, target / np.where(counts > 0, counts, 1)[:, None], rtol=1e-12)
        np.testing.assert_allclose(weights, counts)
    batch = next(memory.batches(10, 7, np.zeros(1, np.uint64)))
    assert batch.infosets.tolist() == [0, 1, 2]
    np.testing.assert_allclose(batch.weights.max(1), counts / counts.mean(), rtol=1e-6)
    np.testing.assert_allclose(batch.targets, means, rtol=1e-6)
    assert (batch.targets >= 0).all()


@pytest.mark.parametrize("minimizer", ["dcfr+", "pdcfr+"])
@pytest.mark.parametrize("memory", ["aggregated", "reservoir"])
@pytest.mark.parametrize("stop", [1, 4])
def test_resumed_run_is_bitwise_identical(minimizer, memory, stop, tmp_path):
    config = dataclasses.replace(SMALL, minimizer=minimizer, memory=memory)
    whole = DeepCFR("kuhn_poker", config, seed=1).run(8)
    solver = DeepCFR("kuhn_poker", config, seed=1).run(stop)
    solver.save_checkpoint(tmp_path / "file")
    for each in (solver, DeepCFR.from_checkpoint(tmp_path / "file")):
        each.run(8 - stop)
        assert differing(whole, each) == []


@pytest.mark.parametrize("minimizer", ["dcfr+", "pdcfr+"])
def test_failed_iteration_is_rolled_back(minimizer, monkeypatch):
    solver = DeepCFR("kuhn_poker", dataclasses.replace(SMALL, minimizer=minimizer), seed=1).run(3)
    before = copy_of(solver)
    with monkeypatch.context() as patch:
        patch.setattr(solver._players[1].learner, "fit", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            solver.run(1)
    assert differing(solver, before) == []


@pytest.mark.parametrize(("minimizer", "gamma"), [("dcfr+", 4.0), ("pdcfr+", 5.0)])
def test_converges_and_weighs_by_a_power(minimizer, gamma):
    config = DeepCFRConfig(traversals=300, hidden_layers=(32, 32), minimizer=minimizer)
    solver = DeepCFR("kuhn_poker", config, seed=1)
    assert config.exponents[1] == gamma
    expected = np.zeros(solver.tree.num_slots)
    for iteration in range(1, 4):
        start = solver.current_strategy()
        solver.iteration()
        own = mccfr_plus.TreePolicy(solver.tree, start).strategy()
        expected += iteration**gamma * own
    infosets = (
        solver.tree.arrays.infosets
    )  # at the beginning, of player 0: he plays what stands at the iteration's begin
    for infoset in np.flatnonzero((infosets["parent_slot"] >= solver.tree.num_slots) & (infosets["player"] == 0)):
        found = solver.average_strategy()[solver.tree.slots(infoset)]
        np.testing.assert_allclose(found, expected[solver.tree.slots(infoset)] / sum(t**gamma for t in (1, 2, 3)))
    solver.run(target_exploitability=0.03, seconds=30)
    assert solver.exploitability() <= 0.03


def test_configs():
    with pytest.raises(ConfigError, match=r"minimizer='cfr\+': give one of cfr, dcfr\+, pdcfr\+"):
        DeepCFRConfig(minimizer="cfr+")
    assert DeepCFRConfig(minimizer="pdcfr+").exponents == (2.3, 5.0)
    assert DeepCFRConfig(minimizer="dcfr+").exponents == (1.5, 4.0)
    assert DeepCFRConfig(weighting="uniform").exponents == (1.0, 0.0)
