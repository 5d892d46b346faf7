"""Writes files that are replaced as a whole or not at all."""

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mccfr_plus.errors import MccfrPlusError

TEMPORARY_SUFFIX = ".mccfr-plus-part"  # of unfinished files; see `remove_leftovers`

_PROCESSES = "/proc/"
_MOST_LINKS = 40  # as the system follows


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike, error_type: type[MccfrPlusError]) -> Iterator[BinaryIO]:
    """Yields a binary file that replaces `path` at the end of the block, when its content is on the disk.

    A symbolic link stays, and the file that it leads to is replaced. If the block fails, the old file stays and the new
    one is deleted. Only a killed process leaves a temporary file.

    Raises:
        error_type: If the file cannot be written.
    """
    place = target_of(path, error_type)
    temporary = _temporary(place)
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
        _sync_directory(place.parent)
    except OSError as error:
        raise error_type(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):  # it is gone after `replace`
            os.unlink(temporary)


def require_writable(path: str | os.PathLike, error_type: type[MccfrPlusError], num_bytes: int = 0) -> None:
    """Raises `error_type` if `atomic_write` could not write a file; call it before long work.

    Args:
        num_bytes: The size of the file. The old file stays until the new one is complete: the disk must hold both.
    """
    place = target_of(path, error_type)
    temporary = _temporary(place)
    try:
        open(temporary, "xb").close()
        os.unlink(temporary)
        free = shutil.disk_usage(place.parent).free
    except OSError as error:
        raise error_type(f"cannot write {path}: {error.strerror or error}. Choose another directory or name.") from None
    if free < num_bytes:
        raise error_type(
            f"cannot write {path}: it needs {num_bytes:,} bytes beside the file that it replaces, and {free:,} are "
            f"free in {place.parent}. Make room, or choose another directory."
        )


def require_new(path: str | os.PathLike, error_type: type[MccfrPlusError]) -> None:
    """Raises `error_type` if a file is there already, or cannot be written; call it before long work."""
    require_writable(path, error_type)
    if os.path.exists(path):
        raise error_type(f"{path} exists already: delete it, or give another name; it is not overwritten.")


def require_kind(path: str | os.PathLike, error_type: type[MccfrPlusError], begins: bytes) -> None:
    """Raises `error_type` if what a new file would replace begins otherwise, and so is something else."""
    require_writable(path, error_type)
    if os.path.exists(path):
        with open(path, "rb") as file:
            if file.read(len(begins)) not in (begins, b""):
                raise error_type(f"{path} is of another kind and not overwritten: delete it, or give another name.")


def remove_leftovers(path: str | os.PathLike) -> None:
    """Deletes the temporary files that killed processes left beside `path`. No process may be writing it."""
    path = Path(path)
    for leftover in path.parent.glob(f"*{TEMPORARY_SUFFIX}"):
        middle = leftover.name.removeprefix(f"{path.name}.").removesuffix(TEMPORARY_SUFFIX)
        if leftover.name.startswith(f"{path.name}.") and "." not in middle:  # those of run.old are not those of run
            with contextlib.suppress(OSError):
                leftover.unlink()


def target_of(path: str | os.PathLike, error_type: type[MccfrPlusError]) -> Path:
    """Returns the file that a path leads to, through symbolic links; it need not exist.

    Raises:
        error_type: If a directory, device, pipe or socket stands there, or no file can.
    """
    mode = None
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # ValueError: a NUL character
        raise error_type(f"cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}.") from None
    if mode is not None and stat.S_ISDIR(mode):
        raise error_type(f"cannot write {path}: it is a directory. Give the name of a file in it.")
    if mode is not None and not stat.S_ISREG(mode):
        raise error_type(f"cannot write {path}: it is a device, pipe or socket. Give the name of a file.")
    if _leads_through_processes(path):
        raise error_type(f"cannot write {path}: {_PROCESSES} holds no files. Choose another directory or name.")
    place = Path(os.path.realpath(path))
    if not os.path.isdir(place.parent):
        folder = Path(path).parent if not os.path.islink(path) else place.parent
        raise error_type(f"cannot write {path}: there is no directory {folder}. Create it first.")
    return place


def _leads_through_processes(path: str | os.PathLike[str]) -> bool:
    """Returns whether a path leads through the process file system, such as /dev/stdout to a file that a shell opened.

    Such a link cannot be replaced; the file that it leads to is open, and would lose its name.
    """
    path = os.fspath(path)
    for _ in range(_MOST_LINKS):
        if os.path.realpath(os.path.dirname(path)).startswith(_PROCESSES):
            return True
        if not os.path.islink(path):
            return False
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    return False


def _temporary(place: Path) -> Path:
    return place.with_name(f"{place.name}.{secrets.token_hex(6)}{TEMPORARY_SUFFIX}")


def _sync_directory(directory: Path) -> None:
    """Waits until a renamed file's name is on the disk, where directories can be opened (not on Windows)."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
