"""Where files are written: through symbolic links, and never in the place of what is no file."""

import os
import socket

import numpy as np
import pytest

from mccfr_plus import CheckpointError, PolicyFileError
from mccfr_plus.cli.main import main
from mccfr_plus.files.atomic_write import atomic_write, require_writable
from mccfr_plus.files.file import read_header, write
from mccfr_plus.files.lock import CheckpointLock


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.fixture
def unix_socket(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the addresses of sockets are short
    with socket.socket(socket.AF_UNIX) as it:
        it.bind("socket")
        yield tmp_path / "socket"


def refused(path):
    """Returns the texts of the errors before the work and in place of it."""
    texts = []
    with pytest.raises(PolicyFileError) as error:
        require_writable(path, PolicyFileError)
    texts.append(str(error.value))
    with pytest.raises(PolicyFileError) as error, atomic_write(path, PolicyFileError) as file:
        file.write(b"new")
    return [*texts, str(error.value)]


@pytest.mark.parametrize("name", ["pipe", "unix_socket"])
def test_what_is_no_file_stays(name, request):
    path = request.getfixturevalue(name)
    before = os.stat(path)
    assert all("device, pipe or socket" in text for text in refused(path))
    assert os.stat(path) == before


def test_devices_are_refused():
    assert all("device, pipe or socket" in text for text in refused(os.devnull))


@pytest.mark.parametrize(
    ("name", "text"), [("x" * 300, "too long"), ("x" * 250, "too long"), ("a\0b", "null"), ("no/file", "no directory")]
)
def test_names_that_cannot_be(name, text, tmp_path):
    assert all(text in found for found in refused(os.path.join(tmp_path, name)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("relative", [True, False])
def test_a_link_stays_and_its_target_is_written(exists, relative, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target, link = folder / "file", tmp_path / "link"
    link.symlink_to(os.path.join("elsewhere", "file") if relative else target)
    if exists:
        target.write_bytes(b"old")
    require_writable(link, PolicyFileError)
    with atomic_write(link, PolicyFileError) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert [p.name for p in folder.iterdir()] == ["file"]


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert all("cannot write" in text for text in refused(tmp_path / "a"))


def test_a_link_and_its_target_have_one_lock(tmp_path):
    target, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(target)
    with CheckpointLock(link) as lock:
        with pytest.raises(CheckpointError, match="in use"):
            CheckpointLock(target)
        write(lock, {"game": "kuhn_poker()"}, {"numbers": np.ones(2)})
    assert link.is_symlink()
    assert read_header(target)["game"] == "kuhn_poker()"


def test_another_file_in_the_place_of_the_lock_stays(tmp_path):
    """Such as poetry.lock beside a checkpoint that is called poetry."""
    other = tmp_path / "poetry.lock"
    other.write_text("[[package]]\n")
    with pytest.raises(CheckpointError, match="is another file"):
        CheckpointLock(tmp_path / "poetry")
    assert other.read_text() == "[[package]]\n"


def test_a_policy_in_the_place_of_the_lock_is_refused(tmp_path, capsys):
    path = tmp_path / "run"
    assert main(["solve", "kuhn_poker", f"--checkpoint={path}", f"--policy_out={path}.lock"]) == 2
    assert "is the lock of" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--policy_out", "--checkpoint"])
def test_the_command_refuses_before_it_solves(flag, pipe, capsys):
    assert main(["solve", "kuhn_poker", "--iterations=10", f"{flag}={pipe}"]) == 2
    output = capsys.readouterr()
    assert "device, pipe or socket" in output.err
    assert output.out == ""
