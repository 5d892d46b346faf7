"""The lock of a checkpoint: one run at a time. It ends with its process, however that ends."""

import contextlib
import os
import socket
from pathlib import Path
from typing import Self

from filelock import FileLock, SoftFileLock, Timeout

from mccfr_plus.errors import CheckpointError
from mccfr_plus.files.atomic_write import remove_leftovers, target_of
from mccfr_plus.files.file import check_writable

_LONGEST = 1000  # characters of what a lock says of its holder


def _is_lock(path: Path) -> bool:
    """Returns whether a file is a lock, or there is none: it is empty, or names a process, or begins with a number."""
    if not path.is_file():  # locking says what is wrong
        return True
    with path.open("rb") as file:
        text = file.read(_LONGEST + 1)
    return len(text) <= _LONGEST and (not text or text.startswith(b"process ") or text.split(b"\n")[0].isdigit())


class CheckpointLock:
    """A checkpoint's path, locked against other runs; a path-like object and a context manager that releases the lock.

    The operating system holds the lock on a file beside the checkpoint, ``FILE.lock``, and releases it when the process
    ends. A symbolic link stands for the file that it leads to. The file names the process. Temporary files of killed
    runs are deleted.

    Raises:
        CheckpointError: If another run has the lock, or no checkpoint can be written there.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        check_writable(self.path)
        place = target_of(path, CheckpointError)
        self._lock_path = place.with_name(f"{place.name}.lock")
        if not _is_lock(self._lock_path):  # locking empties it, and the end of the run deletes it
            raise CheckpointError(f"{self._lock_path} would be the lock and is another file: give another name.")
        self._lock = FileLock(self._lock_path, timeout=0.1, poll_interval=0.02, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise CheckpointError(
                f"{self.path} is in use by {self._holder()}: two runs would overwrite one another's checkpoints. "
                f"Wait for it, stop it, or give another name. The lock is {self._lock_path}."
            ) from None
        except OSError as error:
            raise CheckpointError(f"cannot lock {self._lock_path}: {error.strerror or error}.") from None
        if not isinstance(self._lock, SoftFileLock):  # it becomes one where a drive has no locks; its file is its own
            with contextlib.suppress(OSError):  # Windows lets no process write a locked file
                self._lock_path.write_text(f"process {os.getpid()} on {socket.gethostname()}", encoding="utf-8")
        remove_leftovers(place)

    def _holder(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            text = self._lock_path.read_text(encoding="utf-8")
            if text.startswith("process "):
                return text
        return "another process"

    def release(self) -> None:
        """Releases the lock; a second call does nothing."""
        if self._lock.is_locked:
            if not isinstance(self._lock, SoftFileLock):
                with contextlib.suppress(OSError):  # Windows deletes no open file; a file without a lock blocks no run
                    self._lock_path.unlink()
            self._lock.release()

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
