"""The file of a checkpoint: named arrays and a JSON header.

It is an uncompressed zip archive like numpy's `.npz`, without pickle: ``header.json`` and one ``.npy`` per array.
Each member has a checksum (CRC-32), so that damage is found. Arrays are read and written in pieces, without a copy in
memory.
"""

import contextlib
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mccfr_plus.errors import CheckpointError
from mccfr_plus.files.atomic_write import atomic_write, require_writable

FORMAT = "mccfr_plus.checkpoint"
VERSION = 2

_HEADER = "header.json"
_PIECE = 1 << 20  # bytes


def write(path: str | os.PathLike, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Writes a checkpoint, which replaces an older one when it is complete and on the disk.

    Args:
        header: Entries that JSON can hold.
        arrays: By name; a name may have slashes.

    Raises:
        CheckpointError: If the file cannot be written, or is not a checkpoint. The old file stays.
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
                raise CheckpointError(
                    f"{path} does not fit: its array {name!r} is {found.get(name, 'missing')}, and "
                    f"{expected.get(name, 'none')} is needed. Use the components and the version of "
                    "mccfr_plus that wrote it."
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
            raise CheckpointError(f"{error} It is not overwritten: delete it, or give another name.") from None


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
                    f"{path} has version {header['version']} of {header['format']}; this mccfr_plus reads version "
                    f"{VERSION} of {FORMAT}. Use the mccfr_plus that wrote it."
                )
            yield archive, header
    except CheckpointError:
        raise
    except Exception as error:  # a damaged archive may raise nearly anything, from zipfile, json and numpy
        name = type(error).__name__
        raise CheckpointError(f"{path} is not a checkpoint of mccfr_plus, or is damaged ({name}).") from None
