"""A cluster for all tests here: one node on this machine, with more CPUs than it has, so that workers need not wait."""

import gc
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from mccfr_plus.cluster import Cluster

HERE = Path(__file__).parent
_patches = pytest.MonkeyPatch()
_clusters = []


def pytest_collection_modifyitems(items):
    """Ray leaves its processes and files to Python, which closes them when it likes to, and warns."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def cluster():
    # Workers unpickle functions of test modules by their names.
    _patches.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    _patches.setenv("RAY_ADDRESS", "local")  # not a cluster that somebody else has begun on this machine
    _clusters.append(Cluster(cpus=4, object_store=256 << 20).__enter__())
    return _clusters[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Ends the cluster after the last test here, and what is left of it: other tests are to know nothing of it."""
    yield
    if _clusters and (nextitem is None or HERE not in nextitem.path.parents):
        _clusters.pop().close()
        _patches.undo()
        for process in gc.get_objects():
            # By its type: others are asked for their class, and may warn.
            if issubclass(type(process), subprocess.Popen) and process.returncode is None:
                process.wait(30)  # Ray has ended it, and does not look; Python would warn of it at any time later
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gc.collect()
