"""What the entries of a checkpoint's header must be: a header is text, which any program can have written."""

import math
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mccfr_plus.errors import CheckpointError

_LARGEST = 2**63 - 1
_MOST_CHARACTERS = 60  # of an entry in an error


class Entry(NamedTuple):
    """What an entry must be: in words, and as a function."""

    allowed: str
    fits: Callable[[Any], bool]


def whole(lowest: int = 0) -> Entry:
    """A whole number that fits into 64 bits."""
    return Entry(f"a whole number, at least {lowest}", lambda value: type(value) is int and lowest <= value <= _LARGEST)


def or_none(entry: Entry) -> Entry:
    """What an entry must be, or null."""
    return Entry(f"{entry.allowed}, or null", lambda value: value is None or entry.fits(value))


def object_of(entries: Mapping[str, Entry]) -> Entry:
    """An object of exactly these names."""

    def fits(value: Any) -> bool:
        return (
            isinstance(value, dict) and set(value) == set(entries) and all(entries[k].fits(v) for k, v in value.items())
        )

    return Entry(f"an object of {', '.join(entries)}", fits)


def objects_of(entry: Entry) -> Entry:
    """An object of any names."""
    return Entry("an object", lambda value: isinstance(value, dict) and all(map(entry.fits, value.values())))


def list_of(entry: Entry) -> Entry:
    """A list of any length."""
    return Entry("a list", lambda value: isinstance(value, list) and all(map(entry.fits, value)))


TEXT = Entry("a text", lambda value: isinstance(value, str))
FLAG = Entry("true or false", lambda value: isinstance(value, bool))
ANY = Entry("anything", lambda value: True)
SEED = or_none(Entry("a whole number, at least 0", lambda value: type(value) is int and value >= 0))
NUMBER = Entry(
    "a finite number, at least 0", lambda value: type(value) in (int, float) and value >= 0 and math.isfinite(value)
)


def check_entries(path: str | os.PathLike, header: Mapping[str, Any], entries: Mapping[str, Entry]) -> None:
    """Raises CheckpointError if a header lacks an entry, or has another value there than it can have."""
    missing = sorted(set(entries) - set(header))
    if missing:
        raise CheckpointError(f"{path} is damaged: its header lacks {', '.join(missing)}.")
    for name, entry in entries.items():
        if not entry.fits(header[name]):
            found = repr(header[name])
            found = found if len(found) <= _MOST_CHARACTERS else f"{found[:_MOST_CHARACTERS]}..."
            raise CheckpointError(f"{path} is damaged: {name} in its header is {found}, and must be {entry.allowed}.")
