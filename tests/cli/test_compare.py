"""`mccfr-plus compare`: a whole comparison, one that is killed, and what is refused."""

import importlib
import os
import signal
import time
from pathlib import Path

import pytest

from mccfr_plus.experiments import run_all
from mccfr_plus.experiments.record import read_record

SHORT = ["--seeds=2", "--nodes=3e4", "--num_evaluations=6"]

GAMES = ["kuhn_poker", "kuhn_poker(players=3)"]


def records(path):
    return {file.name: read_record(file) for file in sorted((path / "runs").glob("*.jsonl"))}


def numbers(path):
    return {
        name: [(p.iterations, p.nodes, p.nash_conv) for p in points] for name, (_, points, _) in records(path).items()
    }


def wait_for(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_comparison(command, serial_runs, blank_pictures, tmp_path):
    path = tmp_path / "out"
    arguments = ["compare", *GAMES, "--algorithms=external[batch=2],cfr+,openspiel:external"]
    found = command(*arguments, *SHORT, f"--out={path}", "--json")
    assert found.code == 0, found.err
    assert found.err.count("  done\n") == 10  # two games, two seeds of what is random
    rows = found.json["rows"]
    assert [(row["game"], row["algorithm"]) for row in rows] == [
        (game, algorithm) for game in GAMES for algorithm in ("external[batch=2]", "cfr+", "openspiel:external")
    ]
    for row in rows:
        assert row["nodes"] >= 3e4
        assert row["low"] <= row["exploitability"] <= row["high"]
        assert row["seeds"] == (1 if row["algorithm"] == "cfr+" else 2)
    lines = [line.split() for line in found.out.splitlines() if line.startswith("  ")]
    for row, (algorithm, seeds, *_, exploitability, low, high) in zip(rows, lines, strict=True):
        assert (algorithm, int(seeds)) == (row["algorithm"], row["seeds"])
        shown = [row[name] for name in ("exploitability", "low", "high")]
        assert [float(cell) for cell in (exploitability, low, high)] == pytest.approx(shown, rel=1e-3)
    assert found.json["failed"] == []
    header, points, ended = records(path)[next(name for name in records(path) if "batch" in name)]
    assert header["command"].startswith("mccfr-plus compare kuhn_poker 'kuhn_poker(players=3)' '--algorithms=external[")
    assert set(header["versions"]) == {"python", "mccfr_plus", "open_spiel", "numpy", "numba"}
    assert header["machine"]["cores"] == os.cpu_count()
    assert [point.target for point in points] == header["points"][-len(points) :]
    assert len(header["points"]) == 6
    assert ended["seconds"] == pytest.approx(points[-1].seconds)
    before = numbers(path)
    again = command(*arguments, *SHORT, f"--out={path}", "--json", "--quiet")
    assert again.err == ""
    assert again.json["rows"] == rows
    assert numbers(path) == before


def test_pictures(command, serial_runs, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "out"
    found = command("compare", "kuhn_poker", "--algorithms=external", *SHORT, f"--out={path}", "--json", "--quiet")
    names = {f"exploitability-{unit}.{end}" for unit in ("nodes", "iterations", "seconds") for end in ("png", "svg")}
    assert names <= {file.name for file in path.iterdir()}
    assert {os.path.basename(name) for name in found.json["pictures"]} == {*names, "report.html"}


@pytest.mark.parametrize("signal_number", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), signal.SIGINT])
def test_a_comparison_that_is_ended_goes_on(command, start, serial_runs, blank_pictures, tmp_path, signal_number):
    arguments = ["compare", "leduc_poker", "--algorithms=external", "--seeds=2", "--num_evaluations=30"]
    arguments += ["--nodes=1e7", "--quiet", "--processes=1"]
    whole, path = tmp_path / "whole", tmp_path / "out"
    process = start(*arguments, f"--out={path}")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not any((path / "runs").glob("*.jsonl")):
        time.sleep(0.05)
    process.send_signal(signal_number)
    out, err = process.communicate(timeout=120)
    if signal_number == signal.SIGINT:
        assert (process.returncode, out, err) == (130, "", "mccfr-plus: interrupted\n")
    before = numbers(path)
    assert before
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:  # the processes of a killed one end when they see that it is gone
        found = command(*arguments, f"--out={path}")
        if found.code == 0:
            break
        time.sleep(0.5)
    assert found.code == 0, found.err
    after = numbers(path)
    for name, points in before.items():
        assert after[name][: len(points)] == points
    assert command(*arguments, f"--out={whole}").code == 0
    assert after == numbers(whole)


NEVER_ENDS = """
import sys
from mccfr_plus.solver.engine import Engine

def advance(self, iterations):
    print("advances", file=sys.stderr, flush=True)
    while True:
        pass

Engine.advance = advance
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_workers_end_within_an_iteration(start, tmp_path, number):
    """As when they number information sets for minutes. A batch system sends the signal to all processes."""
    module = tmp_path / "never_ends.py"
    in_workers = NEVER_ENDS.replace("\n", "\n    ")
    module.write_text(f"import multiprocessing\nif multiprocessing.parent_process():{in_workers}")
    arguments = ("--algorithms=external", "--seeds=2", "--processes=2", "--nodes=1e7", "--quiet")
    process = start("compare", "kuhn_poker", *arguments, f"--out={tmp_path / 'out'}", f"--import={module}")
    assert [next(process.stderr), next(process.stderr)] == ["advances\n"] * 2
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, "", "mccfr-plus: interrupted\n")


HEARS_NOTHING = """
import itertools
import sys
from mccfr_plus.experiments import run_all
from mccfr_plus.experiments.solvers import OpenSpielSolver

