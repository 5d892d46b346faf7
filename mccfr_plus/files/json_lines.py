"""Files of JSON lines: one JSON object per line, appended whole or not at all."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from mccfr_plus.errors import MccfrPlusError


class JsonLines:
    """A file that entries are appended to. It is created by the first entry.

    A process that is killed while it writes may leave an incomplete last line. The line is cut off here.

    Args:
        path: The file. Its entries are kept.
        error_type: The error to raise if the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike, error_type: type[MccfrPlusError]):
        self.path, self._error_type = Path(path), error_type
        with file_errors(self.path, error_type):
            content = self.path.read_bytes() if self.path.exists() else b""
            if not content.endswith(b"\n") and content:
                os.truncate(self.path, content.rfind(b"\n") + 1)

    def append(self, entry: Mapping[str, Any]) -> None:
        """Writes an entry as one line; if that fails, the file stays as it was.

        Args:
            entry: Values that JSON can hold; NaN and infinity are not among them.

        Raises:
            MccfrPlusError: The `error_type`, if the file cannot be written.
        """
        line = (json.dumps(entry, allow_nan=False) + "\n").encode()
        with file_errors(self.path, self._error_type), open_to_append(self.path) as file:
            size = file.tell()
            try:
                written = file.write(line)
                if written != len(line):
                    raise OSError(f"only {written} of {len(line)} bytes were written")
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise


def open_to_append(path: Path) -> BinaryIO:
    """Returns a file whose writes reach the operating system at once."""
    return path.open("ab", buffering=0)  # type: ignore[return-value]


def read_json_lines(path: str | os.PathLike, error_type: type[MccfrPlusError]) -> list[dict[str, Any]]:
    """Returns the entries of a file; an incomplete last line is ignored.

    Args:
        path: The file.
        error_type: The error to raise.

    Raises:
        MccfrPlusError: The `error_type`, if the file cannot be read or a line is not a JSON object.
    """
    path, entries = Path(path), []
    with file_errors(path, error_type, "read"):
        content = path.read_bytes()
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict):
            raise error_type(f"{path} is damaged: line {number} is not a JSON object. Delete the file.")
        entries.append(entry)
    return entries


@contextlib.contextmanager
def file_errors(path: Path, error_type: type[MccfrPlusError], what: str = "write") -> Iterator[None]:
    """Turns the operating system's errors into errors that name the file."""
    try:
        yield
    except OSError as error:
        raise error_type(f"cannot {what} {path}: {error.strerror or error}.") from None
