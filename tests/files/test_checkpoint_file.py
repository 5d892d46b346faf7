"""The file of a checkpoint: complete or absent, damage is found, nothing foreign is overwritten, one run at a time."""

import errno
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from checkpoint_contents import contents_of

from mccfr_plus import CheckpointError, Solver, save_policy
from mccfr_plus.files import checkpoint as checkpoint_file
from mccfr_plus.files.checkpoint import VERSION, CheckpointLock, check, check_writable, read_header, write
from mccfr_plus.trees.scratch import VISIT

HEADER = {"game": "kuhn_poker()", "nothing": None, "number": 0.1, "list": [1, "two"]}


def read_into(path, arrays):
    check(path, arrays)
    checkpoint_file.read_into(path, arrays)


def some_arrays(seed=0):
    rng = np.random.default_rng(seed)
    visits = np.zeros(5, VISIT)
    visits["num_actions"], visits["weight"] = rng.integers(0, 99, 5), rng.random(5)
    return {
        "strategy": rng.random(7),
        "tables": rng.random((3, 4)),
        "empty": np.zeros((0, 0)),
        "scratch/visits": visits,
        "scratch/rng": rng.integers(0, 2**64, 1, np.uint64),
    }


def no_arrays():
    return {name: np.zeros_like(array) for name, array in some_arrays().items()}


def bytes_of(arrays):
    return b"".join(array.tobytes() for array in arrays.values())


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run.checkpoint"
    write(path, HEADER, some_arrays())
    return path


def test_gives_back_the_header_and_the_arrays(path):
    contents, arrays = contents_of(path), no_arrays()
    read_into(path, arrays)
    assert bytes_of(arrays) == bytes_of(contents.arrays) == bytes_of(some_arrays())
    assert {key: contents.header[key] for key in HEADER} == HEADER
    assert names_in(path.parent) == [path.name]


def test_equal_states_are_equal_files(path):
    other = path.with_name("other")
    write(other, HEADER, some_arrays())
    assert other.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda arrays: arrays.pop("tables"), "'tables'"),
        (lambda arrays: arrays.update(more=np.zeros(1)), "'more'"),
        (lambda arrays: arrays.update(strategy=np.zeros(8)), r"'strategy' in the file is \['<f8', \[7\]\]"),
        (lambda arrays: arrays.update(strategy=np.zeros(7, np.float32)), "<f4"),
    ],
    ids=["one less", "one more", "another shape", "another dtype"],
)
def test_other_arrays_are_refused(path, change, text):
    arrays = no_arrays()
    change(arrays)
    before = bytes_of(arrays)
    with pytest.raises(CheckpointError, match=text):
        read_into(path, arrays)
    assert bytes_of(arrays) == before


STRIDES = pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.slow)])


@STRIDES
def test_every_flipped_byte_is_found_or_means_nothing(path, stride):
    """Bytes that say nothing about the contents, such as dates in the archive's directory, may change."""
    good, found = path.read_bytes(), 0
    for position in range(0, len(good), stride):
        bad = bytearray(good)
        bad[position] ^= 0xFF
        path.write_bytes(bad)
        arrays = no_arrays()
        try:
            read_into(path, arrays)
        except CheckpointError:
            found += 1
            assert bytes_of(arrays) == bytes_of(no_arrays())  # all or nothing
        else:
            assert bytes_of(arrays) == bytes_of(some_arrays())
    assert found > len(bytes_of(some_arrays())) / stride


@STRIDES
def test_every_truncation_is_found(path, stride):
    good = path.read_bytes()
    for length in range(0, len(good), stride):
        path.write_bytes(good[:length])
        with pytest.raises(CheckpointError, match="not a checkpoint of mccfr_plus, or is damaged"):
            read_header(path)


