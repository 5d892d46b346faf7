"""The command: its entry point, and the arguments and the output that its verbs share."""

import argparse
import contextlib
import errno
import importlib
import importlib.metadata
import json
import logging
import logging.handlers
import math
import os
import re
import secrets
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import CheckpointError, ConfigError, MccfrPlusError, PolicyFileError, did_you_mean
from mccfr_plus.files.checkpoint import read_header
from mccfr_plus.kernels.compile import is_no_notice
from mccfr_plus.kernels.interrupts import SIGNALS
from mccfr_plus.parameters import bytes_of
from mccfr_plus.policies.files import load_policy, needs_tree
from mccfr_plus.policies.table import TreePolicy
from mccfr_plus.solver.choice import compiled_if_it_fits
from mccfr_plus.specs import split_specs
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.loading import load_game
from mccfr_plus.user_modules import import_user_modules, imported_modules

PROGRAM = "mccfr-plus"
UNIFORM = "uniform"  # in place of a policy's file
POLICY_HELP = "A file written by `mccfr-plus solve --policy_out=FILE`, or the word uniform."

_GAME_HELP = 'A game from OpenSpiel or this package, such as leduc_poker or "kuhn_poker(players=3)".'
_SECONDS_OF = {"s": 1.0, "m": 60.0, "h": 3600.0}
VERBS = ("solve", "compare", "stats", "evaluate", "view", "play", "export", "warm_up")

# Exit codes besides 0: done, also a run that Ctrl-C ended with a result.
BAD_INPUT, NO_OUTPUT, INTERRUPTED, BROKEN_PIPE = 2, 74, 130, 141

_NO_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # of a write to standard output
_COLOURS, _MAX_NOTES = r"\x1b\[[\d;]*m", 1000
_OVERVIEW = """Monte Carlo counterfactual regret minimization for any OpenSpiel game.

usage: {0} COMMAND [ARGUMENTS] [--flags]

commands:
{1}

For help on a command, run {0} COMMAND --help. To print the version, run {0} --version.

examples:
  {0} solve leduc_poker
  {0} solve kuhn_poker --estimator=external --minimizer=rm --iterations=1e6 --policy_out=kuhn.npz
  {0} evaluate kuhn_poker kuhn.npz"""


class UsageError(MccfrPlusError):
    """The command line has an unknown flag, a bad value, or arguments that do not go together."""


class Parser(argparse.ArgumentParser):
    """Parses the arguments of a verb; a bad one is a `UsageError`."""

    def __init__(self, verb: str, summary: str, notes: str):
        super().__init__(f"{PROGRAM} {verb}", description=summary, epilog=notes, allow_abbrev=False)
        self.formatter_class = argparse.RawDescriptionHelpFormatter

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}{'' if message.endswith('?') else '.'} See {self.prog} --help.")

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
        self.error(f"unknown flag {word}" + (f": did you mean --{near[0]}?" if near else ""))