def run(self, iterations, callback=None):
    print("advances", file=sys.stderr, flush=True)
    sum(itertools.repeat(0))  # C code that keeps Python's lock and never ends

OpenSpielSolver.run = run
run_all._PATIENCE_SECONDS = GIVEN
"""


@pytest.mark.slow
@pytest.mark.parametrize("patience", [1, 600])
def test_workers_that_hear_nothing_are_killed(start, tmp_path, patience):
    """When patience ends, or at a second Ctrl-C. The other run has its checkpoint then."""
    module, path = tmp_path / "hears_nothing.py", tmp_path / "out"
    module.write_text(HEARS_NOTHING.replace("GIVEN", str(patience)))
    flags = ("--algorithms=openspiel:external,external", "--seeds=1", "--processes=2", "--nodes=1e10", "--quiet")
    process = start("compare", "kuhn_poker", *flags, f"--out={path}", f"--import={module}")
    assert next(process.stderr) == "advances\n"
    wait_for(lambda: any(numbers(path).values()))
    os.killpg(process.pid, signal.SIGINT)
    if patience == 600:
        wait_for(lambda: any((path / "runs").glob("*.checkpoint")))
        time.sleep(run_all._SAME_SIGNAL_SECONDS + 1)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, "", "mccfr-plus: interrupted\n")


def test_what_openspiel_raises_ends_one_run(command, serial_runs, blank_pictures, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    game = importlib.import_module("coin_toss").CoinToss
    arguments = ["compare", "coin_toss", "--algorithms=openspiel:external,cfr", "--seeds=1", "--nodes=1e3"]
    arguments += [f"--out={tmp_path / 'out'}", "--json", "--quiet"]
    with monkeypatch.context() as patch:
        patch.delattr(game, "make_py_observer")
        found = command(*arguments)
    assert found.code == 2
    assert found.err.startswith("mccfr-plus: error: 1 of 2 runs failed: coin_toss openspiel:external seed 1: ")
    assert "openspiel:external fails on coin_toss(): OpenSpiel raised AttributeError: 'CoinToss' object" in found.err
    assert [row["algorithm"] for row in found.json["rows"]] == ["cfr"]
    found = command(*arguments)
    assert (found.code, found.json["failed"]) == (0, [])
    assert [row["algorithm"] for row in found.json["rows"]] == ["openspiel:external", "cfr"]


def test_a_run_that_fails_does_not_end_the_others(command, serial_runs, blank_pictures, tmp_path):
    path = tmp_path / "out"
    found = command(
        "compare",
        "dark_hex(num_rows=2,num_cols=3)",
        "kuhn_poker",
        "--algorithms=external",
        *SHORT,
        f"--out={path}",
        "--json",
    )
    assert found.code == 2
    assert (
        "2 of 4 runs failed: dark_hex(num_rows=2,num_cols=3) external seed 1: dark_hex has imperfect rec" in found.err
    )
    assert "Traceback" not in found.err
    assert [row["game"] for row in found.json["rows"]] == ["kuhn_poker"]
    assert len(found.json["failed"]) == 2


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["kuhn_poker"], ["--out=DIR is missing"]),
        ([], ["GAME is missing", "compare GAME ... [--flags]"]),
        (["kuhn_poker", "--out=X"], ["a run needs one limit, none given: give one of nodes, iterations, seconds"]),
        (["kuhn_poker", "--out=X", "--nodes=9", "--seconds=1"], ["nodes and seconds given"]),
        (["kuhn_poker", "--out=X", "--nodes=1e6", "--seeds=0"], ["seeds", "at least 1"]),
        (
            ["kuhn_poker", "--out=X", "--nodes=1e6", "--algorithms=externl"],
            ["Did you mean 'external'?", "openspiel:cfr"],
        ),
        (["kuhn_pokr", "--out=X", "--nodes=1e6"], ["kuhn_pokr"]),
        (["kuhn_poker", "--out=X", "--nodes=1e6", "--algorithms="], ["algorithms"]),
    ],
)
def test_what_is_refused(command, tmp_path, monkeypatch, arguments, parts):
    monkeypatch.chdir(tmp_path)
    command("compare", *arguments).assert_one_line_error(*parts)
    assert list(tmp_path.iterdir()) == []


def test_the_directory_of_another_comparison(command, serial_runs, blank_pictures, tmp_path):
    path = tmp_path / "out"
    assert command("compare", "kuhn_poker", "--algorithms=cfr", *SHORT, f"--out={path}", "--quiet").code == 0
    found = command("compare", "kuhn_poker", "--algorithms=cfr+", *SHORT, f"--out={path}")
    found.assert_one_line_error("holds another comparison: its algorithms are ['cfr'], not ['cfr+']")
