"""The file of a checkpoint: named arrays beside a JSON header, written in one piece or not at all.

It is a zip archive like numpy's `.npz`, not compressed and without pickle: ``format.npy`` and ``version.npy``, which
tell it from other files, ``header.json``, and one ``.npy`` per array. Each has a checksum (CRC-32), and ``header.json``
lists the arrays, so that damage is found. Arrays go to and from the disk in pieces: none is copied in memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from mccfr_plus.checkpoints.atomic_write import atomic_write, require_writable
from mccfr_plus.errors import CheckpointError

FORMAT = "mccfr_plus.checkpoint"
VERSION = 1

_HEADER = "header.json"
_PIECE = 1 << 20  # bytes
_MIN_ROOM = 1 << 16  # bytes that archive and header need beside the arrays


class Contents(NamedTuple):
    """What a checkpoint's file holds."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write(path: str | os.PathLike, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Writes a checkpoint, which replaces the old one when it is complete and on the disk.

    Args:
        path: The file.
        header: What JSON can hold.
        arrays: By name; a name may have slashes.

    Raises:
        CheckpointError: If the file cannot be written, or is something else than a checkpoint. The old file stays.
    """
    path = Path(path)
    _check_target(path)
    text = json.dumps({**header, "arrays": {name: _description(array) for name, array in arrays.items()}})
    with atomic_write(path, CheckpointError) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _write_array(archive, "format", np.array(FORMAT))
        _write_array(archive, "version", np.array(VERSION))
        archive.writestr(zipfile.ZipInfo(_HEADER), text)
        for name, array in arrays.items():
            _write_array(archive, name, array)


def read(path: str | os.PathLike) -> Contents:
    """Returns the header and the arrays of a checkpoint.

    Raises:
        CheckpointError: If there is no such file, or it is no checkpoint, damaged, or of a newer version.
    """
    with _opened(Path(path)) as (archive, header):
        return Contents(header, {name: _read_array(archive, name) for name in header["arrays"]})


def read_header(path: str | os.PathLike) -> dict[str, Any]:
    """Returns the header of a checkpoint; the arrays are not looked at.

    Raises:
        CheckpointError: As for `read`.
    """
    with _opened(Path(path)) as (_, header):
        return header


def check(path: str | os.PathLike, arrays: Mapping[str, np.ndarray]) -> None:
    """Looks at all of a checkpoint: whether it is whole, and whether its arrays are those wanted.

    Args:
        path: The file.
        arrays: Arrays of the names, shapes and dtypes that it must have.

    Raises:
        CheckpointError: As for `read`, or if the arrays are others.
    """
    path = Path(path)
    with _opened(path) as (archive, header):
        layout = {name: _description(array) for name, array in arrays.items()}
        for name in sorted(set(layout) | set(header["arrays"])):
            if layout.get(name) != header["arrays"].get(name):
                raise CheckpointError(
                    f"{path} does not fit: its array {name!r} is {header['arrays'].get(name, 'missing')}, and "
                    f"{layout.get(name, 'none')} is wanted. Use the parts and the version of mccfr_plus that wrote it."
                )
        _read_all(archive, arrays, fill=False)


def read_into(path: str | os.PathLike, arrays: Mapping[str, np.ndarray]) -> None:
    """Fills arrays with those of a checkpoint, piece by piece: large ones are not in memory twice.

    Args:
        path: A file that `check` has found good.
        arrays: As many as the checkpoint has, of the same names, shapes and dtypes, contiguous. Modified in place.

    Raises:
        CheckpointError: As for `read`.
    """
    with _opened(Path(path)) as (archive, _):
        _read_all(archive, arrays, fill=True)


def check_writable(path: str | os.PathLike, num_bytes: int = 0) -> None:
    """Raises CheckpointError if a checkpoint could not be written; call it before long work.

    Args:
        path: The file: absent, or a checkpoint, which a new one would replace.
        num_bytes: The size of the arrays.
    """
    path = Path(path)
    require_writable(path, CheckpointError, num_bytes + _MIN_ROOM)
    _check_target(path)


def _check_target(path: Path) -> None:
    if path.exists():
        try:
            read_header(path)
        except CheckpointError as error:
            raise CheckpointError(f"{error} It is not overwritten: delete it, or give another name.") from None


def _description(array: np.ndarray) -> list:
    """Returns dtype and shape as JSON gives them back."""
    return json.loads(json.dumps([np.lib.format.dtype_to_descr(array.dtype), array.shape]))


def _write_array(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    # ZipInfo by hand has a fixed date, so that equal states are equal files. Its size is not known before.
    with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
        np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def _read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
        _expect_end(member)
    return array


def _read_all(archive: zipfile.ZipFile, arrays: Mapping[str, np.ndarray], fill: bool) -> None:
    for name, array in arrays.items():
        with archive.open(f"{name}.npy") as member:
            _read_piecewise(member, array, fill)


def _read_piecewise(member: Any, array: np.ndarray, fill: bool) -> None:
    """Reads an array to its end, where its checksum is looked at; writes it to `array` if `fill`."""
    np.lib.format.read_magic(member)
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(member)
    if shape != array.shape or dtype != array.dtype or fortran_order:
        raise ValueError
    target = array.reshape(-1).view(np.uint8).data if fill and array.size else memoryview(b"")
    done = 0
    while done < array.nbytes:
        piece = member.read(min(_PIECE, array.nbytes - done))
        if not piece:
            raise EOFError
        if fill:
            target[done : done + len(piece)] = piece
        done += len(piece)
    _expect_end(member)


def _expect_end(member: Any) -> None:
    if member.read(1):  # the checksum is compared when the end is read
        raise ValueError


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """Yields the archive of a checkpoint and its header; what goes wrong inside becomes a CheckpointError."""
    if not path.is_file():
        raise CheckpointError(f"there is no file {path}.")
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            yield archive, _header_of(path, file, archive)
    except CheckpointError:
        raise
    except Exception as error:  # a damaged archive may raise nearly anything, from zipfile, json and numpy
        raise CheckpointError(
            f"{path} is no checkpoint of mccfr_plus, or is damaged ({type(error).__name__})."
        ) from None


def _header_of(path: Path, file: BinaryIO, archive: zipfile.ZipFile) -> dict[str, Any]:
    names = set(archive.namelist())
    kind = str(_read_array(archive, "format")) if "format.npy" in names else ""
    if kind != FORMAT:
        what = "a policy: load it with load_policy" if kind == "mccfr_plus.policy" else "something else"
        raise CheckpointError(f"{path} is no checkpoint of mccfr_plus but {what}.")
    version = int(_read_array(archive, "version"))
    if not 1 <= version <= VERSION:
        raise CheckpointError(
            f"{path} has version {version} of the checkpoint format; this mccfr_plus reads up to {VERSION}. Update it."
        )
    header = json.loads(archive.read(_HEADER))
    if names != {"format.npy", "version.npy", _HEADER, *(f"{name}.npy" for name in header["arrays"])}:
        raise ValueError
    return header
