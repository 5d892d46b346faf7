"""Parameters of a game as they were given, read with checks: what was given, what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

_Value = TypeVar("_Value")


class Parameters(dict[str, Any]):
    """The parameters of a game by name, with the defaults filled in."""

    def whole_number(self, name: str, least: int, most: int, why: str = "") -> int:
        """Returns a parameter that must be a whole number between two others, both allowed.

        Raises:
            ValueError: If it is not; `why` says where the bound comes from.
        """
        value = self[name]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"{name}={value!r}: give a whole number from {least:,} to {most:,}{why and f' ({why})'}.")
        return value

    def one_of(self, name: str, choices: Mapping[str, _Value]) -> _Value:
        """Returns what the text that a parameter must be stands for.

        Raises:
            ValueError: If it is not among the choices.
        """
        value = self[name]
        if value not in choices:
            raise ValueError(f"{name}={value!r}: give one of {', '.join(choices)}.")
        return choices[value]

    def switch(self, name: str) -> bool:
        """Returns a parameter that must be True or False.

        Raises:
            ValueError: If it is neither.
        """
        value = self[name]
        if not isinstance(value, bool):
            raise ValueError(f"{name}={value!r}: give True or False.")
        return value
