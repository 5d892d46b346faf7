"""The entry point: finds the command, runs it, and turns errors into one line and an exit code.

Exit codes: 0 done (also a run that Ctrl-C ended with a result), 2 bad input or no room for what was asked, 74 standard
output cannot be written, 130 interrupted without a result, 141 the reader of a pipe went away. SIGTERM and SIGHUP are
the same as Ctrl-C. A signal that comes before `main` ends the process, without a word.
"""

import atexit
import contextlib
import difflib
import errno
import gc
import importlib
import importlib.metadata
import logging
import logging.handlers
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Mapping

from mccfr_plus.cli.command import PROGRAM, Command, UsageError, wants_help
from mccfr_plus.errors import MccfrPlusError
from mccfr_plus.kernels.compile import is_no_notice
from mccfr_plus.kernels.interrupts import SIGNALS
from mccfr_plus.user_modules import import_user_modules, imported_modules

_CLASSES = {  # by name: the module and the class in it
    "solve": "solve.SolveCommand",
    "compare": "compare.CompareCommand",
    "stats": "stats.StatsCommand",
    "evaluate": "evaluate.EvaluateCommand",
    "view": "view.ViewCommand",
    "play": "play.PlayCommand",
    "export": "export.ExportCommand",
    "games": "games.GamesCommand",
    "warm_up": "warm_up.WarmUpCommand",
    "completion": "completion.CompletionCommand",
}


class _Commands(Mapping[str, Command]):
    """The commands by name. Each is imported when it is needed: some load much else."""

    def __init__(self) -> None:
        self._loaded: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._loaded:
            module, kind = _CLASSES[name].split(".")
            self._loaded[name] = getattr(importlib.import_module(f"mccfr_plus.cli.{module}"), kind)()
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


COMMANDS = _Commands()

BAD_INPUT, NO_OUTPUT, INTERRUPTED, BROKEN_PIPE = 2, 74, 130, 141

# Why standard output cannot be written: a full disk, a limit of files' sizes, a terminal that is gone.
_NO_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_MAX_NOTES = 1000
_UNTIL_DESTROYED = 0.05  # seconds that a destructor is given
_MOST_CHARACTERS = 300  # of a word of an error

_HELP = ("--help", "-h", "-help", "help")
_VERSION = ("--version", "-version")


