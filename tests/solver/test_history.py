"""What a solver has measured while it ran: in arrays, data frames, notebooks and pictures."""

import numpy as np
import pytest

from mccfr_plus import Solver

pytestmark = pytest.mark.usefixtures("interpreted_loops")


def test_the_first_evaluation_at_the_target_is_the_last():
    found = Solver("kuhn_poker", "full", seed=1).run(target_exploitability=0.1, evaluate_every=0).history.exploitability
    assert found[-1] <= 0.1 < found[:-1].min()


def test_has_a_row_per_evaluation():
    told = []
    solver = Solver("kuhn_poker", "full", seed=1)
    assert len(solver.history) == 0
    solver.run(40, evaluate_every=0, callbacks=[told.append])
    solver.run(20)  # measures nothing
    solver.run(target_exploitability=0.01)
    history, seen = solver.history, [each for each in told if each.evaluation]
    count = len(seen)
    assert 1 < count < len(history)
    assert history.iterations[:count].tolist() == [each.iterations for each in seen]
    assert history.nodes[:count].tolist() == [each.nodes_touched for each in seen]
    assert history.exploitability[:count].tolist() == [each.evaluation.exploitability for each in seen]
    assert history.iterations[count - 1] == 40
    assert history.iterations[count] > 60
    assert history.exploitability[-1] == solver.exploitability() <= 0.01
    assert (np.diff(history.iterations) > 0).all()
    assert (np.diff(history.seconds) > 0).all()
    assert history.seconds[0] > 0
    assert history.seconds[-1] < solver.seconds


def test_seconds_are_without_evaluations(monkeypatch):
    """On a clock that an iteration moves by 1 and an evaluation by 100."""
    clock = [0.0]
    solver = Solver("kuhn_poker", "full", seed=1)
    advance, evaluate = solver._engine.advance, solver.evaluate
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def slow_advance(iterations):
        clock[0] += iterations
        advance(iterations)

    def slow_evaluate():
        clock[0] += 100
        return evaluate()

    monkeypatch.setattr(solver._engine, "advance", slow_advance)
    monkeypatch.setattr(solver, "evaluate", slow_evaluate)
    solver.run(5, evaluate_every=0)
    solver.run(3, evaluate_every=0)
    assert solver.history.seconds.tolist() == solver.history.iterations.tolist()


def test_data_frames():
    pytest.importorskip("pandas")
    solver = Solver("kuhn_poker", "full").run(30, evaluate_every=0)
    frame = solver.history.to_dataframe()
    assert list(frame.columns) == ["iterations", "nodes", "seconds", "exploitability"]
    assert frame["exploitability"].tolist() == solver.history.exploitability.tolist()


def test_a_restored_solver_goes_on_with_it(tmp_path):
    solver = Solver("kuhn_poker", "full").run(30, evaluate_every=0)
    solver.save_checkpoint(tmp_path / "x.checkpoint")
    copy = Solver.from_checkpoint(tmp_path / "x.checkpoint")
    assert copy.history.kept() == solver.history.kept()
    history = copy.run(10, evaluate_every=0).history
    assert history.iterations[-1] == 40
    assert (np.diff(history.seconds) > 0).all()


@pytest.mark.parametrize("x", ["iterations", "nodes", "seconds"])
def test_plot(x):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    solver = Solver("kuhn_poker", "full").run(30, evaluate_every=0)
    axes = solver.plot(x)
    assert Solver("kuhn_poker", "full", "rm+").run(30, evaluate_every=0).plot(x, axes, label="second") is axes
    first, second = axes.get_lines()
    assert first.get_xdata().tolist() == getattr(solver.history, x).tolist()
    assert first.get_ydata().tolist() == solver.history.exploitability.tolist()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["full + rm", "second"]
    assert first.get_color() != second.get_color()
    assert axes.get_title() == "kuhn_poker()"
    pyplot.close(axes.figure)
