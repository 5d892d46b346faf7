"""Clusters of two nodes: drivers on them, killed ones and such that are no nodes; nodes with other versions."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import driver
import pytest
from nodes import ENVIRONMENT, two_nodes

import mccfr_plus
from mccfr_plus.cluster import DistributedSolver
from mccfr_plus.files.file import read_header

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ITERATIONS = 12


@pytest.fixture(scope="module")
def cluster_of_two():
    with two_nodes() as found:
        yield found


def start_driver(address, file, *arguments):
    command = [sys.executable, HERE / "driver.py", address, file, str(ITERATIONS), *arguments]
    # Ray lets workers import from the driver's working directory first.
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, cwd=HERE
    )


def result_of(process):
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return json.loads(output.splitlines()[-1])


@pytest.fixture(scope="module")
def expected():
    with DistributedSolver("leduc_poker", cluster="local", **driver.PLAN) as alone:
        return alone.run(ITERATIONS).average_strategy().tobytes().hex()


def test_a_killed_driver_goes_on_on_two_nodes(cluster_of_two, expected, tmp_path):
    file = tmp_path / "leduc.checkpoint"
    killed = start_driver(cluster_of_two.address, file, "killed")
    _, errors = killed.communicate(timeout=240)
    assert killed.returncode == -signal.SIGKILL, errors
    assert 0 < read_header(file)["iterations"] < ITERATIONS
    found = result_of(start_driver(cluster_of_two.address, file))
    assert found == {"policy": expected, "nodes": 2}


def test_a_driver_that_is_no_node(cluster_of_two, expected, tmp_path):
    """Through Ray's client server."""
    assert result_of(start_driver(cluster_of_two.client, tmp_path / "file")) == {"policy": expected, "nodes": 2}


def test_a_node_with_another_version(tmp_path):
    """The second node finds a copy of the package in which a line was added."""
    shutil.copytree(Path(mccfr_plus.__file__).parent, tmp_path / "mccfr_plus", ignore=shutil.ignore_patterns("__py*"))
    with (tmp_path / "mccfr_plus" / "errors.py").open("a") as file:
        file.write("# another version\n")
    path = os.pathsep.join([str(tmp_path), ENVIRONMENT["PYTHONPATH"]])
    with two_nodes(path) as nodes:
        process = start_driver(nodes.address, tmp_path / "file")
        _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "ClusterError" in errors
    assert "has mccfr_plus" in errors
    assert "Install the same version on every machine" in errors
