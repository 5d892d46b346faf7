"""The file of a checkpoint, named arrays and a JSON header; its lock; and its writer, while a solver runs.

It is an uncompressed zip archive like NumPy's `.npz`, without pickle: ``header.json`` and one ``.npy`` per array, with
checksums. Arrays are read and written in pieces, without a copy in memory.
"""

import contextlib
import json
import logging
import os
import socket
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from filelock import FileLock, Timeout

from mccfr_plus.errors import CheckpointError
from mccfr_plus.files.atomic_write import atomic_write, remove_unfinished, require_writable, target_of

FORMAT = "mccfr_plus.checkpoint"
VERSION = 2

_HEADER = "header.json"
_PIECE = 1 << 20  # bytes
_MAX_SHARE = 0.1  # of the run's time that writing may take

logger = logging.getLogger("mccfr_plus")


def write(path: str | os.PathLike, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Writes a checkpoint, which replaces an older one when it is complete and on the disk.

    `header` has entries that JSON can hold. CheckpointError if that fails or the file is something else: it stays.
    """
    check_writable(path)
    about = {"format": FORMAT, "version": VERSION, "arrays": _descriptions(arrays)}
    with atomic_write(path, CheckpointError) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        # A new ZipInfo has a fixed date: equal states are equal files.
        archive.writestr(zipfile.ZipInfo(_HEADER), json.dumps({**header, **about}))
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_header(path: str | os.PathLike) -> dict[str, Any]:
    """Returns the header of a checkpoint. CheckpointError if the file is absent, damaged or of another kind."""
    with _opened(path) as (_, header):
        return header


def check(path: str | os.PathLike, arrays: Mapping[str, np.ndarray]) -> None:
    """Raises CheckpointError if a checkpoint is damaged, or has arrays of other names, shapes or dtypes."""
    with _opened(path) as (archive, header):
        expected, found = _descriptions(arrays), header["arrays"]
        for name in sorted(set(expected) | set(found)):
            if expected.get(name) != found.get(name):
                there, needed = found.get(name, "missing"), expected.get(name, "none")
                raise CheckpointError(
                    f"{path} does not fit this solver: the array {name!r} in the file is {there} instead of {needed}. "
                    "Use the components and the version of mccfr_plus with which the file was written."
                )
        members = {_HEADER, *(f"{name}.npy" for name in expected)}
        if set(archive.namelist()) != members or archive.testzip() is not None:
            raise ValueError


def read_into(path: str | os.PathLike, arrays: Mapping[str, np.ndarray]) -> None:
    """Fills contiguous arrays with those of a checkpoint that `check` has accepted. Modified in place."""
    with _opened(path) as (archive, _):
        for name, array in arrays.items():
            with archive.open(f"{name}.npy") as member:
                np.lib.format.read_magic(member)
                if np.lib.format.read_array_header_1_0(member) != (array.shape, False, array.dtype):
                    raise ValueError
                target = array.reshape(-1).view(np.uint8) if array.size else np.zeros(0, np.uint8)
                for begin in range(0, len(target), _PIECE):
                    piece = target[begin : begin + _PIECE]
                    piece[:] = np.frombuffer(member.read(len(piece)), np.uint8)


def check_writable(path: str | os.PathLike) -> None:
    """Raises CheckpointError unless a checkpoint can be written, which replaces only another one."""
    require_writable(path, CheckpointError)
    if os.path.isfile(path):
        try:
            read_header(path)
        except CheckpointError as error:
            raise CheckpointError(f"{error} The file will not be overwritten: delete or rename it.") from None


def _descriptions(arrays: Mapping[str, np.ndarray]) -> dict[str, list]:
    """Returns dtype and shape of each array, as JSON gives them back."""
    found = {name: [np.lib.format.dtype_to_descr(array.dtype), array.shape] for name, array in arrays.items()}
    return json.loads(json.dumps(found))


@contextlib.contextmanager
def _opened(path: str | os.PathLike) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """Yields the archive of a checkpoint and its header; errors inside become a CheckpointError."""
    if not os.path.isfile(path):
        raise CheckpointError(f"there is no file {path}.")
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            if "strategy.npy" in archive.namelist() and _HEADER not in archive.namelist():
                raise CheckpointError(f"{path} is not a checkpoint but a policy: load it with load_policy.")
            header = json.loads(archive.read(_HEADER))
            if (header["format"], header["version"]) != (FORMAT, VERSION):
                raise CheckpointError(
                    f"{path} has version {header['version']} of {header['format']}, but this installation of "
                    f"mccfr_plus reads version {VERSION} of {FORMAT}. Use the version of mccfr_plus that wrote the "
                    "file."
                )
            yield archive, header
    except CheckpointError:
        raise
    except Exception as error:  # a damaged archive may raise nearly anything, from zipfile, json and NumPy
        name = type(error).__name__
        raise CheckpointError(f"{path} is not a checkpoint of mccfr_plus, or is damaged ({name}).") from None


class CheckpointLock:
    """A checkpoint's path, locked against other runs; a path-like object and a context manager that releases the lock.

    The operating system holds the lock on a file beside the checkpoint, ``FILE.lock``, which names the process, and
    releases it when the process ends. CheckpointError if another run has it, or no checkpoint can be written there.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        check_writable(self.path)
        place = target_of(path, CheckpointError)
        self._file = place.with_name(f"{place.name}.lock")
        try:
            holder = self._file.read_text(encoding="utf-8", errors="replace")[:100]  # which process holds or held it
        except OSError:
            holder = ""
        if holder and not holder.startswith("process "):  # locking would empty it
            raise CheckpointError(
                f"{self._file} would be the lock file, but contains something else: choose another checkpoint name."
            )
        self._lock = FileLock(self._file, timeout=0.1, poll_interval=0.02, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise CheckpointError(
                f"{self.path} is in use by {holder or 'another process'}: two runs would overwrite each other's "
                f"checkpoints. Stop the other run, or choose another name. The lock file is {self._file}."
            ) from None
        except OSError as error:
            raise CheckpointError(f"cannot lock {self._file}: {error.strerror or error}.") from None
        remove_unfinished(place)
        with contextlib.suppress(OSError):  # Windows does not let anyone write a locked file
            self._file.write_text(f"process {os.getpid()} on {socket.gethostname()}", encoding="utf-8")

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


class CheckpointWriter:
    """Writes a solver's checkpoint at intervals, and at the end of a ``with`` block, also after an error.

    A write that fails within the run is logged and tried again later. One that fails at the end is an error, unless
    another error ends the block. So is a file that is in use, or holds another run or a later iteration.
    `path` may be a `CheckpointLock` that the caller holds. `interval` is in seconds; it grows if writing takes over a
    tenth of the time. `checkpoints` is a module with ``save(solver, path)`` and ``header_of_run(path, solver)``.
    """

    def __init__(self, solver: Any, path: str | os.PathLike, interval: float, checkpoints: Any):
        self._solver, self._interval, self._checkpoints = solver, float(interval), checkpoints
        with contextlib.ExitStack() as stack:
            self._lock = path if isinstance(path, CheckpointLock) else stack.enter_context(CheckpointLock(path))
            self._written = self._iterations_in_file()
            self._own_lock = stack.pop_all()  # released at the end of the block
        self._due = time.perf_counter() + self._interval

    def due_in(self) -> float:
        """Returns in how many seconds the next write is due."""
        return max(self._due - time.perf_counter(), 0.0)

    def __call__(self, progress: Any) -> None:
        """Writes the checkpoint if it is due; the last one is written at the end of the block."""
        begin = time.perf_counter()
        if begin < self._due or progress.is_last:
            return
        try:
            self._write()
        except CheckpointError as error:
            logger.warning(
                f"no checkpoint was written at iteration {self._solver.iterations:,}: {error} The run continues; the "
                f"last good checkpoint is from iteration {self._written:,}."
            )
        end = time.perf_counter()
        self._due = end + max(self._interval, (end - begin) * (1 / _MAX_SHARE - 1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._own_lock:
            try:
                if self._solver.iterations != self._written:
                    self._write()
            except CheckpointError as error:
                if kind is None:
                    raise
                logger.warning("the final checkpoint was not written: %s", error)

    def _write(self) -> None:
        self._checkpoints.save(self._solver, self._lock)
        self._written = self._solver.iterations

    def _iterations_in_file(self) -> int:
        path = self._lock.path
        if not path.exists():
            return 0
        iterations = self._checkpoints.header_of_run(path, self._solver)["iterations"]
        if iterations > self._solver.iterations:
            raise CheckpointError(
                f"{path} holds iteration {iterations:,}, but the solver is at iteration {self._solver.iterations:,} "
                "and would overwrite it. Use restore to continue from the file, delete the file, or choose another "
                "name."
            )
        return iterations
