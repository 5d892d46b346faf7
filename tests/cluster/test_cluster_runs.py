"""Files of runs on a cluster: they arrive whole and in order, and only from the last worker of a run."""

import dataclasses
import math

import pytest

from mccfr_plus import Solver, compile_game
from mccfr_plus.experiments import run_loop
from mccfr_plus.experiments.cluster_runs import Message, Sender, Tasks
from mccfr_plus.experiments.comparison import Comparison, Directory
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.record import read_record
from mccfr_plus.experiments.run_loop import run_to_end


@pytest.fixture
def directory(tmp_path):
    comparison = Comparison(("kuhn_poker",), ("external",), (1,), Limit("nodes", 1e5), 12)
    with Directory(tmp_path / "out", comparison) as directory:
        yield directory


@pytest.fixture
def run(directory):
    return directory.runs()[0]


@pytest.fixture
def submitted(monkeypatch):
    """Returns the files of each attempt, none of which is run."""
    found = []

    def submit(tasks, number):
        tasks._attempts[number] += 1
        run = tasks._runs[number]
        found.append({path.name: path.read_bytes() for path in (run.record, run.checkpoint) if path.exists()})

    monkeypatch.setattr(Tasks, "_submit", submit)
    return found


@pytest.fixture
def tasks(cluster, run, submitted):
    return Tasks({0: run}, {}, cluster)


def lose(tasks, cluster):
    """Returns what becomes of a run whose worker is lost."""

    @cluster.ray.remote(max_retries=0)
    def die():
        import os

        os._exit(1)

    return tasks._outcome(die.remote(), 0)


def test_only_files_of_the_last_attempt_are_written(tasks, cluster, run, submitted):
    tasks.messages.put(Message(0, 1, 0.25, {run.record.name: b"points", run.checkpoint.name: b"state"}))
    assert tasks.receive() == {0: 0.25}
    assert lose(tasks, cluster) is None
    assert submitted == [{}, {run.record.name: b"points", run.checkpoint.name: b"state"}]
    tasks.messages.put(Message(0, 1, 0.5, {run.record.name: b"others"}))
    assert tasks.receive() == {}
    tasks.messages.put(Message(0, 2, 0.75, {run.checkpoint.name: None}))
    assert tasks.receive() == {0: 0.75}
    assert run.record.read_bytes() == b"points"
    assert not run.checkpoint.exists()


def test_a_run_that_kills_its_workers_is_given_up(tasks, cluster, run, monkeypatch):
    monkeypatch.setattr("mccfr_plus.experiments.cluster_runs._MOST_LOSSES", 2)
    for _ in range(2):
        assert lose(tasks, cluster) is None
    tasks.messages.put(Message(0, 3, 0.5, {run.record.name: b"new"}))
    tasks.receive()
    for _ in range(2):
        assert lose(tasks, cluster) is None
    assert "lost 3 times without anything new" in lose(tasks, cluster)


def test_files_that_cannot_be_written_end_a_run(tasks, run):
    run.record.mkdir()
    tasks.numbers = {tasks._ray.put(None): 0}
    tasks._ray = type("Ray", (), {"cancel": lambda self, task, force: None})()
    tasks.messages.put(Message(0, 1, 0.5, {run.record.name: b"points"}))
    tasks.receive()
    assert "cannot write" in tasks._outcome(None, 0)


def test_a_lost_run_goes_on_from_its_checkpoint(tasks, directory, run, tmp_path, monkeypatch):
    """In this process: what the second attempt restores is what the first one has sent."""
    tree = compile_game("kuhn_poker")
    monkeypatch.setattr(run_loop, "CHECKPOINT_SECONDS", -1.0)  # one at each point
    monkeypatch.setattr(run_loop, "SAVING_SHARE", math.inf)
    restored, restore, measure = [], Solver.restore, run_loop._measure
    monkeypatch.setattr(Solver, "restore", lambda self, path: restored.append(restore(self, path).iterations))

    def attempt(number, lose_after):
        moved = dataclasses.replace(run.on(tree), folder=tmp_path / f"worker{number}")
        moved.folder.mkdir()
        for path, there in ((run.record, moved.record), (run.checkpoint, moved.checkpoint)):
            if path.exists():
                there.write_bytes(path.read_bytes())
        sender = Sender(0, 1, tasks.messages, tasks.stop)
        sender.watch(moved)

        def lost_measure(*arguments):
            if len(read_record(moved.record)[1]) == lose_after:
                raise KeyboardInterrupt
            return measure(*arguments)

        monkeypatch.setattr(run_loop, "_measure", lost_measure)
        return run_to_end(moved, tree, {}, sender.tell, sender.stop)

    for number, lose_after in enumerate((5, 8)):
        with pytest.raises(KeyboardInterrupt):
            attempt(number, lose_after)
        tasks.receive()
        assert len(read_record(run.record)[1]) == lose_after
        assert run.checkpoint.exists()
    points = read_record(run.record)[1]
    assert restored == [points[4].iterations]
    assert attempt(2, None)
    assert restored == [points[4].iterations, points[7].iterations]
    tasks.receive()
    tasks.receive()
    assert not run.checkpoint.exists()
    _, points, ended = read_record(run.record)
    assert [point.target for point in points] == list(run.on(tree).points)
    assert ended["seconds"] == points[-1].seconds
    assert run.policy.exists()


def test_stopped_runs_are_told(tasks, run):
    sender = Sender(0, 1, tasks.messages, tasks.stop)
    sender.watch(run)
    assert not sender.stop()
    tasks.stop.put(None)
    sender._told = 0.0
    sender.tell(0.5)
    assert sender.stop()
    assert tasks.receive() == {0: 0.5}


def test_a_program_that_is_restarted_sends_its_files(cluster, run, submitted):
    run.record.write_bytes(b"points")
    run.checkpoint.write_bytes(b"state")
    Tasks({0: run}, {}, cluster)
    assert submitted == [{run.record.name: b"points", run.checkpoint.name: b"state"}]
