"""Programs that are ended or killed, on clusters of one and two nodes; nodes with another version."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
import solve
from nodes import two_nodes
from processes import HERE, start

import mccfr_plus
from mccfr_plus.cluster import DistributedSolver
from mccfr_plus.files.file import read_header

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ITERATIONS = 12


@pytest.fixture(scope="module")
def nodes():
    with two_nodes() as found:
        yield found


@pytest.fixture(scope="module")
def expected():
    with DistributedSolver("leduc_poker", cluster="local", **solve.PLAN) as alone:
        return alone.run(ITERATIONS).average_strategy().tobytes().hex()


def result_of(process):
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return output.splitlines()[-1]


def test_a_killed_program_resumes_on_two_nodes(nodes, expected, tmp_path):
    file = tmp_path / "leduc.checkpoint"
    killed = start(HERE / "solve.py", nodes.address, file, ITERATIONS, "killed")
    _, errors = killed.communicate(timeout=240)
    assert killed.returncode == -signal.SIGKILL, errors
    assert 0 < read_header(file)["iterations"] < ITERATIONS
    assert result_of(start(HERE / "solve.py", nodes.address, file, ITERATIONS)) == expected


def test_a_program_on_no_node(nodes, expected, tmp_path):
    """Through Ray's client server."""
    assert result_of(start(HERE / "solve.py", nodes.client, tmp_path / "file", ITERATIONS)) == expected


def test_a_node_with_another_version(tmp_path):
    """The second node finds a copy of the package with one more line."""
    shutil.copytree(Path(mccfr_plus.__file__).parent, tmp_path / "mccfr_plus", ignore=shutil.ignore_patterns("__py*"))
    with (tmp_path / "mccfr_plus" / "errors.py").open("a") as file:
        file.write("# another version\n")
    with two_nodes(os.pathsep.join(filter(None, [str(tmp_path), *sys.path]))) as nodes:
        _, errors = start(HERE / "solve.py", nodes.address, tmp_path / "file", ITERATIONS).communicate(timeout=120)
    assert "ClusterError" in errors
    assert "has mccfr_plus" in errors
    assert "Install the same version on every machine" in errors
