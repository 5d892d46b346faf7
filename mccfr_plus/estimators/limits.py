"""Checks of the estimators' parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus.errors import ConfigError


def check_number(name: str, value: Any, above: float, most: float, allowed: str, *, inclusive: bool = False) -> None:
    """Raises ConfigError unless a value is a number within limits.

    Args:
        name: Of the parameter.
        value: What was given.
        above: The lower limit.
        most: The upper limit.
        allowed: What the message says is allowed.
        inclusive: Whether the lower limit is allowed, too.
    """
    is_number = not isinstance(value, bool) and isinstance(value, int | float | np.number)
    if not is_number or not (above <= value <= most if inclusive else above < value <= most):
        raise ConfigError(f"{name}={value!r}: {allowed}.")


def check_exploration(epsilon: Any, paper: str) -> None:
    """Raises ConfigError unless an exploration is in (0, 1]."""
    allowed = "must be a number above 0 (or actions that are not played would never be tried) and at most 1; "
    check_number("epsilon", epsilon, 0, 1, allowed + paper)


def check_switch(name: str, value: Any) -> None:
    """Raises ConfigError unless a value is True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name}={value!r}: must be True or False.")
