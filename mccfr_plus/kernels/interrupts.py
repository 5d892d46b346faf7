"""Ctrl-C and garbage collections, kept waiting while kernels are compiled, or run that call back into Python.

Python runs a signal's handler at the first line of the next Python function, which is then the callback: what the
handler raises there cannot be caught by the callback, and the kernel would go on as if it had got an answer.
"""

import contextlib
import gc
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

# Ctrl-C, batch systems that announce that they will kill, and terminals that are closed (not on Windows).
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextlib.contextmanager
def deferred_signals(on_signal: Callable[[], None]) -> Iterator[None]:
    """Keeps `SIGNALS`, where Python handles them, until the end of a ``with`` block, whose handlers then run.

    Signals come to the main thread: in other threads nothing is done.

    Args:
        on_signal: Called when one comes, to end what is under way soon. It must not raise anything.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []

    def wait(number: int, frame: FrameType | None) -> None:
        waiting.append((number, frame))
        on_signal()

    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    own = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in own:
        signal.signal(number, wait)
    try:
        yield
    finally:
        for number, handler in own.items():
            signal.signal(number, handler)
    for came, frame in waiting:
        own[signal.Signals(came)](came, frame)


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Pauses Python's garbage collector, which would look at everything that is kept, again and again."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
