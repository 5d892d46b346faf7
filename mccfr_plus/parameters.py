"""Checks of user input, and random generators from seeds."""

import functools
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import field, fields
from typing import Any, TypeAlias

import numpy as np

from mccfr_plus.errors import ConfigError

LARGEST = sys.float_info.max  # limit of what may be any finite number

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][0-9]+)?)\s*([KMGT]I?)?B?\s*", re.IGNORECASE)

Seed: TypeAlias = int | np.random.Generator | None  # see `new_states`


def as_python(value: Any) -> Any:
    """Returns a number or truth value of NumPy as Python's, whose arithmetic loses no digits; others as they are."""
    if isinstance(value, np.floating):
        return float(value)  # `item` of a long double is not a float
    return value.item() if isinstance(value, np.generic) else value


def check_number(name: str, value: Any, above: float, most: float, allowed: str, *, inclusive: bool = False) -> Any:
    """Returns a value as Python's number, or raises ConfigError with `allowed`. `inclusive`: also the lower limit."""
    number = as_python(value)
    is_number = not isinstance(number, bool) and isinstance(number, int | float)
    if not is_number or not (above <= number <= most if inclusive else above < number <= most):
        raise ConfigError(f"{name}={value!r}: {allowed}.")
    return number


def check_whole(name: str, value: object, least: int = 1, most: float = math.inf) -> None:
    """Raises ConfigError unless a value is an integer within limits."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        limit = f" and at most {most:,}" if most < math.inf else ""
        raise ConfigError(f"{name}={value!r}: must be an integer, at least {least}{limit}.")


def check_switch(name: str, value: Any) -> None:
    """Raises ConfigError unless a value is True or False."""
    if not isinstance(as_python(value), bool):
        raise ConfigError(f"{name}={value!r}: must be True or False.")


def bytes_of(text: str | int | float) -> int:
    """Returns a number of bytes such as ``"4GB"``, ``"512MiB"``, ``"1e9"`` or ``4_000_000_000``, or a ConfigError."""
    found = _SIZE.fullmatch(str(as_python(text))) if not isinstance(text, bool) else None
    size = float(found[1]) * _UNITS[(found[2] or "").upper()] if found else 0.0
    if not 1 <= size < 2**63:
        raise ConfigError(f"memory={text!r}: give a positive number of bytes, such as 4GB, 512MiB or 4e9.")
    return int(size)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raises ConfigError unless a value is one of some names."""
    if value not in choices:
        raise ConfigError(f"{name}={value!r}: give one of {', '.join(choices)}.")


def new_state(seed: Seed) -> np.ndarray:
    """Returns a fresh generator state, ``[1]`` uint64; see `new_states`."""
    return new_states(seed, 1)


def new_states(seed: Seed, count: int) -> np.ndarray:
    """Returns fresh generator states, ``[count]`` uint64, the first of which does not depend on the count.

    The seed is an integer >= 0 for a repeatable run, a NumPy generator to draw the state from, or None for entropy of
    the operating system; anything else is a ConfigError.
    """
    if isinstance(seed, np.random.Generator):
        return seed.integers(0, 2**64, size=count, dtype=np.uint64)
    number = as_python(seed)
    if seed is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
        raise ConfigError(f"seed={seed!r}: give an integer >= 0, a numpy.random.Generator, or None.")
    return np.random.SeedSequence(number).generate_state(count, np.uint64)


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
    """Returns a field for an integer from 1 to `most`."""
    return _field(default, check_whole, most=most)


def switch(default: bool) -> Any:
    """Returns a field for True or False."""
    return _field(default, check_switch)


def choice(default: str, choices: Sequence[str]) -> Any:
    """Returns a field for one of some names."""
    return _field(default, check_choice, choices=choices)
