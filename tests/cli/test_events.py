"""Signals and files that cannot be written, as a table of moments, events and commands.

An event comes at the call of a function, so that nothing depends on the speed of the machine. No event may leave a
traceback, an exit code that `mccfr_plus.cli.command` does not list, or half a file.
"""

import contextlib
import errno
import json
import os
import pkgutil
import signal
import time

import pytest

from mccfr_plus import Solver, load_policy, save_policy
from mccfr_plus.cli.command import main
from mccfr_plus.experiments import runs
from mccfr_plus.files.atomic_write import TEMPORARY_SUFFIX
from mccfr_plus.files.checkpoint import read_header

pytestmark = pytest.mark.integration

# All are handled alike: the fast tests use one of them.
SIGNALS = [
    pytest.param(name, marks=[] if name == "SIGTERM" else pytest.mark.slow)
    for name in ("SIGTERM", "SIGINT", "SIGHUP")
    if hasattr(signal, name)
]
SOLVE = ("solve", "kuhn_poker", "--iterations=300", "--seed=1", "--policy_out=new.npz", "--checkpoint=new", "--quiet")
COMMANDS = {
    "solve": " ".join(SOLVE),
    "evaluate": "evaluate kuhn_poker kuhn.npz",
    "view": "view kuhn_poker kuhn.npz --out=new.html --no-open",
    "export": "export kuhn_poker kuhn.npz --out=new.csv",
    "play": "play kuhn_poker kuhn.npz --games=1",
    "play_after_solving": "play kuhn_poker --quiet",
    "compare": "compare kuhn_poker --out=runs --iterations=20 --seeds=1 --algorithms=external --processes=1",
    "stats": "stats kuhn_poker",
}

# A moment is a function at whose call the event comes, and the commands that call it.
MOMENTS = {
    "compiling the tree": ("mccfr_plus.trees.game_tree.build_tree", "solve evaluate view export stats compare"),
    "compiling kernels": ("mccfr_plus.solver.engine.Engine.prepare", "solve compare"),
    "running": ("mccfr_plus.solver.engine.Engine.advance", "solve compare play_after_solving"),
    "evaluating": ("mccfr_plus.evaluation.exact.Evaluator.evaluate", "solve evaluate compare"),
    "writing": ("os.fsync", "solve view export compare"),
    "renaming": ("os.replace", "solve view export compare"),
    "printing": ("mccfr_plus.cli.command.print_table", "solve evaluate stats"),
    "waiting for a person": ("builtins.input", "play"),
}
TABLE = [(command, moment) for moment, (_, commands) in MOMENTS.items() for command in commands.split()]


@pytest.fixture(autouse=True)
def handlers():
    """The handlers of a process that a terminal starts; tests in the background ignore some signals."""
    usual = {"SIGINT": signal.default_int_handler, "SIGTERM": signal.SIG_DFL, "SIGHUP": signal.SIG_DFL}
    numbers = {getattr(signal, name): handler for name, handler in usual.items() if hasattr(signal, name)}
    before = {number: signal.signal(number, handler) for number, handler in numbers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def folder(tmp_path, monkeypatch, interpreted_loops, blank_pictures):
    save_policy(Solver("kuhn_poker", "full", "rm+").run(10).average_policy(), tmp_path / "kuhn.npz")
    monkeypatch.chdir(tmp_path)
    runs.prepared_games.clear()  # so that comparisons compile a tree
    return tmp_path


def at_call(monkeypatch, name, event):
    """Lets an event come at the first call of a function, which then runs as usual."""
    calls = []
    place, _, attribute = name.rpartition(".")
    owner = pkgutil.resolve_name(place)
    function = getattr(owner, attribute)

    def call(*arguments, **options):
        calls.append(1)
        if len(calls) == 1:
            event()
        return function(*arguments, **options)

    monkeypatch.setattr(owner, attribute, call)
    return calls


def check_files(folder):
    for path in folder.rglob("*"):
        assert not path.name.endswith((TEMPORARY_SUFFIX, ".lock")), path
        if path.name.endswith(".npz"):
            load_policy(path)
        elif path.name == "new" or path.suffix == ".checkpoint":
            assert read_header(path)["iterations"] >= 0
        elif path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".html":
            assert path.read_text().endswith("</html>\n")
        elif path.name == "new.csv":
            assert path.read_text().count("\n") == 25


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(("command", "moment"), TABLE)
def test_a_signal(number, command, moment, folder, monkeypatch, capsys):
    calls = at_call(monkeypatch, MOMENTS[moment][0], lambda: signal.raise_signal(getattr(signal, number)))
    code = main(COMMANDS[command].split())
    output = capsys.readouterr()
    assert calls, "that moment never came"
    assert "Traceback" not in output.err + output.out
    if command == "solve":
        assert code in (0, 130)  # 0 after the first iteration
    else:
        assert code == (0 if command == "play" else 130)
    if code == 130:
        assert "mccfr-plus: interrupted" in output.err.splitlines()[-1]
    check_files(folder)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_in_a_run_leaves_its_result(number, folder, monkeypatch, capsys):
    """It comes after the first iterations: policy and checkpoint are of the result that is printed."""
    from mccfr_plus.solver.engine import Engine

    advance = Engine.advance

    def call(self, iterations):
        advance(self, min(iterations, 7))
        if self.iterations >= 7:
            signal.raise_signal(getattr(signal, number))

    monkeypatch.setattr(Engine, "advance", call)
    assert main([*SOLVE[:-1], "--json"]) == 0
    output = capsys.readouterr()
    result = json.loads(output.out.splitlines()[-1])
    assert (result["iterations"] in range(7, 14), result["interrupted"]) == (True, True)
    assert read_header("new")["iterations"] == result["iterations"]
    assert "the last checkpoint is kept in new; add --resume to continue" in output.err
    assert load_policy("new.npz") is not None
    check_files(folder)


def test_an_ignored_signal_stays_ignored(folder, monkeypatch, capsys):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        at_call(monkeypatch, MOMENTS["running"][0], lambda: signal.raise_signal(signal.SIGHUP))
        assert main(list(SOLVE)) == 0
        assert "interrupted" not in capsys.readouterr().out
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_a_process(start, tmp_path, number):
    """While it runs, with kernels that are really compiled."""
    path = tmp_path / "run"
    process = start("solve", "leduc_poker", f"--checkpoint={path}", "--checkpoint_interval=1s", "--json")
    while not path.exists():
        assert process.poll() is None, process.communicate()
    time.sleep(0.3)  # while the checkpoint is written, Python may lose a signal in a destructor of its file
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, "Traceback" in err) == (0, False), err
    result = json.loads(out.splitlines()[-1])
    assert result["interrupted"] is True
    assert result["iterations"] == read_header(path)["iterations"] > 0


@contextlib.contextmanager
def full_disk(monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        yield "No space left"


@contextlib.contextmanager
def limit_of_sizes(_):
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield "File too large"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limits of this kind")
@pytest.mark.parametrize("event", [full_disk, limit_of_sizes])
@pytest.mark.parametrize("command", ["solve", "view", "export", "compare"])
def test_files_that_cannot_be_written(event, command, folder, monkeypatch, capsys):
    kept = (folder / "kuhn.npz").read_bytes()
    with event(monkeypatch) as reason:
        code = main(COMMANDS[command].split())
    output = capsys.readouterr()
    assert (code, "Traceback" in output.err) == (2, False)
    assert output.err.splitlines()[-1].startswith("mccfr-plus: error: ")
    assert reason in output.err
    assert (folder / "kuhn.npz").read_bytes() == kept
    check_files(folder)
