"""One run: where it measures, and that killed and resumed it records what an uninterrupted one does."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from mccfr_plus import Solver, compile_game, load_policy
from mccfr_plus.errors import BudgetError
from mccfr_plus.experiments import runs
from mccfr_plus.experiments.comparison import Limit, Run, comparison_of, evaluation_points
from mccfr_plus.experiments.runs import read_record, run_to_end

TREE = compile_game("kuhn_poker")
NEURAL = "deep_cfr(traversals=30,hidden_layers=(8,),train_steps=3,batch_size=8)"


def run_in(folder, algorithm="external", seed=3, limit=None, count=12, game="kuhn_poker"):
    limit = limit or Limit("nodes", 200_000.0)
    comparison = comparison_of(game, algorithm, [seed], limit, count)
    return Run(comparison, game, algorithm, seed, folder, evaluation_points(limit, count))


def whole(run, tree=TREE, stop=lambda: False):
    return run_to_end(run, tree, {"command": "test"}, lambda progress: None, stop)


def two_runs(tmp_path, *arguments, **options):
    """Returns the same run in two folders, of which one has come to its end."""
    for name in "ab":
        (tmp_path / name).mkdir()
    uninterrupted, run = (run_in(tmp_path / name, *arguments, **options) for name in "ab")
    whole(uninterrupted)
    return uninterrupted, run


def numbers(path):
    return [
        (point.target, point.iterations, point.nodes, point.nash_conv, point.values) for point in read_record(path)[1]
    ]


@pytest.mark.parametrize(
    "algorithm", ["external", "outcome(minimizer=rm+)", "cfr+", "openspiel:external", "openspiel_python:cfr"]
)
def test_points_lie_where_they_should(tmp_path, algorithm):
    limit = Limit("nodes", 20_000.0)
    run = run_in(tmp_path, algorithm, limit=limit)
    assert whole(run)
    points, ended = read_record(run.record)[1:]
    each = points[-1].nodes / points[-1].iterations
    for target in run.points:
        first = next(point for point in points if point.nodes >= target)
        assert first.nodes - target < 6 * each + 60
    assert ended["seconds"] == pytest.approx(points[-1].seconds)
    assert all(a.nodes < b.nodes and a.seconds <= b.seconds for a, b in itertools.pairwise(points))
    assert points[-1].nash_conv < 0.5 * points[0].nash_conv or points[0].nash_conv < 0.1
    assert not run.checkpoint.exists()
    assert TREE.num_infosets == len(load_policy(run.policy))


@pytest.mark.usefixtures("interpreted_loops", "interpreted_evaluation")
@pytest.mark.parametrize("algorithm", ["external", "openspiel:external", "full", "escher", "openspiel:cfr"])
def test_a_game_that_does_not_fit_is_traversed_by_its_rules(tmp_path, monkeypatch, algorithm):
    def refused(game):
        raise BudgetError("too large")

    run = run_in(tmp_path / "stored", algorithm, limit=Limit("iterations", 12.0), count=2)
    run.folder.mkdir()
    assert whole(run)
    monkeypatch.setattr(runs, "compile_game", refused)
    runs.prepared_games.clear()
    other = replace(run, folder=tmp_path)
    outcome = runs.outcome_of(other, {"command": "test"}, lambda progress: None, lambda: False)
    if algorithm in ("escher", "openspiel:cfr"):
        assert ("needs stored histories" if algorithm == "escher" else "needs a compiled tree") in outcome
        return
    assert outcome == runs.DONE
    points = [read_record(of.record)[1] for of in (run, other)]
    assert len(points[0]) == 2
    for stored, found in zip(*points, strict=True):
        assert (stored.iterations, stored.nodes) == (found.iterations, found.nodes)
        assert found.nash_conv == pytest.approx(stored.nash_conv, abs=1e-12)
    if algorithm == "external":
        symmetric = run_in(tmp_path, "external(symmetry=True)")
        assert "define no symmetries" in runs.outcome_of(symmetric, {}, lambda progress: None, lambda: False)
    assert other.policy.exists() == (algorithm != "openspiel:external")  # OpenSpiel's policies are no files of ours
    lazy = run_in(tmp_path, game="tic_tac_toe")  # without rules
    assert "too large" in runs.outcome_of(lazy, {}, lambda progress: None, lambda: False)


def test_a_run_measures_what_a_solver_has_then(tmp_path):
    run = run_in(tmp_path, "outcome(minimizer=rm+,averaging=linear)", seed=7)
    whole(run)
    for point in read_record(run.record)[1]:
        solver = Solver(TREE, "outcome", "rm+", "linear", seed=7).run(point.iterations)
        assert solver.nodes_touched == point.nodes
        assert solver.nash_conv() == point.nash_conv
        assert tuple(solver.evaluate().values.tolist()) == point.values
    assert np.array_equal(load_policy(run.policy, TREE).strategy(), solver.average_strategy())


@pytest.mark.parametrize(
    ("algorithm", "stops"),
    [("external", (2, 5)), ("outcome(minimizer=rm+)", (3, 3, 3, 3)), ("openspiel:outcome", (2, 5)), (NEURAL, (1,))],
)
def test_a_run_that_was_stopped_goes_on(tmp_path, algorithm, stops, monkeypatch):
    """Stopped as by Ctrl-C after some looks: same record in the end as if it had never been stopped."""
    monkeypatch.setattr("mccfr_plus.solver.iterative.CHUNK_SECONDS", 1e-4)
    limit = Limit("iterations", 100.0) if algorithm == NEURAL else None
    uninterrupted, run = two_runs(tmp_path, algorithm, limit=limit)
    lengths = []
    for looks in stops:
        count = itertools.count(1)
        assert not whole(run, stop=lambda count=count, looks=looks: next(count) > 4 * looks)
        lengths.append(len(read_record(run.record)[1]))
        assert read_record(run.record)[2] is None
    assert whole(run)
    assert lengths == sorted(lengths)
    assert numbers(run.record) == numbers(uninterrupted.record)
    assert load_policy(run.policy).strategy().tobytes() == load_policy(uninterrupted.policy).strategy().tobytes()
    assert sum("run" in json.loads(line) for line in run.record.read_text().splitlines()) == 1


def test_a_run_that_was_killed_goes_on(tmp_path, monkeypatch):
    """Killed between a checkpoint and the points after it: nothing is recorded twice."""
    uninterrupted, run = two_runs(tmp_path)
    monkeypatch.setattr(runs, "CHECKPOINT_SECONDS", -1.0)  # a checkpoint at each point
    monkeypatch.setattr(runs, "PAUSE", 0.0)
    saves, real = itertools.count(), runs._measure

    def measure(solver, run):
        if next(saves) == 6:
            raise RuntimeError
        return real(solver, run)

    monkeypatch.setattr(runs, "_measure", measure)
    with pytest.raises(RuntimeError):
        whole(run)
    assert run.checkpoint.exists()
    assert len(read_record(run.record)[1]) == 6
    run.record.write_bytes(run.record.read_bytes() + b'{"point": {"itera')  # and in the middle of a line
    assert whole(run)
    assert numbers(run.record) == numbers(uninterrupted.record)


@pytest.mark.parametrize("algorithm", ["external", "openspiel:external"])
def test_a_run_that_was_killed_after_its_last_point_goes_to_its_end(tmp_path, algorithm):
    """The policy and the seconds are those of the end, although nothing is left to measure."""
    uninterrupted, run = two_runs(tmp_path, algorithm)
    run.record.write_text("".join(uninterrupted.record.read_text().splitlines(keepends=True)[:-1]))
    count = itertools.count()
    assert not whole(run, stop=lambda: next(count) > 6)
    assert not run.policy.exists()
    assert run.checkpoint.exists() == (algorithm == "external")
    assert whole(run)
    assert numbers(run.record) == numbers(uninterrupted.record)
    assert read_record(run.record)[2]["seconds"] > 0.0
    assert load_policy(run.policy).strategy().tobytes() == load_policy(uninterrupted.policy).strategy().tobytes()


def test_a_damaged_checkpoint_only_costs_time(tmp_path):
    uninterrupted, run = two_runs(tmp_path)
    run.checkpoint.write_bytes(b"damaged")
    assert whole(run)
    assert numbers(run.record) == numbers(uninterrupted.record)
