"""What the commands share: the parser, the types of arguments, and the output of tables, numbers and JSON."""

import argparse
import contextlib
import json
import logging
import math
import re
import secrets
import sys
import textwrap
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from mccfr_plus.errors import ConfigError, MccfrPlusError
from mccfr_plus.specs import split_specs
from mccfr_plus.trees.memory import bytes_of

PROGRAM = "mccfr-plus"
POLICY_HELP = "A file that `mccfr-plus solve --policy_out=FILE` wrote, or the word uniform."

_GAME_HELP = 'A game of OpenSpiel or of this package, such as leduc_poker or "kuhn_poker(players=3)".'
_SECONDS_OF = {"s": 1.0, "m": 60.0, "h": 3600.0}


class UsageError(MccfrPlusError):
    """The command line has an unknown flag, a bad value, or arguments that do not go together."""


class Parser(argparse.ArgumentParser):
    """Parses the arguments of a verb; a bad one is a `UsageError`."""

    def __init__(self, verb: str, summary: str, notes: str):
        kind = argparse.RawDescriptionHelpFormatter
        super().__init__(
            f"{PROGRAM} {verb}", description=summary, epilog=notes, formatter_class=kind, allow_abbrev=False
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
    parser.add_argument("game", metavar="GAME", type=text, help=_GAME_HELP)


def add_seed(group: Any, meaning: str) -> None:
    group.add_argument("--seed", metavar="N", type=whole(0), help=f"{meaning} Default: random.")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="Also print the result as one line of JSON, the last one.")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", action="store_true", help="No progress and no notes on standard error.")


def seed_of(arguments: argparse.Namespace) -> int:
    """Returns the seed of the command line, or a random one."""
    return secrets.randbits(32) if arguments.seed is None else arguments.seed


def refuse(arguments: argparse.Namespace, names: tuple[str, ...], why: str) -> None:
    """Raises UsageError if a flag is given that would have no effect: why, and what to do."""
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


def show_notes() -> None:
    """Shows the package's log messages so far. They are held back until the input is checked: errors are one line."""
    for handler in logging.getLogger("mccfr_plus").handlers:
        handler.flush()


def note(arguments: argparse.Namespace, line: str) -> None:
    """Prints a line on standard error, unless ``--quiet`` is given."""
    if not arguments.quiet:
        print(line, file=sys.stderr)


def progress_of(arguments: argparse.Namespace) -> bool | None:
    """Returns whether to show progress: not with ``--quiet``, else None: as the library's defaults say."""
    return False if arguments.quiet else None


def print_table(rows: Sequence[Sequence[str]], *, texts: Sequence[int] = (0,)) -> None:
    """Prints rows with their columns aligned: those of `texts` to the left, numbers to the right.

    A row of one cell among longer ones is a heading, whose width does not count.
    """
    aligned = [row for row in rows if len(row) > 1] or rows
    widths = [max(len(row[i]) for row in aligned if i < len(row)) for i in range(max(len(row) for row in aligned))]
    for row in rows:
        cells = [cell.ljust(widths[i]) if i in texts else cell.rjust(widths[i]) for i, cell in enumerate(row)]
        print("  ".join(cells).rstrip())


def print_json(values: dict[str, Any]) -> None:
    """Prints one line of JSON; use None in place of not-a-number."""
    print(json.dumps(values, allow_nan=False))


def number(value: float | None, digits: int = 6) -> str:
    """Returns a value with so many significant digits; ``n/a`` for None."""
    return "n/a" if value is None else f"{value:.{digits}g}"


def count(value: float) -> str:
    """Returns a whole number with thousands separated."""
    return f"{value:,.0f}"


def short(value: float) -> str:
    """Returns a number of at most five characters: three digits and k, M, G or T for the thousands."""
    for unit in ("", "k", "M", "G"):
        if value < 999.5:
            digits = f"{value:.0f}" if not unit or value >= 99.5 else f"{value:.3g}"
            return digits + unit
        value /= 1000
    return f"{value:.3g}T"


def size(num_bytes: float) -> str:
    """Returns a size in memory with its unit."""
    for unit in ("bytes", "KiB", "MiB"):
        if num_bytes < 1024:
            return f"{num_bytes:.0f} {unit}" if unit == "bytes" else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1024
    return f"{num_bytes:.1f} GiB"


def wrapped(text: str, width: int = 100) -> str:
    """Returns a text in lines of at most `width` characters, with whole words."""
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)


def open_in_browser(address: str) -> None:
    """Opens a page in the browser, or says that there is none."""
    import webbrowser

    try:
        is_open = webbrowser.open(address)
    except (webbrowser.Error, OSError):
        is_open = False
    if not is_open:
        print(f"no browser found: open {address}", file=sys.stderr)
