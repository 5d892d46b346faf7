"""Signals wait for the end of a block, and until a kernel is compiled."""

import os
import signal

import pytest

from mccfr_plus.kernels import compile as kernels
from mccfr_plus.kernels.interrupts import deferred_signals


@pytest.fixture
def answers_to_ctrl_c():
    """Ctrl-C raises KeyboardInterrupt, also where a shell has started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_waits_until_a_kernel_is_compiled(monkeypatch, answers_to_ctrl_c, tmp_path):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))  # it is not on disk
    compile_kernel = kernels.CPUDispatcher.compile

    def interrupted(self, sig):
        signal.raise_signal(signal.SIGINT)
        return compile_kernel(self, sig)

    @kernels.kernel
    def next_number(x):
        return x + 1

    monkeypatch.setattr(kernels.CPUDispatcher, "compile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next_number(1)
    assert len(next_number.overloads) == 1
    monkeypatch.undo()
    assert next_number(1) == 2


def test_signals_wait_for_the_end_of_a_block():
    told, handled = [], []
    before = signal.signal(signal.SIGTERM, lambda number, _: handled.append(number))
    try:
        with deferred_signals(lambda: told.append(1)):
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            assert (told, handled) == ([1, 1], [])
        assert handled == [signal.SIGTERM] * 2
        with pytest.raises(ZeroDivisionError), deferred_signals():
            raise ZeroDivisionError
        os.kill(os.getpid(), signal.SIGTERM)
        assert len(handled) == 3
    finally:
        signal.signal(signal.SIGTERM, before)
