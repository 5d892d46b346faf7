"""Runs on Ray leave the same records as runs in this process, whatever happens to workers and the program."""

import dataclasses
import json
import os
import signal
import time

import lazy_games  # noqa: F401  (registers a game, here and not in workers)
import pytest
from nodes import two_nodes
from processes import HERE, Killer, start
from runs import files_of, long_runs, run_of

from mccfr_plus.cluster import Cluster
from mccfr_plus.experiments import run_all
from mccfr_plus.experiments.run_all import run_on_cluster
from mccfr_plus.experiments.runs import DONE, outcome_of

pytestmark = pytest.mark.integration

ABOUT = {"command": "test", "started": "today"}


def execute(runs, cluster):
    events = list(run_on_cluster(dict(enumerate(runs)), ABOUT, cluster))
    return events, {event.number: event.outcome for event in events if event.outcome is not None}


def in_this_process(runs, folder):
    folder.mkdir()
    for run in runs:
        moved = dataclasses.replace(run, folder=folder)
        assert outcome_of(moved, ABOUT, lambda _: None, lambda: False) == DONE
    return files_of(folder)


def test_runs_leave_the_records_of_one_process(cluster, tmp_path):
    runs = [run_of(tmp_path, algorithm=algorithm) for algorithm in ("external", "outcome")]
    assert execute(runs, cluster)[1] == {0: DONE, 1: DONE}
    assert files_of(tmp_path) == in_this_process(runs, tmp_path / "here")


@pytest.mark.slow
def test_killed_workers_change_no_record(cluster, tmp_path, caplog):
    runs = long_runs(tmp_path, 2)
    with Killer("ray::leduc_poker", 3) as killer:
        assert execute(runs, cluster)[1] == {0: DONE, 1: DONE}
    assert killer.killed
    assert "a worker was lost; another worker continues" in caplog.text
    assert files_of(tmp_path) == in_this_process(runs, tmp_path / "here")


def test_a_run_that_kills_its_workers_fails(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(run_all, "_MOST_ATTEMPTS", 2)
    monkeypatch.setattr(run_all, "_work_on_cluster", lambda *_: os._exit(1))
    assert "2 workers were lost" in execute([run_of(tmp_path)], cluster)[1][0]


def test_a_run_that_fails_does_not_end_the_others(cluster, tmp_path):
    damaged, unknown = run_of(tmp_path, seed=2), run_of(tmp_path, game="python_faulty(length=3)")
    damaged.record.write_text("damaged\n")
    outcomes = execute([damaged, unknown, run_of(tmp_path)], cluster)[1]
    assert str(damaged.record) in outcomes[0]
    assert "python_faulty" in outcomes[1]
    assert outcomes[2] == DONE
    assert damaged.record.read_text() == "damaged\n"
    with Cluster(imports=("lazy_games",)) as importing:
        assert execute([unknown], importing)[1] == {0: DONE}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_ended_program_continues(cluster, tmp_path, number):
    """Ctrl-C reaches all processes of a terminal, and here also those of a cluster that was started for the run."""
    where = "ray" if number == signal.SIGINT else cluster.ray.get_runtime_context().gcs_address
    (run,) = runs = long_runs(tmp_path, 1)
    process = start(HERE / "runs.py", tmp_path, where, 1)
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and process.poll() is None and not run.record.exists():
        time.sleep(0.05)
    time.sleep(0.5)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    out, errors = process.communicate(timeout=120)
    before = run.record.read_text().splitlines()
    assert not any('"end"' in line for line in before), errors
    if number != signal.SIGKILL:
        assert out.splitlines()[-1] == "interrupted", errors
        assert run.checkpoint.exists()
    assert execute(runs, cluster)[1] == {0: DONE}
    after = run.record.read_text().splitlines()
    assert [json.loads(line) for line in after[: len(before)]] == [json.loads(line) for line in before]
    assert files_of(tmp_path) == in_this_process(runs, tmp_path / "here")


@pytest.mark.slow
def test_a_lost_node_loses_no_record(tmp_path):
    """Each node has one CPU, so that one of two runs is on the lost node; before, a program on no node."""
    runs = long_runs(tmp_path, 2)
    with two_nodes() as nodes:
        (tmp_path / "client").mkdir()
        out, errors = start(HERE / "runs.py", tmp_path / "client", nodes.client, 1).communicate(timeout=400)
        assert out.splitlines()[-1] == "done", errors
        process = start(HERE / "runs.py", tmp_path, nodes.address, 2)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and process.poll() is None and not all(run.record.exists() for run in runs):
            time.sleep(0.05)
        nodes.kill_second()
        out, errors = process.communicate(timeout=400)
    assert out.splitlines()[-1] == "done", errors  # after Ray's messages
    assert "a worker was lost; another worker continues" in errors
    assert files_of(tmp_path) == in_this_process(runs, tmp_path / "here")
