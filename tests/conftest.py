"""Settings of all tests: one cache of compiled kernels for all processes, and which tests share a process.

Kernels are kept until a source of the package changes. Set NUMBA_CACHE_DIR to keep them elsewhere.
"""

import gc
import hashlib
import os
import shutil
import time
from pathlib import Path

import pytest
from numba.core import config
from xdist.scheduler import LoadFileScheduling

pytest_plugins = ["ray_cluster"]
_begin = time.monotonic()

# Processes that tests start are to import the package that is being tested, and not what lies in the current folder,
# which has other paths and so other kernels.
os.environ["PYTHONSAFEPATH"] = "1"


def kept_kernels():
    """Returns the folder for the kernels of these sources, after removing those of others."""
    root = Path(__file__).parent.parent
    sources = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(root.glob("mccfr_plus/**/*.py"))))
    folder = root / ".pytest_cache" / "kernels" / sources.hexdigest()[:16]
    for other in folder.parent.glob("*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return str(folder)


if "NUMBA_CACHE_DIR" not in os.environ:  # in the processes of pytest-xdist it is set: they inherit it
    os.environ["NUMBA_CACHE_DIR"] = kept_kernels()
    # pytest has imported numba to read `filterwarnings`, and numba read the variable then.
    config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]


class ByFile(LoadFileScheduling):
    """Gives all tests of a file to one process, as they share fixtures and kernels; and all that use Ray's cluster.

    `--dist loadgroup` would do so by marks, but pytest-xdist 3.8 ignores them with pytest 9.2 (its issue 1386).
    """

    def _split_scope(self, nodeid):
        folder = "tests/cluster/"
        return folder if nodeid.startswith(folder) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByFile(config, log)


def pytest_collection_modifyitems(items):
    """Puts the longest file first: processes get files in this order, and would wait for the last one."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/trees/test_public_tree.py"))


def pytest_addoption(parser):
    parser.addoption("--seconds", type=float, metavar="N", help="skip tests that would begin after N seconds")


@pytest.hookimpl(tryfirst=True)  # before fixtures are made
def pytest_runtest_setup(item):
    limit = item.config.getoption("seconds")
    if limit is not None and time.monotonic() - _begin > limit:
        pytest.skip(f"--seconds={limit:g} are over")


@pytest.fixture(autouse=True, scope="module")
def kept_objects():
    """Keeps what stands before a file of tests, compiled kernels above all, out of all garbage collections.

    They took more than a tenth of the time: kernels are millions of objects, and limits on memory are checked after
    a collection.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def interpreted_loops(monkeypatch):
    """Runs solvers' loops as plain Python: `solver/test_compiled.py` compares compiled ones with them."""
    import interpreted  # it imports the package, and so must come after the folder of the cache is set

    monkeypatch.setattr(interpreted.engine, "composed", interpreted.composed)


@pytest.fixture
def interpreted_evaluation(monkeypatch):
    """Runs exact evaluations by rules as plain Python: compiled, each game takes some seconds."""
    from interpreted import interpreted

    from mccfr_plus.evaluation import by_rules

    bind = by_rules.bind
    monkeypatch.setattr(by_rules, "bind", lambda *arguments, **options: interpreted(bind(*arguments, **options)))


@pytest.fixture
def interpreted_public_trees(monkeypatch):
    """Makes public trees by rules as plain Python, except for liar's dice: compiling a game takes 8 s."""
    from interpreted import bind, interpreted, rows

    from mccfr_plus.trees.public import builder, histories

    def traversal_of(rules, compiled=builder._traversal_of):
        module = (rules.outcomes or rules.returns).py_func.__module__
        if not module.startswith("mccfr_plus.games") or module.endswith("liars_dice"):
            return compiled(rules)  # stored trees share one kernel
        return interpreted(bind(histories.traverse, rows.kernels_of(rules)))

    monkeypatch.setattr(builder, "_traversal_of", traversal_of)
