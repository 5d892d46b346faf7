"""Results depend on the seed and the batches alone; their mean is an unbiased gradient; wrong settings are refused."""

import lazy_games  # noqa: F401  (registers a game, here and not in workers)
import numpy as np
import pytest
from pool_workers import pickled

from mccfr_plus import (
    CheckpointError,
    ConfigError,
    GameError,
    Solver,
)
from mccfr_plus.cluster import DistributedEvaluator, DistributedSolver, batch
from mccfr_plus.cluster.batch import stream_of
from mccfr_plus.cluster.engine import DistributedEngine

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
    """Samples batches in plain Python, where compiling is not the point."""
    from interpreted import interpreted  # after the folder of the cache is set, see `conftest`

    bind = batch.bind
    monkeypatch.setattr(batch, "bind", lambda *arguments: interpreted(bind(*arguments)))


def solver_of(kind="lazy", game="kuhn_poker", **changes):
    estimator, minimizer, averaging, alternating = KINDS[kind]
    arguments = {"alternating": alternating, "num_batches": 5, "traversals": 7, "seed": 3, "cluster": "local"}
    return DistributedSolver(game, estimator, minimizer, averaging, **arguments | changes)


def bits(solver):
    """Returns the bytes of everything that results are made of."""
    state = solver._engine.state()
    names = [name for name in state if name.startswith(("strategy", "average", "tables", "minimizer", "stream"))]
    found = {name: np.array(state[name]).tobytes() for name in names}
    counts = (solver.iterations, solver.nodes_touched)
    return found | {"policy": solver.average_strategy().tobytes(), "counts": counts}


def test_workers_of_a_cluster_give_identical_bits(cluster):
    """With more workers than CPUs, a second solver and an evaluation: none of them waits for ever."""
    with (
        solver_of() as alone,
        solver_of(workers=3, cluster=cluster) as first,
        solver_of(workers=1, cluster=cluster) as second,
        DistributedEvaluator("kuhn_poker", cluster) as evaluator,
    ):
        expected = bits(alone.run(4))
        for together in (first, second):
            assert bits(together.run(4)) == expected
            assert evaluator.evaluate(together.average_policy()).nash_conv == alone.nash_conv()
        assert len(first._worker_pool.actors) == 3


def test_a_closed_solver_can_be_run_on_and_workers_need_not_know_the_game(cluster):
    """Workers get the tree: a game that only this program knows is sampled all the same."""
    game = "python_faulty(length=3)"
    with solver_of(game=game) as alone, solver_of(game=game, cluster=cluster) as together:
        expected = bits(alone.run(4))
        together.run(2)
        together.close()
        assert bits(together.run(2)) == expected


@pytest.mark.usefixtures("interpreted_batches")
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_other_processes_give_identical_bits(kind):
    with solver_of(kind) as alone, pickled(solver_of(kind)) as together:
        assert bits(together.run(4)) == bits(alone.run(4))
        assert len(together._worker_pool.actors) == 3


# `test_one_batch_is_that_of_a_solver` compares all kinds.
@pytest.mark.parametrize("kind", ["lazy", "outcome", "update_all_players"])
def test_it_converges_as_batches_do(kind):
    """The mean over batches is the mean over a batch: not the same draws, but about the same exploitability."""
    estimator, minimizer, averaging, alternating = KINDS[kind]
    whole = Solver("kuhn_poker", estimator, minimizer, averaging, alternating=alternating, batch=200, seed=1)
    with solver_of(kind, num_batches=4, traversals=50, seed=1) as num_batches:
        found, expected = num_batches.run(300).exploitability(), whole.run(300).exploitability()
    assert found < 3 * expected + 0.01
    assert num_batches.nodes_touched == pytest.approx(whole.nodes_touched, rel=0.05)


@pytest.mark.usefixtures("interpreted_loops", "interpreted_batches")
@pytest.mark.parametrize(
    ("kind", "averaging"),
    [
        *((kind, KINDS[kind][2]) for kind in KINDS),
        *(("update_all_players", averaging) for averaging in ("stochastic", "optimistic")),
        *(("lazy", averaging) for averaging in ("stochastic", "optimistic")),
    ],
)
def test_one_batch_is_that_of_a_solver(kind, averaging):
    """With one batch and the stream's state in its generator, the solver in this process makes the same traversals.

    A traversal for one player does so in player 0's turn; what serves all players, in the whole iteration.
    """
    estimator, minimizer, _, alternating = KINDS[kind]
    components = ("leduc_poker", estimator, minimizer, averaging)
    inside = Solver(*components, batch=11, seed=5, alternating=alternating)
    shared = inside.estimator.updates_all_players
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


def test_averages_with_traversals_of_their_own():
    """With three players, visits do not tell reach: the driver makes the traversals, with its own stream."""
    three = {"kind": "visits", "game": "kuhn_poker(players=3)"}
    with solver_of(**three) as alone, pickled(solver_of(**three)) as together:
        assert alone.average_method.name == "own traversal"
        assert bits(together.run(4)) == bits(alone.run(4))


