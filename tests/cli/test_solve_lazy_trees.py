"""`solve` on games that do not fit, in threads, and within a memory limit."""

import signal
import time

import naive
import pytest
from lazy_trees import differences

import mccfr_plus
from mccfr_plus.solver.saved_state import read_header
from mccfr_plus.trees import memory

RUN = ("solve", "leduc_poker", "--estimator=external", "--minimizer=rm", "--seed=7", "--quiet")
NEW_KEYS = {
    "tree", "information_sets", "nodes", "threads", "thread_mode", "stopped", "exploitability_bound",
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


def test_a_grown_tree(command, tmp_path):
    policy = tmp_path / "policy.npz"
    flags = ("--tree=lazy", "--iterations=300", "--bound_seconds=2", "--json", "--keys=text")
    outcome = command(*RUN, *flags, f"--policy_out={policy}")
    result = outcome.json
    assert set(result) >= NEW_KEYS
    assert (result["tree"], result["threads"], result["thread_mode"], result["stopped"]) == (
        "lazy", 1, "deterministic", None,
    )  # fmt: skip
    assert result["values"] == [None, None]
    assert result["nash_conv"] is result["exploitability"] is None
    bound = result["exploitability_bound"]
    assert bound["low"] <= bound["value"] <= bound["high"]
    whole = mccfr_plus.Solver("leduc_poker", "external", "rm", seed=7).run(300)
    # Eight standard errors: an interval of 95 % may miss.
    assert bound["value"] - 4 * (bound["value"] - bound["low"]) < whole.exploitability()
    assert result["nodes_touched"] == whole.nodes_touched
    loaded = mccfr_plus.load_policy(policy)
    assert loaded.num_infosets == result["information_sets"] < 936
    assert mccfr_plus.nash_conv("leduc_poker", loaded) == pytest.approx(whole.nash_conv(), abs=1e-12)
    assert "at least" in outcome.out
    assert ", 95 % interval" in outcome.out
    assert "lazy tree" in outcome.out


def test_a_compiled_tree_says_so(command):
    result = command(*RUN, "--iterations=10", "--json").json
    assert (result["tree"], result["information_sets"], result["nodes"]) == ("compiled", 936, 9457)
    assert result["exploitability_bound"] is None
    assert result["exploitability"] > 0


def test_no_bound_on_demand(command):
    outcome = command(*RUN, "--tree=lazy", "--iterations=10", "--bound_seconds=0", "--json")
    assert outcome.json["exploitability_bound"] is None
    assert "n/a (no bound" in outcome.out


@pytest.mark.usefixtures("interpreted_loops")
@pytest.mark.parametrize("tree", ["compiled", "lazy"])
@pytest.mark.parametrize("mode", ["deterministic", "fast"])
def test_threads(command, tree, mode):
    flags = (
        f"--tree={tree}",
        "--threads=2",
        f"--thread_mode={mode}",
        "--iterations=4",
        "--bound_seconds=0",
        "--json",
    )
    outcome = command(*RUN, *flags)
    assert (outcome.json["threads"], outcome.json["thread_mode"]) == (2, mode)
    assert f"2 threads ({mode})" in outcome.out
    assert outcome.json["iterations"] == 4
    if tree == "compiled" and mode == "deterministic":
        whole = mccfr_plus.Solver("leduc_poker", "external", "rm", seed=7, threads=2).run(4)
        assert outcome.json["nash_conv"] == whole.nash_conv()


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--tree=big"], ["--tree", "must be one of auto, compiled, lazy"]),
        (["--keys=md5"], ["--keys", "must be one of hash, checked, text"]),
        (["--memory=lots"], ["--memory", "must be a size such as 4GB"]),
        (["--memory=0"], ["--memory"]),
        (["--memory=1MB", "--tree=lazy"], ["give at least"]),
        (["--threads=0"], ["--threads", "at least 1"]),
        (["--threads=1.5"], ["--threads", "whole number"]),
        (["--threads=10000"], ["threads=10000: this machine has"]),
        (["--thread_mode=quick"], ["--thread_mode", "must be one of deterministic, fast"]),
        (["--bound_seconds=-1"], ["--bound_seconds", "0 or more"]),
        (["--threads=2", "--estimator=full"], ["threads=2 with estimator='full'"]),
        (["--threads=2", "--baseline"], ["threads=2 with a baseline"]),
        (["--tree=lazy", "--estimator=full"], ["tree='lazy' with estimator='full'"]),
        (["--tree=lazy", "--bounds"], ["--bounds"]),
    ],
    ids=str,
)
def test_bad_values(command, flags, parts):
    command("solve", "kuhn_poker", "--estimator=external", "--iterations=5", *flags).assert_one_line_error(*parts)


@pytest.mark.parametrize(
    ("tree", "chosen", "estimator", "reason"),
    [
        ("auto", "rules", "external", "8 symmetries of the board are used"),
        ("lazy", "lazy", "outcome", "on the lazy tree a traversal"),
    ],
)
def test_a_large_game_is_not_compiled_by_itself(command, tree, chosen, estimator, reason):
    flags = ["--iterations=2", "--seed=1", "--bound_seconds=0", "--json", f"--tree={tree}"]
    outcome = command("solve", "phantom_ttt", *flags)
    result = outcome.json
    assert (result["tree"], result["estimator"]) == (chosen, estimator)
    assert result["exploitability"] is None
    assert result["information_sets"] > 0
    assert (result["nodes"] == 0) == (chosen == "rules")
    assert f"solving with estimator={estimator}" in outcome.err
    assert ("symmetries of the board" in outcome.out) == (chosen == "rules")
    assert reason in outcome.err


