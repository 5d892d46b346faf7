"""Ctrl-C: a run ends with what it has; before the run there is nothing to save."""

import json
import signal
import time

import pytest

import mccfr_plus
from mccfr_plus.cli.run import Watch
from mccfr_plus.evaluation import nash_conv

pytestmark = pytest.mark.xdist_group("signals")


def _wait_for_line(stream, text):
    for line in stream:
        if text in line:
            return
    raise AssertionError(f"never printed {text!r}")


def test_ends_a_run_with_the_result_so_far(start, tmp_path):
    path = tmp_path / "leduc.npz"
    process = start("solve", "leduc_poker", "--seconds=600", "--json", f"--policy_out={path}")
    _wait_for_line(process.stderr, "solving with")
    time.sleep(3.0)  # the kernels are loaded from the cache within half a second
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    result = json.loads(out.splitlines()[-1])
    assert result["interrupted"] is True
    assert result["iterations"] > 0
    assert 0 < result["seconds"] < 120
    assert nash_conv("leduc_poker", mccfr_plus.load_policy(path)) == pytest.approx(result["nash_conv"])


def test_ends_the_compilation_of_a_tree(start, tmp_path):
    process = start(
        "solve", "phantom_ttt", "--tree=compiled", "--max_nodes=2000000000", f"--policy_out={tmp_path}/p.npz"
    )
    time.sleep(3.0)  # imports take one
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines() == ["mccfr-plus: interrupted"]
    assert list(tmp_path.iterdir()) == []


def test_before_the_first_iteration_there_is_no_result(command, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(mccfr_plus.Solver, "run", interrupt)
    outcome = command("solve", "kuhn_poker", "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "mccfr-plus: interrupted\n")


def test_the_display_does_not_count_as_solving(monkeypatch, capsys):
    solver = mccfr_plus.Solver("kuhn_poker", "full", "rm")
    evaluate = solver.exploitability

    def slowly():
        time.sleep(0.3)
        return evaluate()

    monkeypatch.setattr(solver, "exploitability", slowly)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    watch = Watch(quiet=False)
    solver.run(seconds=0.2, callback=watch)
    assert 0 < watch.stop() < 0.3
    assert "exploitability" in capsys.readouterr().err
