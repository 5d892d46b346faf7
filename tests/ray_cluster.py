"""One Ray cluster of this machine for all tests of the folder `cluster`, which run in one process."""

import gc
import os
import subprocess
import sys
import warnings

import pytest

from mccfr_plus.cluster import Cluster

_patches = pytest.MonkeyPatch()
_clusters = []


def is_ray(item):
    return item.path.parent.name == "cluster"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Puts these tests first: no file takes longer."""
    items.sort(key=lambda item: not is_ray(item))
    for item in filter(is_ray, items):
        # Ray leaves its processes and files to Python, which closes them at any time, and warns.
        item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
        item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def cluster():
    # Workers unpickle functions of test modules by their names.
    _patches.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    _patches.setenv("RAY_ADDRESS", "local")  # not another cluster of this machine
    _clusters.append(Cluster(cpus=2).__enter__())
    return _clusters[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Ends the cluster after the last of these tests."""
    yield
    if _clusters and (nextitem is None or not is_ray(nextitem)):
        _clusters.pop().close()
        _patches.undo()
        for process in gc.get_objects():
            # By its type: asking other objects for their class may warn.
            if issubclass(type(process), subprocess.Popen) and process.returncode is None:
                process.wait(30)  # Ray has ended it and does not wait; Python would warn later
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gc.collect()