def test_a_large_game_that_must_be_compiled(command):
    command("solve", "phantom_ttt", "--tree=compiled", "--iterations=5").assert_one_line_error("phantom_ttt")
    command("solve", "phantom_ttt", "--estimator=escher", "--iterations=5").assert_one_line_error("phantom_ttt")


def test_until_needs_a_game_that_can_be_evaluated(command):
    """Refused before the run, and by what would help."""
    begin = time.process_time()
    outcome = command("solve", "phantom_ttt", "--tree=lazy", "--target_exploitability=0.1")
    assert (outcome.code, outcome.out) == (2, "")
    assert "error: an exact exploitability needs the whole tree" in outcome.err
    assert "number of iterations or seconds" in outcome.err
    assert time.process_time() - begin < 20
    result = command(*RUN, "--tree=lazy", "--target_exploitability=2", "--bound_seconds=0", "--json").json
    assert result["iterations"] > 0
    tree = naive.tree_of("leduc_poker")
    assert mccfr_plus.Solver(tree, "external", "rm", seed=7).run(result["iterations"]).exploitability() <= 2


def test_full_memory_is_told(command, monkeypatch):
    monkeypatch.setattr(memory, "_LEAST", 1)
    monkeypatch.setattr("mccfr_plus.solver.tree_choice.plan_memory", _tiny(memory.plan_memory))
    outcome = command(*RUN, "--tree=lazy", "--iterations=1e6", "--bound_seconds=0", "--json")
    assert outcome.code == 0
    assert "filled their share of memory" in outcome.json["stopped"]
    assert "(memory full)" in outcome.out
    assert 0 < outcome.json["iterations"] < 1e6


def _tiny(plan_memory):
    return lambda *arguments, **costs: plan_memory(*arguments, **costs)._replace(max_infosets=200)


# --- checkpoints ---


def test_resuming_a_grown_run(command, path):
    flags = ("--tree=lazy", "--keys=text", "--bound_seconds=0", "--json", f"--checkpoint={path}")
    command(*RUN, *flags, "--iterations=100")
    result = command("solve", "leduc_poker", "--resume", f"--checkpoint={path}", "--iterations=250",
                     "--bound_seconds=0", "--json").json  # fmt: skip
    whole = mccfr_plus.Solver("leduc_poker", "external", "rm", seed=7).run(250)
    assert (result["tree"], result["nodes_touched"]) == ("lazy", whole.nodes_touched)
    assert mccfr_plus.Solver.from_checkpoint(path).nash_conv() == pytest.approx(whole.nash_conv(), abs=1e-12)


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (["--tree=compiled"], "kind of tree"),
        (["--keys=hash"], "kind of keys"),
        (["--threads=2"], "number of threads"),
        (["--thread_mode=fast"], "thread_mode"),
    ],
)
@pytest.mark.usefixtures("interpreted_loops")
def test_flags_that_contradict_the_checkpoint(command, path, flags, name):
    first = ("--tree=lazy", "--keys=text", "--bound_seconds=0", f"--checkpoint={path}", "--iterations=2")
    mode = ["--threads=2"] if name == "thread_mode" else []
    assert command(*RUN, *first, *mode).code == 0
    before = path.read_bytes()
    again = ("solve", "leduc_poker", "--resume", f"--checkpoint={path}", "--iterations=20", "--bound_seconds=0")
    command(*again, *flags).assert_one_line_error(f"belongs to another run: its {name}")
    assert path.read_bytes() == before


def test_too_little_memory_to_resume(command, path, monkeypatch):
    flags = ("--tree=lazy", "--bound_seconds=0", f"--checkpoint={path}")
    assert command(*RUN, *flags, "--iterations=100").code == 0
    before = path.read_bytes()
    monkeypatch.setattr("mccfr_plus.solver.tree_choice.plan_memory", _tiny(memory.plan_memory))
    again = ("solve", "leduc_poker", "--resume", f"--checkpoint={path}", "--iterations=200")
    command(*again).assert_one_line_error("does not fit", "Give more memory")
    assert path.read_bytes() == before


def test_kills_change_no_bit_of_a_grown_run(start, path):
    flags = (*RUN, "--tree=lazy", "--keys=text", f"--checkpoint={path}", "--bound_seconds=0")
    reached = 0
    for _ in range(2):
        process = start(*flags, "--iterations=1e9", "--checkpoint_interval=0.05s", *(["--resume"] if reached else []))
        end = time.monotonic() + 120
        while not path.exists() or read_header(path)["iterations"] <= reached:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        reached = read_header(path)["iterations"]
    solver = mccfr_plus.Solver.from_checkpoint(path).run(200)
    whole = mccfr_plus.Solver(naive.tree_of("leduc_poker"), "external", "rm", seed=7).run(reached + 200)
    assert differences(whole, solver) == []
