"""Subcommands: their flags, their help, and how their arguments are read. Nothing is defined in absl's global flags."""

import ast
import contextlib
import math
import secrets
import shutil
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from absl import flags

from mccfr_plus.errors import ConfigError, MccfrPlusError
from mccfr_plus.trees.memory import bytes_of

PROGRAM = "mccfr-plus"
LOCAL = "local"  # in the place of a cluster's address: this machine

GAME_NOTE = """
GAME is a game of OpenSpiel with its parameters, in quotes because of the parentheses:
  leduc_poker    "kuhn_poker(players=3)"    "goofspiel(num_cards=5,imp_info=True,points_order=descending)"
or a game of this package (mccfr-plus games):
  bid_goofspiel    "bluff(dice1=1,dice2=1)"    "leduc_ranks(ranks=5)"
"""

_OF_MULTI = "    repeat this option"  # what absl adds to the meaning of a flag that may be repeated
_MEANING = 24  # column where the help's meanings of flags begin
_SECONDS_OF = {"s": 1.0, "m": 60.0, "h": 3600.0}


class UsageError(MccfrPlusError):
    """Arguments that the command line does not take."""


class Topic(NamedTuple):
    """A further page of a command's help, printed by ``--help_NAME``."""

    summary: str
    flags: tuple[str, ...]  # that are explained there, and not by --help
    notes: str = ""


class Command(ABC):
    """A subcommand of `mccfr-plus`.

    Attributes:
        name: The word after `mccfr-plus`.
        summary: One line of what it does.
        positionals: Names of the arguments that are not flags, all of them required.
        optional: Names of those that may follow them.
        repeats_last: Whether the last of them may be given several times.
        notes: What the help says after the flags, and after how games are written if one is given.
        topics: Further pages of the help, by name.
        line: The command line as it was given, for records.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    positionals: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[tuple[str, ...]] = ()
    repeats_last: ClassVar[bool] = False
    notes: ClassVar[str] = ""
    topics: ClassVar[dict[str, Topic]] = {}
    line: str = PROGRAM

    @abstractmethod
    def define_flags(self, values: flags.FlagValues) -> None:
        """Defines the command's flags in `values`."""

    @abstractmethod
    def run(self, arguments: list[str], values: Any) -> None:
        """Does the work.

        Args:
            arguments: As many as `positionals`, or more: those of `optional`, or if the last one repeats.
            values: The parsed `flags.FlagValues`; a flag is an attribute.

        Raises:
            MccfrPlusError: For bad input. Nothing has been printed on standard output by then.
        """

    def parse(self, argv: list[str]) -> tuple[list[str], flags.FlagValues]:
        """Returns the positional arguments and the flags, which may come in any order.

        Raises:
            UsageError: If a flag is unknown or has a bad value, or an argument is missing or too many.
        """
        values = self.flags()
        see_help = f"See {PROGRAM} {self.name} --help."
        if any("\0" in argument for argument in argv):
            raise UsageError(f"an argument with a NUL character: leave it out. {see_help}")
        try:
            arguments = values([PROGRAM, *argv])[1:]
        except flags.UnrecognizedFlagError as error:
            raise UsageError(f"{str(error).rstrip(' ?')}. {see_help}") from None
        except (flags.Error, ValueError) as error:
            raise UsageError(f"{str(error).removeprefix('ERROR:: ').rstrip('.')}. {see_help}") from None
        if wants_help(values):
            return arguments, values
        if len(arguments) < len(self.positionals):
            missing = self.positionals[len(arguments)]
            raise UsageError(f"{missing} is missing: {self.usage()}. {see_help}")
        most = len(self.positionals) + len(self.optional)
        if len(arguments) > most and not self.repeats_last:
            extra = arguments[most]
            raise UsageError(f"unexpected argument {extra!r}: {self.usage()}. {see_help}")
        return arguments, values

    def usage(self) -> str:
        """Returns the line that shows how to call it."""
        more = ["..."] if self.repeats_last else [f"[{name}]" for name in self.optional]
        return " ".join([PROGRAM, self.name, *self.positionals, *more, "[--flags]"])

    def help(self, values: flags.FlagValues | None = None) -> str:
        """Returns usage, flags with their defaults, and the notes; `values` are those that --help was given with."""
        elsewhere = {name for topic in self.topics.values() for name in topic.flags}
        for name, topic in self.topics.items():
            if values is not None and values[f"help_{name}"].value:
                lines = [f"{topic.summary}: further help on {PROGRAM} {self.name}", "", "flags:"]
                return "\n".join([*lines, *self._explained(topic.flags), topic.notes]).rstrip()
        lines = [self.summary, "", f"usage: {self.usage()}", "", "flags:"]
        lines += self._explained([name for name in self.flags() if name not in elsewhere])
        notes = GAME_NOTE + self.notes if "GAME" in self.positionals else self.notes
        return "\n".join([*lines, "", notes.strip()]).rstrip()

    def _explained(self, names: Sequence[str]) -> list[str]:
        """Returns lines about some flags: name and meaning side by side, as in a table."""
        width = max(60, min(shutil.get_terminal_size().columns, 110))
        lines = []
        flags_by_name = self.flags()
        for name in names:
            flag = flags_by_name[name]
            default = ", ".join(flag.default) if isinstance(flag.default, list) else flag.default
            if name != flag.name:  # a short name
                continue
            if flag.boolean:  # one that is on by default is there to be switched off
                heading, description = f"--[no]{name}" if default else f"--{name}", flag.help
            else:
                heading = f"--{name}={getattr(flag.parser, 'metavar', '')}"
                description = flag.help if default is None else f"{flag.help} Default: {default}."
            description = str(description).partition(f";\n{_OF_MULTI}")[0]
            meaning = textwrap.indent(wrapped(description, width - _MEANING), " " * _MEANING).split("\n")
            if len(heading) + 4 <= _MEANING:
                meaning[0] = f"  {heading}".ljust(_MEANING) + meaning[0].strip()
            else:
                lines.append(f"  {heading}")
            lines += meaning
        return lines

    def flags(self) -> flags.FlagValues:
        """Returns the command's flags with their defaults."""
        values = flags.FlagValues()
        self.define_flags(values)
        meaning = "A module to import first, by name or file, that registers games or components; may be repeated."
        flags.DEFINE_multi(text("MODULE"), flags.ArgumentSerializer(), "import", None, meaning, values)
        for name, topic in self.topics.items():
            define_switch(values, f"help_{name}", f"Help on: {topic.summary}.")
        define_switch(values, "help", "Print this and exit.", short_name="h")
        return values


