"""Ctrl-C: a run ends with what it has; before the run there is nothing to save."""

import json
import signal
import time

import pytest

import mccfr_plus
from mccfr_plus.cli.run import Watch
from mccfr_plus.evaluation import nash_conv

SAYS_WHAT_IT_DOES = """
import sys
from mccfr_plus.cli.run import Watch
from mccfr_plus.trees.by_rules import rules_tree

def says(text, function):
    def call(*arguments):
        print(text, file=sys.stderr, flush=True)
        return function(*arguments)

    return call

rules_tree.build = says("compiles the tree", rules_tree.build)
Watch.__call__ = says("has run", Watch.__call__)
"""


@pytest.fixture
def start_and_interrupt(start, tmp_path):
    """Starts the command and interrupts it when it says something; returns its exit code and all that it printed."""
    module = tmp_path / "says_what_it_does.py"
    module.write_text(SAYS_WHAT_IT_DOES)

    def call(text, *arguments):
        process = start(*arguments, f"--import={module}")
        assert any(text in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    return call


def test_ends_a_run_with_the_result_so_far(start_and_interrupt, tmp_path):
    path = tmp_path / "leduc.npz"
    code, out, err = start_and_interrupt(
        "has run", "solve", "leduc_poker", "--seconds=600", "--json", f"--policy_out={path}"
    )
    assert code == 0, err
    assert "Traceback" not in err
    result = json.loads(out.splitlines()[-1])
    assert result["interrupted"] is True
    assert result["iterations"] > 0
    assert 0 < result["seconds"] < 120
    assert nash_conv("leduc_poker", mccfr_plus.load_policy(path)) == pytest.approx(result["nash_conv"])


def test_ends_the_compilation_of_a_tree(start_and_interrupt, tmp_path):
    path = tmp_path / "p.npz"
    flags = ("--tree=compiled", "--max_nodes=2000000000", f"--policy_out={path}")
    code, out, err = start_and_interrupt("compiles the tree", "solve", "phantom_ttt", *flags)
    assert (code, out) == (130, "")
    assert err.splitlines() == ["mccfr-plus: interrupted"]
    assert not list(tmp_path.glob("*p.npz*"))


def test_an_interrupt_during_a_destructor_is_not_lost(start, tmp_path):
    """Python drops what a destructor raises."""
    module = tmp_path / "interrupted_destructor.py"
    module.write_text(
        """
import signal

class Garbage:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

Garbage()
"""
    )
    process = start("solve", "kuhn_poker", "--seconds=600", f"--import={module}")
    _, err = process.communicate(timeout=120)
    assert process.returncode in (0, 130), err  # with a result or without one
    assert "interrupted" in err
    assert "Traceback" not in err


def test_before_the_first_iteration_there_is_no_result(command, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(mccfr_plus.Solver, "run", interrupt)
    outcome = command("solve", "kuhn_poker", "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "mccfr-plus: interrupted\n")


def test_the_display_does_not_count_as_solving(monkeypatch, capsys):
    solver = mccfr_plus.Solver("kuhn_poker", "full", "rm")
    evaluate, slept = solver.exploitability, []

    def slowly():
        time.sleep(0.3)
        slept.append(0.3)
        return evaluate()

    monkeypatch.setattr(solver, "exploitability", slowly)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    watch = Watch(quiet=False)
    begin = time.perf_counter()
    solver.run(seconds=0.2, callback=watch)
    seconds = watch.stop()
    assert slept
    assert 0 < seconds <= time.perf_counter() - begin - sum(slept)  # however slow the machine
    assert "exploitability" in capsys.readouterr().err
