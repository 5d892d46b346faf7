"""`solve --cluster`: the distributed solver of the library."""

import pytest

from mccfr_plus.cluster import DistributedSolver

pytestmark = pytest.mark.integration

RUN = ("solve", "kuhn_poker", "--iterations=20", "--seed=3", "--quiet", "--json", "--cluster=local")


def test_is_the_solver_of_the_library(command):
    found = command(*RUN, "--batch=400").json
    with DistributedSolver("kuhn_poker", traversals=50, seed=3, cluster="local") as solver:
        assert found["exploitability"] == solver.run(20).exploitability()
    assert [found[name] for name in ("estimator", "batch", "workers", "cluster")] == ["external", 400, 2, "local"]


def test_it_continues_from_its_checkpoint(command, tmp_path):
    file = f"--checkpoint={tmp_path / 'kuhn.checkpoint'}"
    whole = command(*RUN, "--batch=80").json
    command(*RUN, "--batch=80", "--iterations=8", file)
    resumed = command("solve", "kuhn_poker", "--iterations=20", "--resume", file, "--cluster=local", "--json").json
    assert resumed["exploitability"] == whole["exploitability"]
    assert (resumed["iterations"], resumed["batch"]) == (20, 80)
    command("solve", "kuhn_poker", "--resume", file).assert_one_line_error("a run with --cluster: give --cluster=ray")


def test_bad_input_is_one_line(command):
    for flags, expected in (
        ("--cluster=ray://127.0.0.1:9", "there is no cluster at ray://127.0.0.1:9"),
        ("--cluster=local --threads=2", "--threads cannot be combined with --cluster=local"),
    ):
        command("solve", "kuhn_poker", *flags.split()).assert_one_line_error(expected)