# --- flags of several commands ---


def define_limits(values: flags.FlagValues) -> None:
    """Defines the limits of a tree that need not be compiled: ``--max_nodes`` and ``--max_bytes``."""
    meaning = "Most histories to compile. Default: 10,000,000, or any with compiled rules (mccfr-plus games)."
    define(values, "max_nodes", whole(), meaning)
    define(values, "max_bytes", whole(), "Most memory of a compiled tree, in bytes. Default: half of --memory.")


def define_rules(values: flags.FlagValues) -> None:
    """Defines ``--rules``."""
    meaning = "off: do without the compiled rules of games that have some (mccfr-plus games). Results are the same."
    define(values, "rules", one_of("on", "off"), meaning, "on")


def seed_of(values: Any) -> int:
    """Returns the seed of the command line, or a new one."""
    return secrets.randbits(32) if values.seed is None else values.seed


def refuse(values: Any, names: Sequence[str], why: str) -> None:
    """Raises UsageError if one of some flags is given, which would have no effect: why, and what to do."""
    for name in names:
        if values[name].present:
            raise UsageError(f"--{name} is about {why}.")


def wants_help(values: flags.FlagValues) -> bool:
    """Returns whether a page of the help was asked for."""
    return any(values[name].value for name in values if name == "help" or name.startswith("help_"))


def wrapped(text: str, width: int = 100) -> str:
    """Returns a text in lines of at most so many characters, words whole."""
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)


# --- kinds of values ---


class Kind(flags.ArgumentParser):
    """A kind of flag values.

    Args:
        metavar: What the help shows after the equals sign.
        read: Returns the value of a text; raises ValueError with what is allowed.
    """

    def __init__(self, metavar: str, read: Callable[[Any], Any]):
        super().__init__()
        self.metavar = metavar
        self._read = read

    def parse(self, argument: Any) -> Any:
        return self._read(argument)


def define(values: flags.FlagValues, name: str, kind: Kind, meaning: str, default: Any = None) -> None:
    """Defines a flag ``--name=VALUE``."""
    flags.DEFINE(kind, name, default, meaning, values)


def define_switch(
    values: flags.FlagValues, name: str, meaning: str, default: bool | None = False, short_name: str | None = None
) -> None:
    """Defines a flag that is on (``--name``) or off (``--noname``)."""
    switch = flags.BooleanFlag(name, default, meaning, short_name)
    switch.parser = _OnOff()
    flags.DEFINE_flag(switch, values)


def define_settings(values: flags.FlagValues, name: str, meaning: str) -> None:
    """Defines a flag ``--name NAME=VALUE`` that may be given several times."""
    flags.DEFINE_multi(Kind("NAME=VALUE", _setting), flags.ArgumentSerializer(), name, None, meaning, values)


