"""`solve --cluster`: the solver of the library, with its results; what cannot work is said in one line."""

import sys

import pytest

from mccfr_plus import Solver
from mccfr_plus.cluster import DistributedSolver

RUN = ("solve", "kuhn_poker", "--iterations=20", "--seed=3", "--quiet", "--json")


def test_is_the_solver_of_the_library(command):
    found = command(*RUN, "--cluster=local", "--batch=200").json
    with DistributedSolver("kuhn_poker", num_batches=8, traversals=25, seed=3, cluster="local") as solver:
        assert found["exploitability"] == solver.run(20).exploitability()
    assert [found[name] for name in ("estimator", "batch", "num_batches", "workers", "cluster")] == [
        "external", 200, 8, 2, "local",
    ]  # fmt: skip


def test_without_a_cluster_it_is_a_solver(command):
    found = command(*RUN, "--estimator=external").json
    assert found["exploitability"] == Solver("kuhn_poker", seed=3).run(20).exploitability()
    assert [found[name] for name in ("num_batches", "workers", "cluster")] == [None] * 3


def test_it_goes_on_from_its_checkpoint(command, tmp_path):
    file = f"--checkpoint={tmp_path / 'kuhn.checkpoint'}"
    whole = command(*RUN, "--cluster=local", "--batch=80").json
    command(*RUN, "--cluster=local", "--batch=80", "--iterations=8", file)
    resumed = command("solve", "kuhn_poker", "--iterations=20", "--resume", file, "--cluster=local", "--json").json
    assert resumed["exploitability"] == whole["exploitability"]
    assert (resumed["iterations"], resumed["num_batches"], resumed["batch"]) == (20, 8, 80)
    command("solve", "kuhn_poker", "--resume", file).assert_one_line_error("a run with --cluster: give --cluster=ray")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--workers=2"], "--workers is about a cluster: give --cluster=ray, or local, too"),
        (["--cluster=nowhere"], "must be local, ray, ray://HOST:PORT or HOST:PORT"),
        (["--cluster=ray://127.0.0.1:9"], "no cluster at ray://127.0.0.1:9: Connection refused"),
        (["--cluster=127.0.0.1:9"], "no cluster at 127.0.0.1:9: Connection refused"),
        (["--cluster=local", "--threads=2"], "--threads with --cluster=local: leave it out"),
        (["--cluster=local", "--tree=lazy"], "--tree with --cluster=local: leave it out"),
        (["--cluster=local", "--batch=7"], "--batch=7 with --cluster=local: it must be a multiple of 8"),
        (["--cluster=local", "--estimator=full"], "estimator='full'"),
        (["--cluster=local", "--estimator=escher"], "estimator='escher' in a distributed solver"),
        (["--cluster=local", "--algorithm=nfsp"], "--cluster with --algorithm=nfsp: it samples in this process"),
    ],
)
def test_bad_input_is_one_line(command, arguments, expected):
    command("solve", "kuhn_poker", *arguments).assert_one_line_error(expected)


def test_without_ray(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    command("solve", "kuhn_poker", "--cluster=ray").assert_one_line_error("pip install 'mccfr_plus[ray]'")
