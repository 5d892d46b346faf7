"""`solve --checkpoint`: a run that is killed and resumed ends where another ends; nothing is overwritten."""

import errno
import inspect
import json
import os
import random
import signal
import time

import pytest

import mccfr_plus
from mccfr_plus.cli.checkpoints import arguments_to_resume
from mccfr_plus.cli.command import duration
from mccfr_plus.cli.main import COMMANDS
from mccfr_plus.cli.run import DEFAULT_CHECKPOINT_INTERVAL
from mccfr_plus.cli.solve import arguments_of
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.solver.saved_state import read_header

RUN = ("solve", "leduc_poker", "--estimator=external", "--minimizer=rm", "--seed=7")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


def iteration_of(path):
    return read_header(path)["iterations"] if path.exists() else 0


def wait_until(condition, process):
    end = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def test_kills_at_random_moments_change_no_bit(start, path, tmp_path):
    """Killed and resumed twice; then resumed to a total that no round could reach."""
    rng, flags = random.Random(1), (*RUN, f"--checkpoint={path}", "--checkpoint_interval=0.05s")
    reached = [0]
    for _ in range(2):
        process = start(*flags, "--iterations=1e9", *(["--resume"] if path.exists() else []))
        wait_until(lambda: iteration_of(path) > reached[-1], process)
        time.sleep(0.3 * rng.random())
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        reached.append(iteration_of(path))
    assert reached == sorted(set(reached))
    total = reached[-1] + 20_000
    policy = tmp_path / "policy.npz"
    process = start(*flags, f"--iterations={total}", "--resume", f"--policy_out={policy}", "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    result = json.loads(out.splitlines()[-1])
    assert (result["iterations"], result["seed"], result["estimator"]) == (total, 7, "external")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [policy.name, path.name]  # no locks, no leftovers
    whole = mccfr_plus.Solver("leduc_poker", "external", "rm", seed=7).run(total)
    assert mccfr_plus.load_policy(policy).strategy().tobytes() == whole.average_policy().strategy().tobytes()
    assert result["nodes_touched"] == whole.nodes_touched


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_writes_a_last_checkpoint(start, path, number):
    process = start(*RUN, f"--checkpoint={path}", "--checkpoint_interval=0.1s", "--seconds=600", "--json")
    wait_until(path.exists, process)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    result = json.loads(out.splitlines()[-1])
    assert result["interrupted"] is True
    assert result["iterations"] == iteration_of(path) > 0
    assert f"interrupted: {path} is of iteration {result['iterations']:,}; add --resume to go on" in err


def test_sigterm_before_a_result_is_an_interrupt(start, tmp_path):
    process = start("solve", "leduc_poker(players=3)", "--rules=off", "--tree=compiled", f"--checkpoint={tmp_path}/run")
    wait_until((tmp_path / "run.lock").exists, process)
    time.sleep(1.0)  # now it compiles the tree, which takes ten times as long
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert err.splitlines()[-1] == "mccfr-plus: interrupted"
    assert list(tmp_path.iterdir()) == []


def test_limits_are_totals(command, path):
    flags = ("--json", f"--checkpoint={path}")
    first = command(*RUN, *flags, "--iterations=100").json
    assert (first["iterations"], first["checkpoint"]) == (100, str(path))
    spent = read_header(path)["seconds"]
    again = command(*RUN, *flags, "--iterations=150", "--resume").json
    assert again["iterations"] == 150
    assert again["seconds"] > read_header(path)["seconds"] > spent > 0
    before = path.read_bytes()
    done = command(*RUN, *flags, "--iterations=120", "--resume").json  # nothing is left to do
    assert (done["iterations"], done["nash_conv"]) == (150, again["nash_conv"])
    assert command(*RUN, *flags, "--target_exploitability=100", "--resume").json["iterations"] == 150
    assert path.read_bytes() == before


def test_seconds_count_what_was_spent_before(command, path, monkeypatch):
    run, limits = mccfr_plus.Solver.run, []
    monkeypatch.setattr(
        mccfr_plus.Solver, "run", lambda *a, seconds, **k: limits.append(seconds) or run(*a, seconds=seconds, **k)
    )
    flags = ("--json", f"--checkpoint={path}")
    first = command(*RUN, *flags, "--seconds=0.3").json
    assert command(*RUN, *flags, "--seconds=0.2", "--resume").json["iterations"] == first["iterations"]
    spent = read_header(path)["seconds"]
    assert spent >= 0.3
    more = command(*RUN, *flags, f"--seconds={spent + 0.2}", "--resume").json
    assert more["iterations"] > first["iterations"]
    assert more["seconds"] >= spent + 0.2
    assert spent + 0.2 <= read_header(path)["seconds"] < spent + 50
    assert limits == [0.3, pytest.approx(0.2)]  # the second run had nothing to do


def test_parts_and_seed_come_from_the_checkpoint(command, path):
    parts = ["--estimator=outcome(epsilon=0.25)", "--minimizer=hedge(eta=3)", "--averaging=linear"]
    options = ["--batch=3", "--baseline_rate=0.5", "--noalternating"]
    flags = (f"--checkpoint={path}", "--json", "--iterations=20")
    first = command("solve", "kuhn_poker", *parts, *options, *flags).json
    resumed = command("solve", "kuhn_poker", *flags[:2], "--iterations=40", "--resume").json
    kept = ("alternating", "batch", "baseline_rate", "seed", "averaging")
    assert {key: resumed[key] for key in kept} == {key: first[key] for key in kept}
    assert (resumed["estimator"], resumed["minimizer"]) == ("outcome(epsilon=0.25)", "hedge(eta=3.0)")
    assert command("solve", "kuhn_poker", *parts, *options, f"--seed={first['seed']}", *flags, "--resume").code == 0
    before = path.read_bytes()
    for flag, text in [
        ("--estimator=outcome", "its estimator is outcome(epsilon=0.25), and the solver's is outcome."),
        ("--minimizer=hedge", "the solver's is hedge."),
        ("--averaging=uniform", "the solver's is uniform."),
        ("--batch=1", "its batch is 3, and the solver's is 1."),
        ("--nobaseline", "the solver's is None."),
        ("--baseline_rate=0.25", "the solver's is mean(rate=0.25)."),
        ("--alternating", "its alternating is False"),
        (f"--seed={first['seed'] + 1}", f"seed={first['seed']}, and the command line says seed="),
    ]:
        command("solve", "kuhn_poker", flag, *flags, "--resume").assert_one_line_error(text)
    command("solve", "leduc_poker", *flags, "--resume").assert_one_line_error(
        "its game is 'kuhn_poker()'", "leduc_poker"
    )
    assert path.read_bytes() == before


def test_memory_is_not_kept(command, path):
    command(*RUN, "--iterations=10", "--memory=3GB", f"--checkpoint={path}")
    for flags, memory in (([], None), (["--memory=2GB"], 2_000_000_000)):
        _, values = COMMANDS["solve"].parse([*RUN[1:], *flags])
        arguments = arguments_to_resume(path, arguments_of(values), values)
        assert (arguments.get("memory"), arguments["seed"]) == (memory, 7)


def test_what_changes_no_result_may_be_given_again(command, path):
    """A compiled tree has no keys, and rules only make it: the same command goes on, with or without them."""
    options, first = ("--keys=text", "--rules=off"), (*RUN, "--json", f"--checkpoint={path}")
    command(*first, *options, "--iterations=10")
    for total, flags in ((20, options), (30, ())):
        assert command(*first, *flags, f"--iterations={total}", "--resume").json["iterations"] == total


def test_other_keys_of_a_lazy_tree_are_an_error(command, path):
    flags = (*RUN, "--tree=lazy", "--bound_seconds=0", f"--checkpoint={path}")
    command(*flags, "--iterations=10")
    again = command(*flags, "--iterations=20", "--resume", "--keys=text")
    again.assert_one_line_error("its kind of keys is 'hash', and the solver's is 'text'")


def test_nothing_is_overwritten(command, path, tmp_path):
    command(*RUN, "--iterations=10", f"--checkpoint={path}")
    before = path.read_bytes()
    again = command(*RUN, "--iterations=10", f"--checkpoint={path}")
    again.assert_one_line_error("holds a checkpoint: add --resume", "not overwritten")
    policy = tmp_path / "policy.npz"
    command(*RUN, "--iterations=10", f"--policy_out={policy}")
    content = policy.read_bytes()
    for flags in ([], ["--resume"]):
        foreign = command(*RUN, "--iterations=10", f"--checkpoint={policy}", *flags)
        foreign.assert_one_line_error("a policy: load it with load_policy", "not overwritten")
    twice = command(*RUN, "--iterations=10", f"--checkpoint={path}", "--resume", f"--policy_out={path}")
    twice.assert_one_line_error("--policy_out and --checkpoint are both")
    assert (path.read_bytes(), policy.read_bytes()) == (before, content)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [policy.name, path.name]
    command("evaluate", "leduc_poker", str(path)).assert_one_line_error("but a checkpoint: load it with")


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--resume"], ["--resume is about a checkpoint", "--checkpoint=FILE"]),
        (["--checkpoint_interval=5m"], ["--checkpoint_interval is about a checkpoint"]),
        (["--checkpoint=nothing", "--resume"], ["there is no checkpoint nothing to resume"]),
        (["--checkpoint=no/such/folder"], ["there is no directory no/such"]),
        (["--checkpoint=."], ["is a directory"]),
        (["--checkpoint=run", "--checkpoint_interval=soon"], ["--checkpoint_interval", "such as 90, 90s, 5m or 2h"]),
        (["--checkpoint="], ["--checkpoint", "must not be empty"]),
    ],
    ids=" ".join,
)
def test_bad_flags_are_found_before_the_game_is_compiled(command, monkeypatch, tmp_path, flags, parts):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mccfr_plus.solver.tree_choice.compile_game", None)
    command("solve", "leduc_poker", *flags).assert_one_line_error(*parts)
    assert list(tmp_path.iterdir()) == []


