"""The lock of a checkpoint: one run at a time. It ends with its process, however that ends."""

import contextlib
import os
import socket
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from mccfr_plus.errors import CheckpointError
from mccfr_plus.files.atomic_write import target_of
from mccfr_plus.files.file import check_writable


class CheckpointLock:
    """A checkpoint's path, locked against other runs; a path-like object and a context manager that releases the lock.

    The operating system holds the lock on a file beside the checkpoint, ``FILE.lock``, and releases it when the process
    ends. The file names the process.

    Raises:
        CheckpointError: If another run has the lock, or no checkpoint can be written there.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        check_writable(self.path)
        place = target_of(path, CheckpointError)
        self._file = place.with_name(f"{place.name}.lock")
        holder = self._holder()
        if holder and not holder.startswith("process "):  # locking would empty it
            raise CheckpointError(f"{self._file} would be the lock and is another file: give another name.")
        self._lock = FileLock(self._file, timeout=0.1, poll_interval=0.02, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise CheckpointError(
                f"{self.path} is in use by {holder or 'another process'}: two runs would overwrite each other's "
                f"checkpoints. Wait for it, stop it, or give another name. The lock is {self._file}."
            ) from None
        except OSError as error:
            raise CheckpointError(f"cannot lock {self._file}: {error.strerror or error}.") from None
        with contextlib.suppress(OSError):  # Windows does not let anyone write a locked file
            self._file.write_text(f"process {os.getpid()} on {socket.gethostname()}", encoding="utf-8")

    def _holder(self) -> str:
        """Returns the text of the lock file, which names the process that holds or held it; "" if there is none."""
        try:
            return self._file.read_text(encoding="utf-8", errors="replace")[:100]
        except OSError:
            return ""

    def release(self) -> None:
        """Releases the lock; a second call does nothing."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):  # Windows does not delete open files; without a lock they block no run
                self._file.unlink()
            self._lock.release()

    def __fspath__(self) -> str:
        return str(self.path)

    __str__ = __fspath__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
