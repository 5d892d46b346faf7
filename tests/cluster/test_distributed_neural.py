"""Neural solvers whose samples come from workers: results depend on seed and batches, and on nothing else."""

import dataclasses
import json
import pickle

import numpy as np
import pytest
from pool_workers import pickled

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
from mccfr_plus import CheckpointError, ConfigError, Solver  # noqa: E402
from mccfr_plus.cli.main import main  # noqa: E402
from mccfr_plus.cluster.batch import stream_of  # noqa: E402
from mccfr_plus.cluster.neural import (  # noqa: E402
    DistributedDeepCFR,
    DistributedDREAM,
    DistributedESCHER,
    DistributedNFSP,
)
from mccfr_plus.cluster.neural.batches import (  # noqa: E402
    EpisodeBatches,
    EpisodePolicies,
    Task,
    TraversalBatches,
    Traversals,
    without_game,
)
from mccfr_plus.neural import (  # noqa: E402
    DREAM,
    ESCHER,
    NFSP,
    DeepCFR,
    DeepCFRConfig,
    DREAMConfig,
    ESCHERConfig,
    NFSPConfig,
    TrainingConfig,
)
from mccfr_plus.neural.episodes import Tables  # noqa: E402
from mccfr_plus.neural.tree_env import TreeEnv  # noqa: E402

pytestmark = pytest.mark.xdist_group("ray")

NETWORK = {"hidden_layers": (8,), "train_steps": 3, "batch_size": 16}
VALUES = TrainingConfig(**NETWORK)
DEEP = DeepCFRConfig(traversals=41, memory="reservoir", memory_capacity=300, **NETWORK)
ESCHER_NETWORK = ESCHERConfig(traversals=41, value_traversals=20, value_training=VALUES, **NETWORK)
PLAY = NFSPConfig(
    episodes=203, hidden_layers=(8,), batch_size=32, min_samples=40, learn_every=20, refresh_every=2, target_every=5
)
CASES = {
    "deep_cfr": (DistributedDeepCFR, DEEP),
    "deep_cfr, pdcfr+": (DistributedDeepCFR, DeepCFRConfig(traversals=41, minimizer="pdcfr+", **NETWORK)),
    "escher": (DistributedESCHER, ESCHER_NETWORK),
    "escher, exact": (DistributedESCHER, dataclasses.replace(ESCHER_NETWORK, values="exact", sampling="balanced")),
    "dream": (DistributedDREAM, DREAMConfig(traversals=41, baseline_training=VALUES, weight_clip=1.5, **NETWORK)),
    "dream, no baseline": (DistributedDREAM, DREAMConfig(traversals=41, baseline=False, **NETWORK)),
    "nfsp": (DistributedNFSP, PLAY),
}
every_case = pytest.mark.parametrize(("kind", "config"), CASES.values(), ids=CASES)
every_solver = pytest.mark.parametrize(
    ("kind", "config"), [CASES[name] for name in ("deep_cfr", "escher", "dream", "nfsp")]
)


def local(kind, config, seed=1, num_batches=5):
    return kind("kuhn_poker", config, seed=seed, num_batches=num_batches, cluster="local")


def copy_of(solver):
    return {name: array.copy() for name, array in solver.state().items()}


def assert_same(solver, state):
    own = solver.state()
    assert own.keys() == state.keys()
    for name, array in own.items():
        np.testing.assert_array_equal(array, state[name], err_msg=name)


# --- identical bits, whichever process samples ---


@every_solver
def test_workers_of_a_cluster_give_identical_bits(kind, config, cluster):
    alone = local(kind, config).run(2)
    with kind("kuhn_poker", config, seed=1, num_batches=5, workers=2, cluster=cluster) as solver:
        assert_same(solver.run(2), alone.state())
        assert solver.nodes_touched == alone.nodes_touched


@every_case
def test_arrays_of_other_processes_give_identical_bits(kind, config):
    alone = local(kind, config).run(3)
    with pickled(local(kind, config)) as solver:
        solver.run(2).run(1)
        assert_same(solver, alone.state())
        assert solver.nodes_touched == alone.nodes_touched


