"""Signals wait while a kernel is compiled, and a failed import leaves the interpreter as it was."""

import contextlib
import signal
import subprocess
import sys

import pytest

from mccfr_plus.kernels import compile as kernels


@pytest.fixture
def answers_to_ctrl_c():
    """Ctrl-C raises KeyboardInterrupt, also where a shell has started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_waits_until_a_kernel_is_compiled(monkeypatch, answers_to_ctrl_c, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))  # it is not on disk
    before = kernels.no_collection

    @contextlib.contextmanager
    def interrupted():
        signal.raise_signal(signal.SIGINT)
        with before():
            yield

    @kernels.kernel
    def next_number(x):
        return x + 1

    monkeypatch.setattr(kernels, "no_collection", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next_number(1)
    assert len(next_number.overloads) == 1
    monkeypatch.undo()
    assert next_number(1) == 2


FAILED = """
import gc, sys
sys.modules["mccfr_plus.drop_in"] = None
try:
    import mccfr_plus
except ImportError:
    print(gc.isenabled())
"""


def test_an_import_that_fails_leaves_the_garbage_collector_on():
    done = subprocess.run([sys.executable, "-c", FAILED], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
