"""`mccfr-plus compare`: a whole comparison, comparisons that are ended, and what is refused."""

import os
import signal
import time

import pytest

from mccfr_plus.experiments.runs import read_record

SHORT = ["--seeds=2", "--nodes=3e4", "--processes=1"]
GAMES = ["kuhn_poker", "kuhn_poker(players=3)"]


def numbers(path):
    return {
        file.name: [(point.iterations, point.nodes, point.nash_conv) for point in read_record(file)[1]]
        for file in sorted((path / "runs").glob("*.jsonl"))
    }


def wait_for(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_comparison(command, blank_pictures, tmp_path):
    path, algorithms = tmp_path / "out", ("external(batch=2)", "cfr+", "openspiel:external")
    arguments = ["compare", *GAMES, f"--algorithms={','.join(algorithms)}", *SHORT, f"--out={path}", "--json"]
    found = command(*arguments)
    assert found.code == 0, found.err
    rows = found.json["rows"]
    assert [(row["game"], row["algorithm"]) for row in rows] == [(game, name) for game in GAMES for name in algorithms]
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
    before = numbers(path)
    again = command(*arguments, "--quiet")
    assert again.err == ""
    assert again.json["rows"] == rows
    assert numbers(path) == before


def test_pictures(command, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("bokeh")
    path = tmp_path / "out"
    found = command("compare", "kuhn_poker", "--algorithms=external", *SHORT, f"--out={path}", "--json", "--quiet")
    names = {f"exploitability-{unit}.{end}" for unit in ("nodes", "iterations", "seconds") for end in ("png", "svg")}
    assert {os.path.basename(name) for name in found.json["pictures"]} == {*names, "report.html"}
    assert {*names, "report.html"} <= {file.name for file in path.iterdir()}


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_comparison_that_is_ended_continues(command, start, blank_pictures, tmp_path, number, processes):
    arguments = ["compare", "leduc_poker", "--algorithms=external", "--seeds=2", "--nodes=1e7", "--quiet"]
    whole, path = tmp_path / "whole", tmp_path / "out"
    process = start(*arguments, f"--out={path}", f"--processes={processes}")
    wait_for(lambda: any(numbers(path).values()))
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=120)
    if number != signal.SIGKILL:
        assert (process.returncode, out, err) == (130, "", "mccfr-plus: interrupted\n")
    before = numbers(path)
    wait_for(lambda: command(*arguments, f"--out={path}", "--processes=1").code == 0)  # once all processes have ended
    after = numbers(path)
    for name, points in before.items():
        assert after[name][: len(points)] == points
    assert command(*arguments, f"--out={whole}", "--processes=1").code == 0
    assert after == numbers(whole)


def test_what_is_refused(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line, part in {
        "kuhn_poker --out=X": "needs exactly one limit, but none given: give exactly one of nodes, iterations, seconds",
        "kuhn_pokr --out=X --nodes=1e6": "kuhn_pokr",
        "kuhn_poker --nodes=1e6 --processes=2 --cluster=ray": "--processes cannot be combined",
    }.items():
        command("compare", *line.split()).assert_one_line_error(part)
    assert list(tmp_path.iterdir()) == []
