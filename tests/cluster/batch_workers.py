"""Workers for tests: one that waits in the middle of a batch to be killed, one that is slow. Actors import this."""

import os
import time
from pathlib import Path

from mccfr_plus.cluster.neural.batches import ExternalBatches


class MortalBatches(ExternalBatches):
    """Writes its process's number into a directory at one batch and waits there; once, whoever gets the batch."""

    def __init__(self, tree, directory, stream):
        super().__init__(tree)
        self._file, self._stream = Path(directory) / "pid", int(stream)

    def work(self, shared, task):
        batch = super().work(shared, task)
        if int(task.stream[0]) == self._stream and not self._file.exists():
            draft = self._file.with_suffix(".draft")
            draft.write_text(str(os.getpid()))
            draft.rename(self._file)
            time.sleep(60)
        return batch


class SlowBatches(ExternalBatches):
    """Takes its time over one batch."""

    def __init__(self, tree, stream):
        super().__init__(tree)
        self._stream = int(stream)

    def work(self, shared, task):
        if int(task.stream[0]) == self._stream:
            time.sleep(0.5)
        return super().work(shared, task)
