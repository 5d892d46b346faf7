"""Where files are written: through symbolic links, and never in the place of something that is not a file."""

import os
import socket

import numpy as np
import pytest

from mccfr_plus import CheckpointError, PolicyFileError
from mccfr_plus.files.atomic_write import atomic_write, require_kind, require_new, require_writable
from mccfr_plus.files.checkpoint import CheckpointLock, read_header, write


def refused(path):
    with pytest.raises(PolicyFileError) as before:
        require_writable(path, PolicyFileError)
    with pytest.raises(PolicyFileError) as instead, atomic_write(path, PolicyFileError) as file:
        file.write(b"new")
    return str(before.value), str(instead.value)


def test_other_things_than_files_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the addresses of sockets are short
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as it:
        it.bind("socket")
        for name in ("pipe", "socket", os.devnull, "."):
            before = os.stat(name)
            assert all("directory, device, pipe or socket" in text for text in refused(name))
            assert os.stat(name).st_mode == before.st_mode


@pytest.mark.parametrize(
    ("name", "text"), [("x" * 300, "too long"), ("x" * 250, "too long"), ("a\0b", "null"), ("no/file", "no directory")]
)
def test_names_that_cannot_be(name, text, tmp_path):
    assert all(text in found for found in refused(os.path.join(tmp_path, name)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_written(exists, tmp_path):
    target, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to("file")
    if exists:
        target.write_bytes(b"old")
    require_writable(link, PolicyFileError)
    with atomic_write(link, PolicyFileError) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "link"]


def test_a_link_and_its_target_have_one_lock(tmp_path):
    target, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(target)
    with CheckpointLock(link) as lock:
        with pytest.raises(CheckpointError, match="in use"):
            CheckpointLock(target)
        write(lock, {"game": "kuhn_poker()"}, {"numbers": np.ones(2)})
    assert link.is_symlink()
    assert read_header(target)["game"] == "kuhn_poker()"


def test_files_that_must_be_new_or_of_a_kind(tmp_path):
    path = tmp_path / "file"
    require_new(path, PolicyFileError)
    require_kind(path, PolicyFileError, b"PK")
    path.write_bytes(b"PK and more")
    require_kind(path, PolicyFileError, b"PK")
    with pytest.raises(PolicyFileError, match="already exists"):
        require_new(path, PolicyFileError)
    with pytest.raises(PolicyFileError, match="is not a file of the expected kind and will not be overwritten"):
        require_kind(path, PolicyFileError, b"<!DOCTYPE")
