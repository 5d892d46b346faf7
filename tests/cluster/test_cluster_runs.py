"""Files of runs on a cluster: they arrive whole and in order, and only from the last worker of a run."""

import dataclasses
import math

import pytest

from mccfr_plus import Solver, compile_game
from mccfr_plus.experiments import run_loop
from mccfr_plus.experiments.cluster_runs import ResultCollector, ResultWriter, _Sender
from mccfr_plus.experiments.comparison import Comparison, Directory
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.record import read_record
from mccfr_plus.experiments.run_loop import run_to_end

RECORD, CHECKPOINT = "run.jsonl", "run.checkpoint"


@pytest.fixture
def collector(cluster):
    return ResultCollector({0: {}, 1: {}})


def test_a_lost_answer_can_be_repeated(collector, cluster):
    attempt = collector.start(0).attempt
    for name, content in ((RECORD, b"1"), (CHECKPOINT, b"2"), (RECORD, b"3")):
        assert collector.send(0, attempt, name, content)

    def fetched(known):
        version, files, _, _ = collector.fetch(known)
        return version, [(name, cluster.ray.get(reference)) for _, name, reference in files]

    assert fetched(0) == fetched(0) == (3, [(CHECKPOINT, b"2"), (RECORD, b"3")])
    assert fetched(2) == (3, [(RECORD, b"3")])
    collector.send(0, attempt, CHECKPOINT, None)
    assert collector.fetch(3)[:2] == (4, [(0, CHECKPOINT, None)])


def test_a_restarted_run_gets_its_files_and_shuts_the_lost_worker_out(collector, cluster):
    old = collector.start(0).attempt
    collector.send(0, old, RECORD, b"points")
    collector.send(0, old, CHECKPOINT, b"state")
    start = collector.start(0)
    assert {name: cluster.ray.get(value) for name, value in start.files.items()} == {
        RECORD: b"points",
        CHECKPOINT: b"state",
    }
    assert start.goes_on
    assert start.problem is None
    assert not collector.send(0, old, RECORD, b"others")
    assert not collector.tell(0, old, 0.5)
    assert collector.send(0, start.attempt, CHECKPOINT, None)
    assert collector.tell(0, start.attempt, 0.5)
    version, _, attempts, progress = collector.fetch(0)
    assert (version, attempts, progress) == (3, {0: 2, 1: 0}, {0: 0.5})
    assert list(collector.start(0).files) == [RECORD]


def test_a_run_that_kills_its_workers_is_given_up(collector):
    for _ in range(5):
        assert collector.start(0).problem is None
    for _ in range(2):  # the second time there is nothing new
        collector.send(0, collector.start(0).attempt, RECORD, b"new")
    for _ in range(9):
        assert collector.start(0).problem is None
    assert "lost 11 times without anything new" in collector.start(0).problem


def test_stop_and_drop(collector):
    attempt = collector.start(0).attempt
    collector.drop(0)
    assert not collector.tell(0, attempt, 0.1)
    assert collector.start(1).goes_on
    assert collector.stop() == {0, 1}
    assert not collector.tell(1, 1, 0.1)
    assert not collector.start(1).goes_on
    assert not collector.send(1, 2, RECORD, b"last")
    assert collector.fetch(0)[1][-1][:2] == (1, RECORD)  # files are taken all the same


@pytest.fixture
def directory(tmp_path):
    comparison = Comparison(("kuhn_poker",), ("external",), (1,), Limit("nodes", 1e5), 12)
    with Directory(tmp_path / "out", comparison) as directory:
        yield directory


def test_a_lost_run_goes_on_from_its_checkpoint(cluster, directory, tmp_path, monkeypatch):
    """In this process: what the second attempt restores is what the first one has sent."""
    tree = compile_game("kuhn_poker")
    (run,) = directory.runs()
    writer = ResultWriter(cluster.ray, {0: run})
    monkeypatch.setattr(run_loop, "CHECKPOINT_SECONDS", -1.0)  # one at each point
    monkeypatch.setattr(run_loop, "SAVING_SHARE", math.inf)
    restored, restore, measure = [], Solver.restore, run_loop._measure
    monkeypatch.setattr(Solver, "restore", lambda self, path: restored.append(restore(self, path).iterations))

    def attempt(number, lose_after):
        start = cluster.ray.get(writer.collector.start.remote(0))
        folder = tmp_path / f"worker{number}"
        folder.mkdir()
        moved = dataclasses.replace(run.on(tree), folder=folder)
        sender = _Sender(writer.collector, 0, moved, start)

        def lost_measure(*arguments):
            if len(read_record(moved.record)[1]) == lose_after:
                raise KeyboardInterrupt
            return measure(*arguments)

        monkeypatch.setattr(run_loop, "_measure", lost_measure)
        return run_to_end(moved, tree, {}, sender.tell, sender.stop)

    for number, lose_after in enumerate((5, 8)):
        with pytest.raises(KeyboardInterrupt):
            attempt(number, lose_after)
        writer.write()
        assert len(read_record(run.record)[1]) == lose_after
        assert run.checkpoint.exists()
    points = read_record(run.record)[1]
    assert restored == [points[4].iterations]
    assert attempt(2, None)
    assert restored == [points[4].iterations, points[7].iterations]
    writer.write()
    writer.write()
    assert not run.checkpoint.exists()
    _, points, ended = read_record(run.record)
    assert [point.target for point in points] == list(run.on(tree).points)
    assert ended["seconds"] == points[-1].seconds
    assert run.policy.exists()


def test_a_program_that_is_restarted_sends_its_files(cluster, directory):
    (run,) = directory.runs()
    run.record.write_bytes(b"points")
    run.checkpoint.write_bytes(b"state")
    writer = ResultWriter(cluster.ray, {0: run})
    start = cluster.ray.get(writer.collector.start.remote(0))
    assert {name: cluster.ray.get(value) for name, value in start.files.items()} == {
        run.record.name: b"points",
        run.checkpoint.name: b"state",
    }