def test_another_version_is_refused(path, monkeypatch):
    path.unlink()
    monkeypatch.setattr(checkpoint_file, "VERSION", VERSION + 1)
    write(path, HEADER, some_arrays())
    monkeypatch.undo()
    for question in (read_header, check_writable):
        with pytest.raises(CheckpointError, match=f"version {VERSION + 1} .* reads version {VERSION}"):
            question(path)


def test_other_files_are_neither_read_nor_overwritten(tmp_path):
    save_policy(Solver("kuhn_poker", "full").run(1).average_policy(), tmp_path / "policy.npz")
    np.savez(tmp_path / "some.npz", a=np.zeros(3))
    (tmp_path / "notes.txt").write_text("dear diary")
    (tmp_path / "empty").touch()
    for path in list(tmp_path.iterdir()):
        before = path.read_bytes()
        with pytest.raises(CheckpointError, match="is not a checkpoint"):
            read_header(path)
        for act in (check_writable, CheckpointLock, lambda path: write(path, HEADER, some_arrays())):
            with pytest.raises(CheckpointError, match="not be overwritten: delete or rename it"):
                act(path)
        assert path.read_bytes() == before
    assert len(names_in(tmp_path)) == 4
    with pytest.raises(CheckpointError, match="a policy: load it with load_policy"):
        read_header(tmp_path / "policy.npz")
    with pytest.raises(CheckpointError, match="there is no file"):
        read_header(tmp_path / "nothing")


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(path, monkeypatch, error, where):
    def fail(*_, **__):
        raise error

    before = path.read_bytes()
    monkeypatch.setattr(os, where, fail)
    is_full = isinstance(error, OSError)
    with pytest.raises(CheckpointError if is_full else KeyboardInterrupt, match="No space left" if is_full else None):
        write(path, HEADER, some_arrays(1))
    assert path.read_bytes() == before
    assert names_in(path.parent) == [path.name]


def test_the_place_is_checked_before_the_work(path, tmp_path):
    check_writable(path)
    check_writable(tmp_path / "new")
    with pytest.raises(CheckpointError, match="there is no directory"):
        check_writable(tmp_path / "a" / "b")
    assert names_in(tmp_path) == [path.name]


HOLDS = """
import sys, time
from mccfr_plus.files.checkpoint import CheckpointLock
with CheckpointLock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path / "run")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_two_processes_cannot_hold_one_checkpoint(holder, tmp_path):
    with pytest.raises(CheckpointError, match=f"in use by process {holder.pid} on .*two runs would overwrite"):
        CheckpointLock(tmp_path / "run")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "run.lock").exists()  # it was killed: the file stays, the lock does not
    with CheckpointLock(tmp_path / "run"):
        pass
    assert names_in(tmp_path) == []


def test_two_runs_of_one_process_cannot_either(tmp_path):
    first = CheckpointLock(tmp_path / "run")
    with pytest.raises(CheckpointError, match=f"process {os.getpid()} "):
        CheckpointLock(tmp_path / "run")
    with CheckpointLock(tmp_path / "other"):
        pass
    first.release()
    first.release()
    with CheckpointLock(tmp_path / "run") as lock:
        assert os.fspath(lock) == str(tmp_path / "run")


def test_another_file_in_the_place_of_the_lock_stays(tmp_path):
    """Such as poetry.lock beside a checkpoint that is called poetry."""
    other = tmp_path / "poetry.lock"
    other.write_text("[[package]]\n")
    with pytest.raises(CheckpointError, match="contains something else"):
        CheckpointLock(tmp_path / "poetry")
    assert other.read_text() == "[[package]]\n"


def test_what_killed_processes_have_left_of_the_file_is_deleted(tmp_path):
    left = "run.0123456789ab.mccfr-plus-part"
    others = [
        "run.checkpoint.0123456789ab.mccfr-plus-part",
        "run.0123.mccfr-plus-part",
        "other.0123456789ab.mccfr-plus-part",
    ]
    for name in (left, *others):
        (tmp_path / name).write_bytes(b"half")
    with CheckpointLock(tmp_path / "run"):
        assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([*others, "run.lock"])
