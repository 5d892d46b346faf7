"""Results depend on the seed and the batches alone; their mean is an unbiased gradient; wrong settings are refused."""

import pickle

import lazy_games  # noqa: F401  (registers a game, here and not in workers)
import numpy as np
import pytest
from processes import Killer

from mccfr_plus import CheckpointError, ConfigError, Solver
from mccfr_plus.cluster import DistributedSolver, batch
from mccfr_plus.cluster.batch import BatchWorker, stream_of
from mccfr_plus.cluster.solver import WorkerPool

pytestmark = pytest.mark.integration

# Estimator, minimizer, average, alternating: all average methods, all sampling weights, shared traversals.
KINDS = {
    "lazy": ("external", "rm", None, None),
    "simultaneous": ("external", "rm", None, False),
    "visits": ("external", "dcfr", "stochastic", None),
    "drawn": ("external(sample_per_infoset=True)", "rm", "sampled", None),
    "outcome": ("outcome", "rm", "stochastic", None),
    "update_all_players": ("outcome(update_all_players=True)", "rm", None, None),
    "average as sampling weights": ("average_strategy", "rm", None, None),
    "regrets as sampling weights": ("external", "dcfr_pruning", None, None),
    "whole sequences": ("balanced", "ftrl", None, None),
    "chance": ("chance", "prm+", None, None),
}


@pytest.fixture
def interpreted_batches(monkeypatch):
    """Samples batches in plain Python, where compiling is not tested."""
    from interpreted import interpreted  # after the folder of the cache is set, see `conftest`

    bind = batch.bind
    monkeypatch.setattr(batch, "bind", lambda *arguments: interpreted(bind(*arguments)))


def solver_of(kind="lazy", game="kuhn_poker", **changes):
    estimator, minimizer, averaging, alternating = KINDS[kind]
    arguments = {"alternating": alternating, "num_batches": 5, "traversals": 7, "seed": 3, "cluster": "local"}
    return DistributedSolver(game, estimator, minimizer, averaging, **arguments | changes)


def bits(solver):
    """Returns the bytes of everything that carries over to the next iteration."""
    state = solver._engine.state()
    names = [name for name in state if name.startswith(("strategy", "average", "tables", "minimizer", "stream"))]
    found = {name: np.array(state[name]).tobytes() for name in names}
    counts = (solver.iterations, solver.nodes_touched)
    return found | {"policy": solver.average_strategy().tobytes(), "counts": counts}


class PickledPool(WorkerPool):
    """Sends everything to three workers of this process as Ray does: pickled, in another order, arrays read-only."""

    def start(self, arrays, plan):
        self.workers = [BatchWorker(*_sent((arrays, plan))) for _ in range(3)]

    def sample(self, shared, batches):
        results = {}
        for number, each in reversed(list(enumerate(batches))):
            results[number] = _sent(self.workers[number % 3].sample(_sent(shared), _sent(each)))
        return iter([results[number] for number in range(len(batches))])


def _sent(value):
    buffers = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])


def test_workers_of_a_cluster_give_identical_bits(cluster):
    """With more workers than CPUs and a second solver: neither waits for ever."""
    with (
        solver_of() as alone,
        solver_of(workers=3, cluster=cluster) as first,
        solver_of(workers=1, cluster=cluster) as second,
    ):
        expected = bits(alone.run(4))
        for together in (first, second):
            assert bits(together.run(4)) == expected
        assert len(first._worker_pool.workers) == 3


@pytest.mark.slow
def test_killed_workers_change_no_result(cluster):
    """While they compile or load kernels, and while they sample."""
    plan = {"game": "leduc_poker", "traversals": 10_000}
    with solver_of(**plan) as alone, solver_of(**plan, cluster=cluster) as together:
        with Killer("ray::BatchWorker", 4) as killer:
            found = bits(together.run(100))
        assert len(killer.killed) >= 2
        assert found == bits(alone.run(100))


def test_a_closed_solver_can_run_again_and_workers_need_not_load_the_game(cluster):
    game = "python_faulty(length=3)"
    with solver_of(game=game) as alone, solver_of(game=game, cluster=cluster) as together:
        expected = bits(alone.run(4))
        together.run(2)
        together.close()
        assert bits(together.run(2)) == expected


@pytest.mark.usefixtures("interpreted_batches")
@pytest.mark.parametrize(
    ("kind", "game"), [*((kind, "kuhn_poker") for kind in KINDS), ("visits", "kuhn_poker(players=3)")]
)
def test_arrays_of_other_processes_give_identical_bits(kind, game):
    """With three players and `visits`, the driver makes traversals for the average, with a stream of its own."""
    with solver_of(kind, game) as alone, solver_of(kind, game) as together:
        together._worker_pool = together._engine._worker_pool = PickledPool(None, "local")
        assert bits(together.run(4)) == bits(alone.run(4))