def main(argv: list[str] | None = None) -> int:
    """Runs the command line, by default that of the process, and returns its exit code. SIGTERM is like Ctrl-C."""
    handlers = ((number, signal.getsignal(number)) for number in SIGNALS)
    before = {number: handler for number, handler in handlers if handler is not signal.SIG_IGN}  # as by nohup
    try:
        for number in before:
            signal.signal(number, signal.default_int_handler)  # which raises KeyboardInterrupt
        with _logging_to_stderr():
            _run(sys.argv[1:] if argv is None else argv)
        if sys.stdout is not None:  # None if it was closed before the process began
            sys.stdout.flush()
        return 0
    except MccfrPlusError as error:
        return _fail(BAD_INPUT, str(error))
    except MemoryError:
        return _fail(BAD_INPUT, "out of memory: reduce the problem size or raise the memory limit.")
    except KeyboardInterrupt as interrupt:
        print(f"{PROGRAM}: interrupted" + (f": {interrupt}" if str(interrupt) else ""), file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        if error.filename is not None or error.errno not in _NO_OUTPUT:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python's flush at exit would fail again
        if error.errno == errno.EPIPE:
            return BROKEN_PIPE
        return _fail(NO_OUTPUT, f"cannot write standard output: {error.strerror}.")
    except Exception as error:
        if not imported_modules() or not type(error).__module__.startswith("numba."):
            raise
        return _fail(BAD_INPUT, f"a kernel cannot be compiled: {re.sub(_COLOURS, '', str(error))}")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _fail(code: int, message: str) -> int:
    print(f"{PROGRAM}: error: {' '.join(message.split())}", file=sys.stderr)
    return code


def parser_of(verb: str) -> Parser:
    """Returns the parser of one of `VERBS`; only that verb's module is imported."""
    module = importlib.import_module(f"mccfr_plus.cli.{verb}")
    parser = Parser(verb, module.SUMMARY, module.NOTES)
    module.add_arguments(parser)
    meaning = "Import this module, given by its name or file, to register games or components; may be repeated."
    parser.add_argument(
        "--import", dest="imports", metavar="MODULE", type=text, action="append", default=[], help=meaning
    )
    parser.set_defaults(run=module.run)
    return parser


def _run(argv: list[str]) -> None:
    if not argv or argv[0] in ("--help", "-h", "help"):
        summaries = [f"  {verb:8}  {importlib.import_module(f'mccfr_plus.cli.{verb}').SUMMARY}" for verb in VERBS]
        print(_OVERVIEW.format(PROGRAM, "\n".join(summaries)))
    elif argv[0] == "--version":
        print(f"{PROGRAM} {importlib.metadata.version('mccfr_plus')}")
    elif argv[0] not in VERBS:
        hint = did_you_mean(argv[0], VERBS)
        raise UsageError(f"unknown command {argv[0]!r}.{hint} Give one of {', '.join(VERBS)}. See {PROGRAM} --help.")
    else:
        _run_verb(*argv)


def _run_verb(verb: str, *argv: str) -> None:
    parser = parser_of(verb)
    if {"-h", "--help"} & set(argv):
        print(parser.format_help(), end="")
        return
    arguments = parser.parse(list(argv))
    if arguments.imports:
        import_user_modules(arguments.imports)
    if getattr(arguments, "quiet", False):
        logger = logging.getLogger("mccfr_plus")
        logger.setLevel(logging.WARNING)
        for handler in logger.handlers:  # the notice of a compilation is a warning, so that it is shown at once
            handler.addFilter(is_no_notice)
    arguments.run(arguments)


@contextlib.contextmanager
def _logging_to_stderr() -> Iterator[None]:
    """Shows the package's log as plain lines on standard error: warnings at once, notes at `show_notes`."""
    logger = logging.getLogger("mccfr_plus")
    handler = logging.handlers.MemoryHandler(_MAX_NOTES, logging.WARNING, logging.StreamHandler(), flushOnClose=False)
    shown: dict[str, logging.LogRecord] = {}  # each message once
    handler.addFilter(lambda record: shown.setdefault(record.getMessage(), record) is record)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False  # the root logger may have a handler that would print the line again
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
        logger.setLevel(before[0])
        logger.propagate = before[1]


def add_game(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", metavar="GAME", type=text, help=_GAME_HELP)


def add_seed(group: Any, meaning: str) -> None:
    group.add_argument("--seed", metavar="N", type=whole(0), help=f"{meaning} Default: random.")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", help="Also print the result as one JSON object, on the last line."
    )


def add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", action="store_true", help="Hide progress and notes.")


def seed_of(arguments: argparse.Namespace) -> int:
    """Returns the seed of the command line, or a random one."""
    return secrets.randbits(32) if arguments.seed is None else arguments.seed


def refuse(arguments: argparse.Namespace, names: tuple[str, ...], why: str) -> None:
    """Raises UsageError if a flag is given that would have no effect: why, and what to do."""
    for name in names:
        if getattr(arguments, name) not in (None, False):
            raise UsageError(f"--{name} {why}.")


def text(argument: str) -> str:
    if not argument.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return argument


def whole(lowest: int = 1, highest: int = 2**63 - 1) -> Callable[[str], int]:
    """Returns the type of integers within limits; ``1e6`` and ``1_000_000`` are read as such."""

    def read(argument: str) -> int:
        number: float = lowest
        with contextlib.suppress(ValueError, OverflowError):
            number = int(argument) if argument.replace("_", "").isdecimal() else float(argument)
            if number == int(number) and lowest <= number <= highest:
                return int(number)
        at_most = f" and at most {highest:,}" if number > highest else ""
        raise argparse.ArgumentTypeError(f"{argument!r} must be an integer, at least {lowest}{at_most}")

    return read


def positive(argument: str) -> float:
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


# --- policies ---


def require_policy(source: str) -> None:
    """Raises PolicyFileError if there is no such file and it is not the uniform policy."""
    if source != UNIFORM and not os.path.isfile(source):
        raise PolicyFileError(f"there is no file {source}. Give a saved policy, or the word {UNIFORM}.")


def read_policy(path: str | os.PathLike, game: pyspiel.Game | None, tree: GameTree | None = None) -> Any:
    """Returns the uniform policy, or that of a file of `save_policy` or `NetworkPolicy.save`, None: of any game."""
    if path == UNIFORM:
        return {} if tree is None else TreePolicy(tree, tree.uniform_strategy())
    header: dict[str, Any] = {}
    with contextlib.suppress(CheckpointError):
        header = read_header(path)
    if "network_policy" not in header:
        return load_policy(path, tree or game)
    from mccfr_plus.neural import NetworkPolicy

    own = header.get("game")
    if None not in (own, game) and str(load_game(str(own))) != str(game):  # without one it is refused below
        raise PolicyFileError(f"{path} holds a policy for {own}, not for {game}. Evaluate it on its own game.")
    try:
        return NetworkPolicy.load(path, game)
    except CheckpointError as error:
        raise PolicyFileError(str(error)) from None


def policies_and_tree(
    game: pyspiel.Game, sources: list[str], memory: str | int | None = None, *, only_if_needed: bool = False
) -> tuple[list[Any], GameTree | None]:
    """Returns policies and the tree of their game; None if no policy needs it and it does not fit, or is not wanted.

    It is the public tree if a file holds a policy of one.
    """
    for source in sources:
        require_policy(source)
    # Other policies are read first, so that a bad file is an error before a game is compiled.
    found = [None if source != UNIFORM and needs_tree(source) else read_policy(source, game) for source in sources]
    tree: Any = next((policy.tree for policy in found if isinstance(policy, TreePolicy)), None)
    is_needed = any(policy is None for policy in found)
    if is_needed or (tree is None and not only_if_needed):
        tree = compiled_if_it_fits(game, "compiled" if is_needed else "auto", memory)
    return [policy or read_policy(source, game, tree) for source, policy in zip(sources, found, strict=True)], tree


# --- output ---


def show_notes() -> None:
    """Shows the package's log so far, which is held back until the input is checked: errors are one line."""
    for handler in logging.getLogger("mccfr_plus").handlers:
        handler.flush()


def note(arguments: argparse.Namespace, line: str) -> None:
    """Prints a line on standard error, unless ``--quiet`` is given."""
    if not arguments.quiet:
        print(line, file=sys.stderr)


def progress_of(arguments: argparse.Namespace) -> bool | None:
    """Returns False with ``--quiet``, else None: as the library's defaults say."""
    return False if arguments.quiet else None


def print_table(rows: Sequence[Sequence[str]], *, texts: Sequence[int] = (0,)) -> None:
    """Prints rows with aligned columns: `texts` to the left, others to the right. A single cell is a heading."""
    aligned = [row for row in rows if len(row) > 1] or rows
    widths = [max(len(row[i]) for row in aligned if i < len(row)) for i in range(max(len(row) for row in aligned))]
    for row in rows:
        cells = [cell.ljust(widths[i]) if i in texts else cell.rjust(widths[i]) for i, cell in enumerate(row)]
        print("  ".join(cells).rstrip())


def print_json(values: dict[str, Any]) -> None:
    print(json.dumps(values, allow_nan=False))


def number(value: float | None, digits: int = 6) -> str:
    """Returns a value with so many significant digits; ``n/a`` for None."""
    return "n/a" if value is None else f"{value:.{digits}g}"


def count(value: float) -> str:
    return f"{value:,.0f}"


def short(value: float, unit: str = "") -> str:
    """Returns a number with three digits and k, M, G or T for the thousands, and its unit."""
    text = tqdm.format_sizeof(value) if value >= 999.5 else f"{value:.0f}"
    digits = text.rstrip("kMGT")
    return f"{digits} {text[len(digits) :]}{unit}" if unit else text


def wrapped(text: str, width: int = 100) -> str:
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)


def open_in_browser(address: str) -> None:
    import webbrowser

    try:
        is_open = webbrowser.open(address)
    except (webbrowser.Error, OSError):
        is_open = False
    if not is_open:
        print(f"no browser found: open {address}", file=sys.stderr)
