"""The parser of a verb, and the types of its arguments: functions that `argparse` calls with the text."""

import argparse
import contextlib
import math
import re
import secrets
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, NoReturn

from mccfr_plus.errors import ConfigError, MccfrPlusError
from mccfr_plus.parameters import bytes_of
from mccfr_plus.specs import split_specs

PROGRAM = "mccfr-plus"
POLICY_HELP = "A file that `mccfr-plus solve --policy_out=FILE` wrote, or the word uniform."

_GAME_HELP = 'A game of OpenSpiel or of this package, such as leduc_poker or "kuhn_poker(players=3)".'
_SECONDS_OF = {"s": 1.0, "m": 60.0, "h": 3600.0}


class UsageError(MccfrPlusError):
    """The command line has an unknown flag, a bad value, or arguments that do not go together."""


class Parser(argparse.ArgumentParser):
    """Parses the arguments of a verb; a bad one is a `UsageError`."""

    def __init__(self, verb: str, summary: str):
        super().__init__(
            f"{PROGRAM} {verb}",
            description=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. See {self.prog} --help.")

    def parse(self, arguments: list[str]) -> argparse.Namespace:
        """Returns the parsed arguments; flags and others may come in any order."""
        for argument in arguments:
            if argument.startswith("--") and argument.endswith("=--"):  # argparse would drop the value
                self.error(f"argument {argument.removesuffix('=--')}: '--' is not a value")
        found, unknown = self.parse_known_intermixed_args(arguments)
        if not unknown:
            return found
        word = unknown[0].partition("=")[0]
        if not word.startswith("-"):
            self.error(f"unexpected argument {word!r}")
        near = get_close_matches(word.strip("-"), re.findall(r"--([\w-]+)", self.format_usage()), n=1)
        self.error(f"unknown flag {word}" + (f", did you mean --{near[0]}" if near else ""))


def add_game(parser: argparse.ArgumentParser) -> None:
    """Adds the argument GAME."""
    parser.add_argument("game", metavar="GAME", type=text, help=_GAME_HELP)


def add_seed(group: Any, meaning: str) -> None:
    """Adds ``--seed`` to a parser or to a group of it; see `seed_of`."""
    group.add_argument("--seed", metavar="N", type=whole(0), help=f"{meaning} Default: random.")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Adds ``--json``."""
    parser.add_argument("--json", action="store_true", help="Also print the result as one line of JSON, the last one.")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Adds ``--quiet``."""
    parser.add_argument("--quiet", action="store_true", help="No progress and no notes on standard error.")


def seed_of(arguments: argparse.Namespace) -> int:
    """Returns the seed of the command line, or a random one."""
    return secrets.randbits(32) if arguments.seed is None else arguments.seed


def refuse(arguments: argparse.Namespace, names: tuple[str, ...], why: str) -> None:
    """Raises UsageError if one of some flags is given, which would have no effect: why, and what to do."""
    for name in names:
        if getattr(arguments, name) not in (None, False):
            raise UsageError(f"--{name} {why}.")


def text(argument: str) -> str:
    """Returns a text that is not empty."""
    if not argument.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return argument


def whole(lowest: int = 1, highest: int = 2**63 - 1) -> Callable[[str], int]:
    """Returns the type of whole numbers within limits; ``1e6`` and ``1_000_000`` are read as such."""

    def read(argument: str) -> int:
        number: float = lowest
        with contextlib.suppress(ValueError, OverflowError):
            number = int(argument) if argument.replace("_", "").isdecimal() else float(argument)
            if number == int(number) and lowest <= number <= highest:
                return int(number)
        at_most = f" and at most {highest:,}" if number > highest else ""
        raise argparse.ArgumentTypeError(f"{argument!r} must be a whole number, at least {lowest}{at_most}")

    return read


def positive(argument: str) -> float:
    """Returns a finite number above 0."""
    return _number(argument, "must be a positive number")


def duration(argument: str) -> float:
    """Returns a time above 0 in seconds: ``90``, ``90s``, ``5m``, ``2h``, ``1.5h``."""
    digits = argument.strip()
    unit = _SECONDS_OF.get(digits[-1:])
    number = _number(digits[:-1] if unit else digits, "must be a time above 0, such as 90, 90s, 5m or 2h")
    return number * (unit or 1.0)


def memory_size(argument: str) -> int:
    """Returns a size of memory in bytes: ``4GB``, ``512MiB``, ``4e9``."""
    try:
        return bytes_of(argument)
    except ConfigError:
        raise argparse.ArgumentTypeError(f"{argument!r} must be a size such as 4GB, 512MiB or 4e9") from None


def specs(argument: str) -> list[str]:
    """Returns several specs, separated by commas; commas within parentheses belong to a spec."""
    try:
        found = split_specs(argument)
    except SyntaxError as error:
        raise argparse.ArgumentTypeError(str(error.msg)) from None
    if not found:
        raise argparse.ArgumentTypeError("must be names separated by commas")
    return found


def _number(argument: str, allowed: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(argument) < math.inf:
            return float(argument)
    raise argparse.ArgumentTypeError(f"{argument!r} {allowed}")