@pytest.mark.usefixtures("interpreted_loops", "interpreted_batches")
@pytest.mark.parametrize(
    ("kind", "averaging"),
    [
        *((kind, KINDS[kind][2]) for kind in KINDS),
        *((kind, averaging) for kind in ("update_all_players", "lazy") for averaging in ("stochastic", "optimistic")),
    ],
)
def test_one_batch_equals_a_batch_of_a_solver(kind, averaging):
    """With the stream's state in its generator, `Solver` makes the same traversals.

    That holds in player 0's turn for traversals for one player, else in the whole iteration.
    """
    estimator, minimizer, _, alternating = KINDS[kind]
    components = ("leduc_poker", estimator, minimizer, averaging)
    inside = Solver(*components, batch=11, seed=5, alternating=alternating)
    shared = inside.estimator.update_all_players
    plan = {"num_batches": 1, "traversals": 11, "seed": 5, "cluster": "local", "alternating": alternating}
    with DistributedSolver(*components, **plan) as outside:
        seed = int(outside._engine._seed[0])
        slots = outside.tree.num_slots if shared else int(outside.tree.arrays.slot_range[1])
        for iteration in range(1, 6 if shared else 2):
            inside._engine.scratches[0].rng[:] = stream_of(seed, iteration, 0, 0)
            inside.iteration()
            outside.iteration()
            assert (inside.current_strategy()[:slots] == outside.current_strategy()[:slots]).all()
            assert (inside._engine.tables[:, :slots] == outside._engine.tables[:, :slots]).all()
            if shared:
                assert np.allclose(inside.average_strategy(), outside.average_strategy(), rtol=1e-12, atol=0)
                assert inside.nodes_touched == outside.nodes_touched


def first_regrets(seed, num_batches, traversals):
    with solver_of("simultaneous", num_batches=num_batches, traversals=traversals, seed=seed) as solver:
        solver.iteration()
        return solver._engine.tables[0].copy()


def test_every_batch_has_its_own_stream():
    """The mean of eight batches with the same stream would have the variance of one batch."""

    def spread(num_batches):
        return np.var([first_regrets(seed, num_batches, 1) for seed in range(200)], axis=0).sum()

    assert spread(8) == pytest.approx(spread(1) / 8, rel=0.4)


def test_it_resumes_from_a_checkpoint(tmp_path):
    file = tmp_path / "kuhn.checkpoint"
    with solver_of() as alone:
        expected = bits(alone.run(9))
    with solver_of() as first:
        first.run(4, checkpoint=file)
    with DistributedSolver.from_checkpoint(file, cluster="local") as second:
        assert (second.num_batches, second.traversals, second.seed, second.iterations) == (5, 7, 3, 4)
        assert bits(second.run(5)) == expected


def test_an_interrupted_iteration_continues_with_its_player(tmp_path):
    class Stop(Exception):
        pass

    with solver_of() as whole, solver_of() as cut:
        expected = bits(whole.run(3))
        cut.run(1)
        pool, calls = cut._worker_pool, []
        sample = pool.sample

        def failing(shared, batches):
            for result in sample(shared, batches):
                calls.append(result)
                if len(calls) == 8:  # within the second player's turn
                    raise Stop
                yield result

        pool.sample = failing
        with pytest.raises(Stop):
            cut.run(2)
        cut.save_checkpoint(tmp_path / "cut.checkpoint")
        assert bits(cut.run(2)) == expected
        with DistributedSolver.from_checkpoint(tmp_path / "cut.checkpoint", cluster="local") as loaded:
            assert bits(loaded.run(2)) == expected


@pytest.mark.parametrize("estimator", ["full", "escher"])
def test_wrong_settings(estimator):
    with pytest.raises(ConfigError, match=f"estimator='{estimator}'"):
        DistributedSolver("kuhn_poker", estimator, cluster="local")


def test_checkpoints_of_other_plans(tmp_path):
    file, other = tmp_path / "five.checkpoint", tmp_path / "none.checkpoint"
    with solver_of() as solver:
        solver.run(2, checkpoint=file)
    Solver("kuhn_poker", seed=3, batch=35).run(2, checkpoint=other)
    with (
        solver_of(num_batches=7, traversals=5) as solver,
        pytest.raises(CheckpointError, match=r"num_batches is 5, .* 7"),
    ):
        solver.restore(file)
    with pytest.raises(CheckpointError, match="is not distributed: load it with Solver"):
        DistributedSolver.from_checkpoint(other)
    with pytest.raises(CheckpointError, match=r"num_batches is 5"):
        Solver("kuhn_poker", seed=3, batch=35).restore(file)
