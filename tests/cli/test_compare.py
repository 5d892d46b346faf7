"""`mccfr-plus compare`: a whole comparison, one that is ended, and bad input. `experiments` has its own tests."""

import importlib
import os
import signal
import time
from pathlib import Path

import pytest

from mccfr_plus.experiments import compare
from mccfr_plus.experiments.record import read_record

SHORT = ["--seeds=2", "--nodes=3e4", "--processes=1"]
GAMES = ["kuhn_poker", "kuhn_poker(players=3)"]


def numbers(path):
    """Returns the points of all records by file, without times."""
    records = {file.name: read_record(file)[1] for file in sorted((path / "runs").glob("*.jsonl"))}
    return {name: [(p.iterations, p.nodes, p.nash_conv) for p in points] for name, points in records.items()}


def test_a_comparison_is_that_of_the_library(command, blank_pictures, tmp_path):
    path, algorithms = tmp_path / "out", ("external(batch=2)", "cfr+", "openspiel:external")
    arguments = ["compare", *GAMES, f"--algorithms={','.join(algorithms)}", *SHORT, f"--out={path}", "--json"]
    found = command(*arguments)
    assert found.code == 0, found.err
    rows = found.json["rows"]
    assert [(row["game"], row["algorithm"]) for row in rows] == [(g, a) for g in GAMES for a in algorithms]
    result = compare(GAMES, algorithms, seeds=2, nodes=3e4, processes=1)
    for row, own in zip(rows, result.final_rows(), strict=True):
        assert row["seeds"] == (1 if row["algorithm"] == "cfr+" else 2)
        assert row["low"] <= row["exploitability"] <= row["high"]
        for name in ("nodes", "iterations", "exploitability"):
            assert row[name] == pytest.approx(own[name])
    lines = [line.split() for line in found.out.splitlines() if line.startswith("  ")]
    for row, (algorithm, seeds, *_, exploitability, _, _) in zip(rows, lines, strict=True):
        assert (algorithm, int(seeds)) == (row["algorithm"], row["seeds"])
        assert float(exploitability) == pytest.approx(row["exploitability"], rel=1e-3)
    before = numbers(path)
    again = command(*arguments, "--quiet")
    assert (again.err, again.json["rows"], numbers(path)) == ("", rows, before)
    other = command("compare", *GAMES, "--algorithms=cfr", *SHORT, f"--out={path}")
    other.assert_one_line_error("holds another comparison")


def test_pictures(command, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "out"
    found = command("compare", "kuhn_poker", "--algorithms=external", *SHORT, f"--out={path}", "--json", "--quiet")
    names = {f"exploitability-{unit}.{end}" for unit in ("nodes", "iterations", "seconds") for end in ("png", "svg")}
    assert names <= {file.name for file in path.iterdir()}
    assert {os.path.basename(name) for name in found.json["pictures"]} == {*names, "report.html"}


@pytest.mark.parametrize("number", [pytest.param(signal.SIGKILL, marks=pytest.mark.slow), signal.SIGINT])
def test_a_comparison_that_is_ended_continues(command, start, blank_pictures, tmp_path, number):
    arguments = ["compare", "leduc_poker", "--algorithms=external", "--seeds=2", "--nodes=2e6", "--quiet"]
    whole, path = tmp_path / "whole", tmp_path / "out"
    process = start(*arguments, "--processes=2", f"--out={path}")
    end = time.monotonic() + 120
    while time.monotonic() < end and not any((path / "runs").glob("*.jsonl")):
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    if number == signal.SIGINT:
        assert (process.returncode, out, err) == (130, "", "mccfr-plus: interrupted\n")
    before, end = numbers(path), time.monotonic() + 60
    assert before
    while time.monotonic() < end:  # the processes of a killed one end when they see that it is gone
        found = command(*arguments, "--processes=1", f"--out={path}")
        if found.code == 0:
            break
        time.sleep(0.5)
    assert found.code == 0, found.err
    for name, points in before.items():
        assert numbers(path)[name][: len(points)] == points
    assert command(*arguments, "--processes=1", f"--out={whole}").code == 0
    assert numbers(path) == numbers(whole)


NEVER_ENDS = """
import multiprocessing
if multiprocessing.parent_process():
    import sys
    from mccfr_plus.solver.engine import Engine

    def advance(self, iterations):
        print("advances", file=sys.stderr, flush=True)
        while True:
            pass

    Engine.advance = advance
"""


@pytest.mark.slow
def test_workers_end_within_an_iteration(start, tmp_path):
    """As when they number information sets for minutes. A batch system sends the signal to all processes."""
    module = tmp_path / "never_ends.py"
    module.write_text(NEVER_ENDS)
    arguments = ("--algorithms=external", "--seeds=2", "--processes=2", "--nodes=1e7", "--quiet")
    process = start("compare", "kuhn_poker", *arguments, f"--out={tmp_path / 'out'}", f"--import={module}")
    assert [next(process.stderr), next(process.stderr)] == ["advances\n"] * 2
    os.killpg(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, "", "mccfr-plus: interrupted\n")


def test_a_run_that_fails_does_not_end_the_others(command, blank_pictures, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    game = importlib.import_module("coin_toss").CoinToss
    monkeypatch.delattr(game, "make_py_observer")
    arguments = ["compare", "coin_toss", "--algorithms=openspiel:external,cfr", "--seeds=1", "--nodes=1e3"]
    found = command(*arguments, "--processes=1", f"--out={tmp_path / 'out'}", "--json", "--quiet")
    assert found.code == 2
    assert "1 runs failed" in found.err
    assert "OpenSpiel raised AttributeError: 'CoinToss' object" in found.err
    assert [row["algorithm"] for row in found.json["rows"]] == ["cfr"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kuhn_poker", "--out=X"], "nodes, iterations, seconds"),
        (["kuhn_poker", "--out=X", "--nodes=9", "--seconds=1"], "nodes"),
        (["kuhn_poker", "--out=X", "--nodes=1e6", "--algorithms=externl"], "Did you mean 'external'?"),
        (["kuhn_pokr", "--out=X", "--nodes=1e6"], "kuhn_pokr"),
        (["kuhn_poker", "--out=X", "--nodes=1e6", "--algorithms="], "--algorithms"),
        (["kuhn_poker", "--cluster=ray", "--processes=2", "--nodes=1e6"], "--processes does not go together"),
    ],
)
def test_bad_input(command, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    command("compare", *arguments).assert_one_line_error(message)
    assert list(tmp_path.iterdir()) == []
