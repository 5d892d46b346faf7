"""Kinds of flag values, which say in plain words what they allow."""

from __future__ import annotations

import ast
import math
from typing import Any

from absl import flags

from mccfr_plus.cluster.cluster import check_address
from mccfr_plus.errors import ConfigError
from mccfr_plus.tree.memory import bytes_of

_SECONDS_OF = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Text(flags.ArgumentParser):
    """Any text.

    Args:
        metavar: What the help shows after the equals sign.
    """

    def __init__(self, metavar: str):
        super().__init__()
        self.metavar = metavar

    def parse(self, argument: str) -> str:
        if not argument.strip():
            raise ValueError("must not be empty")
        return argument


class Count(flags.ArgumentParser):
    """A whole number; ``1e6`` and ``1_000_000`` are read as such too.

    Args:
        lowest: The smallest number allowed.
    """

    metavar = "N"

    def __init__(self, lowest: int = 1):
        super().__init__()
        self.lowest = lowest

    def parse(self, argument: str | int) -> int:
        problem = ValueError(f"must be a whole number, at least {self.lowest}")
        try:
            number = int(argument)
        except ValueError:
            try:
                number = int(float(argument))
            except (ValueError, OverflowError):
                raise problem from None
            if number != float(argument):
                raise problem from None
        if number < self.lowest:
            raise problem
        return number


class Positive(flags.ArgumentParser):
    """A finite number above 0.

    Args:
        metavar: What the help shows after the equals sign.
    """

    def __init__(self, metavar: str):
        super().__init__()
        self.metavar = metavar

    def parse(self, argument: str | float) -> float:
        try:
            number = float(argument)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise ValueError("must be a positive number")
        return number


class Duration(flags.ArgumentParser):
    """A time above 0, in seconds: ``90``, ``90s``, ``5m``, ``2h``; ``1.5h``."""

    metavar = "TIME"

    def parse(self, argument: str | float) -> float:
        text = str(argument).strip()
        unit = _SECONDS_OF.get(text[-1:])
        try:
            number = float(text if unit is None else text[:-1]) * (unit or 1.0)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise ValueError("must be a time above 0, such as 90, 90s, 5m or 2h")
        return number


class Fraction(flags.ArgumentParser):
    """A number between 0 and 1, both left out."""

    metavar = "FRACTION"

    def parse(self, argument: str | float) -> float:
        try:
            number = float(argument)
        except ValueError:
            number = math.nan
        if not 0 < number < 1:
            raise ValueError("must be above 0 and below 1")
        return number


class Seconds(flags.ArgumentParser):
    """A number of seconds, 0 included."""

    metavar = "SECONDS"

    def parse(self, argument: str | float) -> float:
        try:
            number = float(argument)
        except ValueError:
            number = math.nan
        if not 0 <= number < math.inf:
            raise ValueError("must be a number of seconds, 0 or more")
        return number


class Bytes(flags.ArgumentParser):
    """A size of memory: ``4GB``, ``512MiB``, ``4e9``."""

    metavar = "SIZE"

    def parse(self, argument: str | int) -> int:
        try:
            return bytes_of(argument)
        except ConfigError:
            raise ValueError("must be a size such as 4GB, 512MiB or 4e9") from None


class OneOf(flags.ArgumentParser):
    """One of a few words.

    Args:
        allowed: The words.
    """

    def __init__(self, allowed: tuple[str, ...]):
        super().__init__()
        self.allowed = allowed
        self.metavar = "|".join(allowed)

    def parse(self, argument: str) -> str:
        if argument not in self.allowed:
            raise ValueError(f"must be one of {', '.join(self.allowed)}")
        return argument


class ClusterAddress(flags.ArgumentParser):
    """Where a cluster is: ``local`` (there is none), ``ray``, ``ray://HOST:PORT``, ``HOST:PORT``."""

    metavar = "local|ray|ray://HOST:PORT"

    def parse(self, argument: str) -> str:
        try:
            return argument if argument == "local" else check_address(argument)
        except ConfigError:
            raise ValueError("must be local, ray, ray://HOST:PORT or HOST:PORT") from None


class Setting(flags.ArgumentParser):
    """A name and its value as Python writes it: ``traversals=1000``, ``hidden_layers=(64,64)``.

    A single word that means nothing in Python is text: ``memory=reservoir``.
    """

    metavar = "NAME=VALUE"

    def parse(self, argument: str) -> tuple[str, Any]:
        name, sign, text = (part.strip() for part in argument.partition("="))
        if not sign or not all(part.isidentifier() for part in name.split(".")):
            raise ValueError("must be NAME=VALUE, such as traversals=1000 or hidden_layers=(64,64)")
        try:
            return name, ast.literal_eval(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            if text.isidentifier():
                return name, text
            raise ValueError(
                "must have a value as Python writes it: a number, True, False, None, a word, or a tuple such as (64,64)"
            ) from None


class Names(flags.ArgumentParser):
    """Several names from a list, separated by commas; a comma between parentheses belongs to the name.

    Args:
        metavar: What the help shows after the equals sign.
        allowed: The names to accept; None: any.
    """

    def __init__(self, metavar: str, allowed: tuple[str, ...] | None = None):
        super().__init__()
        self.metavar = metavar
        self.allowed = allowed

    def parse(self, argument: str | list[str]) -> list[str]:
        names = _split(argument) if isinstance(argument, str) else argument
        if not all(names):
            raise ValueError("must be names separated by commas")
        for name in names:
            if self.allowed is not None and name not in self.allowed:
                raise ValueError(f"{name!r} is none of {', '.join(self.allowed)}")
        return names


def define_switch(
    values: flags.FlagValues, name: str, default: bool | None, meaning: str, short_name: str | None = None
) -> None:
    """Defines a flag that is on (``--name``) or off (``--noname``)."""
    switch = flags.BooleanFlag(name, default, meaning, short_name)
    switch.parser = _OnOff()
    flags.DEFINE_flag(switch, values)


class _OnOff(flags.BooleanParser):
    def parse(self, argument: str | int) -> bool:
        try:
            return super().parse(argument)
        except (ValueError, TypeError):
            raise ValueError("must be true or false") from None


def _split(text: str) -> list[str]:
    names, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            names.append("")
        else:
            names[-1] += character
    return [name.strip() for name in names]
