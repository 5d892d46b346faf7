"""The entry point: runs a verb, and turns errors into one line and an exit code. SIGTERM and SIGHUP are like Ctrl-C."""

import contextlib
import difflib
import errno
import importlib
import importlib.metadata
import logging
import logging.handlers
import os
import re
import signal
import sys
from collections.abc import Iterator

from mccfr_plus.cli.common import PROGRAM, Parser, UsageError, text
from mccfr_plus.errors import MccfrPlusError
from mccfr_plus.kernels.compile import is_no_notice
from mccfr_plus.kernels.interrupts import SIGNALS
from mccfr_plus.user_modules import import_user_modules, imported_modules

VERBS = ("solve", "compare", "stats", "evaluate", "view", "play", "export", "warm_up")

# Exit codes besides 0: done, also a run that Ctrl-C ended with a result.
BAD_INPUT, NO_OUTPUT, INTERRUPTED, BROKEN_PIPE = 2, 74, 130, 141

_NO_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # of a write to standard output
_COLOURS, _MAX_NOTES = r"\x1b\[[\d;]*m", 1000
_OVERVIEW = """Monte Carlo counterfactual regret minimization for any OpenSpiel game.

usage: {0} COMMAND [ARGUMENTS] [--flags]

commands:
{1}

{0} COMMAND --help explains a command; {0} --version prints the version.

examples:
  {0} solve leduc_poker
  {0} solve kuhn_poker --estimator=external --minimizer=rm --iterations=1e6 --policy_out=kuhn.npz
  {0} evaluate kuhn_poker kuhn.npz"""


def main(argv: list[str] | None = None) -> int:
    """Runs the command line, by default that of the process, and returns its exit code."""
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
    meaning = "Import a module first, by name or file, that registers games or components; may be repeated."
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
        near = difflib.get_close_matches(argv[0], VERBS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
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
    """Shows the package's log as plain lines on standard error: warnings at once, notes at `common.show_notes`."""
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
