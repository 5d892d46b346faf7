"""Reads checkpoints as numpy does, and writes them with other contents."""

import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.files.checkpoint import read_header


class Contents(NamedTuple):
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def contents_of(path) -> Contents:
    header = read_header(path)
    with np.load(path, allow_pickle=False) as archive:
        return Contents(header, {name: archive[name] for name in header["arrays"]})


def raw_header_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("header.json"))


def rewrite(path: Path, changes: dict[str, bytes]) -> None:
    """Writes an archive again, with other contents of some members."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, content in {**members, **changes}.items():
            new.writestr(zipfile.ZipInfo(name), content)


def with_header(path: Path, header: Any) -> None:
    """Writes a checkpoint again, with another header."""
    rewrite(path, {"header.json": json.dumps(header).encode()})
