"""Workers for tests: one that waits in the middle of a chunk to be killed, one that is slow. Actors import this."""

import os
import time
from pathlib import Path

from mccfr_plus.cluster.neural.traversals import ExternalWalks


class MortalWalks(ExternalWalks):
    """Writes its process's number into a directory at one chunk and waits there; once, whoever gets the chunk."""

    def __init__(self, tree, directory, stream):
        super().__init__(tree)
        self._file, self._stream = Path(directory) / "pid", int(stream)

    def work(self, shared, task):
        chunk = super().work(shared, task)
        if int(task.stream[0]) == self._stream and not self._file.exists():
            draft = self._file.with_suffix(".draft")
            draft.write_text(str(os.getpid()))
            draft.rename(self._file)
            time.sleep(60)
        return chunk


class SlowWalks(ExternalWalks):
    """Takes its time over one chunk."""

    def __init__(self, tree, stream):
        super().__init__(tree)
        self._stream = int(stream)

    def work(self, shared, task):
        if int(task.stream[0]) == self._stream:
            time.sleep(0.5)
        return super().work(shared, task)