class _OnOff(flags.BooleanParser):
    def parse(self, argument: str | int) -> bool:
        try:
            return super().parse(argument)
        except (ValueError, TypeError):
            raise ValueError("must be true or false") from None


def text(metavar: str) -> Kind:
    """Any text that is not empty."""

    def read(argument: str) -> str:
        if not argument.strip():
            raise ValueError("must not be empty")
        return argument

    return Kind(metavar, read)


def whole(lowest: int = 1, highest: int = 2**63 - 1) -> Kind:
    """A whole number from `lowest` to `highest`; ``1e6`` and ``1_000_000`` are read as such too."""

    def read(argument: str | int) -> int:
        number: float = lowest
        with contextlib.suppress(ValueError, OverflowError):
            number = int(argument) if str(argument).replace("_", "").isdecimal() else float(argument)
            if number == int(number) and lowest <= number <= highest:
                return int(number)
        at_most = f" and at most {highest:,}" if number > highest else ""
        raise ValueError(f"must be a whole number, at least {lowest}{at_most}")

    return Kind("N", read)


def real(metavar: str, allowed: str, low: float = math.ulp(0.0), high: float = math.inf) -> Kind:
    """A number from `low`, by default above 0, to below `high`; `allowed` says in words what it must be."""

    def read(argument: Any) -> float:
        with contextlib.suppress(ValueError):
            if low <= float(argument) < high:
                return float(argument)
        raise ValueError(allowed)

    return Kind(metavar, read)


def positive(metavar: str) -> Kind:
    """A finite number above 0."""
    return real(metavar, "must be a positive number")


def fraction() -> Kind:
    """A number between 0 and 1, both excluded."""
    return real("FRACTION", "must be above 0 and below 1", high=1.0)


def duration() -> Kind:
    """A time above 0, in seconds: ``90``, ``90s``, ``5m``, ``2h``; ``1.5h``."""
    number = real("TIME", "must be a time above 0, such as 90, 90s, 5m or 2h")

    def read(argument: str | float) -> float:
        digits = str(argument).strip()
        unit = _SECONDS_OF.get(digits[-1:])
        return number.parse(digits[:-1] if unit else digits) * (unit or 1.0)

    return Kind("TIME", read)


def memory_size() -> Kind:
    """A size of memory in bytes: ``4GB``, ``512MiB``, ``4e9``."""

    def read(argument: str | int) -> int:
        try:
            return bytes_of(argument)
        except ConfigError:
            raise ValueError("must be a size such as 4GB, 512MiB or 4e9") from None

    return Kind("SIZE", read)


def address() -> Kind:
    """A Ray cluster, or `LOCAL`."""

    def read(argument: str) -> str:
        from mccfr_plus.cluster.cluster import check_address  # needs no Ray, but takes long to import

        try:
            return argument if argument == LOCAL else check_address(argument)
        except ConfigError:
            raise ValueError("must be local, ray, ray://HOST:PORT or HOST:PORT") from None

    return Kind("local|ray|ray://HOST:PORT", read)


def one_of(*allowed: str) -> Kind:
    """One of a few words."""

    def read(argument: str) -> str:
        if argument not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return argument

    return Kind("|".join(allowed), read)


def names(metavar: str, *allowed: str) -> Kind:
    """Several names, separated by commas; a comma between parentheses belongs to the name. Without `allowed`, any."""

    def read(argument: str | list[str]) -> list[str]:
        found = _split(argument) if isinstance(argument, str) else argument
        if not all(found):
            raise ValueError("must be names separated by commas")
        for name in found:
            if allowed and name not in allowed:
                raise ValueError(f"{name!r} is none of {', '.join(allowed)}")
        return found

    return Kind(metavar, read)


def _split(argument: str) -> list[str]:
    found, depth = [""], 0
    for character in argument:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [name.strip() for name in found]


def _setting(argument: str) -> tuple[str, Any]:
    """Returns a name and its value as Python writes it: ``hidden_layers=(64,64)``; an unknown word is a text."""
    name, sign, value = (piece.strip() for piece in argument.partition("="))
    if not sign or not all(piece.isidentifier() for piece in name.split(".")):
        raise ValueError("must be NAME=VALUE, such as traversals=1000 or hidden_layers=(64,64)")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        if value.rstrip("+").isidentifier():  # pdcfr+, too
            return name, value
        raise ValueError(
            "must have a value as Python writes it: a number, True, False, None, a word, or a tuple such as (64,64)"
        ) from None
