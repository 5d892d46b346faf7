"""What happens to each command when it is ended, or its files cannot be written: a table of moments, events, commands.

An event comes at the call of a function, so that nothing depends on how fast the machine is. No event may leave a
traceback, an exit code that `mccfr_plus.cli.main` does not list, or half a file.
"""

import contextlib
import errno
import importlib.metadata
import json
import os
import pkgutil
import signal
import subprocess
import sys
import time
import webbrowser

import pytest

from mccfr_plus import Solver, load_policy, save_policy
from mccfr_plus.cli.main import main
from mccfr_plus.experiments import run_loop
from mccfr_plus.experiments.papers.lanctot2009 import figure1
from mccfr_plus.files.atomic_write import TEMPORARY_SUFFIX
from mccfr_plus.files.file import read_header

# All are handled alike: the fast tests see one of them, and the commands that draw nothing.
SIGNALS = [
    pytest.param(name, marks=[] if name == "SIGTERM" else pytest.mark.slow)
    for name in ("SIGTERM", "SIGINT", "SIGHUP")
    if hasattr(signal, name)
]

SOLVE = ("solve", "kuhn_poker", "--iterations=300", "--seed=1", "--policy_out=new.npz", "--checkpoint=new", "--quiet")
COMMANDS = {
    "solve": SOLVE,
    "evaluate": ("evaluate", "kuhn_poker", "kuhn.npz"),
    "view": ("view", "kuhn_poker", "kuhn.npz", "--out=new.html"),
    "export": ("export", "kuhn_poker", "kuhn.npz", "--out=new.csv"),
    "play": ("play", "kuhn_poker", "kuhn.npz", "--games=1"),
    "compare": ("compare", "kuhn_poker", "--out=runs", "--iterations=20", "--seeds=1", "--algorithms=external"),
    "stats": ("stats", "kuhn_poker"),
    "reproduce": ("reproduce", "lanctot2009", "--item=figure1", "--out=runs", "--processes=1", "--quiet"),
    "solve in batches": (*SOLVE, "--cluster=local", "--batch=80"),
}

# A moment is a function at whose call the event comes, for the commands that call it.
MOMENTS = {
    "compiling the tree": (
        "mccfr_plus.trees.game_tree.build_tree",
        ("solve", "evaluate", "view", "export", "stats", "compare", "reproduce", "solve in batches"),
    ),
    "compiling kernels": ("mccfr_plus.solver.engine.Engine.prepare", ("solve", "compare", "reproduce")),
    "making workers": ("mccfr_plus.cluster.batch.BatchWorker.__init__", ("solve in batches",)),
    "running": ("mccfr_plus.solver.engine.Engine.advance", ("solve", "compare", "reproduce")),
    "sampling": ("mccfr_plus.cluster.batch.BatchWorker.sample", ("solve in batches",)),
    "evaluating": (
        "mccfr_plus.evaluation.exact.Evaluator.evaluate",
        ("solve", "evaluate", "compare", "reproduce", "solve in batches"),
    ),
    "writing": ("os.fsync", ("solve", "view", "export", "compare", "reproduce", "solve in batches")),
    "renaming": ("os.replace", ("solve", "view", "export", "compare", "reproduce", "solve in batches")),
    "printing": (
        "mccfr_plus.cli.output.print_table",
        ("solve", "evaluate", "stats", "compare", "reproduce", "solve in batches"),
    ),
}
SLOW = ("reproduce", "solve in batches")
TABLE = [
    pytest.param(
        command,
        moment,
        marks=pytest.mark.slow if command in SLOW or (command, moment) == ("compare", "printing") else [],
    )
    for moment, (_, commands) in MOMENTS.items()
    for command in commands
]