def main(argv: list[str] | None = None) -> int:
    """Runs the command line and returns its exit code.

    Args:
        argv: The arguments after the program's name; None: those of the process.
    """
    if sys.stdout is None:  # it was closed before the process began
        print(f"{PROGRAM}: error: cannot write standard output: it is closed.", file=sys.stderr)
        return NO_OUTPUT
    atexit.register(gc.freeze)  # a process that ends need not look for garbage, which takes 0.2 s
    before = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}  # as by nohup
    try:
        for number in before:
            signal.signal(number, signal.default_int_handler)  # which raises KeyboardInterrupt
        with _persistent_interrupts(), _logging_to_stderr():
            _dispatch(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return 0
    except MccfrPlusError as error:
        print(f"{PROGRAM}: error: {' '.join(map(_shortened, str(error).split()))}", file=sys.stderr)
        return BAD_INPUT
    except MemoryError:
        print(f"{PROGRAM}: error: out of memory: ask for less, or give more.", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt as interrupt:
        how_far = f": {interrupt}" if str(interrupt) else ""
        print(f"{PROGRAM}: interrupted{how_far}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return BROKEN_PIPE
    except OSError as error:
        if error.filename is not None or error.errno not in _NO_OUTPUT:
            raise
        _drop_output()
        with contextlib.suppress(OSError):  # of a terminal that is gone
            print(f"{PROGRAM}: error: cannot write standard output: {error.strerror}.", file=sys.stderr)
        return NO_OUTPUT
    except Exception as error:
        if not imported_modules() or not type(error).__module__.startswith("numba."):
            raise
        # Without colours, and without the steps of the compiler that failed one within the other.
        reason = re.sub(r"\x1b\[[\d;]*m|Failed in nopython mode pipeline \(step: [^)]*\)", "", str(error))
        reason = " ".join(reason.split("During: typing of call")[0].split())
        print(f"{PROGRAM}: error: a kernel cannot be compiled: {reason}", file=sys.stderr)
        return BAD_INPUT
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _drop_output() -> None:
    """Drops what is still buffered, which would raise again when Python flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _shortened(word: str) -> str:
    """Returns a word of a message as it can be read: what was given may be of any length."""
    if len(word) <= _MOST_CHARACTERS:
        return word
    part = _MOST_CHARACTERS // 3
    return f"{word[:part]}[... {len(word) - 2 * part:,} characters ...]{word[-part:]}"


def _dispatch(argv: list[str]) -> None:
    if not argv or argv[0] in _HELP:
        print(_overview())
        return
    if argv[0] in _VERSION:
        print(f"{PROGRAM} {importlib.metadata.version('mccfr_plus')}")
        return
    position = _position_of_command(argv)
    command = COMMANDS[argv[position]]
    command.line = shlex.join([PROGRAM, *argv])
    arguments, values = command.parse(argv[:position] + argv[position + 1 :])
    if wants_help(values):
        print(command.help(values))
        return
    if values["import"].value:
        import_user_modules(values["import"].value)
    if "quiet" in values and values["quiet"].value:
        logger = logging.getLogger("mccfr_plus")
        logger.setLevel(logging.WARNING)
        for handler in logger.handlers:  # the notice of a compilation is a warning, to be shown at once
            handler.addFilter(is_no_notice)
    command.run(arguments, values)


def _position_of_command(argv: list[str]) -> int:
    """Returns where the command's name stands: first, or after flags."""
    for position, argument in enumerate(argv):
        if argument in COMMANDS and (position == 0 or argv[0].startswith("-")):
            return position
    see = f"See {PROGRAM} --help."
    if argv[0].startswith("-"):
        raise UsageError(f"no command given: put one of {', '.join(COMMANDS)} first. {see}")
    near = difflib.get_close_matches(argv[0], COMMANDS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"{argv[0]!r} is no command.{hint} Give one of {', '.join(COMMANDS)}. {see}")


def _overview() -> str:
    width = max(len(name) for name in COMMANDS)
    commands = "\n".join(f"  {name.ljust(width)}  {command.summary}" for name, command in COMMANDS.items())
    return f"""Monte Carlo counterfactual regret minimization for any OpenSpiel game.

usage: {PROGRAM} COMMAND [ARGUMENTS] [--flags]

commands:
{commands}

{PROGRAM} COMMAND --help explains a command; {PROGRAM} --version prints the version.

examples:
  {PROGRAM} solve leduc_poker
  {PROGRAM} solve kuhn_poker --estimator=external --minimizer=rm --iterations=1e6 --policy_out=kuhn.npz
  {PROGRAM} evaluate kuhn_poker kuhn.npz
  {PROGRAM} stats "goofspiel(num_cards=4,imp_info=True)\""""


@contextlib.contextmanager
def _logging_to_stderr() -> Iterator[None]:
    """Shows what the package logs as plain lines on standard error: warnings at once, notes at `output.show_notes`."""
    logger = logging.getLogger("mccfr_plus")
    handler = logging.handlers.MemoryHandler(
        _MAX_NOTES, flushLevel=logging.WARNING, target=logging.StreamHandler(), flushOnClose=False
    )
    shown: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:  # that kernels are compiled is told only the first time
        before = len(shown)
        shown.add(record.getMessage())
        return len(shown) > before

    handler.addFilter(is_new)
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


@contextlib.contextmanager
def _persistent_interrupts() -> Iterator[None]:
    """Sends a signal again whose KeyboardInterrupt was lost, because it came while Python ran a destructor.

    Python can only report what a ``__del__`` raises, so that a command would go on after Ctrl-C.
    """
    report, thread, timers = sys.unraisablehook, threading.get_ident(), list[threading.Timer]()

    def send_again(lost: "sys.UnraisableHookArgs") -> None:
        handled = [number for number in SIGNALS if callable(signal.getsignal(number))]
        if not issubclass(lost.exc_type, KeyboardInterrupt) or not handled:
            report(lost)
            return
        timers.append(threading.Timer(_UNTIL_DESTROYED, signal.pthread_kill, (thread, handled[0])))
        timers[-1].start()

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = report
        for timer in timers:
            timer.cancel()
