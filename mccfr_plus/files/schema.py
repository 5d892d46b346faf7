"""Checks entries that were read from a file against a schema: text from a file may hold anything."""

import math
import os
from collections.abc import Mapping
from typing import Any

from mccfr_plus.errors import MccfrPlusError

_MOST_CHARACTERS = 60  # of a value in an error


def natural(value: Any) -> bool:
    """Returns whether a value is a whole number, at least 0."""
    return type(value) is int and value >= 0


def positive(value: Any) -> bool:
    """Returns whether a value is a whole number, at least 1."""
    return type(value) is int and value >= 1


def number(value: Any) -> bool:
    """Returns whether a value is a finite number, at least 0."""
    return type(value) in (int, float) and 0 <= value < math.inf


def check(found: Any, schema: Mapping[str, Any], what: str | os.PathLike, error: type[MccfrPlusError]) -> None:
    """Raises `error` unless a value from a file is a mapping with all entries of a schema. It may have more entries.

    Args:
        found: The value, as JSON gives it.
        schema: For each entry: a type, a predicate, or a constant; a tuple of alternatives; ``[schema]`` for a list;
            ``{str: schema}`` for a mapping with any names; ``{name: schema, ...}`` for one with exactly these names.
        what: The file.
        error: The type of the error.
    """
    for name, allowed in schema.items():
        if not isinstance(found, dict) or name not in found:
            raise error(f"{what} is damaged: it lacks the entry {name!r}.")
        if not _fits(found[name], allowed):
            text = repr(found[name])
            shown = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
            raise error(f"{what} is damaged: its entry {name!r} cannot be {shown}.")


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
