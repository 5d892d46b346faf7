"""`solve --checkpoint`: a run that is killed and resumed ends bitwise like an uninterrupted one."""

import json
import random
import signal
import time

import pytest

import mccfr_plus
from mccfr_plus.cli import solve
from mccfr_plus.files.checkpoint import CheckpointLock
from mccfr_plus.solver.saved_state import read_header

RUN = ("solve", "leduc_poker", "--estimator=external", "--minimizer=rm", "--seed=7")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


@pytest.fixture(autouse=True)
def short_bounds(monkeypatch):
    monkeypatch.setattr(solve, "BOUND_SECONDS", 0.1)


def iteration_of(path):
    return read_header(path)["iterations"] if path.exists() else 0


@pytest.mark.integration
@pytest.mark.parametrize("tree", ["compiled", "lazy"])
def test_kills_at_random_moments_change_no_bit(start, path, tmp_path, tree):
    """Killed and resumed twice; then resumed to a total that no round could reach."""
    rng, flags = random.Random(1), (*RUN, f"--tree={tree}", f"--checkpoint={path}", "--checkpoint_interval=0.05s")
    reached = [0]
    for _ in range(2):
        process = start(*flags, "--iterations=1e9", *(["--resume"] if path.exists() else []))
        end = time.monotonic() + 240
        while iteration_of(path) <= reached[-1]:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(0.3 * rng.random())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        reached.append(iteration_of(path))
    assert reached == sorted(set(reached))
    total = reached[-1] + 2000
    policy = tmp_path / "policy.npz"
    process = start(*flags, f"--iterations={total}", "--resume", f"--policy_out={policy}", "--json")
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    result = json.loads(out.splitlines()[-1])
    assert (result["iterations"], result["seed"], result["estimator"]) == (total, 7, "external")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [policy.name, path.name]  # no locks, no leftovers
    whole = mccfr_plus.Solver("leduc_poker", "external", "rm", seed=7).run(total)
    assert result["nodes_touched"] == whole.nodes_touched
    if tree == "compiled":
        assert mccfr_plus.load_policy(policy).strategy().tobytes() == whole.average_policy().strategy().tobytes()


def test_limits_are_totals(command, path):
    flags = ("--json", f"--checkpoint={path}")
    assert command(*RUN, *flags, "--iterations=100").json["iterations"] == 100
    spent = read_header(path)["seconds"]
    again = command(*RUN, *flags, "--iterations=150", "--resume").json
    assert again["iterations"] == 150
    assert again["seconds"] == read_header(path)["seconds"] > spent > 0
    before = path.read_bytes()
    done = command(*RUN, *flags, "--iterations=120", "--resume").json  # nothing is left to do
    assert (done["iterations"], done["nash_conv"]) == (150, again["nash_conv"])
    assert command(*RUN, *flags, "--target_exploitability=100", "--resume").json["iterations"] == 150
    assert command(*RUN, *flags, f"--seconds={spent}", "--resume").json["iterations"] == 150
    assert path.read_bytes() == before


def test_components_and_seed_come_from_the_checkpoint(command, path, interpreted_loops):
    components = ["--estimator=outcome(epsilon=0.25)", "--minimizer=hedge(eta=3)", "--averaging=linear"]
    options = ["--batch=3", "--baseline", "--no-alternating"]
    flags = (f"--checkpoint={path}", "--json", "--iterations=20")
    first = command("solve", "kuhn_poker", *components, *options, *flags).json
    resumed = command("solve", "kuhn_poker", *flags[:2], "--iterations=40", "--resume").json
    for name in ("estimator", "minimizer", "averaging", "alternating", "batch", "baseline", "seed"):
        assert resumed[name] == first[name]
    seed = f"--seed={first['seed']}"
    assert command("solve", "kuhn_poker", *components, *options, seed, *flags, "--resume").code == 0
    before = path.read_bytes()
    for flag, text in [
        ("--batch=1", "its batch is 3, but the solver's is 1."),
        (f"--seed={first['seed'] + 1}", f"seed={first['seed']}, but the command line gives --seed="),
        ("--cluster=local", "is from a run without --cluster"),
    ]:
        command("solve", "kuhn_poker", flag, *flags, "--resume").assert_one_line_error(text)
    assert path.read_bytes() == before


def test_nothing_is_overwritten(command, path, tmp_path):
    command(*RUN, "--iterations=10", f"--checkpoint={path}")
    before = path.read_bytes()
    again = command(*RUN, "--iterations=10", f"--checkpoint={path}")
    again.assert_one_line_error("holds a checkpoint: add --resume", "delete the file or choose another name")
    policy = tmp_path / "policy.npz"
    command(*RUN, "--iterations=10", f"--policy_out={policy}")
    content = policy.read_bytes()
    for flags in ([], ["--resume"]):
        foreign = command(*RUN, "--iterations=10", f"--checkpoint={policy}", *flags)
        foreign.assert_one_line_error("a policy: load it with load_policy", "not be overwritten")
    twice = command(*RUN, "--iterations=10", f"--checkpoint={path}", "--resume", f"--policy_out={path}")
    twice.assert_one_line_error("names the checkpoint or its lock")
    assert (path.read_bytes(), policy.read_bytes()) == (before, content)
    command(*RUN, "--checkpoint=nothing", "--resume").assert_one_line_error("there is no checkpoint nothing to resume")
    command("evaluate", "leduc_poker", str(path)).assert_one_line_error("but a checkpoint: use Solver.from_checkpoint")
    with CheckpointLock(path):
        command(*RUN, f"--checkpoint={path}", "--resume").assert_one_line_error("in use by process", "two runs")