def test_two_runs_on_one_checkpoint(command, monkeypatch, path):
    monkeypatch.setattr("mccfr_plus.solver.tree_choice.compile_game", None)
    with CheckpointLock(path):
        command(*RUN, f"--checkpoint={path}").assert_one_line_error("in use by process", "two runs")


def test_a_full_disk_at_the_end_still_gives_the_result(command, monkeypatch, path, tmp_path):
    fsync = os.fsync

    def fail(descriptor):
        if path.name in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    policy = tmp_path / "policy.npz"
    outcome = command(*RUN, "--iterations=10", f"--checkpoint={path}", f"--policy_out={policy}", "--json")
    assert outcome.code == 2
    assert outcome.json["iterations"] == 10
    assert f"error: cannot write {path}: No space left on device." in outcome.err
    assert [entry.name for entry in tmp_path.iterdir()] == [policy.name]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("60s", 60), ("5m", 300), ("2h", 7200), ("1.5h", 5400), (" 0.5s ", 0.5), (60.0, 60)],
)
def test_times_as_people_write_them(text, seconds):
    assert duration().parse(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "0", "-5m", "5d", "nan", "infh", "5 m s", "m5"])
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match="such as 90, 90s, 5m or 2h"):
        duration().parse(text)


def test_the_default_is_the_librarys():
    every = inspect.signature(mccfr_plus.Solver.run).parameters["checkpoint_interval"]
    assert every.default == DEFAULT_CHECKPOINT_INTERVAL
