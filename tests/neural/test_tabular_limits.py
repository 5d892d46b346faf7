"""With exactly fitted networks the algorithms are tabular ones; targets of DCFR+ and PDCFR+ by hand."""

import dataclasses
import itertools

import numpy as np
import pytest
from neural_states import TabularLimit
from solver_cases import COMMON

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.neural import DREAM, ESCHER, DeepCFR, DeepCFRConfig, DREAMConfig, ESCHERConfig  # noqa: E402
from mccfr_plus.neural.network import squared_error  # noqa: E402
from mccfr_plus.neural.network_policy import matched  # noqa: E402
from mccfr_plus.parameters import new_state  # noqa: E402


class ExactFit:
    """A linear model of one-hot features, fitted exactly to a memory: weighted means."""

    losses = ()

    def __init__(self, masks):
        self.masks, self.means = masks, np.zeros(masks.shape)

    def fit(self, memory, iteration):
        self.means = np.zeros(self.masks.shape)
        if hasattr(memory, "means"):
            self.means, _ = memory.means()
            return
        rows, targets, weights = next(memory.batches(1 << 30, iteration, new_state(0)))
        totals = np.zeros(self.masks.shape)
        np.add.at(totals, rows, weights.astype(np.float64))
        np.add.at(self.means, rows, weights.astype(np.float64) * targets)
        self.means /= np.where(totals > 0, totals, 1.0)

    def outputs(self, infosets=None):
        return self.means

    def parts(self):
        return {}


def with_exact_fits(kind):
    class WithExactFits(kind):
        config_class = kind.config_class

        def _new_player(self, player, rngs):
            return super()._new_player(player, rngs)._replace(learner=ExactFit(self.representation.masks[player]))

    return WithExactFits


def without_ties(game):
    """Returns the tree with other payoffs at each leaf, so that rounding does not decide the sign of a regret of 0."""
    tree = mccfr_plus.compile_game(game)
    nodes = tree.arrays.nodes.copy()
    leaves = np.flatnonzero(nodes["num_children"] == 0)
    payoffs = tree.arrays.payoffs[nodes["payload"][leaves]]
    payoffs = payoffs + 0.1 * np.random.default_rng(1).normal(size=payoffs.shape)
    nodes["payload"][leaves] = np.arange(len(leaves))
    return dataclasses.replace(tree, arrays=tree.arrays._replace(nodes=nodes, payoffs=payoffs))


@pytest.mark.parametrize(
    ("kind", "game", "memory", "iterations"),
    [
        (DeepCFR, "kuhn_poker", "aggregated", 12),
        (DeepCFR, "kuhn_poker(players=3)", "aggregated", 12),
        (DeepCFR, "leduc_poker", "aggregated", 2),
        (DeepCFR, "kuhn_poker(players=3)", "reservoir", 12),
        (ESCHER, "kuhn_poker", "aggregated", 12),
        (ESCHER, "leduc_poker", "aggregated", 3),
    ],
)
def test_tabular_limit(kind, game, memory, iterations):
    """Deep CFR is external sampling, ESCHER with exact values its table: matching ignores the scale of regrets."""
    tree, more = without_ties(game), {"values": "exact"} if kind is ESCHER else {"memory_capacity": 100_000}
    config = (ESCHERConfig if kind is ESCHER else DeepCFRConfig)(traversals=30, memory=memory, **more)
    solver = with_exact_fits(kind)(tree, config, seed=7)
    table, tolerance = TabularLimit(solver), 1e-9 if memory == "aggregated" else 1e-4  # single precision
    for _ in range(iterations):
        table.iteration()
        np.testing.assert_allclose(solver.current_policy().strategy(), table.strategy, atol=tolerance)
        np.testing.assert_allclose(solver.average_policy().strategy(), table.average(), atol=tolerance)
    assert np.abs(table.strategy - tree.uniform_strategy()).max() > 0.4


def test_tabular_limit_of_dream_converges_like_outcome_sampling():
    """Weighted mean regrets, with importance weights, converge to an equilibrium."""
    config = DREAMConfig(traversals=400, baseline=False)
    solver = with_exact_fits(DREAM)("kuhn_poker", config, seed=1)
    assert solver.run(600).exploitability() < 0.01  # 0.458 for uniform play


@pytest.mark.parametrize("warm_start", [True, False])
@pytest.mark.parametrize(("minimizer", "alpha", "gamma"), [("dcfr+", 1.5, 4.0), ("pdcfr+", 2.3, 5.0)])
def test_bootstrapped_targets(minimizer, alpha, gamma, warm_start, monkeypatch):
    """max(R, 0) (t-1)^alpha / ((t-1)^alpha + 1) + r, and r where the next regrets are predicted."""
    own = COMMON | {"batch_size": 1000, "warm_start": warm_start, "learning_rate": 0.01, "train_steps": 20}
    config = DREAMConfig(**own, baseline=False, minimizer=minimizer)
    assert config.gamma == gamma
    solver = DREAM("kuhn_poker", config, representation="batched", seed=1).run(2)
    learner, memory = solver._players[0]
    sampled, seen = [], []
    add, fit = memory.add, learner.fit

    def added(samples, iteration):
        sampled.append((samples.infosets, samples.values / 2.0, samples.weights))  # half of the range is 2
        add(samples, iteration)

    def fitted(batches, iteration):
        (batch,) = itertools.islice(batches.batches(1000, iteration, new_state(5)), 1)
        seen.append((batch, learner.outputs(batch.infosets)))

        def loss(outputs, targets, weights):
            np.testing.assert_array_equal(targets, batch.targets)  # by the network before, also with a fresh one
            return squared_error(outputs, targets, weights)

        fit(batches, iteration, loss)

    monkeypatch.setattr(memory, "add", added)
    monkeypatch.setattr(learner, "fit", fitted)
    solver.run(1)
    tensors, regrets, weights = (np.concatenate(arrays) for arrays in zip(*sampled, strict=True))
    ((batch, before),) = seen
    np.testing.assert_array_equal(batch.infosets, tensors)
    expected = np.maximum(before[:, :2], 0.0) * 2**alpha / (2**alpha + 1) + regrets
    assert np.abs(expected - regrets).max() > 0.01
    expected = expected if minimizer == "dcfr+" else np.concatenate([expected, regrets], axis=1)
    np.testing.assert_allclose(batch.targets, expected, atol=1e-6)
    np.testing.assert_allclose(batch.weights, np.tile(weights[:, None] / weights.mean(), expected.shape[1]), rtol=1e-6)
    # The next strategy matches the prediction: cumulative regrets, discounted for the next iteration, plus r.
    outputs, masks = learner.outputs(tensors), np.ones((len(tensors), 2), bool)
    if minimizer == "pdcfr+":
        outputs = np.maximum(outputs[:, :2], 0.0) * 3**alpha / (3**alpha + 1) + outputs[:, 2:]
    for found in (
        solver.representation.strategies()(0, tensors, masks),
        solver.current_policy().probabilities(0, tensors, masks),
    ):
        np.testing.assert_allclose(found, matched(outputs, masks), atol=1e-12)
    assert not any("memory/" in name for name in solver.state())  # nothing is kept
