"""The page "One iteration, line by line" names lines that exist, and that an iteration runs through."""

import re
import sys
from pathlib import Path

import pytest

import mccfr_plus

PACKAGE = Path(mccfr_plus.__file__).parent
PAGE = PACKAGE.parent / "docs" / "one-iteration.md"
ROWS = re.findall(r"^\| `(\S+):(\d+)` \| `(.+?)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("name", "number", "code"), ROWS)
def test_the_line_is_there(name, number, code):
    lines = [line.strip() for line in (PACKAGE / name).read_text(encoding="utf-8").splitlines()]
    places = [place for place, line in enumerate(lines, 1) if line == code]
    assert places == [int(number)], f"docs/one-iteration.md: {name}:{number}, {code!r} stands at {places}"


@pytest.mark.usefixtures("interpreted_loops")
def test_an_iteration_runs_through_all_of_them():
    run = set()

    def note(frame, event, _):
        if event == "line":
            run.add((frame.f_code.co_filename, frame.f_lineno))
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        mccfr_plus.Solver("leduc_poker", "external", seed=1).run(30)
    finally:
        sys.settrace(before)
    assert len(ROWS) > 20
    missing = [f"{name}:{number}" for name, number, _ in ROWS if (str(PACKAGE / name), int(number)) not in run]
    assert missing == []
