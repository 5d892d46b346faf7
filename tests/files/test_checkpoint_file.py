"""The file of a checkpoint: complete or absent, damage is found, nothing foreign is overwritten, one run at a time."""

import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tracemalloc
import zipfile
from collections import namedtuple

import numpy as np
import pytest
from checkpoint_contents import contents_of

from mccfr_plus import CheckpointError, PolicyFileError, Solver, load_policy, save_policy
from mccfr_plus.files import file as checkpoint_file
from mccfr_plus.files.atomic_write import TEMPORARY_SUFFIX
from mccfr_plus.files.file import FORMAT, VERSION, check, check_writable, read_header, write
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.kernels.scratch import VISIT

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


def assert_same(found, expected):
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert (found[name].shape, found[name].dtype) == (array.shape, array.dtype), name
        for field in array.dtype.names or (...,):
            np.testing.assert_array_equal(found[name][field], array[field])


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run.checkpoint"
    write(path, HEADER, some_arrays())
    return path


# --- writing and reading ---


def test_gives_back_what_was_written(path):
    contents = contents_of(path)
    assert_same(contents.arrays, some_arrays())
    assert {key: contents.header[key] for key in HEADER} == HEADER
    assert read_header(path) == contents.header
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_equal_states_are_equal_files(path):
    other = path.with_name("other")
    write(other, HEADER, some_arrays())
    assert other.read_bytes() == path.read_bytes()


def test_numpy_reads_it(path):
    with np.load(path, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["scratch/rng"], some_arrays()["scratch/rng"])
        assert json.loads(archive["header.json"])["game"] == HEADER["game"]


def test_fills_arrays_in_place(path):
    arrays = {name: np.zeros_like(array) for name, array in some_arrays().items()}
    read_into(path, arrays)
    assert_same(arrays, some_arrays())


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda arrays: arrays.pop("tables"), "'tables'"),
        (lambda arrays: arrays.update(more=np.zeros(1)), "'more'"),
        (lambda arrays: arrays.update(strategy=np.zeros(8)), r"'strategy' is \['<f8', \[7\]\]"),
        (lambda arrays: arrays.update(strategy=np.zeros(7, np.float32)), "<f4"),
    ],
    ids=["one less", "one more", "another shape", "another dtype"],
)
def test_other_arrays_are_refused(path, change, text):
    arrays = {name: np.zeros_like(array) for name, array in some_arrays().items()}
    change(arrays)
    with pytest.raises(CheckpointError, match=text):
        read_into(path, arrays)
    assert not any(array["weight"].any() if array.dtype.names else array.any() for array in arrays.values())


def test_large_arrays_are_not_copied_in_memory(tmp_path):
    large = {"large": np.zeros(8 << 20)}  # 64 MiB
    tracemalloc.start()
    write(tmp_path / "large", {}, large)
    read_into(tmp_path / "large", large)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < large["large"].nbytes / 2  # numpy writes pieces of 16 MiB


# --- damage ---

STRIDES = pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.slow)])


@STRIDES
def test_every_flipped_byte_is_found_or_means_nothing(path, stride):
    """Bytes that say nothing about the contents, such as dates in the archive's directory, may change."""
    good, found = path.read_bytes(), 0
    contents = b"".join(array.tobytes() for array in some_arrays().values())
    for position in range(0, len(good), stride):
        bad = bytearray(good)
        bad[position] ^= 0xFF
        path.write_bytes(bad)
        arrays = {name: np.zeros_like(array) for name, array in some_arrays().items()}
        before = b"".join(array.tobytes() for array in arrays.values())
        try:
            read_into(path, arrays)
        except CheckpointError:
            found += 1
            assert b"".join(array.tobytes() for array in arrays.values()) == before  # all or nothing
        else:
            assert_same(arrays, some_arrays())
    assert found > len(contents) / stride


@STRIDES
def test_every_truncation_is_found(path, stride):
    good = path.read_bytes()
    for length in range(0, len(good), stride):
        path.write_bytes(good[:length])
        with pytest.raises(CheckpointError, match="no checkpoint of mccfr_plus, or is damaged"):
            read_header(path)


def test_an_array_that_says_to_be_shorter_is_found(path):
    """What is left over would not be read, and its checksum not looked at."""
    write(path, HEADER, {"long": np.zeros(9000)})  # longer than what zipfile reads ahead
    good = path.read_bytes()
    assert good.count(b"'shape': (9000,)") == 1
    path.write_bytes(good.replace(b"'shape': (9000,)", b"'shape': (1000,)"))
    with pytest.raises(CheckpointError, match="damaged"):
        read_into(path, {"long": np.zeros(9000)})


@pytest.mark.parametrize(
    "change",
    [
        lambda members: members.update({"strategy.npy": members["tables.npy"]}),
        lambda members: members.update({"strategy.npy": members["strategy.npy"] + b"more"}),
    ],
    ids=["exchanged", "too long"],
)
def test_other_contents_with_right_checksums_are_found(path, change):
    good = some_arrays()
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(CheckpointError, match="damaged"):
        read_into(path, {name: np.zeros_like(array) for name, array in good.items()})


