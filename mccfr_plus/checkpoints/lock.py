"""The claim on a checkpoint: one run at a time. The system gives it back when a process ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

from mccfr_plus.checkpoints.file import check_writable, remove_leftovers
from mccfr_plus.errors import CheckpointError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Claim:
    """A checkpoint's file that no other run can write meanwhile; a path, and a context manager that gives it back.

    On POSIX systems it is a lock (flock) on a file beside the checkpoint, which ends with the process. Where there is
    none (Windows, some network drives) the file itself is the claim, and a killed process leaves it behind; the error
    then says what to delete.

    Args:
        path: The checkpoint's file, which need not exist. Temporary files of killed runs beside it are deleted.

    Raises:
        CheckpointError: If another run holds it, or no checkpoint could be written there.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        check_writable(self.path)
        self._lock_path = self.path.with_name(f"{self.path.name}.lock")
        self._handle = -1
        try:
            self._handle = self._lock()
            os.ftruncate(self._handle, 0)
            os.write(self._handle, f"process {os.getpid()} on {socket.gethostname()}".encode())
            remove_leftovers(self.path)
        except BaseException as error:
            self.release()
            if isinstance(error, OSError):
                raise CheckpointError(f"cannot write {self._lock_path}: {error.strerror or error}.") from None
            raise

    def _lock(self) -> int:
        while True:
            try:
                handle, is_new = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
            except FileExistsError:
                try:
                    handle, is_new = os.open(self._lock_path, os.O_RDWR), False
                except FileNotFoundError:  # given back in between
                    continue
            if not self._lock_of_system(handle):
                if is_new:
                    return handle
                os.close(handle)
                raise CheckpointError(
                    f"{self.path} is in use by {self._holder()}, says {self._lock_path}. If that process is gone, "
                    "delete this file; else wait for it, or give another name."
                )
            # Whoever gives a claim back deletes the file: then this is a lock on a file that nobody else will see.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(self._lock_path)):
                    return handle
            os.close(handle)

    def _lock_of_system(self, handle: int) -> bool:
        """Returns whether the file is locked now; False where files cannot be locked."""
        if fcntl is None:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise CheckpointError(
                f"{self.path} is in use by {self._holder()}: two runs would overwrite one another's checkpoints. "
                "Wait for it, stop it, or give another name."
            ) from None
        except OSError:  # a drive without locks
            return False
        return True

    def _holder(self) -> str:
        try:
            return self._lock_path.read_text(encoding="utf-8") or "another process"
        except OSError:
            return "another process"

    def release(self) -> None:
        """Gives the claim back; a second time does nothing."""
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            if fcntl is None:  # Windows deletes no open file
                os.close(handle)
                self._lock_path.unlink(missing_ok=True)
            else:
                self._lock_path.unlink(missing_ok=True)
                os.close(handle)

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)  # in messages

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
