"""`mccfr-plus compare` from a program that is on no node: results come back, also when a node is lost."""

import subprocess
import sys
import time

import pytest
from nodes import ENVIRONMENT, two_nodes
from records import num_ended, policies, without_times

pytestmark = pytest.mark.slow

RUNS = ["compare", "leduc_poker", "--algorithms=outcome", "--seeds=2", "--num_evaluations=8", "--nodes=2e8", "--quiet"]


def start(*flags):
    command = [sys.executable, "-m", "mccfr_plus", *RUNS, *flags]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "out"
    process = start(f"--out={path}")
    assert (process.communicate(timeout=400)[1], process.returncode) == ("", 0)
    return path


def test_a_lost_node_loses_no_record(undisturbed, tmp_path):
    path = tmp_path / "out"
    with two_nodes() as nodes:
        process = start(f"--out={path}", f"--cluster={nodes.client}")
        deadline = time.monotonic() + 300
        # Each node has one CPU, so that one of the two runs, which are about as long, is on the node that is lost.
        while time.monotonic() < deadline and process.poll() is None and len(list(path.glob("runs/*.jsonl"))) < 2:
            time.sleep(0.05)
        assert num_ended(path) == 0
        nodes.kill_second()
        _, errors = process.communicate(timeout=400)
    assert process.returncode == 0, errors
    assert "was lost, and another one goes on with it" in errors
    assert without_times(path) == without_times(undisturbed)
    assert policies(path) == policies(undisturbed)
