"""Processes of a Ray cluster on this machine, for tests that kill them."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil

HERE = Path(__file__).parent
PATHS = os.pathsep.join(filter(None, sys.path))


def workers_named(title):
    """Returns the Ray workers of this program whose title begins so."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has just ended
            if " ".join(process.cmdline()).startswith(title):
                found.append(process)
    return found


class Killer(threading.Thread):
    """Kills so many workers with a title, one every half second, in a ``with`` block."""

    def __init__(self, title, count):
        super().__init__(daemon=True)
        self._title, self._count, self._is_over, self.killed = title, count, threading.Event(), set()

    def run(self):
        while len(self.killed) < self._count and not self._is_over.wait(0.5):
            for process in workers_named(self._title):
                if process.pid not in self.killed:
                    process.kill()
                    self.killed.add(process.pid)
                    break

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self.join()


def start(*arguments):
    """Starts a Python program in a process group of its own, in which Ctrl-C raises KeyboardInterrupt."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PATHS, "RAY_ADDRESS": "local"},  # with Ray's token, if it has made one
        cwd=HERE,  # Ray lets workers import from the driver's working directory first
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
