"""DREAM and ESCHER: the tabular limit, convergence, rollback, checkpoints, configs."""

import dataclasses
import math

import numpy as np
import pytest
from neural_states import TabularLimit, copy_of, differing

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.errors import CheckpointError, ConfigError, GameError, TrainingError  # noqa: E402
from mccfr_plus.neural import (  # noqa: E402
    DREAM,
    ESCHER,
    DeepCFR,
    DREAMConfig,
    ESCHERConfig,
    TrainingConfig,
)

VALUES = TrainingConfig(hidden_layers=(16,), train_steps=5, batch_size=16)
KWARGS = {"traversals": 40, "hidden_layers": (16,), "train_steps": 5, "batch_size": 16}
SOLVERS = [
    (DREAM, DREAMConfig(**KWARGS, baseline_training=VALUES)),
    (DREAM, DREAMConfig(**KWARGS, baseline=False, memory="reservoir", memory_capacity=100)),
    (ESCHER, ESCHERConfig(**KWARGS, value_training=VALUES, value_traversals=20)),
    (ESCHER, ESCHERConfig(**KWARGS, values="exact", memory="reservoir", memory_capacity=100)),
]


class ExactTable:
    """A table with an entry per information set and action, fitted to an aggregated memory."""

    def __init__(self, shape):
        self.losses, self.means = [], np.zeros(shape)

    def fit(self, memory, iteration):
        self.means, _ = memory.means()

    def predict(self, iteration=None):
        return self.means

    def state(self):
        return {}


def with_tables(kind):
    class WithTables(kind):
        def _new_player(self, player, rngs):
            own = super()._new_player(player, rngs)
            return own._replace(learner=ExactTable(self._env.masks[player].shape))

    return WithTables


def without_ties(game):
    """Returns the tree with other payoffs at each leaf, so that rounding does not decide the sign of a regret of 0."""
    tree = mccfr_plus.compile_game(game)
    nodes = tree.arrays.nodes.copy()
    leaves = np.flatnonzero(nodes["num_children"] == 0)
    payoffs = tree.arrays.payoffs[nodes["payload"][leaves]]
    payoffs = payoffs + 0.1 * np.random.default_rng(1).normal(size=payoffs.shape)
    nodes["payload"][leaves] = np.arange(len(leaves))
    return dataclasses.replace(tree, arrays=tree.arrays._replace(nodes=nodes, payoffs=payoffs))


@pytest.mark.parametrize(("weighting", "gamma"), [("linear", 1.0), ("uniform", 0.0)])
@pytest.mark.parametrize(
    ("game", "iterations"), [("kuhn_poker", 12), ("kuhn_poker(players=3)", 12), ("leduc_poker", 3)]
)
def test_tabular_limit_of_escher(game, iterations, weighting, gamma):
    """With exact values and tables this is tabular ESCHER: matching ignores the scale of regrets."""
    tree = without_ties(game)
    config = ESCHERConfig(traversals=30, values="exact", weighting=weighting, fallback="uniform")
    neural = with_tables(ESCHER)(tree, config, seed=7)
    table = TabularLimit(neural, gamma)
    for _ in range(iterations):
        table.iteration()
        np.testing.assert_allclose(neural.current_strategy(), table.strategy, atol=1e-9)
        np.testing.assert_allclose(neural.average_strategy(), table.average(), atol=1e-9)
    assert np.abs(table.strategy - tree.uniform_strategy()).max() > 0.4


def test_tabular_limit_of_dream_converges_like_outcome_sampling():
    """Weighted mean regrets, with learned baselines, converge to an equilibrium."""
    config = DREAMConfig(traversals=400, baseline=False, fallback="uniform")
    neural = with_tables(DREAM)("kuhn_poker", config, seed=1)
    assert neural.run(600).exploitability() < 0.01  # 0.458 for uniform play


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        (DREAM, DREAMConfig(traversals=500, hidden_layers=(32, 32))),
        (ESCHER, ESCHERConfig(traversals=500, hidden_layers=(32, 32))),
        (ESCHER, ESCHERConfig(traversals=500, hidden_layers=(32, 32), values="exact", memory="reservoir")),
    ],
)
def test_converges(kind, config):
    """Uniform play is exploitable by 0.458 in Kuhn poker; a solver whose networks learn nothing stays above 0.1."""
    solver = kind("kuhn_poker", config, seed=1)
    solver.run(target_exploitability=0.03, seconds=30)
    assert solver.exploitability() <= 0.03


