"""The file of a checkpoint: named arrays and a JSON header.

It is a zip archive like numpy's `.npz`, not compressed and without pickle: ``format.npy`` and ``version.npy``, which
identify it, ``header.json``, and one ``.npy`` per array. Each has a checksum (CRC-32), and ``header.json`` lists the
arrays: so damage is found. Arrays are read and written in pieces, without a copy in memory.
"""

import contextlib
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mccfr_plus.errors import CheckpointError
from mccfr_plus.files.atomic_write import atomic_write, require_writable, target_of

FORMAT = "mccfr_plus.checkpoint"
VERSION = 1

_HEADER = "header.json"
_PIECE = 1 << 20  # bytes
_MIN_ROOM = 1 << 16  # bytes of archive and header
_MOST_BYTES_OF_SCALAR = 1 << 12


def write(path: str | os.PathLike, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Writes a checkpoint, which replaces the old one when it is complete and on the disk.

    Args:
        header: What JSON can hold.
        arrays: By name; a name may have slashes.

    Raises:
        CheckpointError: If the file cannot be written, or is something else than a checkpoint. The old file stays.
    """
    path = Path(path)
    _check_target(path)
    text = json.dumps({**header, "arrays": {name: _description(array) for name, array in arrays.items()}})
    members = {"format": np.array(FORMAT), "version": np.array(VERSION), _HEADER: text, **arrays}
    with atomic_write(path, CheckpointError) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            if isinstance(content, str):
                archive.writestr(zipfile.ZipInfo(name), content)
                continue
            # A new ZipInfo has a fixed date: equal states are equal files.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(content), allow_pickle=False)


def read_header(path: str | os.PathLike) -> dict[str, Any]:
    """Returns the header of a checkpoint, without reading the arrays.

    Raises:
        CheckpointError: If there is no such file, or it is no checkpoint, damaged, or of a newer version.
    """
    with _opened(path) as (_, header):
        return header


def check(path: str | os.PathLike, arrays: Mapping[str, np.ndarray]) -> None:
    """Reads a checkpoint: raises an error if it is damaged or has other arrays.

    Args:
        arrays: Arrays of the names, shapes and dtypes that it must have.

    Raises:
        CheckpointError: As for `read_header`, or if the arrays are others.
    """
    with _opened(path) as (archive, header):
        layout, found = {name: _description(array) for name, array in arrays.items()}, header["arrays"]
        for name in sorted(set(layout) | set(found)):
            if layout.get(name) != found.get(name):
                raise CheckpointError(
                    f"{path} does not fit: its array {name!r} is {found.get(name, 'missing')}, and "
                    f"{layout.get(name, 'none')} is needed. Use the components and the version of "
                    "mccfr_plus that wrote it."
                )
        for name, array in arrays.items():
            _read(archive, name, array, fill=False)


def read_into(path: str | os.PathLike, arrays: Mapping[str, np.ndarray]) -> None:
    """Fills arrays with those of a checkpoint.

    Args:
        path: A file that `check` has accepted.
        arrays: All arrays of the checkpoint, of the same names, shapes and dtypes, contiguous. Modified in place.

    Raises:
        CheckpointError: As for `read_header`.
    """
    with _opened(path) as (archive, _):
        for name, array in arrays.items():
            _read(archive, name, array, fill=True)


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
    target_of(path, CheckpointError)
    if os.path.exists(path):
        try:
            read_header(path)
        except CheckpointError as error:
            raise CheckpointError(f"{error} It is not overwritten: delete it, or give another name.") from None


def _description(array: np.ndarray) -> list:
    """Returns dtype and shape as JSON gives them back."""
    return json.loads(json.dumps([np.lib.format.dtype_to_descr(array.dtype), array.shape]))


def _read(archive: zipfile.ZipFile, name: str, array: np.ndarray, fill: bool) -> None:
    """Reads an array to its end, where zipfile compares the checksum; writes it to `array` if `fill`."""
    with archive.open(f"{name}.npy") as member:
        np.lib.format.read_magic(member)
        shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(member)
        if shape != array.shape or dtype != array.dtype or fortran_order:
            raise ValueError
        target = array.reshape(-1).view(np.uint8).data if fill and array.size else memoryview(b"")
        for begin in range(0, array.nbytes, _PIECE):
            size = min(_PIECE, array.nbytes - begin)
            piece = member.read(size)
            if len(piece) < size:
                raise EOFError
            if fill:
                target[begin : begin + size] = piece
        if member.read(1):
            raise ValueError


@contextlib.contextmanager
def _opened(path: str | os.PathLike) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """Yields the archive of a checkpoint and its header; errors inside become a CheckpointError."""
    if not os.path.isfile(path):
        raise CheckpointError(f"there is no file {path}.")
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            yield archive, _header_of(path, archive)
    except CheckpointError:
        raise
    except Exception as error:  # a damaged archive may raise nearly anything, from zipfile, json and numpy
        raise CheckpointError(
            f"{path} is no checkpoint of mccfr_plus, or is damaged ({type(error).__name__})."
        ) from None


def _header_of(path: str | os.PathLike, archive: zipfile.ZipFile) -> dict[str, Any]:
    def scalar(name: str) -> Any:
        if archive.getinfo(f"{name}.npy").file_size > _MOST_BYTES_OF_SCALAR:
            raise ValueError
        with archive.open(f"{name}.npy") as member:
            return np.lib.format.read_array(member, allow_pickle=False)

    members = archive.infolist()
    names = {member.filename for member in members}
    kind = str(scalar("format")) if "format.npy" in names else ""
    if kind != FORMAT:
        what = "a policy: load it with load_policy" if kind == "mccfr_plus.policy" else "something else"
        raise CheckpointError(f"{path} is no checkpoint of mccfr_plus but {what}.")
    if len(names) < len(members) or any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError  # what is stored as it is takes no more memory than the file is long
    version = int(scalar("version"))
    if not 1 <= version <= VERSION:
        raise CheckpointError(
            f"{path} has version {version} of the checkpoint format; this mccfr_plus reads up to {VERSION}. Update it."
        )
    header = json.loads(archive.read(_HEADER))
    if names != {"format.npy", "version.npy", _HEADER, *(f"{name}.npy" for name in header["arrays"])}:
        raise ValueError
    return header
