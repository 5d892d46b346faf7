"""Checks of parameters that a user gives: each raises ConfigError with the value and what is allowed."""

import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.random_numbers import as_python

LARGEST = sys.float_info.max  # limit of what may be any finite number

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][0-9]+)?)\s*([KMGT]I?)?B?\s*", re.IGNORECASE)


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


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raises ConfigError unless a value is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ConfigError(f"{name}={value!r}: must be a whole number, at least {least}.")


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
