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
from mccfr_plus.cluster.neural import (  # noqa: E402
    DistributedDeepCFR,
    DistributedDREAM,
    DistributedESCHER,
    DistributedNFSP,
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
from mccfr_plus.neural.sampling.paths import ExternalSampling, Trajectories  # noqa: E402
from mccfr_plus.neural.sampling.positions import TreeObserver  # noqa: E402

NETWORK = {"hidden_layers": (8,), "train_steps": 3, "batch_size": 16}
VALUES = TrainingConfig(**NETWORK)
DEEP = DeepCFRConfig(traversals=41, memory="reservoir", memory_capacity=300, **NETWORK)
ESCHER_NETWORK = ESCHERConfig(traversals=41, value_traversals=20, value_training=VALUES, **NETWORK)
PLAY = NFSPConfig(
    episodes=203,
    parallel_episodes=99,
    hidden_layers=(8,),
    batch_size=32,
    min_samples=40,
    learn_every=20,
    target_every=5,
)
CASES = {
    "deep_cfr": (DistributedDeepCFR, DEEP),
    "deep_cfr, pdcfr+": (DistributedDeepCFR, DeepCFRConfig(traversals=41, minimizer="pdcfr+", **NETWORK)),
    "escher": (DistributedESCHER, ESCHER_NETWORK),
    "escher, exact": (DistributedESCHER, dataclasses.replace(ESCHER_NETWORK, values="exact")),
    "dream": (DistributedDREAM, DREAMConfig(traversals=41, baseline_training=VALUES, **NETWORK)),
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

            tree = self._worker.tree
            return tree.game, "torch" in sys.modules, tree.arrays.nodes.flags.owndata

        (actor,) = solver._worker_pool.actors
        game, has_torch, owns = ray.get(actor.__ray_call__.remote(look))
    assert game is None
    assert not has_torch
    assert not owns  # it is the object store's memory


def test_what_a_worker_did_before_does_not_matter():
    tree = mccfr_plus.compile_game("leduc_poker")  # with two actions here and three there
    strategies = TreeObserver(tree, 3).tables(tree.uniform_strategy())
    used = TreeObserver(tree, 3)
    for histories in (Trajectories(strategies, (0,), 0.5), ExternalSampling(strategies, 1)):
        used.work(histories, (300, 1))
        assert pickle.dumps(used.work(histories, (200, 2))) == pickle.dumps(
            TreeObserver(tree, 3).work(histories, (200, 2))
        )


IN_PROCESS = {DistributedDeepCFR: DeepCFR, DistributedESCHER: ESCHER, DistributedDREAM: DREAM, DistributedNFSP: NFSP}


@every_case
def test_one_batch_is_the_solver_of_one_process(kind, config):
    reference = IN_PROCESS[kind]("kuhn_poker", config, seed=1).run(3)
    solver = local(kind, config, num_batches=1).run(3)
    assert_same(solver, copy_of(reference))
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


def test_batches_have_their_own_seeds_and_all_traversals_are_made():
    seen = []

    def watched(**options):
        solver = local(DistributedDeepCFR, DEEP, **options)
        work = solver._worker_pool.work

        def note(histories, tasks):
            seen.append((histories.player, [count for count, _ in tasks], [seed for _, seed in tasks]))
            return work(histories, tasks)

        solver._env._worker_pool.work = note
        return solver

    watched().run(2)
    assert [player for player, _, _ in seen] == [0, 1, 0, 1]
    assert all(counts == [9, 8, 8, 8, 8] for _, counts, _ in seen)
    assert len({seed for _, _, seeds in seen for seed in seeds}) == 20
    seen.clear()
    watched(num_batches=100).run(1)
    assert all(counts == [1] * 41 for _, counts, _ in seen)  # none is empty


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
    solver.run(300, target_exploitability=limit)
    assert solver.exploitability() <= limit < uniform


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

    with pickled(local(kind, config)) as solver:
        solver.run(1)
        before, work, cuts = copy_of(solver), solver._worker_pool.work, []

        def cut(histories, tasks):
            for found in work(histories, tasks):
                yield found
                if not cuts:
                    cuts.append(histories)
                    raise KeyboardInterrupt

        solver._env._worker_pool.work = cut
        with pytest.raises(KeyboardInterrupt):
            solver.run(1)
        assert_same(solver, before)
        assert_same(solver.run(2), expected.state())


# --- what is refused ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_batches": 0}, "num_batches=0: must be a whole number, at least 1"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": "a"}, "seed='a'"),
        ({"config": PLAY}, "give a DeepCFRConfig"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ConfigError, match=message):
        DistributedDeepCFR("kuhn_poker", **({"config": DEEP, "seed": 1} | arguments))
