"""The entry point of the ``mccfr-plus`` command and of ``python -m mccfr_plus``."""

import gc
import signal
import sys


def main() -> int:
    """Imports and runs the command; returns its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends imports without a traceback; `cli.command` then handles it
    gc.disable()  # collections would take a third of the time of the imports, and find nothing
    try:
        import numba  # noqa: F401 - checks environment variables, such as NUMBA_NUM_THREADS
    except ValueError as error:
        print(f"mccfr-plus: error: cannot start Numba: {error} Check the NUMBA_* variables.", file=sys.stderr)
        return 2
    from mccfr_plus.cli.command import main as run_command

    gc.freeze()  # nor need the collection at exit look at what was imported
    gc.enable()
    return run_command()


if __name__ == "__main__":
    sys.exit(main())