def test_every_batch_has_its_own_stream():
    """Chunks that drew the same would have the variance of one: their mean must have less."""

    def spread(num_batches, traversals):
        tables = []
        for seed in range(200):
            with solver_of(num_batches=num_batches, traversals=traversals, seed=seed) as solver:
                solver.iteration()
                tables.append(solver._engine.tables[0].copy())
        return np.var(tables, axis=0).sum()

    one, eight, together = spread(1, 1), spread(8, 1), spread(1, 8)
    assert eight == pytest.approx(one / 8, rel=0.4)
    assert together == pytest.approx(one / 8, rel=0.4)


def test_the_mean_of_batches_is_the_exact_gradient():
    """Regrets of the first iteration, over many seeds, against those of full traversals (6 standard errors)."""
    exact = Solver("kuhn_poker", "full", "rm", alternating=False)
    exact.iteration()
    found = [_first_regrets(seed) for seed in range(300)]
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(mean - exact._engine.tables[0]) <= 6 * error + 1e-12).all()


def _first_regrets(seed):
    with solver_of("simultaneous", num_batches=3, traversals=2, seed=seed) as solver:
        solver.iteration()
        return solver._engine.tables[0].copy()


def test_it_goes_on_from_a_checkpoint(tmp_path):
    file = tmp_path / "kuhn.checkpoint"
    with solver_of() as alone:
        expected = bits(alone.run(9))
    with solver_of() as first:
        first.run(4, checkpoint=file)
    with pickled(DistributedSolver.from_checkpoint(file, cluster="local")) as second:
        assert second.iterations == 4
        assert (second.num_batches, second.traversals, second.seed) == (5, 7, 3)
        assert bits(second.run(5)) == expected


def test_an_iteration_cut_short_goes_on_at_its_turn(tmp_path):
    class Stop(Exception):
        pass

    with solver_of() as whole, solver_of() as cut:
        expected = bits(whole.run(3))
        cut.run(1)
        worker_pool, calls = cut._worker_pool, []
        work = worker_pool.work

        def failing(shared, tasks):
            for result in work(shared, tasks):
                calls.append(result)
                if len(calls) == 8:  # within the second player's turn
                    raise Stop
                yield result

        worker_pool.work = failing
        with pytest.raises(Stop):
            cut.run(2)
        cut.save_checkpoint(tmp_path / "cut.checkpoint")
        assert bits(cut.run(2)) == expected
        with DistributedSolver.from_checkpoint(tmp_path / "cut.checkpoint", cluster="local") as loaded:
            assert bits(loaded.run(2)) == expected


def test_what_is_sent_is_sparse():
    """A batch of one traversal sends what that traversal has touched, and not a table."""
    with solver_of(game="leduc_poker", num_batches=1, traversals=1) as solver:
        solver.iteration()
        assert 0 < solver._engine.bytes_received < 8 * solver.tree.num_slots / 10


def test_limits_and_progress_are_those_of_a_solver():
    told = []
    with solver_of() as solver:
        solver.run(seconds=0.3, callback=told.append)
        assert told[-1].iterations == (before := solver.iterations) > 1
        solver.iteration()
        assert solver.iterations == before + 1
        assert solver.run(target_exploitability=0.2).exploitability() <= 0.2


@pytest.mark.parametrize("name", ["num_batches", "traversals"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_wrong_counts(name, value):
    with pytest.raises(ConfigError, match=f"{name}={value!r}: must be a whole number, at least 1"):
        solver_of(**{name: value})


@pytest.mark.parametrize("estimator", ["full", "escher"])
def test_estimators_that_cannot_be_distributed(estimator):
    with pytest.raises(ConfigError, match=f"estimator='{estimator}'"):
        DistributedSolver("kuhn_poker", estimator, cluster="local")


def test_a_game_that_cannot_be_compiled():
    with pytest.raises(GameError):
        solver_of(game="dark_hex")


def test_checkpoints_of_other_plans(tmp_path):
    file, other = tmp_path / "five.checkpoint", tmp_path / "none.checkpoint"
    with solver_of() as solver:
        solver.run(2, checkpoint=file)
    Solver("kuhn_poker", seed=3, batch=35).run(2, checkpoint=other)
    with (
        solver_of(num_batches=7, traversals=5) as solver,
        pytest.raises(CheckpointError, match=r"number of batches .* is 5, .* 7"),
    ):
        solver.restore(file)
    with pytest.raises(CheckpointError, match="is not distributed: load it with Solver"):
        DistributedSolver.from_checkpoint(other)
    with pytest.raises(CheckpointError, match=r"number of batches .* is 5"):
        Solver("kuhn_poker", seed=3, batch=35).restore(file)


def test_a_solver_cannot_be_copied():
    with solver_of() as solver, pytest.raises(TypeError, match="write a checkpoint"):
        DistributedEngine.__getstate__(solver._engine)