@pytest.mark.parametrize("version", [VERSION + 1, 0, -1])
def test_a_newer_version_is_refused(path, monkeypatch, version):
    path.unlink()
    monkeypatch.setattr(checkpoint_file, "VERSION", version)
    write(path, HEADER, some_arrays())
    monkeypatch.undo()
    for question in (read_header, check_writable):
        with pytest.raises(CheckpointError, match=f"version {version} .* reads up to {VERSION}"):
            question(path)


def foreign_files(folder):
    policy = folder / "policy.npz"
    save_policy(Solver("kuhn_poker", "full").run(1).average_policy(), policy)
    text = folder / "notes.txt"
    text.write_text("dear diary")
    archive = folder / "some.npz"
    np.savez(archive, a=np.zeros(3))
    empty = folder / "empty"
    empty.touch()
    return policy, text, archive, empty


def test_other_files_are_neither_read_nor_overwritten(tmp_path):
    for path in foreign_files(tmp_path):
        before = path.read_bytes()
        with pytest.raises(CheckpointError, match="no checkpoint of mccfr_plus"):
            read_header(path)
        for act in (check_writable, CheckpointLock, lambda path: write(path, HEADER, some_arrays())):
            with pytest.raises(CheckpointError, match="not overwritten: delete it, or give another name"):
                act(path)
        assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 4
    with pytest.raises(CheckpointError, match="a policy: load it with load_policy"):
        read_header(tmp_path / "policy.npz")
    with pytest.raises(CheckpointError, match="there is no file"):
        read_header(tmp_path / "nothing")


def test_a_checkpoint_is_no_policy(path):
    with pytest.raises(PolicyFileError, match=r"but a checkpoint: load it with Solver\.from_checkpoint"):
        load_policy(path)


# --- failing writes ---


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError()])
@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_what_fails_leaves_the_old_file(path, monkeypatch, error, where):
    def fail(*_, **__):
        raise error

    before = path.read_bytes()
    monkeypatch.setattr(os, where, fail)
    expected = CheckpointError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected, match="No space left" if isinstance(error, OSError) else None):
        write(path, HEADER, some_arrays(1))
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


LIMITED = """
import resource, sys
import numpy as np
from mccfr_plus import CheckpointError
from mccfr_plus.files import file as checkpoint_file
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    checkpoint_file.write(sys.argv[1], {}, {"a": np.zeros(int(sys.argv[2]))})
except CheckpointError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of this kind")
@pytest.mark.parametrize("count", [12_400, 20_000, 10_000_000])  # over at the end, in the buffer, at once
def test_a_disk_that_is_full(path, count):
    before = path.read_bytes()
    arguments = [sys.executable, "-c", LIMITED, str(path), str(count)]
    result = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert result.stderr == ""
    assert f"cannot write {path}: " in result.stdout
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_asks_before_the_work(path, tmp_path, monkeypatch):
    check_writable(path, 1000)
    check_writable(tmp_path / "new", 1000)
    with pytest.raises(CheckpointError, match="is a directory"):
        check_writable(tmp_path)
    with pytest.raises(CheckpointError, match="there is no directory"):
        check_writable(tmp_path / "a" / "b")
    for place, reason in ((tmp_path, "is a directory"), ("/dev/null", "is a device")):
        with pytest.raises(CheckpointError, match=reason):
            write(place, {}, {})
    usage = namedtuple("usage", "total used free")(10**9, 10**9 - 10**6, 10**6)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    check_writable(path, 900_000)
    with pytest.raises(CheckpointError, match=r"needs 1,065,536 bytes .* 1,000,000 are free"):
        check_writable(path, 1_000_000)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a directory in which root cannot create files")
def test_a_directory_that_cannot_be_written():
    for act in (check_writable, CheckpointLock):
        with pytest.raises(CheckpointError, match=r"cannot write /proc/self/run: .*Choose another directory or name"):
            act("/proc/self/run")


# --- locks ---

HOLDS = """
import sys, time
from mccfr_plus.files.lock import CheckpointLock
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
    assert list(tmp_path.iterdir()) == []


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


def test_a_lock_file_deleted_while_in_use_is_no_lock(tmp_path, monkeypatch):
    """Between opening and locking the file, its holder may delete it: the lock must be taken on a new file."""
    flock, calls = fcntl.flock, []

    def late(handle, operation):
        if not calls:
            (tmp_path / "run.lock").unlink()
        calls.append(operation)
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with CheckpointLock(tmp_path / "run"), pytest.raises(CheckpointError, match="in use"):
        CheckpointLock(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_drive_that_refuses_locks(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(CheckpointError, match=r"cannot lock .*run\.lock: No locks available"):
        CheckpointLock(tmp_path / "run")


def test_leftovers_of_killed_runs_are_deleted(path):
    own = path.with_name(f"{path.name}.abc123{TEMPORARY_SUFFIX}")
    others = [path.with_name(name) for name in (f"other.x{TEMPORARY_SUFFIX}", f"{path.name}.old.x{TEMPORARY_SUFFIX}")]
    for leftover in (own, *others):
        leftover.write_bytes(b"half")
    with CheckpointLock(path):
        assert not own.exists()
    assert all(other.exists() for other in others)
    assert read_header(path)["game"] == HEADER["game"]


def test_the_format_is_named_in_the_file(path):
    with np.load(path) as archive:
        assert (str(archive["format"]), int(archive["version"])) == (FORMAT, VERSION)
