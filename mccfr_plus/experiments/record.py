"""A run's record: a file of JSON lines, of which each is complete or not there.

The first line says what was run, each next one is a measuring point, and the last one says that the run has ended. A
process that is killed may leave half a line at the end; it is cut off when the record is opened again.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from mccfr_plus.errors import RecordError

FORMAT = "mccfr_plus.run"
VERSION = 1


class Point(NamedTuple):
    """What was measured at one point of a run."""

    target: float  # the measuring point, in the limit's unit; the last of those that one iteration has passed
    iterations: int
    nodes: int  # histories touched
    seconds: float  # of the run by the clock, without evaluations and compiling
    nash_conv: float  # of the average policy
    values: tuple[float, ...]  # per player, of the average policy
    best_response_values: tuple[float, ...] = ()  # per player, of the best response to the others' average policies
    cpu_seconds: float = 0.0  # of the run, likewise, since it was begun or resumed; 0: not measured


class Record:
    """The file of one run, opened to be written on.

    Args:
        path: The file. If it is there, it must be of the same run, and is continued.
        header: What was run, plain values: without ``format`` and ``version``.

    Raises:
        RecordError: If the file cannot be written, or is of something else.
    """

    def __init__(self, path: str | os.PathLike, header: dict[str, Any]):
        self.path = Path(path)
        header = {"format": FORMAT, "version": VERSION, **header}
        self.points: list[Point] = []
        self.ended: dict[str, Any] | None = None
        with record_errors(self.path, "read"):
            content = self.path.read_bytes() if self.path.exists() else b""
        num_whole = content.rfind(b"\n") + 1
        if num_whole < len(content):
            with record_errors(self.path):
                os.truncate(self.path, num_whole)
        if not num_whole:
            self._write({"run": header})
            return
        found, self.points, self.ended = read_record(self.path)
        for key in _IDENTITY:
            if found.get(key) != header.get(key):
                raise RecordError(
                    f"{self.path} is the record of another run: its {key} is {found.get(key)!r}, not "
                    f"{header.get(key)!r}. Choose another directory, or delete the file."
                )

    def add(self, point: Point) -> None:
        """Appends a point, at once and in one piece."""
        self._write({"point": point._asdict()})
        self.points.append(point)

    def end(self, **what: Any) -> None:
        """Appends that the run has ended, and how."""
        self._write({"end": what}, sync=True)
        self.ended = what

    def _write(self, entry: dict[str, Any], *, sync: bool = False) -> None:
        line = (json.dumps(entry, allow_nan=False) + "\n").encode()
        with record_errors(self.path), _append(self.path) as file:
            size = file.tell()
            try:
                written = file.write(line)
                if written != len(line):
                    raise OSError(f"only {written} of {len(line)} bytes were written")
                if sync:
                    os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                if not size:
                    self.path.unlink()  # a record without a line is none
                raise


def _append(path: Path) -> BinaryIO:
    """Returns a file whose writes reach the system at once."""
    return path.open("ab", buffering=0)  # type: ignore[return-value]


def read_record(path: str | os.PathLike) -> tuple[dict[str, Any], list[Point], dict[str, Any] | None]:
    """Returns a record's header, its points, and how the run has ended (None: it has not).

    A last line that is not complete does not count.

    Raises:
        RecordError: If the file cannot be read, or is none.
    """
    path = Path(path)
    with record_errors(path, "read"):
        content = path.read_bytes()
    header: dict[str, Any] | None = None
    points: list[Point] = []
    ended = None
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        try:
            entry = json.loads(line)
            if header is None:
                header = entry["run"]
                if header["format"] != FORMAT or header["version"] != VERSION:
                    raise ValueError
            elif "point" in entry:
                numbers: dict[str, Any] = entry["point"]
                lists = {name: tuple(found) for name, found in numbers.items() if isinstance(found, list)}
                points.append(Point(**{**numbers, **lists}))
            else:
                ended = entry["end"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise RecordError(
                f"{path} is no record of a run of this version, or is damaged: see its line {number}. Without the "
                "file, it is run again."
            ) from None
    if header is None:
        raise RecordError(f"{path} is no record of a run: it has no complete line.")
    return header, points, ended


@contextlib.contextmanager
def record_errors(path: Path, what: str = "write") -> Iterator[None]:
    """Turns the system's errors into a RecordError that names the file."""
    try:
        yield
    except OSError as error:
        raise RecordError(f"cannot {what} {path}: {error.strerror or error}.") from None


# What makes a run the same run; the rest of the header says where and when it was run.
_IDENTITY = ("format", "version", "game", "algorithm", "seed", "unit", "total", "points")