def test_the_command(cluster, capsys):
    flags = [
        "--set",
        "traversals=41",
        "--set",
        "hidden_layers=(8,)",
        "--set",
        "train_steps=3",
        "--set",
        "batch_size=16",
    ]
    run = ["solve", "kuhn_poker", "--algorithm=deep_cfr", *flags, "--iterations=2", "--seed=1", "--quiet", "--json"]
    found = []
    for where in ("--cluster=local", "--cluster=ray"):
        assert main([*run, where]) == 0
        found.append(json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert found[0]["exploitability"] == found[1]["exploitability"]
    assert cluster.ray.is_initialized()


def test_workers_get_no_game_and_no_torch(cluster):
    import ray

    with DistributedDeepCFR("kuhn_poker", DEEP, seed=1, num_batches=5, workers=1, cluster=cluster) as solver:
        solver.run(1)

        def look(self):
            import sys

            from mccfr_plus.neural.sampling import record_traversals

            tree = self._worker._sampler._tree
            return tree.game, "torch" in sys.modules, tree.arrays.nodes.flags.owndata, len(record_traversals.signatures)

        (actor,) = solver._worker_pool.actors
        game, has_torch, owns, compiled = ray.get(actor.__ray_call__.remote(look))
    assert game is None
    assert not has_torch
    assert not owns  # it is the object store's memory
    assert compiled == 1  # arrays that came from elsewhere have not made Numba compile again


def test_what_a_worker_did_before_does_not_matter():
    tree = without_game(mccfr_plus.compile_game("leduc_poker"))  # with two actions here and three there
    strategy, rng = tree.uniform_strategy(), np.random.default_rng(3)
    values = rng.normal(size=tree.num_nodes)
    policies = EpisodePolicies(Tables(strategy, np.zeros(tree.num_infosets, np.int32)), np.array([0.1, 0.2]))
    options = values, 1.0, True
    for make, before, shared in (
        (
            lambda: TraversalBatches(tree, 3, None),
            Traversals(strategy, (0,)),
            Traversals(strategy, (1,)),
        ),
        (
            lambda: TraversalBatches(tree, 3, np.zeros(0)),
            Traversals(strategy, (0,), options, wants_visits=True),
            Traversals(strategy, (1,), options, wants_visits=True),
        ),
        (lambda: EpisodeBatches(tree, 0.3), policies, policies),
    ):
        used = make()
        used.work(before, Task(300, stream_of(1, 0)))
        task = Task(200, stream_of(1, 1))
        assert pickle.dumps(used.work(shared, task)) == pickle.dumps(make().work(shared, task)), shared


# --- what is drawn ---


class Streams:
    """Makes the in-process solvers draw what a distributed one draws in one batch."""

    class environment(TreeEnv):
        def draw_from(self, solver, *key):
            self.sampler.state()["rng"][:] = stream_of(solver.seed, *key)

        def sample(self, solver, player, iteration):
            self.draw_from(solver, iteration, player, 0)
            return super().sample(solver, player, iteration)

        def visit(self, solver, player, iteration):
            self.draw_from(solver, iteration, player, 0, 1)
            super().visit(solver, player, iteration)


class StreamsOfEpisodes:
    def _play(self, iteration):
        """Plays without a stop where updates are due."""
        self._episodes.state()["rng"][:] = stream_of(self.seed, iteration, 0, 0)
        due = np.full(2, np.iinfo(np.int64).max)
        assert self._episodes.play(self._tables, self._epsilon(), due, self.config.episodes) == self.config.episodes
        for player, own in enumerate(self._players):
            own.transitions.add_rows(records=self._episodes.transitions(player))
            own.decisions.add_rows(records=self._episodes.decisions(player))
        yield


IN_PROCESS = {DistributedDeepCFR: DeepCFR, DistributedESCHER: ESCHER, DistributedDREAM: DREAM, DistributedNFSP: NFSP}


@every_case
def test_one_batch_is_the_solver_of_one_process(kind, config):
    mixin, own = StreamsOfEpisodes if kind is DistributedNFSP else Streams, "sampler/rng"
    reference = type("Reference", (mixin, IN_PROCESS[kind]), {})("kuhn_poker", config, seed=1)
    solver = local(kind, config, num_batches=1)
    reference.run(3)
    solver.run(3)
    expected = copy_of(reference)
    expected[own] = solver.state()[own]  # which a distributed one does not use
    assert_same(solver, expected)
    assert solver.nodes_touched == reference.nodes_touched > 0


@every_solver
def test_seed_and_batches_decide(kind, config):
    first = copy_of(local(kind, config).run(2))
    assert_same(local(kind, config).run(2), first)
    networks = [name for name in first if name.endswith("parameters")]
    assert len(networks) >= 2
    for other in (local(kind, config, seed=2), local(kind, config, num_batches=4)):
        found = other.run(2).state()
        assert all(not np.array_equal(found[name], first[name]) for name in networks)


def test_streams():
    assert stream_of(7, 3, 1, 2) == np.random.SeedSequence(entropy=7, spawn_key=(3, 1, 2)).generate_state(1, np.uint64)
    assert stream_of(7, 3, 1, 2).dtype == np.uint64
    keys = [(i, p, c) for i in range(5) for p in range(3) for c in range(5)]
    keys += [(*key, 1) for key in keys]
    assert len({int(stream_of(seed, *key)[0]) for seed in (1, 2) for key in keys}) == 2 * len(keys)


def test_batches_have_their_own_streams_and_all_traversals_are_made():
    seen = []

    class Watched(DistributedDeepCFR):
        def _work(self, shared, tasks):
            seen.extend((self.iterations + 1, shared.players[0], task.size, int(task.stream[0])) for task in tasks)
            return super()._work(shared, tasks)

    local(Watched, DEEP).run(2)
    expected = [
        (iteration, player, traversals, int(stream_of(1, iteration, player, batch)[0]))
        for iteration in (1, 2)
        for player in (0, 1)
        for batch, traversals in enumerate((9, 8, 8, 8, 8))
    ]
    assert seen == expected


def test_a_seed_is_drawn_where_there_is_none():
    one, other = (local(DistributedDeepCFR, DEEP, seed=None) for _ in range(2))
    assert one.seed != other.seed
    assert_same(local(DistributedDeepCFR, DEEP, seed=one.seed).run(1), one.run(1).state())
    drawn = [local(DistributedDeepCFR, DEEP, seed=np.random.default_rng(5)).seed for _ in range(2)]
    assert drawn[0] == drawn[1] != 5


@pytest.mark.parametrize(
    ("kind", "config", "limit"),
    [
        (DistributedDeepCFR, DeepCFRConfig(traversals=200, hidden_layers=(32,)), 0.03),
        (DistributedESCHER, ESCHERConfig(traversals=400, hidden_layers=(32,), values="exact"), 0.05),
        (DistributedDREAM, DREAMConfig(traversals=400, hidden_layers=(32,)), 0.08),
        (DistributedNFSP, NFSPConfig(episodes=1000, hidden_layers=(32,), learn_every=64, min_samples=200), 0.2),
    ],
)
def test_it_comes_near_an_equilibrium(kind, config, limit):
    solver = local(kind, config, num_batches=8)
    uniform = solver.exploitability()
    assert solver.run(30).exploitability() < limit < uniform


# --- checkpoints and interruptions ---


@every_solver
def test_it_goes_on_from_a_checkpoint(kind, config, tmp_path):
    whole = local(kind, config).run(4)
    local(kind, config).run(2, checkpoint=tmp_path / "run")
    with pickled(kind.from_checkpoint(tmp_path / "run", cluster="local")) as solver:
        assert (solver.num_batches, solver.seed, solver.iterations) == (5, 1, 2)
        assert_same(solver.run(2, checkpoint=tmp_path / "run"), whole.state())
    restored = local(kind, config, seed=9).run(1).restore(tmp_path / "run")
    assert restored.seed == 1
    assert_same(restored.run(1), whole.run(1).state())


def test_another_plan_is_refused(tmp_path):
    path = tmp_path / "run"
    solver = local(DistributedDeepCFR, DEEP).run(1)
    solver.save_checkpoint(path)
    other = local(DistributedDeepCFR, DEEP, num_batches=4).run(1)
    before = copy_of(other)
    message = r"its num_batches is 5, and the solver's is 4.*Use DistributedDeepCFR.from_checkpoint"
    with pytest.raises(CheckpointError, match=message):
        other.restore(path)
    with pytest.raises(CheckpointError, match=message):
        other.run(1, checkpoint=path)
    assert_same(other, before)
    with pytest.raises(CheckpointError, match=r"a run of DistributedDeepCFR, not of DeepCFR: load it with Distributed"):
        DeepCFR.from_checkpoint(path)
    with pytest.raises(CheckpointError, match=r"load it with mccfr_plus.cluster.neural.DistributedDeepCFR.from"):
        Solver.from_checkpoint(path)
    DeepCFR("kuhn_poker", DEEP, seed=1).run(1).save_checkpoint(path)
    with pytest.raises(CheckpointError, match="a run of DeepCFR, not of DistributedDeepCFR"):
        DistributedDeepCFR.from_checkpoint(path, cluster="local")


@every_solver
def test_an_interrupted_iteration_is_undone(kind, config):
    expected = local(kind, config).run(3)

    class Cut(kind):
        is_cut = False

        def _count(self, batch):
            super()._count(batch)
            if self.iterations == 1 and not type(self).is_cut:
                type(self).is_cut = True
                raise KeyboardInterrupt

    with pickled(local(Cut, config)) as solver:
        solver.run(1)
        before = copy_of(solver)
        with pytest.raises(KeyboardInterrupt):
            solver.run(1)
        assert_same(solver, before)
        assert_same(solver.run(2), expected.state())


# --- what is refused ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_batches": 0}, "num_batches=0: must be a whole number, at least 1"),
        ({"num_batches": 42}, "num_batches=42 is more than traversals=41: some batches would be empty"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": "a"}, "seed='a'"),
        ({"config": PLAY}, "give a DeepCFRConfig"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ConfigError, match=message):
        DistributedDeepCFR("kuhn_poker", **({"config": DEEP, "seed": 1} | arguments))


@pytest.mark.parametrize(
    ("kind", "config", "message"),
    [
        (DistributedESCHER, ESCHER_NETWORK, "num_batches=30 is more than value_traversals=20"),
        (DistributedNFSP, dataclasses.replace(PLAY, episodes=29), "num_batches=30 is more than episodes=29"),
    ],
)
def test_empty_batches_of_others(kind, config, message):
    with pytest.raises(ConfigError, match=message):
        local(kind, config, num_batches=30)
    if kind is DistributedESCHER:
        local(kind, dataclasses.replace(config, values="exact"), num_batches=30)
