"""Records: what is written is read; the record of something else is refused."""

import pytest

from mccfr_plus.errors import RecordError
from mccfr_plus.experiments.runs import Point, Record, read_record

HEADER = {"game": "kuhn_poker", "algorithm": "external", "seed": 1, "unit": "nodes", "total": 9.0, "points": [1.0, 9.0]}
POINTS = [Point(1.0, 1, 14, 0.5, 0.25, (0.1, -0.1)), Point(9.0, 2, 30, 0.75, 0.125, (0.0, 0.0))]


def test_what_is_written_is_read(tmp_path):
    record = Record(tmp_path / "run.jsonl", {**HEADER, "command": "x"})
    for point in POINTS:
        record.add(point)
    header, points, ended = read_record(record.path)
    assert (points, ended, header["command"]) == (POINTS, None, "x")
    record.end(seconds=1.5)
    again = Record(record.path, {**HEADER, "command": "y"})  # where and when may differ
    assert (again.points, again.ended) == (POINTS, {"seconds": 1.5})


def test_an_incomplete_header_is_written_again(tmp_path):
    path = tmp_path / "run.jsonl"
    Record(path, HEADER)
    path.write_bytes(path.read_bytes()[:-5])
    Record(path, HEADER).add(POINTS[0])
    assert read_record(path)[1] == POINTS[:1]


@pytest.mark.parametrize("key", ["game", "points"])
def test_the_record_of_another_run_is_refused(tmp_path, key):
    path = tmp_path / "run.jsonl"
    Record(path, HEADER).add(POINTS[0])
    before = path.read_bytes()
    with pytest.raises(RecordError, match=f"record of another run: its {key} is"):
        Record(path, {**HEADER, key: [2.0]})
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ['{"a": 1}\n', '{"run": {"format": "other", "version": 1}}\n', '{"run": 1}\n'])
def test_other_files_are_refused_and_kept(tmp_path, content):
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(RecordError, match="is not a record of a run of this version"):
        Record(path, HEADER)
    assert path.read_text() == content
