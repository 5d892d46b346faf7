"""Writes files that are replaced as a whole or not at all."""

import contextlib
import glob
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mccfr_plus.errors import MccfrPlusError

TEMPORARY_SUFFIX = ".mccfr-plus-part"  # of unfinished files


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike, error_type: type[MccfrPlusError]) -> Iterator[BinaryIO]:
    """Yields a binary file that replaces `path` at the end of the block, once its content is on the disk.

    If the block fails, the old file stays and the new one is deleted. `error_type` if the file cannot be written.
    """
    place = target_of(path, error_type)
    temporary = _temporary(place)
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
    except OSError as error:
        raise error_type(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):  # after `replace` it does not exist
            os.unlink(temporary)


def remove_unfinished(place: Path) -> None:
    """Deletes what processes that were killed have left of a file, which no other process may be writing."""
    for entry in place.parent.glob(f"{glob.escape(place.name)}.{'[0-9a-f]' * 12}{TEMPORARY_SUFFIX}"):
        with contextlib.suppress(OSError):
            entry.unlink()


def require_writable(path: str | os.PathLike, error_type: type[MccfrPlusError]) -> None:
    """Raises `error_type` if `atomic_write` could not write a file; call it before long work."""
    temporary = _temporary(target_of(path, error_type))
    try:
        open(temporary, "xb").close()
        os.unlink(temporary)
    except OSError as error:
        raise error_type(f"cannot write {path}: {error.strerror or error}. Choose another directory or name.") from None


def require_new(path: str | os.PathLike, error_type: type[MccfrPlusError]) -> None:
    """Raises `error_type` if a file exists already or cannot be written; call it before long work."""
    require_writable(path, error_type)
    if os.path.exists(path):
        raise error_type(f"{path} already exists and will not be overwritten: delete it, or choose another name.")


def require_kind(path: str | os.PathLike, error_type: type[MccfrPlusError], begins: bytes) -> None:
    """Raises `error_type` if a new file would replace one that begins with other bytes, and so is something else."""
    require_writable(path, error_type)
    if os.path.exists(path):
        with open(path, "rb") as file:
            if file.read(len(begins)) not in (begins, b""):
                raise error_type(
                    f"{path} is not a file of the expected kind and will not be overwritten: delete it, or choose "
                    "another name."
                )


def target_of(path: str | os.PathLike, error_type: type[MccfrPlusError]) -> Path:
    """Returns the file that a path leads to, through symbolic links. `error_type` if it cannot be a file."""
    try:
        place = Path(os.path.realpath(path))
        is_other, is_inside = place.exists() and not place.is_file(), place.parent.is_dir()
    except (OSError, ValueError) as error:  # ValueError: a NUL character
        raise error_type(f"cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}.") from None
    if is_other:
        raise error_type(f"cannot write {path}: it is a directory, device, pipe or socket. Give the name of a file.")
    if not is_inside:
        raise error_type(f"cannot write {path}: there is no directory {place.parent}. Create it first.")
    return place


def _temporary(place: Path) -> Path:
    return place.with_name(f"{place.name}.{secrets.token_hex(6)}{TEMPORARY_SUFFIX}")
