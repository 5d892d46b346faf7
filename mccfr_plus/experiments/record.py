"""A run's record: a file of JSON lines, which says what was run, what was measured, and how the run ended."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from mccfr_plus.errors import RecordError
from mccfr_plus.files.json_lines import JsonLines, read_json_lines

FORMAT = "mccfr_plus.run"
VERSION = 1
# What makes a run the same run; the rest of the header says where and when it was run.
_IDENTITY = ("format", "version", "game", "algorithm", "seed", "unit", "total", "points")


class Point(NamedTuple):
    """An evaluation of a run's average policy."""

    target: float  # the measuring point, in the limit's unit; the last of those that one iteration has passed
    iterations: int
    nodes: int  # histories touched
    seconds: float  # wall time of the run, without evaluations and compiling
    nash_conv: float
    values: tuple[float, ...]  # per player, of the average policy
    best_response_values: tuple[float, ...] = ()  # per player, of the best response to the others' average policies
    cpu_seconds: float = 0.0  # CPU time since the run was started or resumed, likewise; 0: not measured


class Record:
    """The file of one run, opened to append to it. If it exists, it must be of the same run, and is continued.

    `header` says what was run, in plain values.
    """

    def __init__(self, path: str | os.PathLike, header: dict[str, Any]):
        self.path = Path(path)
        header = {"format": FORMAT, "version": VERSION, **header}
        self.points: list[Point] = []
        self.ended: dict[str, Any] | None = None
        self._lines = JsonLines(self.path, RecordError)
        if not self.path.exists() or not read_json_lines(self.path, RecordError):  # a header may be incomplete
            self._lines.append({"run": header})
            return
        found, self.points, self.ended = read_record(self.path)
        for key in _IDENTITY:
            if found.get(key) != header.get(key):
                raise RecordError(
                    f"{self.path} is the record of another run: its {key} is {found.get(key)!r}, not "
                    f"{header.get(key)!r}. Choose another directory, or delete the file."
                )

    def add(self, point: Point) -> None:
        """Appends an evaluation."""
        self._lines.append({"point": point._asdict()})
        self.points.append(point)

    def end(self, **about: Any) -> None:
        """Appends that the run has ended, and how."""
        self._lines.append({"end": about})
        self.ended = about


def read_record(path: str | os.PathLike) -> tuple[dict[str, Any], list[Point], dict[str, Any] | None]:
    """Returns a record's header, its points, and how the run has ended (None: it has not)."""
    entries = read_json_lines(path, RecordError)
    try:
        header, ended = entries[0]["run"], None
        if (header["format"], header["version"]) != (FORMAT, VERSION):
            raise ValueError
        points = []
        for entry in entries[1:]:
            if "point" in entry:
                numbers: dict[str, Any] = entry["point"]
                lists = {name: tuple(found) for name, found in numbers.items() if isinstance(found, list)}
                points.append(Point(**{**numbers, **lists}))
            else:
                ended = entry["end"]
    except (IndexError, ValueError, KeyError, TypeError, AttributeError):
        raise RecordError(
            f"{path} is not a record of a run of this version, or is damaged. Delete the file to repeat the run."
        ) from None
    return header, points, ended