@pytest.mark.parametrize(("kind", "config"), SOLVERS)
def test_every_phase_of_an_iteration_changes_the_result(kind, config):
    solver = kind("kuhn_poker", config, seed=1).run(1)
    before = copy_of(solver)
    solver.iteration()
    still = set(before) - set(differing(solver, before))
    # Generators that draw only once a memory is full, or larger than a batch; what is not trained; contents that may
    # come out the same.
    allowed = {name for name in before if name.endswith(("rng", "rngs", "memory/rows", "weights"))}
    if not getattr(config, "baseline", True):
        allowed |= {name for name in before if name.startswith("values/")}
    assert still <= allowed


@pytest.mark.parametrize(("kind", "config"), SOLVERS)
def test_resumed_run_is_bitwise_identical(kind, config, tmp_path):
    path = tmp_path / "run.checkpoint"
    solver = kind("kuhn_poker", config, seed=1).run(4, evaluate_every=0)
    solver.save_checkpoint(path)
    copy = kind.from_checkpoint(path)
    assert (copy.config, copy.seed, copy.iterations, copy.history.kept()) == (config, 1, 4, solver.history.kept())
    solver.run(4)
    copy.run(4)
    assert differing(solver, copy) == []
    with pytest.raises(CheckpointError, match=f"holds a run of {kind.__name__}, not of DeepCFR: load it with"):
        DeepCFR.from_checkpoint(path)


@pytest.mark.parametrize(("kind", "config"), [SOLVERS[0], SOLVERS[2]])
def test_iteration_with_diverging_values_is_rolled_back(kind, config, monkeypatch):
    solver, reference = (kind("kuhn_poker", config, seed=1).run(3) for _ in range(2))
    before = copy_of(solver)
    with monkeypatch.context() as patch:
        patch.setattr(
            solver.values.learner.module, "forward", lambda inputs: solver.values.learner.vector[:1] * math.nan
        )
        with pytest.raises(TrainingError, match=f"iteration 4: the loss of the values of {kind.__name__} is nan"):
            solver.run(5)
    assert differing(solver, before) == []
    assert differing(solver.run(2), reference.run(2)) == []


@pytest.mark.parametrize("game", ["kuhn_poker(players=3)", "leduc_poker", "matrix_rps", "matrix_pd"])
@pytest.mark.parametrize(("kind", "config"), SOLVERS)
def test_other_games(kind, config, game):
    """More players, chance within the game, simultaneous moves, general-sum payoffs."""
    solver = kind(game, config, seed=1).run(3)
    for policy in (solver.average_policy(), solver.current_policy()):
        assert all(sum(p for _, p in row) == pytest.approx(1, abs=1e-12) for row in policy.values())
    assert solver.nodes_touched > 0
    if game == "matrix_pd" and kind is DREAM:
        # Payoffs do not sum to a constant: one output per player.
        assert solver.values.learner.predict().shape[1] == 2 * solver.tree.game.num_distinct_actions()


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (DREAMConfig, {"epsilon": 0.0}, "epsilon=0.0: must be above 0 and at most 1"),
        (DREAMConfig, {"epsilon": 1.5}, "epsilon=1.5: must be above 0 and at most 1"),
        (DREAMConfig, {"baseline": 1}, "baseline=1: must be True or False"),
        (DREAMConfig, {"baseline_training": {"train_steps": 3}}, "give a TrainingConfig"),
        (DREAMConfig, {"traversals": 0}, "traversals=0"),
        (ESCHERConfig, {"values": "learned"}, "values='learned': give one of network, exact"),
        (ESCHERConfig, {"value_traversals": 0}, "value_traversals=0"),
        (ESCHERConfig, {"value_training": None}, "give a TrainingConfig"),
    ],
)
def test_bad_configs(kind, fields, message):
    with pytest.raises(ConfigError, match=message):
        kind(**fields)


@pytest.mark.parametrize("kind", [DREAM, ESCHER])
def test_bad_games(kind):
    with pytest.raises(
        GameError, match=f"nim provides no information_state_tensor, which is what {kind.__name__} sees"
    ):
        kind("nim")
    with pytest.raises(ConfigError, match=f"give an? {kind.__name__}Config"):
        kind("kuhn_poker", {"traversals": 3})
