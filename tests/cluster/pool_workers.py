"""Workers and a pool for tests. Actors import this."""

import os
import pickle
import time
from pathlib import Path

from mccfr_plus.cluster.worker_pool import WorkerPool


class Echo:
    """Returns what it gets, some of it late, or fails."""

    def __init__(self, constant):
        self._constant = constant

    def work(self, shared, task):
        if task == "fail":
            raise ValueError("on purpose")
        time.sleep(task.get("seconds", 0.0))
        return self._constant, shared, task["number"], os.getpid()


class Mortal(Echo):
    """Writes its process's number into a file at one task and waits there to be killed, but only once."""

    def __init__(self, constant, folder):
        super().__init__(constant)
        self._file = Path(folder) / "pid"

    def work(self, shared, task):
        if task["number"] == 3 and not self._file.exists():
            draft = self._file.with_suffix(".draft")
            draft.write_text(str(os.getpid()))
            draft.rename(self._file)
            time.sleep(60)
        return super().work(shared, task)


class PickledPool(WorkerPool):
    """Sends everything to three workers of this process, as Ray does: pickled, in another order, arrays read-only."""

    def __init__(self):
        super().__init__(0)

    @property
    def has_started(self):
        return bool(self.actors)

    def start(self, kind, constants, num_bytes, what):
        self.actors = [kind(*_sent(constants)) for _ in range(3)]

    def work(self, shared, tasks):
        results = {}
        for number, task in reversed(list(enumerate(tasks))):
            results[number] = _sent(self.actors[number % 3].work(_sent(shared), _sent(task)))
        for number in range(len(tasks)):
            yield results[number]

    def close(self):
        self.actors = []


def _sent(value):
    buffers = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])


def pickled(solver):
    """Returns a distributed solver that samples by a `PickledPool` from now on."""
    solver._worker_pool = PickledPool()
    for part in ("_engine", "_env"):
        if hasattr(solver, part):
            getattr(solver, part)._worker_pool = solver._worker_pool
    return solver
