"""A process that calls the command for one case after another, in folders of their own, and looks at what it did.

Reads cases' numbers from standard input, and writes a line of JSON for each. Loops are interpreted: a fuzzer that tries
all components would compile for hours.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from cases import RESUMED, Case, case_of, damaged
from interpreted import composed

from mccfr_plus import Solver, save_policy
from mccfr_plus.cli.main import main
from mccfr_plus.experiments import run_all
from mccfr_plus.experiments.run_loop import RunEvent, outcome_of
from mccfr_plus.files.atomic_write import TEMPORARY_SUFFIX
from mccfr_plus.solver import engine

CODES = (0, 2)
CODES_OF_SIGNALS = (0, 2, 130)
_BEFORE_MAIN = {"SIGINT": -2, "SIGTERM": -15, "SIGHUP": -1}

# Sends a signal to itself at the n-th audit event of a name, if there are so many.
_WITH_SIGNAL = """
import os, runpy, signal, sys
number, name, count = getattr(signal, sys.argv[1]), sys.argv[2], int(sys.argv[3])
signal.signal(signal.SIGINT, signal.default_int_handler)
def hook(event, arguments):
    global count
    if event == name and "importlib.metadata" in sys.modules:  # the package has begun to import
        count -= 1
        if count == 0:
            os.kill(os.getpid(), number)
sys.argv[:] = ["mccfr-plus", *sys.argv[4:]]
sys.addaudithook(hook)
from mccfr_plus.cli.main import main
sys.exit(main())
"""


def _in_order(runs, about, _):
    for number, each in runs.items():
        yield RunEvent(number, 1.0, outcome_of(each, about, lambda _: None, lambda: False))


def prepare(folder: Path) -> None:
    """Writes the files that cases are given."""
    engine.composed = composed
    run_all._run_in_processes = _in_order
    save_policy(Solver("kuhn_poker", "full", "rm+").run(10).average_policy(), folder / "kuhn.npz")
    lazy = Solver("kuhn_poker", "outcome", "rm", tree="lazy", seed=1, memory="300MB").run(50)
    save_policy(lazy.average_policy(), folder / "keyed.npz")
    small = ("--set", "traversals=3", "--set", "train_steps=2", "--set", "hidden_layers=(8,)")
    for name, flags in RESUMED.items():
        more = small if "deep_cfr" in flags[0] else ("--memory=300MB", "--bound_seconds=0")
        limit = "--iterations=1" if "deep_cfr" in flags[0] else "--iterations=5"
        _call(["solve", "kuhn_poker", "--seed=1", "--quiet", limit, f"--checkpoint={folder / name}", *flags, *more])
    network = (
        "--algorithm=batched_deep_cfr",
        "--iterations=1",
        "--bound_seconds=0",
        f"--policy_out={folder / 'network.npz'}",
    )
    _call(["solve", "kuhn_poker", "--seed=1", "--quiet", *network, *small])
    runs = ("--iterations=5", "--seeds=1", "--algorithms=external", f"--out={folder / 'runs'}")
    _call(["compare", "kuhn_poker", "--quiet", *runs])
    records = list((folder / "runs" / "runs").glob("*.jsonl"))
    for file in (folder / "runs").iterdir():
        if file.is_file() and file.suffix != ".json":
            file.unlink()
    assert len(records) == 1
    (folder / "folder").mkdir()


def _special(folder: Path) -> None:
    """Makes what cannot be copied."""
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    (folder / "link").symlink_to("kuhn.npz")
    with socket.socket(socket.AF_UNIX) as it:
        it.bind("socket")


def _call(line: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    before = sys.stdin
    sys.stdin = io.StringIO("q\n")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(line)
    finally:
        sys.stdin = before
    return code, out.getvalue(), err.getvalue()


def problem_of(case: Case, originals: Path) -> str | None:
    """Calls the command and returns what is wrong with what it did, or None."""
    before, here = Path.cwd(), tempfile.mkdtemp(prefix="fuzz_")
    folder = Path(here)
    shutil.copytree(originals, folder, dirs_exist_ok=True)
    os.chdir(folder)
    try:
        _special(folder)
        if case.damage is not None:
            if case.damage[0].startswith("runs/runs"):
                next((folder / "runs" / "runs").glob("*.jsonl")).rename(folder / "runs" / "runs" / "a.jsonl")
            damaged(folder, case)
            if case.damage[0].startswith("runs/runs"):
                (folder / case.damage[0]).rename(next((originals / "runs" / "runs").glob("*.jsonl")).name)
        kept = _contents(folder)
        if case.signal is not None:
            arguments = [sys.executable, "-c", _WITH_SIGNAL, *map(str, case.signal), *case.line]
            done = subprocess.run(arguments, capture_output=True, text=True, errors="replace", timeout=120, check=False)
            code, out, err = done.returncode, done.stdout, done.stderr
            allowed = (*CODES_OF_SIGNALS, _BEFORE_MAIN[case.signal[0]])
        else:
            code, out, err = _call(case.line)
            allowed = CODES
        return _problem(case, code, out, err, allowed) or _problem_of_files(folder, kept, case)
    except (Exception, SystemExit, KeyboardInterrupt):
        return traceback.format_exc()
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def _problem(case: Case, code: int, out: str, err: str, allowed: tuple[int, ...]) -> str | None:
    if code not in allowed:
        return f"exit code {code}: {err[-1000:]}"
    for word in ("Traceback", "Exception ignored", "Warning:"):
        if word in err or word in out:
            return f"{word} on an output: {err[-1500:]}"
    if code == 2 and not err.splitlines()[-1].startswith("mccfr-plus: error: "):
        return f"no error in the last line: {err[-500:]}"
    if code == 2 and max(map(len, err.splitlines())) > 3000:
        return f"a long line: {err[-500:]}"
    return None


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def _problem_of_files(folder: Path, kept: dict[str, bytes], case: Case) -> str | None:
    found = _contents(folder)
    left = [name for name in found if name.endswith((TEMPORARY_SUFFIX, ".lock"))]
    if left:
        return f"files are left: {left}"
    words = " ".join(case.line)
    for name, content in kept.items():
        if found.get(name) != content and not (name in words and name.endswith("checkpoint")) and "runs" not in name:
            if f"--policy_out={name}" in words or (name == "kuhn.npz" and "=link" in words):
                continue
            return f"{name} was changed"
    for name in ("new.npz", "page.html", "table.csv"):
        if name in found and not found[name]:
            return f"{name} is empty"
    return None


def run() -> None:
    """Answers until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    seed = int(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="fuzz_") as originals:
        prepare(Path(originals))
        print(json.dumps("ready"), file=answers)
        for line in sys.stdin:
            number = int(line)
            begin = _cpu_seconds()
            problem = problem_of(case_of(seed, number), Path(originals))
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(json.dumps([number, problem, _cpu_seconds() - begin, memory]), file=answers)


def _cpu_seconds() -> float:
    return sum(os.times()[:4])


if __name__ == "__main__":
    run()
