"""Files that no version of the package has written: forged headers, damaged archives, arrays that do not fit."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HEADER = "header.json"
MISSING = object()  # in place of a value: the entry is left out

# In place of any entry of a header.
VALUES: tuple[Any, ...] = (
    MISSING, None, "text", {}, {"a": 1}, [], [1, "x"], -1, 10**30, 1e308, float("nan"), float("inf"), True, 0, "",
    "\0", "9" * 5000, 0.5,
)  # fmt: skip


def header_of(path: Path) -> dict[str, Any]:
    """Returns a checkpoint's header."""
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(HEADER))


def entries_of(value: Any, prefix: tuple = ()) -> Iterator[tuple]:
    """Yields the place of each entry of a header, as keys and indices; of the lists of arrays only whole ones."""
    if prefix:
        yield prefix
    if prefix[:1] == ("arrays",) and len(prefix) > 1:
        return
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from entries_of(child, (*prefix, key))


def with_entry(header: dict[str, Any], place: tuple, value: Any) -> dict[str, Any]:
    """Returns a header with another value at a place, or without it."""
    result = json.loads(json.dumps(header))
    parent = result
    for key in place[:-1]:
        parent = parent[key]
    if value is MISSING:
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    return result


def rewrite(source: Path, target: Path, changes: dict[str, bytes]) -> None:
    """Copies an archive, with other contents of some members."""
    with zipfile.ZipFile(source) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(target, "w") as new:
        for name, content in {**members, **changes}.items():
            new.writestr(zipfile.ZipInfo(name), content)


def with_header(source: Path, target: Path, header: Any) -> None:
    """Copies a checkpoint, with another header."""
    rewrite(source, target, {HEADER: json.dumps(header).encode()})


def npy(array: Any) -> bytes:
    """Returns an array as a member of an archive."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=True)
    return buffer.getvalue()


# In place of any array of an archive.
ARRAYS: tuple[Any, ...] = (
    np.zeros(0), np.zeros((0, 0)), np.float64(0.5), np.full(3, np.nan), np.full(12, -1.0), np.zeros(12, np.float32),
    np.zeros(12, "U5"), np.array([None, "object"], object), np.zeros((2, 3), complex), np.array("text"),
    np.zeros(3, [("a", "i4")]), np.full(2, 2**62),
)  # fmt: skip
