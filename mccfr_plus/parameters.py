"""Checks of parameters that a user gives: each raises ConfigError with the value and what is allowed."""

import sys
from collections.abc import Sequence
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


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raises ConfigError unless a value is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ConfigError(f"{name}={value!r}: must be a whole number, at least {least}.")


def check_switch(name: str, value: Any) -> None:
    """Raises ConfigError unless a value is True or False."""
    if not isinstance(as_python(value), bool):
        raise ConfigError(f"{name}={value!r}: must be True or False.")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raises ConfigError unless a value is one of some names."""
    if value not in choices:
        raise ConfigError(f"{name}={value!r}: give one of {', '.join(choices)}.")
