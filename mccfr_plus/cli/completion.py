"""`mccfr-plus completion`: a script by which a shell completes commands, flags, their values, games and files."""

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyspiel
from absl import flags

from mccfr_plus.cli.command import PROGRAM, Command, UsageError

_BASH = """\
_mccfr_plus() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} flag="" words=""
    if [[ $current == "=" ]]; then flag=${{COMP_WORDS[COMP_CWORD-1]}} current=""
    elif [[ ${{COMP_WORDS[COMP_CWORD-1]}} == "=" ]]; then flag=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    if (( COMP_CWORD == 1 )); then words="{commands}"; else
        case "$command$flag" in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace
}}
complete -o default -F _mccfr_plus {program}
"""

_ZSH = """\
#compdef {program}
_mccfr_plus() {{
    if (( CURRENT == 2 )); then
        local -a commands=({commands})
        _describe command commands
        return
    fi
    case $words[2] in
{cases}
    esac
}}
compdef _mccfr_plus {program}
"""


class CompletionCommand(Command):
    """Prints a script for a shell."""

    name = "completion"
    summary = "Print a script by which a shell completes commands, flags, games and files."
    positionals = ("SHELL",)
    notes = f"""
SHELL is bash, zsh or fish. To use the script
  bash   echo 'source <({PROGRAM} completion bash)' >> ~/.bashrc
  zsh    echo 'source <({PROGRAM} completion zsh)' >> ~/.zshrc      after compinit
  fish   {PROGRAM} completion fish > ~/.config/fish/completions/{PROGRAM}.fish
"""

    def define_flags(self, values: flags.FlagValues) -> None:
        """Defines none."""

    def run(self, arguments: list[str], values: Any) -> None:
        (shell,) = arguments
        if shell not in _SCRIPTS:
            raise UsageError(f"SHELL={shell!r}: give one of {', '.join(_SCRIPTS)}.")
        from mccfr_plus.cli.main import COMMANDS  # which imports this module

        print(_SCRIPTS[shell](COMMANDS), end="")


class _Flag(NamedTuple):
    """A flag of a command."""

    name: str
    meaning: str
    takes_value: bool
    values: list[str]  # if these are all


def _flags_of(command: Command) -> list[_Flag]:
    found, all_flags = [], command.flags()
    for name in all_flags:
        flag = all_flags[name]
        if name == flag.name:
            kind = getattr(flag.parser, "metavar", "")
            values = kind.split("|") if "|" in kind and re.fullmatch(r"[a-z0-9_|]+", kind) else []
            found.append(_Flag(name, re.split(r"[.;:]\s", flag.help)[0].rstrip("."), not flag.boolean, values))
    return found


def _first(command: Command) -> list[str]:
    """Returns what the first argument of a command can be, besides files."""
    if "GAME" in command.positionals:
        return pyspiel.registered_names()
    return list(_SCRIPTS) if command.name == "completion" else []


def _bash(commands: Mapping[str, Command]) -> str:
    cases = []
    for name, command in commands.items():
        words = [f"--{flag.name}{'=' if flag.takes_value else ''}" for flag in _flags_of(command)]
        cases.append(f'            {name}) words="{" ".join([*_first(command), *words])}" ;;')
        cases += [
            f'            {name}--{flag.name}) words="{" ".join(flag.values)}" ;;'
            for flag in _flags_of(command)
            if flag.values
        ]
    return _BASH.format(program=PROGRAM, commands=" ".join(commands), cases="\n".join(cases))


def _zsh(commands: Mapping[str, Command]) -> str:
    cases = []
    for name, command in commands.items():
        specs = []
        for flag in _flags_of(command):
            meaning = re.sub(r"([\[\]:\\])", r"\\\1", flag.meaning)
            value = f":value:({' '.join(flag.values)})" if flag.values else ":value:_files"
            specs.append(
                f"--{flag.name}{'=' if flag.takes_value else ''}[{meaning}]{value if flag.takes_value else ''}"
            )
        first = _first(command)
        specs += [f"2: :({' '.join(first)})"] if first else []
        listed = " \\\n            ".join(shlex.quote(spec) for spec in [*specs, "*:file:_files"])
        cases.append(f"        {name}) _arguments {listed} ;;")
    described = " ".join(shlex.quote(f"{name}:{command.summary}") for name, command in commands.items())
    return _ZSH.format(program=PROGRAM, commands=described, cases="\n".join(cases))


def _fish(commands: Mapping[str, Command]) -> str:
    lines = [f"complete -c {PROGRAM} -n __fish_use_subcommand -f"]
    for name, command in commands.items():
        begin = f"complete -c {PROGRAM} -n '__fish_seen_subcommand_from {name}'"
        lines.append(f"complete -c {PROGRAM} -n __fish_use_subcommand -a {name} -d {_fish_text(command.summary)}")
        if first := _first(command):
            lines.append(f"{begin} -a '{' '.join(first)}'")
        for flag in _flags_of(command):
            value = f" -x -a '{' '.join(flag.values)}'" if flag.values else " -r" if flag.takes_value else ""
            lines.append(f"{begin} -l {flag.name}{value} -d {_fish_text(flag.meaning)}")
    return "\n".join(lines) + "\n"


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_SCRIPTS: dict[str, Callable[[Mapping[str, Command]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