@pytest.fixture(autouse=True)
def handlers():
    """Those of a process that a terminal starts; tests in the background, or under nohup, ignore some signals."""
    usual = {"SIGINT": signal.default_int_handler, "SIGTERM": signal.SIG_DFL, "SIGHUP": signal.SIG_DFL}
    numbers = {getattr(signal, name): handler for name, handler in usual.items() if hasattr(signal, name)}
    before = {number: signal.signal(number, handler) for number, handler in numbers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def folder(tmp_path, monkeypatch, interpreted_loops, serial_runs):
    save_policy(Solver("kuhn_poker", "full", "rm+").run(10).average_policy(), tmp_path / "kuhn.npz")
    monkeypatch.chdir(tmp_path)
    run_loop._prepared.cache_clear()  # so that comparisons compile a tree
    figure = [figure1.Runs("runs", tuple(figure1.ALGORITHMS), ("kuhn_poker",), 500, 3, (1,))]
    monkeypatch.setattr(figure1, "FIGURE", {"small": figure})
    monkeypatch.setattr(figure1, "GAMES", ("kuhn_poker",))
    monkeypatch.setattr(figure1, "NAMES", {"kuhn_poker": "Kuhn poker"})
    return tmp_path


def at_call(monkeypatch, name, event):
    """Lets an event come at the first call of a function, which then does what it does."""
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
    """Asserts that each file is whole, and none is left over."""
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
    code = main(list(COMMANDS[command]))
    output = capsys.readouterr()
    assert calls, "that moment never came"
    assert "Traceback" not in output.err + output.out
    assert code in (0, 130)
    if code == 130:
        assert "mccfr-plus: interrupted" in output.err.splitlines()[-1]
    if not command.startswith("solve"):
        assert code == 130
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
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (result["iterations"] in range(7, 14), result["interrupted"]) == (True, True)
    assert read_header("new")["iterations"] == result["iterations"]
    load_policy("new.npz")
    check_files(folder)


WAITING = {
    "play": (COMMANDS["play"], "builtins.input"),
    "play in the browser": (("play", "kuhn_poker", "kuhn.npz", "--browser"), "time.sleep"),
    "view": (("view", "kuhn_poker", "kuhn.npz"), "time.sleep"),
}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("command", WAITING)
def test_a_signal_while_a_person_is_waited_for_ends_the_command(number, command, folder, monkeypatch, capsys):
    line, moment = WAITING[command]
    monkeypatch.setattr(webbrowser, "open", lambda _: True)
    calls = at_call(monkeypatch, moment, lambda: signal.raise_signal(getattr(signal, number)))
    assert (main(list(line)), len(calls)) == (0, 1)
    assert capsys.readouterr().err == ""
    check_files(folder)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_play_solves_the_game(number, folder, monkeypatch, capsys):
    calls = at_call(monkeypatch, MOMENTS["running"][0], lambda: signal.raise_signal(getattr(signal, number)))
    assert (main(["play", "kuhn_poker", "--quiet"]), len(calls)) == (130, 1)
    assert capsys.readouterr().err == "mccfr-plus: interrupted\n"


def test_an_ignored_signal_stays_ignored(folder, monkeypatch, capsys):
    """As nohup and shells that run something in the background want it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        at_call(monkeypatch, MOMENTS["running"][0], lambda: signal.raise_signal(signal.SIGHUP))
        assert main(list(SOLVE)) == 0
        assert "interrupted" not in capsys.readouterr().out
    finally:
        signal.signal(signal.SIGHUP, before)


IMPORTING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[0] = "mccfr-plus"
def hook(event, arguments):
    if event == "import" and arguments[0] == "mccfr_plus.solver.engine":
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
sys.addaudithook(hook)
import mccfr_plus
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_command_is_imported_ends_it_silently(number):
    done = subprocess.run([sys.executable, "-c", IMPORTING, number], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-getattr(signal, number), "", "")


# --- files that cannot be written ---


@contextlib.contextmanager
def full_disk(monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        yield "No space left"


@contextlib.contextmanager
def limit_of_sizes(_):
    """As `ulimit -f`."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield "File too large"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def no_permission(_):
    """A folder of another user."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    os.chmod(".", 0o755)
    os.seteuid(65534)
    try:
        if not any(importlib.metadata.distributions(name="open_spiel")):
            pytest.skip("the environment is closed to other users")
        yield "Permission denied"
    finally:
        os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="no limits and users of this kind")
@pytest.mark.parametrize("event", [full_disk, limit_of_sizes, no_permission])
@pytest.mark.parametrize(
    "command",
    ["solve", "view", "export", "compare", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)],
)
def test_files_that_cannot_be_written(event, command, folder, monkeypatch, capsys):
    kept = (folder / "kuhn.npz").read_bytes()
    for parent in folder.parents:  # those of pytest are closed to others
        if "pytest-" in str(parent):
            os.chmod(parent, 0o755)
    with event(monkeypatch) as reason:
        code = main(list(COMMANDS[command]))
    output = capsys.readouterr()
    assert (code, "Traceback" in output.err) == (2, False)
    assert output.err.splitlines()[-1].startswith("mccfr-plus: error: ")
    assert reason in output.err
    assert (folder / "kuhn.npz").read_bytes() == kept
    check_files(folder)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
@pytest.mark.parametrize("line", [["games"], pytest.param(["stats", "kuhn_poker"], marks=pytest.mark.slow)])
def test_standard_output_that_is_full(line):
    arguments = [sys.executable, "-m", "mccfr_plus", *line]
    with open("/dev/full", "w") as full:
        done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 74
    assert done.stderr.splitlines()[-1] == "mccfr-plus: error: cannot write standard output: No space left on device."


@pytest.mark.slow
@pytest.mark.parametrize("jump", [-1e9, 1e9])
def test_a_clock_that_jumps(jump, folder, monkeypatch, capsys):
    """Times are those of a clock that does not jump; checkpoints and records do not compare dates."""
    now = time.time
    at_call(monkeypatch, MOMENTS["running"][0], lambda: monkeypatch.setattr(time, "time", lambda: now() + jump))
    assert main([*SOLVE[:-1], "--json"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert 0 < result["seconds"] < 1e6
    at_call(monkeypatch, MOMENTS["running"][0], lambda: monkeypatch.setattr(time, "time", lambda: now() - jump))
    assert main(["solve", "leduc_poker", "--seconds=0.5", "--checkpoint=timed", "--quiet", "--json"]) == 0
    assert 0.5 <= json.loads(capsys.readouterr().out.splitlines()[-1])["seconds"] < 60
    assert main([*SOLVE, "--resume", "--iterations=400"]) == 0
    assert read_header("new")["iterations"] == 400
    assert main(list(COMMANDS["compare"])) == 0


@pytest.mark.slow
@pytest.mark.parametrize("jump", [-1e9, 1e9])
@pytest.mark.parametrize(("command", "moment"), TABLE)
def test_a_clock_that_jumps_at_any_moment(jump, command, moment, folder, monkeypatch, capsys):
    now = time.time
    calls = at_call(monkeypatch, MOMENTS[moment][0], lambda: monkeypatch.setattr(time, "time", lambda: now() + jump))
    assert main(list(COMMANDS[command])) == 0
    assert calls, "that moment never came"
    output = capsys.readouterr()
    assert "Traceback" not in output.err + output.out
    check_files(folder)


@pytest.mark.slow
@pytest.mark.parametrize("jump", [-1e9, 1e9])
@pytest.mark.parametrize("command", WAITING)
def test_a_clock_that_jumps_while_a_person_is_waited_for(jump, command, folder, monkeypatch, capsys):
    line, moment = WAITING[command]
    now, waits = time.time, []
    monkeypatch.setattr(webbrowser, "open", lambda _: True)

    def wait(*_):
        waits.append(1)
        monkeypatch.setattr(time, "time", lambda: now() + jump)
        if len(waits) > 3:  # then the person ends it
            raise KeyboardInterrupt
        return "0"

    monkeypatch.setattr(pkgutil.resolve_name(moment.rpartition(".")[0]), moment.rpartition(".")[2], wait)
    assert main(list(line)) == 0
    assert waits
    assert capsys.readouterr().err == ""
    check_files(folder)
