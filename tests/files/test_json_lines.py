"""Files of JSON lines: lines are whole, incomplete ones are cut off, damaged files are refused."""

import pytest

from mccfr_plus.errors import RecordError
from mccfr_plus.files import json_files
from mccfr_plus.files.json_files import JsonLines, read_json_lines

ENTRIES = [{"a": 10}, {"b": [0.1, "x\ny"]}]


def test_entries_are_read_as_written(tmp_path):
    path = tmp_path / "log.jsonl"
    for entry in ENTRIES:
        JsonLines(path, RecordError).append(entry)  # each opens the file again
    assert read_json_lines(path, RecordError) == ENTRIES
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize("cut", range(1, 20, 3))
def test_an_incomplete_line_is_ignored_and_cut_off(tmp_path, cut):
    path = tmp_path / "log.jsonl"
    lines = JsonLines(path, RecordError)
    for entry in ENTRIES:
        lines.append(entry)
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_json_lines(path, RecordError) == ENTRIES[:1]
    JsonLines(path, RecordError).append(ENTRIES[1])
    assert read_json_lines(path, RecordError) == ENTRIES


@pytest.mark.parametrize("content", [b"hello\n", b"[1]\n", b"\x00\xff\n", b"\n"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "log.jsonl").write_bytes(content)
    with pytest.raises(RecordError, match="line 1 is not a JSON object"):
        read_json_lines(tmp_path / "log.jsonl", RecordError)


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(RecordError, match="cannot read"):
        read_json_lines(tmp_path / "none.jsonl", RecordError)
    with pytest.raises(RecordError, match="cannot write"):
        JsonLines(tmp_path / "no" / "log.jsonl", RecordError).append({})


def test_a_full_disk_leaves_what_was_written_before(tmp_path, monkeypatch):
    path = tmp_path / "log.jsonl"
    lines = JsonLines(path, RecordError)
    lines.append(ENTRIES[0])

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(json_files.os, "fsync", full)
        with pytest.raises(RecordError, match=r"cannot write .*No space left"):
            lines.append(ENTRIES[1])
    lines.append(ENTRIES[1])
    assert read_json_lines(path, RecordError) == ENTRIES
