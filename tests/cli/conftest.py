"""How the tests call the command: in this process where that will do, as a process where it will not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mccfr_plus.cli import compare
from mccfr_plus.cli.command import main


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out.splitlines()[-1])

    def assert_one_line_error(self, *parts: str) -> None:
        assert self.code == 2, self.err
        assert self.out == ""
        assert len(self.err.splitlines()) == 1, self.err
        for part in ("mccfr-plus: error: ", *parts):
            assert part in self.err


@pytest.fixture
def command(capsys):
    def call(*arguments: str) -> Outcome:
        code = main(list(arguments))
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def blank_pictures(monkeypatch):
    """Leaves the files of pictures empty, which take half a second each; `test_compare.test_pictures` draws them."""
    monkeypatch.setattr(compare, "write_figure", lambda _, path: Path(path).touch())


@pytest.fixture
def start():
    processes = []

    def call(*arguments: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-m", "mccfr_plus", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C that ends the tests, and the tests' own signals, reach one side only
            # A shell that runs the tests in the background makes them, and what they start, ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        processes.append(process)
        return process

    yield call
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # its workers, too, which may not hear of its end
        process.communicate()
