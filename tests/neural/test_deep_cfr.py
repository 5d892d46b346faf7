"""Deep CFR: the tabular limit, convergence, policies, rollback."""

import dataclasses

import numpy as np
import pyspiel
import pytest
from neural_states import TabularLimit, copy_of, differing, failing_at_the_third_call

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus.errors import BudgetError, ConfigError, GameError, TrainingError  # noqa: E402
from mccfr_plus.neural import DeepCFR, DeepCFRConfig  # noqa: E402

SMALL = DeepCFRConfig(traversals=60, hidden_layers=(16,), train_steps=5, batch_size=32)
RESERVOIR = dataclasses.replace(SMALL, memory="reservoir", memory_capacity=100)


# --- the tabular limit ---


class ExactFit:
    """A linear model of one-hot features, fitted exactly to a memory by its normal equations."""

    def __init__(self, learner, mask):
        self.mask, self.rngs, self.losses = mask, learner._of_batches, []
        self.answers = np.zeros(mask.shape)

    def fit(self, memory, iteration):
        self.answers = np.zeros(self.mask.shape)
        if hasattr(memory, "means"):
            rows, (targets, weights) = np.arange(len(self.mask)), memory.means()
            weights = np.repeat(weights[:, None], self.mask.shape[1], 1) * self.mask
        else:
            rows, targets, weights = next(memory.batches(1 << 30, iteration, self.rngs))
        features = np.eye(len(self.mask))[rows]
        for action in range(self.mask.shape[1]):
            weight = weights[:, action].astype(np.float64)
            normal, right = features.T @ (features * weight[:, None]), features.T @ (weight * targets[:, action])
            seen = np.flatnonzero(normal.diagonal())
            self.answers[seen, action] = np.linalg.solve(normal[np.ix_(seen, seen)], right[seen])

    def predict(self, iteration=None):
        return self.answers

    def state(self):
        return {}


class WithExactFits(DeepCFR):
    def _new_player(self, player, rngs):
        own = super()._new_player(player, rngs)
        return own._replace(learner=ExactFit(own.learner, self._env.masks[player]))


def without_ties(tree):
    """Returns the tree with other payoffs, so that rounding does not decide the sign of a regret of 0."""
    payoffs = tree.arrays.payoffs + 0.1 * np.random.default_rng(1).normal(size=tree.arrays.payoffs.shape)
    return dataclasses.replace(tree, arrays=tree.arrays._replace(payoffs=payoffs))


@pytest.mark.parametrize(("weighting", "gamma"), [("linear", 1.0), ("uniform", 0.0)])
@pytest.mark.parametrize(
    ("game", "memory", "iterations", "tolerance"),
    [
        ("kuhn_poker", "aggregated", 12, 1e-9),
        ("kuhn_poker(players=3)", "aggregated", 12, 1e-9),
        ("leduc_poker", "aggregated", 2, 1e-9),
        # Which keeps single precision.
        ("kuhn_poker", "reservoir", 12, 1e-4),
        ("kuhn_poker(players=3)", "reservoir", 12, 1e-4),
    ],
)
def test_tabular_limit_is_external_sampling(game, memory, iterations, tolerance, weighting, gamma):
    """Least squares over one-hot features is the weighted mean regret, and matching ignores its scale."""
    tree = without_ties(mccfr_plus.compile_game(game))
    config = DeepCFRConfig(
        traversals=30, weighting=weighting, fallback="uniform", memory=memory, memory_capacity=100_000
    )
    deep = WithExactFits(tree, config, seed=7)
    table = TabularLimit(deep, gamma)
    for _ in range(iterations):
        table.iteration()
        np.testing.assert_allclose(deep.current_strategy(), table.strategy, atol=tolerance)
        np.testing.assert_allclose(deep.average_strategy(), table.average(), atol=tolerance)
    assert np.abs(table.strategy - tree.uniform_strategy()).max() > 0.4


# --- networks ---


@pytest.mark.parametrize("memory", ["aggregated", "reservoir"])
def test_converges(memory):
    """Uniform play is exploitable by 0.458 in Kuhn poker; a solver whose networks learn nothing stays above 0.1."""
    config = DeepCFRConfig(traversals=300, hidden_layers=(32, 32), memory=memory, train_steps=40, batch_size=256)
    solver = DeepCFR("kuhn_poker", config, seed=1)
    solver.run(target_exploitability=0.03, seconds=30)
    assert solver.exploitability() <= 0.03
    assert pyspiel.exploitability(solver.tree.game, solver.average_policy()) == pytest.approx(solver.exploitability())


def test_every_phase_of_an_iteration_changes_the_result(monkeypatch):
    solver = DeepCFR("kuhn_poker", SMALL, seed=1)
    assert (solver.current_strategy() == 0.5).all()  # the first strategy is uniform
    before = copy_of(solver)
    solver.iteration()
    after = solver.state()
    for name in before:
        # A reservoir's generator draws only once it is full, that of batches only where they are smaller than it. Sums
        # before the first iteration are 0.
        if not name.endswith(("memory_rngs", "network/rngs", "memory/before")):
            assert not np.array_equal(before[name], after[name]), name
    assert all(loss > 0 for loss in solver.losses)


def test_reservoir_draws():
    solver = DeepCFR("kuhn_poker", RESERVOIR, seed=1).run(2)
    before = copy_of(solver)
    solver.iteration()
    for name in ("player1/memory/rng", "player0/network/rngs", "player0/memory/seen", "player0/memory/values"):
        assert not np.array_equal(before[name], solver.state()[name]), name
    assert [len(own.memory) for own in solver._players] == [100, 100]


