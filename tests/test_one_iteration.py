"""The page "One iteration, line by line" names lines that exist, and that an iteration runs through.

``python tests/test_one_iteration.py`` writes the present line numbers into the page.
"""

import re
import sys
from pathlib import Path

import pytest

import mccfr_plus

PACKAGE = Path(mccfr_plus.__file__).parent
PAGE = Path(__file__).parent.parent / "docs" / "one-iteration.md"
ROW = re.compile(r"^\| `(\S+):(\d+)` \| `(.+?)` \|", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))


def places_of(name, code):
    """Returns the numbers of the lines of a file that have this code."""
    lines = (PACKAGE / name).read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(lines, 1) if line.strip() == code]


@pytest.mark.parametrize(("name", "number", "code"), ROWS)
def test_the_line_is_there(name, number, code):
    assert places_of(name, code) == [int(number)], "run python tests/test_one_iteration.py"


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


if __name__ == "__main__":
    PAGE.write_text(
        ROW.sub(lambda row: f"| `{row[1]}:{places_of(row[1], row[3])[0]}` | `{row[3]}` |", PAGE.read_text("utf-8")),
        "utf-8",
    )
