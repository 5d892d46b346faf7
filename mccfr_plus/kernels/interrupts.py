"""Signals wait while kernels are compiled, or while kernels run that call back into Python.

A handler would run in the callback; the kernel does not see its exception, and would go on with a wrong answer.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

# Ctrl-C, the warning of batch systems before they kill, and closed terminals (not on Windows).
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextlib.contextmanager
def deferred_signals(on_signal: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Keeps `SIGNALS`, where Python handles them, until the end of a ``with`` block; then their handlers run.

    `on_signal` is called at each signal, to end the work soon; it must not raise. Other threads than the main one, to
    which signals come, do nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []

    def wait(number: int, frame: FrameType | None) -> None:
        waiting.append((number, frame))
        on_signal()

    handlers = {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, wait)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for received, frame in waiting:
        handlers[signal.Signals(received)](received, frame)
