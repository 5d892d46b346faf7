"""All algorithms in all representations: policies, runs that resume, fail or repeat, user-defined parts."""

import itertools
import math

import numpy as np
import pyspiel
import pytest
from neural_states import copy_of, differing
from solver_cases import CASES, every_case

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus import neural  # noqa: E402
from mccfr_plus.errors import CheckpointError, ConfigError, GameError, TrainingError  # noqa: E402
from mccfr_plus.neural import (  # noqa: E402
    DREAM,
    BatchedRepresentation,
    DeepCFR,
    DeepCFRConfig,
    DREAMConfig,
    ESCHERConfig,
    NetworkPolicy,
    NFSPConfig,
    TrainingConfig,
    TreeRepresentation,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


GAMES = ("kuhn_poker(players=3)", "goofspiel(num_cards=3,imp_info=True,points_order=descending)", "matrix_pd")
ERRORS = (TrainingError, KeyboardInterrupt)


# Shifted after each three, so that no algorithm has the same game in both representations.
PLAYED = [(case, GAMES[(number + number // 3 + 1) % 3]) for number, case in enumerate(CASES.values())]


@pytest.mark.parametrize(("case", "game"), PLAYED, ids=CASES)
def test_policies_are_distributions_over_legal_actions(case, game):
    """More players, simultaneous moves, general-sum payoffs."""
    solver = case.new(game).run(2)
    assert solver.nodes_touched > 0
    policies = [solver.average_policy(), solver.current_policy()]
    for policy in policies:
        state = solver.game.new_initial_state()
        if state.is_simultaneous_node():
            state = pyspiel.convert_to_turn_based(solver.game).new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(state.legal_actions()[0])
                continue
            row = policy.action_probabilities(state)
            assert sorted(row) == state.legal_actions()
            assert sum(row.values()) == pytest.approx(1, abs=1e-9)
            assert min(row.values()) >= 0
            state.apply_action(max(row, key=row.get))


@every_case
def test_policies_can_be_saved(case, path):
    """And a restored solver's are those of the checkpoint, whatever it had trained before."""
    solver, other = case.new().run(1), case.new(seed=2).run(1)
    policy, state = solver.average_policy(), solver.game.new_initial_state().child(0).child(1)
    if case.representation == "tree":
        assert isinstance(policy, mccfr_plus.TreePolicy)
        return
    policy.save(path)
    expected = policy.action_probabilities(state)
    assert NetworkPolicy.load(path).action_probabilities(state) == expected
    assert other.average_policy().action_probabilities(state) != expected
    solver.save_checkpoint(path)
    assert other.restore(path).average_policy().action_probabilities(state) == expected
    exact = mccfr_plus.evaluate("kuhn_poker", policy)
    assert solver.exploitability() == exact.exploitability


TREE = {"hidden_layers": (32, 32), "learning_rate": 0.005, "train_steps": 20}
FAST = TrainingConfig(hidden_layers=(32, 32), learning_rate=0.01, train_steps=250)
BATCHED = {"hidden_layers": (32, 32), "train_steps": 60, "policy_training": FAST}
CONVERGING = {
    "Deep CFR": ("tree", DeepCFRConfig(traversals=300, **TREE)),
    "DREAM": ("tree", DREAMConfig(traversals=500, **TREE)),
    "ESCHER": ("tree", ESCHERConfig(traversals=500, **TREE)),
    "batched Deep CFR": ("batched", DeepCFRConfig(traversals=200, **BATCHED)),
    "batched DREAM": ("batched", DREAMConfig(traversals=500, **BATCHED)),
    "batched ESCHER": ("batched", ESCHERConfig(traversals=500, **BATCHED)),
    "NFSP": ("tree", NFSPConfig(episodes=500, hidden_layers=(32,), learn_every=32, min_samples=100)),
    "batched NFSP": ("batched", NFSPConfig(episodes=1000, hidden_layers=(64,), learn_every=32, min_samples=200)),
}


@pytest.mark.parametrize("name", CONVERGING)
def test_converges_in_kuhn_poker(name):
    """Uniform play is exploitable by 0.458; a solver whose networks learn nothing stays above these bars."""
    representation, config = CONVERGING[name]
    kind = type(config).__name__.removesuffix("Config")
    bar = 0.25 if kind == "NFSP" else {"tree": 0.03, "batched": 0.12}[representation]
    solver = getattr(neural, kind)("kuhn_poker", config, representation=representation, seed=1)
    if representation == "batched" and kind != "NFSP":  # each evaluation trains networks of the average
        solver.run(10)  # seeds 1 and 2 were below 0.1 after 8 iterations
    else:
        solver.run(500, target_exploitability=bar)
    assert solver.exploitability() <= bar


@every_case
def test_resumed_run_is_bitwise_identical(case, path):
    """With `from_checkpoint` and `restore`, also of a checkpoint before the first iteration."""
    whole, used = case.new().run(3), case.new(seed=5).run(1)
    for first in (0, 2):
        solver = case.new().run(first, evaluate_every=0) if first else case.new()
        solver.save_checkpoint(path)
        saved = copy_of(solver)
        for copy in (used.restore(path), *([neural.from_checkpoint(path)] if first else [])):
            assert differing(copy, saved) == []
            assert (copy.config, copy.seed, copy.history.kept()) == (solver.config, 1, solver.history.kept())
            assert differing(copy.run(3 - first), whole) == []
            assert copy.nodes_touched == whole.nodes_touched


@every_case
def test_every_network_is_trained_and_nothing_global_changes(case):
    numpy_before = repr(np.random.get_state(legacy=False))  # noqa: NPY002 - with its position, which every draw moves
    torch_before, threads = torch.get_rng_state(), torch.get_num_threads()
    solver, other = case.new().run(2), case.new(seed=2).run(2)
    before = copy_of(solver)
    solver.iteration()
    changed = set(differing(before, solver))
    assert {"iterations", "sampling/rng", "sampling/nodes"} <= changed
    for name, part in solver._parts().items():
        if hasattr(part, "fit") and part.losses:  # not values that serve as no baseline
            assert any(each.startswith(f"{name}/module") for each in changed), name
        if hasattr(part, "add_rows"):
            assert f"{name}/seen" in changed
    assert all(loss > 0 for loss in solver.losses)
    assert differing(before, other)
    assert repr(np.random.get_state(legacy=False)) == numpy_before  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert torch.get_num_threads() == threads


def networks_of(solver):
    found = [part for part in solver._parts().values() if hasattr(part, "fit")]
    return {learner.name: learner for learner in found if learner.name != "target"}


@pytest.mark.parametrize(("case", "error"), list(zip(CASES.values(), itertools.cycle(ERRORS))), ids=CASES)
def test_failed_iteration_is_rolled_back(case, error, path, monkeypatch):
    """Where the last network's training diverges or is interrupted at its second step."""
    solver, reference = (case.new().run(1) for _ in range(2))
    before = copy_of(solver)
    name, learner = list(networks_of(solver).items())[-1]
    if case.config == CASES["DREAM, reservoir"].config:  # without baselines, values are not trained
        name, learner = list(networks_of(solver).items())[-2]
    step, calls = learner._step, []

    def fail(given, arguments, loss, iteration):
        calls.append(1)
        if len(calls) == 2 and error is KeyboardInterrupt:
            raise KeyboardInterrupt
        scale = math.nan if len(calls) == 2 else 1.0
        step(given, arguments, lambda outputs, *more: loss(outputs, *more) * scale, iteration)

    with monkeypatch.context() as patch:
        patch.setattr(learner, "_step", fail)
        match = f"in iteration 2: the {name} is nan at training step" if error is TrainingError else None
        with pytest.raises(error, match=match):
            solver.run(2, checkpoint=path)
    assert len(calls) == 2
    assert solver.iterations == 1
    assert differing(solver, before) == []
    assert differing(neural.from_checkpoint(path), before) == []
    assert differing(solver.run(1), reference.run(1)) == []


class Gated(torch.nn.Module):
    """Not a perceptron, with a buffer that training changes, and random numbers."""

    def __init__(self, num_inputs, num_outputs):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(num_inputs)
        self.first, self.gate = torch.nn.Linear(num_inputs, 8), torch.nn.Linear(num_inputs, 8)
        self.last = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(8, num_outputs))

    def forward(self, inputs):
        inputs = self.norm(inputs)
        return self.last(self.first(inputs) * self.gate(inputs).sigmoid())


def momentum(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


@every_case
def test_any_network_and_optimizer(case, path):
    """A run, and one that is resumed: bitwise the same, running means and momentum included."""
    own = {"network": Gated, "optimizer": momentum}
    torch.manual_seed(1)
    solver = case.new(**own).run(2)
    assert {"norm.running_mean", "momentum_buffer"} <= {name.split("/")[-1] for name in solver.state()}
    solver.save_checkpoint(path)
    torch.manual_seed(2)
    copy = type(solver).from_checkpoint(path, **own).run(1)
    assert differing(solver.run(1), copy) == []
    with pytest.raises(CheckpointError):
        type(solver).from_checkpoint(path)
    policy = solver.average_policy()
    if isinstance(policy, NetworkPolicy):
        policy.save(path.with_name("policy"))
        state = solver.game.new_initial_state().child(0).child(1)
        found = NetworkPolicy.load(path.with_name("policy"), network=Gated)
        assert found.action_probabilities(state) == policy.action_probabilities(state)
        with pytest.raises(CheckpointError, match="give network="):
            NetworkPolicy.load(path.with_name("policy"))


def test_factories_by_role():
    made = []

    def noted(num_inputs, num_outputs):
        made.append((num_inputs, num_outputs))
        return torch.nn.Linear(num_inputs, num_outputs)

    CASES["batched DREAM"].new(network={"values": noted})
    assert made == [(24 + 2, 2)]  # of the tensors of both players, the player to move and the last action
    made.clear()
    solver = CASES["batched DREAM"].new(network={"average": noted}, optimizer={"average": momentum}).run(1)
    assert made == []
    solver.average_policy()
    assert made == [(11, 2)] * 2
    assert not [name for name in solver.state() if "momentum_buffer" in name]
    with pytest.raises(ConfigError, match="a mapping from some of regrets, values, average"):
        CASES["DREAM"].new(network={"policy": noted})


def test_bad_factories():
    with pytest.raises(ConfigError, match=r"must return .* of width 11.* shape \(2, 2\), but it gives \(2, 7\)"):
        DeepCFR("kuhn_poker", network=lambda num_inputs, num_outputs: torch.nn.Linear(num_inputs, 7))
    with pytest.raises(ConfigError, match=r"must return a torch\.optim\.Optimizer"):
        DeepCFR("kuhn_poker", optimizer=lambda parameters: None)
    with pytest.raises(ConfigError, match="device='nowhere': torch cannot use this device"):
        DeepCFR("kuhn_poker", device="nowhere")


def test_representations():
    assert DeepCFR("kuhn_poker").representation.kind == "tree"
    assert DREAM("phantom_ttt").representation.kind == "batched"  # 10^10 histories
    own = BatchedRepresentation("kuhn_poker")
    assert DREAM("kuhn_poker", representation=own).representation is own
    with pytest.raises(ConfigError, match="already belongs to a DREAM"):
        DREAM("kuhn_poker", representation=own)
    with pytest.raises(ConfigError, match=r"is for kuhn_poker\(\), but the solver.s game is leduc_poker\(\)"):
        DREAM("leduc_poker", representation=TreeRepresentation("kuhn_poker"))

    tree = mccfr_plus.compile_game("kuhn_poker")
    batched = DREAM(tree, DREAMConfig(traversals=10, train_steps=1), representation="batched", seed=1).run(1)
    assert batched.tree is None
    assert batched.whole_tree() is tree


def test_bad_games_and_configs():
    with pytest.raises(
        GameError, match=r"nim provides no information_state_tensor, the input of DREAM.*mccfr_plus\.Solver"
    ):
        DREAM("nim")
    with pytest.raises(ConfigError, match="give a DREAMConfig"):
        DREAM("kuhn_poker", {"traversals": 3})
