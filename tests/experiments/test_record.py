"""Records: what is written is whole, what is half is cut off, what is something else is refused."""

import json

import pytest

from mccfr_plus.errors import RecordError
from mccfr_plus.experiments import record as records
from mccfr_plus.experiments.record import Point, Record, read_record

HEADER = {"game": "kuhn_poker", "algorithm": "external", "seed": 1, "unit": "nodes", "total": 9.0, "points": [1.0, 9.0]}
POINTS = [Point(1.0, 1, 14, 0.5, 0.25, (0.1, -0.1)), Point(9.0, 2, 30, 0.75, 0.125, (0.0, 0.0))]


def test_what_is_written_is_read(tmp_path):
    record = Record(tmp_path / "run.jsonl", {**HEADER, "command": "x"})
    for point in POINTS:
        record.add(point)
    header, points, ended = read_record(record.path)
    assert points == POINTS
    assert ended is None
    assert header["command"] == "x"
    record.end(seconds=1.5)
    assert read_record(record.path)[2] == {"seconds": 1.5}
    again = Record(record.path, {**HEADER, "command": "y"})  # where and when may differ
    assert (again.points, again.ended) == (POINTS, {"seconds": 1.5})
    lines = record.path.read_text().splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["run", "point", "point", "end"]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_half_a_line_is_cut_off(tmp_path, cut):
    path = tmp_path / "run.jsonl"
    record = Record(path, HEADER)
    record.add(POINTS[0])
    whole = path.read_bytes()
    record.add(POINTS[1])
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_record(path)[1] == POINTS[:1]
    again = Record(path, HEADER)
    assert path.read_bytes() == whole
    again.add(POINTS[1])
    assert read_record(path)[1] == POINTS


def test_half_a_header_begins_anew(tmp_path):
    path = tmp_path / "run.jsonl"
    Record(path, HEADER)
    path.write_bytes(path.read_bytes()[:-5])
    Record(path, HEADER).add(POINTS[0])
    assert read_record(path)[1] == POINTS[:1]


@pytest.mark.parametrize("key", ["game", "algorithm", "seed", "unit", "total", "points"])
def test_the_record_of_another_run_is_refused(tmp_path, key):
    path = tmp_path / "run.jsonl"
    Record(path, HEADER).add(POINTS[0])
    before = path.read_bytes()
    with pytest.raises(RecordError, match=f"record of another run: its {key} is"):
        Record(path, {**HEADER, key: [2.0] if key == "points" else "other"})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [b"hello\n", b'{"a": 1}\n', b"[1]\n", b'{"run": {"format": "other", "version": 1}}\n', b"\x00\xff\n", b"\n"],
)
def test_other_files_are_refused_and_kept(tmp_path, content):
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(RecordError, match="is no record of a run"):
        Record(path, HEADER)
    assert path.read_bytes() == content
    with pytest.raises(RecordError, match="line 1"):
        read_record(path)


def test_a_damaged_point_is_named(tmp_path):
    path = tmp_path / "run.jsonl"
    Record(path, HEADER).add(POINTS[0])
    path.write_text(path.read_text().replace('"nash_conv"', '"nash"'))
    with pytest.raises(RecordError, match="line 2"):
        read_record(path)


def test_nothing_to_read(tmp_path):
    with pytest.raises(RecordError, match="cannot read"):
        read_record(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(RecordError, match="no complete line"):
        read_record(tmp_path / "empty.jsonl")
    with pytest.raises(RecordError, match="cannot write"):
        Record(tmp_path / "no" / "run.jsonl", HEADER)


def test_a_full_disk_leaves_what_was_written_before(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    record = Record(path, HEADER)
    record.add(POINTS[0])
    before = path.read_bytes()

    class Full:
        """A file whose disk is full after five more bytes."""

        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, line):
            return self.file.write(line[:5])

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

    monkeypatch.setattr(records, "_append", lambda path: Full(path.open("ab", buffering=0)))
    with pytest.raises(RecordError, match=r"cannot write .*only 5 of"):
        record.add(POINTS[1])
    assert path.read_bytes() == before
    assert record.points == POINTS[:1]