@pytest.mark.parametrize(
    "game",
    [
        "kuhn_poker(players=3)",
        "leduc_poker",
        "goofspiel(num_cards=3,imp_info=True,points_order=descending)",
        "matrix_rps",
    ],
)
def test_policies_are_distributions_over_legal_actions(game):
    solver = DeepCFR(game, SMALL, seed=1).run(3)
    for policy in (solver.average_policy(), solver.current_policy()):
        assert isinstance(policy, mccfr_plus.TreePolicy)
        for info_state, row in policy.items():
            actions, probabilities = zip(*row, strict=True)
            assert list(actions) == solver.tree.legal_actions(solver.tree.infoset(info_state))
            assert min(probabilities) >= 0
            assert sum(probabilities) == pytest.approx(1, abs=1e-12)
    assert not np.array_equal(solver.average_strategy(), solver.current_strategy())


def test_same_seed_is_bitwise_identical_without_global_state():
    numpy_before = repr(np.random.get_state(legacy=False))  # noqa: NPY002 - with its position, which every draw moves
    torch_before, threads = torch.get_rng_state(), torch.get_num_threads()
    first, second, other = (DeepCFR("kuhn_poker", RESERVOIR, seed=seed).run(4) for seed in (1, 1, 2))
    assert differing(first, second) == []
    assert not np.array_equal(first.current_strategy(), other.current_strategy())
    assert repr(np.random.get_state(legacy=False)) == numpy_before  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert torch.get_num_threads() == threads
    drawn = DeepCFR("kuhn_poker", RESERVOIR, seed=np.random.default_rng(3))
    assert drawn.seed is None


def test_scaled_targets_make_the_unit_of_payoffs_irrelevant():
    """Kuhn poker pays at most 2: half the payoff range is 2, and targets in that unit are half as large."""
    solver = DeepCFR("kuhn_poker", SMALL, seed=1)
    plain = DeepCFR("kuhn_poker", dataclasses.replace(SMALL, scale_targets=False), seed=1)
    batches = []
    for each in (solver, plain):
        each.iteration()
        batches.append(next(each._players[0].memory.batches(99, 1, np.zeros(1, np.uint64))))
    np.testing.assert_allclose(2 * batches[0].targets, batches[1].targets, rtol=1e-6)
    assert np.abs(batches[1].targets).max() > 0.5


# --- runs ---


def test_limits_and_history():
    solver = DeepCFR("kuhn_poker", SMALL, seed=1)
    assert solver.run(3) is solver
    assert (solver.iterations, len(solver.history)) == (3, 0)
    reported = []
    solver.run(2, callback=reported.append, evaluate_every=0)
    assert [progress.iterations for progress in reported] == [4, 5]
    history = solver.history
    assert history.iterations.tolist() == [4, 5]
    assert history.nodes[-1] == solver.nodes_touched
    assert history.exploitability[-1] == solver.exploitability() == reported[-1].evaluation.exploitability
    assert 0 < history.seconds[0] < history.seconds[1] <= solver.seconds
    solver.run(100, callback=lambda progress: progress.iterations == 7)
    assert solver.iterations == 7
    solver.run(seconds=0.05)
    assert solver.iterations > 7
    with pytest.raises(ConfigError, match="give a limit"):
        solver.run()
    with pytest.raises(ConfigError, match="iterations=0"):
        solver.run(0)


def test_bad_games_and_configs():
    with pytest.raises(GameError, match=r"nim provides no information_state_tensor, which is what DeepCFR sees"):
        DeepCFR("nim")
    with pytest.raises(GameError, match="is no game of OpenSpiel"):
        DeepCFR("kuhn_pocker")
    with pytest.raises(BudgetError):
        DeepCFR("dark_hex(board_size=4)")
    with pytest.raises(ConfigError, match="give a DeepCFRConfig"):
        DeepCFR("kuhn_poker", {"traversals": 3})
    with pytest.raises(ConfigError, match="seed=-1"):
        DeepCFR("kuhn_poker", seed=-1)
    assert repr(DeepCFR("kuhn_poker", SMALL)) == f"DeepCFR('kuhn_poker()', {SMALL!r})"


@pytest.mark.parametrize("config", [SMALL, RESERVOIR, dataclasses.replace(RESERVOIR, warm_start=False)])
@pytest.mark.parametrize("error", ["nan", "interrupt"])
def test_failed_iteration_is_rolled_back(config, error, monkeypatch):
    solver, reference = (DeepCFR("kuhn_poker", config, seed=1).run(3) for _ in range(2))
    before = copy_of(solver)
    seconds = solver.seconds
    module = solver._players[1].learner.module
    fail, calls = failing_at_the_third_call(module.forward, error)
    with monkeypatch.context() as patch:
        patch.setattr(module, "forward", fail)
        if error == "nan":
            with pytest.raises(
                TrainingError, match=r"iteration 4: the advantage loss of player 1 is nan at training step 3"
            ):
                solver.run(5)
        else:
            with pytest.raises(KeyboardInterrupt):
                solver.run(5)
    assert len(calls) == 3
    assert (solver.iterations, solver.seconds) == (3, seconds)
    assert differing(solver, before) == []
    assert differing(solver.run(2), reference.run(2)) == []  # nothing outside of the state has changed
