"""A cluster for all tests: one node on this machine, with more CPUs than it has, so that workers need not wait."""

import os
import sys

import pytest

from mccfr_plus.distributed import Cluster


def pytest_collection_modifyitems(items):
    """Ray's own files are closed when Python likes to: a warning of theirs is none of ours."""
    for item in items:
        if "tests/distributed/" in str(item.path):
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def cluster():
    # Workers unpickle functions of test modules by their names.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    os.environ["RAY_ADDRESS"] = "local"  # not a cluster that somebody else has begun on this machine
    with Cluster(cpus=4, object_store=256 << 20) as connected:
        yield connected
