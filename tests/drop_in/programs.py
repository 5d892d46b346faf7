"""Runs Python programs in copies of a process that has imported OpenSpiel and this package already."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from pathlib import Path

_COPIES = multiprocessing.get_context("forkserver")
_COPIES.set_forkserver_preload(
    ["absl.app", "absl.testing.absltest", "open_spiel.python.algorithms.exploitability", "mccfr_plus.drop_in"]
)


def run(script: Path, arguments: tuple[str, ...], folder: Path, timeout: float) -> tuple[int | None, str]:
    """Runs a program in a folder. Returns its exit code, None after `timeout` seconds, and what it has printed."""
    printed = folder / "printed"
    process = _COPIES.Process(target=_run_here, args=(script, arguments, printed))
    process.start()
    process.join(timeout)
    code = process.exitcode
    process.kill()
    return code, printed.read_text()


def _run_here(script: Path, arguments: tuple[str, ...], printed: Path) -> None:
    output = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ["TMPDIR"] = str(printed.parent)
    os.chdir(printed.parent)
    sys.argv = [str(script), *arguments]
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
