"""Checks of parameters that a user gives: each raises ConfigError with the value and what is allowed."""

import functools
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import field, fields
from typing import Any

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.random_numbers import as_python

LARGEST = sys.float_info.max  # limit of what may be any finite number


def check_number(name: str, value: Any, above: float, most: float, allowed: str, *, inclusive: bool = False) -> Any:
    """Returns a value as a number of Python. Raises ConfigError unless it is one within limits.

    Args:
        allowed: What the message says is allowed.
        inclusive: Whether the lower limit is allowed, too.
    """
    number = as_python(value)
    is_number = not isinstance(number, bool) and isinstance(number, int | float)
    if not is_number or not (above <= number <= most if inclusive else above < number <= most):
        raise ConfigError(f"{name}={value!r}: {allowed}.")
    return number


def check_whole(name: str, value: object, least: int = 1, most: float = math.inf) -> None:
    """Raises ConfigError unless a value is a whole number within limits."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        limit = f" and at most {most:,}" if most < math.inf else ""
        raise ConfigError(f"{name}={value!r}: must be a whole number, at least {least}{limit}.")


def check_switch(name: str, value: Any) -> None:
    """Raises ConfigError unless a value is True or False."""
    if not isinstance(as_python(value), bool):
        raise ConfigError(f"{name}={value!r}: must be True or False.")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raises ConfigError unless a value is one of some names."""
    if value not in choices:
        raise ConfigError(f"{name}={value!r}: give one of {', '.join(choices)}.")


# --- dataclasses whose fields carry their checks ---


class Component:
    """Base of estimators, minimizers and averages: frozen dataclasses whose fields are checked when one is built.

    A field that begins as None may be None.
    """

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            if "check" in each.metadata and not (value is None and each.default is None):
                each.metadata["check"](each.name, value)


def _field(default: Any, check: Callable, **limits: Any) -> Any:
    return field(default=default, metadata={"check": functools.partial(check, **limits)})


def number(
    default: float | None, *, above: float = -math.inf, least: float = -math.inf, most: float = LARGEST, note: str = ""
) -> Any:
    """Returns a field for a number within limits, by default finite; give one of `above` and `least`."""
    words = [f"{word} {limit:g}" for word, limit in (("above", above), ("at least", least)) if limit > -math.inf]
    words += [f"at most {most:g}"] if most < LARGEST else []
    allowed = f"must be a {'finite ' if most == LARGEST else ''}number {' and '.join(words)}".strip()
    low, inclusive = max(above, least), above == -math.inf
    allowed += f"; {note}" if note else ""
    return _field(default, check_number, above=low, most=most, allowed=allowed, inclusive=inclusive)


def whole(default: int | None, most: float = math.inf) -> Any:
    """Returns a field for a whole number from 1 to `most`."""
    return _field(default, check_whole, most=most)


def switch(default: bool) -> Any:
    """Returns a field for True or False."""
    return _field(default, check_switch)


def choice(default: str, choices: Sequence[str]) -> Any:
    """Returns a field for one of some names."""
    return _field(default, check_choice, choices=choices)
