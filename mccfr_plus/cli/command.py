"""A subcommand: its flags, its help, and how its arguments are read. Nothing is defined in absl's global flags."""

from __future__ import annotations

import shutil
import textwrap
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from absl import flags

from mccfr_plus.cli.flag_kinds import define_switch
from mccfr_plus.errors import MccfrPlusError

PROGRAM = "mccfr-plus"


class UsageError(MccfrPlusError):
    """Arguments that the command line does not take."""


class Command(ABC):
    """A subcommand of `mccfr-plus`.

    Attributes:
        name: The word after `mccfr-plus`.
        summary: One line of what it does.
        positionals: Names of the arguments that are no flags, all of them required.
        repeats_last: Whether the last of them may be given several times.
        notes: What the help says after the flags.
        line: The command line as it was given, for records.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    positionals: ClassVar[tuple[str, ...]] = ()
    repeats_last: ClassVar[bool] = False
    notes: ClassVar[str] = ""
    line: str = PROGRAM

    @abstractmethod
    def define_flags(self, values: flags.FlagValues) -> None:
        """Defines the command's flags in `values`."""

    @abstractmethod
    def run(self, arguments: list[str], values: Any) -> None:
        """Does the work.

        Args:
            arguments: As many as `positionals`, or more if the last one repeats.
            values: The parsed `flags.FlagValues`; a flag is an attribute.

        Raises:
            MccfrPlusError: For bad input. Nothing has been printed on standard output by then.
        """

    def parse(self, argv: list[str]) -> tuple[list[str], flags.FlagValues]:
        """Returns the positional arguments and the flags, which may come in any order.

        Args:
            argv: The arguments after the command's name.

        Raises:
            UsageError: If a flag is unknown or has a bad value, or an argument is missing or too many.
        """
        values = self._flags()
        try:
            arguments = values([PROGRAM, *argv])[1:]
        except flags.UnrecognizedFlagError as error:
            raise UsageError(f"{str(error).rstrip(' ?')}.{self._see_help()}") from None
        except (flags.Error, ValueError) as error:
            raise UsageError(f"{str(error).removeprefix('ERROR:: ').rstrip('.')}.{self._see_help()}") from None
        if values["help"].value:
            return arguments, values
        if len(arguments) < len(self.positionals):
            missing = self.positionals[len(arguments)]
            raise UsageError(f"{missing} is missing: {self.usage()}.{self._see_help()}")
        if len(arguments) > len(self.positionals) and not self.repeats_last:
            extra = arguments[len(self.positionals)]
            raise UsageError(f"unexpected argument {extra!r}: {self.usage()}.{self._see_help()}")
        return arguments, values

    def usage(self) -> str:
        """Returns the line that shows how to call it."""
        more = ["..."] if self.repeats_last else []
        return " ".join([PROGRAM, self.name, *self.positionals, *more, "[--flags]"])

    def help(self) -> str:
        """Returns usage, flags with their defaults, and the notes."""
        width = max(60, min(shutil.get_terminal_size().columns, 110))
        lines = [self.summary, "", f"usage: {self.usage()}", "", "flags:"]
        values = self._flags()
        for name in values:
            flag = values[name]
            if name != flag.name:
                continue  # a short name
            lines.append(f"  {_heading(flag)}")
            lines += textwrap.wrap(
                _description(flag),
                width,
                initial_indent=" " * 6,
                subsequent_indent=" " * 6,
                break_on_hyphens=False,
                break_long_words=False,
            )
        lines += ["", *(text.strip() + "\n" for text in (self.notes, self.more_help()) if text)]
        return "\n".join(lines).rstrip()

    def more_help(self) -> str:
        """Returns what the help says after the notes; for what is not known before it is asked for."""
        return ""

    def _flags(self) -> flags.FlagValues:
        values = flags.FlagValues()
        self.define_flags(values)
        define_switch(values, "help", False, "Print this and exit.", short_name="h")
        return values

    def _see_help(self) -> str:
        return f" See {PROGRAM} {self.name} --help."


def _heading(flag: flags.Flag) -> str:
    if flag.boolean:
        # A flag that is on by default is there to be switched off.
        return f"--[no]{flag.name}" if flag.default else f"--{flag.name}"
    return f"--{flag.name}={getattr(flag.parser, 'metavar', 'VALUE')}"


def _description(flag: flags.Flag) -> str:
    if flag.boolean or flag.default is None:
        return str(flag.help)
    default = ", ".join(flag.default) if isinstance(flag.default, list) else flag.default
    return f"{flag.help} Default: {default}."
