"""Settings of all tests: kernels are compiled into a directory of their own, so that a stale one never hides a bug.

Numba's cache does not notice an edit in another file. Set NUMBA_CACHE_DIR to keep kernels between runs, and delete
what it holds after an edit.
"""

import os
import shutil
import tempfile

import pytest
from numba.core import config

# Processes that tests start are to import the package that is being tested, and not what lies in the current folder,
# which has other paths and so other kernels.
os.environ["PYTHONSAFEPATH"] = "1"

_own_cache = None
if "NUMBA_CACHE_DIR" not in os.environ:
    _own_cache = os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="mccfr_plus_tests_")  # for processes of tests
    # For this process: pytest has imported numba to read `filterwarnings`, and numba has read the variable then.
    config.CACHE_DIR = _own_cache


@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    if _own_cache:
        shutil.rmtree(_own_cache, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels():
    """Compiles the kernels before the first test, so that neither a test nor a process that it starts waits for it."""
    import mccfr_plus

    solver = mccfr_plus.Solver("kuhn_poker", "full").run(1)
    solver.exploitability()
