"""Files of JSON lines, one object per line, and checks of JSON from files, which may hold anything."""

import contextlib
import json
import math
import os
import reprlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mccfr_plus.errors import MccfrPlusError


class JsonLines:
    """A file that entries are appended to. It is created by the first entry.

    A process that is killed while it writes may leave an incomplete last line. The next entry replaces it.
    """

    def __init__(self, path: str | os.PathLike, error_type: type[MccfrPlusError]):
        self.path, self._error_type = Path(path), error_type
        with file_errors(self.path, error_type):
            content = self.path.read_bytes() if self.path.exists() else b""
        self._size = content.rfind(b"\n") + 1  # of whole lines, in bytes

    def append(self, entry: Mapping[str, Any]) -> None:
        """Writes an entry, which JSON can hold, as one line; the given `error_type` if the file cannot be written."""
        line = (json.dumps(entry, allow_nan=False) + "\n").encode()
        with file_errors(self.path, self._error_type), self.path.open("ab") as file:
            file.truncate(self._size)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._size += len(line)


def read_json_lines(path: str | os.PathLike, error_type: type[MccfrPlusError]) -> list[dict[str, Any]]:
    """Returns the entries of a file without an incomplete last line; `error_type` if a line is not a JSON object."""
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


# --- schemas ---


def natural(value: Any) -> bool:
    return type(value) is int and value >= 0


def positive(value: Any) -> bool:
    return type(value) is int and value >= 1


def number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf


def check(found: Any, schema: Mapping[str, Any], what: str | os.PathLike, error: type[MccfrPlusError]) -> None:
    """Raises `error` unless JSON from the file `what` is a mapping with all entries of a schema. It may have more.

    A schema has for each entry a type, a predicate, or a constant; a tuple of alternatives; ``[schema]`` for a list;
    ``{str: schema}`` for a mapping with any names; ``{name: schema, ...}`` for one with exactly these names.
    """
    for name, allowed in schema.items():
        if not isinstance(found, dict) or name not in found:
            raise error(f"{what} is damaged: it lacks the entry {name!r}.")
        if not _fits(found[name], allowed):
            raise error(f"{what} is damaged: its entry {name!r} must not be {reprlib.repr(found[name])}.")


def _fits(value: Any, allowed: Any) -> bool:
    if isinstance(allowed, tuple):
        return any(_fits(value, each) for each in allowed)
    if isinstance(allowed, list):
        return isinstance(value, list) and all(_fits(each, allowed[0]) for each in value)
    if isinstance(allowed, dict):
        if not isinstance(value, dict) or (str not in allowed and set(value) != set(allowed)):
            return False
        return all(_fits(each, allowed.get(str, allowed.get(name))) for name, each in value.items())
    if isinstance(allowed, type):
        return type(value) is allowed  # True is not a number
    return allowed(value) if callable(allowed) else value == allowed
