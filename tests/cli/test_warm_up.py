"""`mccfr-plus warm_up`: goes through the solvers and evaluations that it names."""

import pytest

from mccfr_plus.cli import warm_up
from mccfr_plus.solver.solver import Solver


def test_runs_what_it_names(command, monkeypatch, interpreted_loops):
    run, done = Solver.run, []

    def record(solver, iterations):
        done.append(str(solver.config))
        return run(solver, iterations)

    monkeypatch.setattr(Solver, "run", record)
    found = command("warm_up")
    assert found.code == 0, found.err
    names = [f"{estimator} + {rule}" for estimator in ("external", "outcome", "full") for rule in ("rm", "rm+")]
    assert done == [*names, "full + pdcfr+"]
    assert f": {', '.join(done)}, evaluation" in found.out


@pytest.mark.slow
def test_compiles_for_other_processes(command, start, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(warm_up, "_SOLVERS", [("full", "rm+")])
    first = start("warm_up")
    assert first.communicate(timeout=600)[1].count("compiling") > 1
    second = start("solve", "kuhn_poker", "--estimator=full", "--minimizer=rm+", "--iterations=10", "--quiet")
    assert second.communicate(timeout=600)[1] == ""
