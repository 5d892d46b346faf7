"""`mccfr-plus solve --algorithm`: solvers with networks."""

import re
import signal

import numpy as np
import pytest
from checkpoint_contents import contents_of

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
import mccfr_plus.neural  # noqa: E402
from mccfr_plus.cli import neural, run  # noqa: E402

SMALL = "hidden_layers=(8,), train_steps=2, traversals=20"
SPECS = [
    f"deep_cfr({SMALL}, memory=reservoir, memory_capacity=2000)",
    "nfsp(hidden_layers=(8,), episodes=300, min_samples=20, learn_every=32, batch_size=32)",
    f"dream({SMALL}, policy_training.train_steps=2, representation=batched)",
]
DEEP = ("solve", "kuhn_poker", f"--algorithm={SPECS[0]}", "--quiet", "--json", "--seed=1")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


@pytest.fixture(autouse=True)
def short_bounds(monkeypatch):
    monkeypatch.setattr(run, "BOUND_SECONDS", 0.3)


def assert_same(left, right):
    (header, arrays), (other_header, others) = contents_of(left), contents_of(right)
    for name in ("algorithm", "config", "seed", "iterations", "nodes_touched"):
        assert header[name] == other_header[name]
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)


@pytest.mark.parametrize("spec", SPECS)
def test_a_run_and_a_resumed_one(spec, command, tmp_path):
    policy, whole, parts = (str(tmp_path / name) for name in ("policy.npz", "whole", "parts"))
    line = ("solve", "kuhn_poker", f"--algorithm={spec}", "--quiet", "--json", "--seed=3")
    outcome = command(*line, "--iterations=4", f"--policy_out={policy}", f"--checkpoint={whole}")
    assert (outcome.code, outcome.err) == (0, "")
    result = outcome.json
    assert (result["game"], result["seed"], result["iterations"]) == ("kuhn_poker", 3, 4)
    assert result["algorithm"].endswith(spec.partition("(")[0])
    assert result["settings"]["hidden_layers"] == [8]
    assert all(loss > 0 for loss in result["losses"])
    evaluated = command("evaluate", "kuhn_poker", policy, "--json").json
    assert 0 < evaluated["exploitability"] < 11 / 12  # of uniform play
    assert evaluated["exploitability"] == pytest.approx(result["exploitability"], abs=1e-12)
    solver = neural.new_solver("kuhn_poker", spec, seed=3).run(4)
    assert result["nodes_touched"] == solver.nodes_touched
    assert mccfr_plus.exploitability("kuhn_poker", solver.average_policy()) == pytest.approx(
        evaluated["exploitability"], abs=1e-12
    )
    command(*line, "--iterations=2", f"--checkpoint={parts}")
    resume = ("solve", "kuhn_poker", "--quiet", "--json", f"--checkpoint={parts}", "--resume", "--iterations=4")
    again = command(*resume)  # algorithm, settings and seed come from the checkpoint
    assert again.json["nash_conv"] == result["nash_conv"]
    assert_same(whole, parts)


def test_prints_its_settings(command):
    outcome = command("solve", "kuhn_poker", "--algorithm=deep_cfr(train_steps=3, traversals=2e1)", "--iterations=2")
    assert outcome.code == 0
    assert re.search(r"solving with deep_cfr, seed \d+: train_steps=3, traversals=20\n", outcome.err) or (
        "traversals=20, train_steps=3" in outcome.err
    )
    rows = {line.split("  ")[0]: line.split("  ", 1)[1].strip() for line in outcome.out.splitlines()}
    assert (rows["algorithm"], rows["iterations"]) == ("deep_cfr", "2")
    assert rows["exploitability"].endswith("in the game's payoffs")
    assert len(rows["losses"].split(", ")) == 2


def test_bad_games_and_flags(command):
    command("solve", "nim", "--algorithm=escher").assert_one_line_error("information_state_tensor")

    command("solve", "kuhn_poker", "--algorithm=dream", "--threads=2").assert_one_line_error("--threads does not apply")
    command("solve", "kuhn_poker", "--algorithm=dream(traversal=3)").assert_one_line_error("Did you mean 'traversals'?")


def test_the_checkpoint_of_another_run(command, path, tmp_path):
    command(*DEEP, "--iterations=2", f"--checkpoint={path}")
    before = path.read_bytes()
    flags = ("--iterations=4", f"--checkpoint={path}", "--resume")
    for more, text in [
        (["--algorithm=dream"], "DeepCFR"),
        ([f"--algorithm={SPECS[0].replace('20', '21', 1)}"], "its traversals is 20, and the solver's is 21."),
        (["--seed=2"], "is of a run with seed=1, and the command line gives --seed=2:"),
        (["--estimator=full"], "--estimator does not apply"),
    ]:
        command("solve", "kuhn_poker", *more, *flags).assert_one_line_error(text)
    command("solve", "leduc_poker", *flags).assert_one_line_error("kuhn_poker()", "leduc_poker()")
    assert path.read_bytes() == before
    table = tmp_path / "table"
    command("solve", "kuhn_poker", "--iterations=2", f"--checkpoint={table}")
    command(*DEEP, f"--checkpoint={table}", "--resume").assert_one_line_error("tabular")
    assert command(*DEEP, *flags).json["iterations"] == 4


def test_ctrl_c_ends_a_run_with_its_result(command, path, monkeypatch):
    """Within the third iteration, which is undone."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells take it from jobs in the background
    advance, calls = mccfr_plus.neural.DeepCFR._advance, []

    def interrupt(solver, iteration):
        advance(solver, iteration)
        calls.append(iteration)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(mccfr_plus.neural.DeepCFR, "_advance", interrupt)
        outcome = command(*DEEP, f"--checkpoint={path}", "--iterations=9")
    signal.signal(signal.SIGINT, before)
    assert outcome.code == 0
    assert (outcome.json["iterations"], outcome.json["interrupted"]) == (2, True)
    command(*DEEP, f"--checkpoint={path}", "--iterations=4", "--resume")
    command(*DEEP, f"--checkpoint={path}.whole", "--iterations=4")
    assert_same(path, f"{path}.whole")
