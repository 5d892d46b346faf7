"""`mccfr-plus solve --algorithm`: solvers with networks."""

import numpy as np
import pytest
from checkpoint_contents import contents_of

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
import mccfr_plus.neural  # noqa: E402
from mccfr_plus.cli import solve  # noqa: E402

SMALL = "hidden_layers=(8,), train_steps=2, traversals=20"
SPECS = [
    f"deep_cfr({SMALL}, memory=reservoir, memory_capacity=2000)",
    "nfsp(hidden_layers=(8,), episodes=300, min_samples=20, learn_every=32, batch_size=32)",
    f"dream({SMALL}, policy_training.train_steps=2, representation=batched)",
]


@pytest.fixture(autouse=True)
def short_bounds(monkeypatch):
    monkeypatch.setattr(solve, "BOUND_SECONDS", 0.3)


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
    solver = mccfr_plus.neural.new_solver("kuhn_poker", spec, seed=3).run(4)
    assert result["nodes_touched"] == solver.nodes_touched
    assert solver.exploitability() == pytest.approx(result["exploitability"], abs=1e-12)
    command(*line, "--iterations=2", f"--checkpoint={parts}")
    resume = ("solve", "kuhn_poker", "--quiet", "--json", f"--checkpoint={parts}", "--resume", "--iterations=4")
    again = command(*resume)  # algorithm, settings and seed come from the checkpoint
    assert again.json["nash_conv"] == result["nash_conv"]
    assert_same(whole, parts)


def test_bad_flags(command):
    command("solve", "kuhn_poker", "--algorithm=dream", "--threads=2").assert_one_line_error("--threads does not apply")
    command("solve", "kuhn_poker", "--algorithm=dream(traversal=3)").assert_one_line_error("Did you mean 'traversals'?")
