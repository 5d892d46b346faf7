"""`mccfr-plus solve --algorithm`: solvers with networks by command."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from checkpoint_contents import contents_of

torch = pytest.importorskip("torch")
import mccfr_plus  # noqa: E402
import mccfr_plus.neural  # noqa: E402
from mccfr_plus import Progress  # noqa: E402
from mccfr_plus.cli.main import COMMANDS  # noqa: E402
from mccfr_plus.cli.neural import (  # noqa: E402
    TABLE_FLAGS,
)
from mccfr_plus.cli.run import Watch  # noqa: E402
from mccfr_plus.neural import (  # noqa: E402
    ALGORITHMS,
    WITHOUT_TREE,
    DREAMConfig,
)
from mccfr_plus.neural.network import Learner  # noqa: E402

FAST = ("--set", "hidden_layers=(8,)", "--quiet", "--json")
_STEPS = ("--set", "train_steps=2", "--set", "traversals=20")
SETTINGS = {
    "deep_cfr": (*_STEPS, "--set", "memory=reservoir", "--set", "memory_capacity=2000"),
    "dream": (*_STEPS, "--set", "baseline_training.train_steps=2"),
    "escher": (*_STEPS, "--set", "value_traversals=10", "--set", "value_training.train_steps=2"),
    "nfsp": ("--set", "episodes=300", "--set", "min_samples=20", "--set", "learn_every=32", "--set", "batch_size=32"),
    "batched_deep_cfr": (*_STEPS, "--set", "policy_training.train_steps=2"),
    "batched_dream": (*_STEPS, "--set", "policy_training.train_steps=2", "--set", "minimizer=pdcfr+"),
    "batched_nfsp": ("--set", "episodes=100", "--set", "min_samples=20", "--set", "learn_every=16"),
    "batched_escher": (*_STEPS, "--set", "value_traversals=5", "--set", "policy_training.train_steps=2"),
}
DEEP = ("solve", "kuhn_poker", "--algorithm=deep_cfr", *FAST, *SETTINGS["deep_cfr"], "--seed=1")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


def state_of(path):
    header, arrays = contents_of(path)
    return {name: header[name] for name in ("algorithm", "config", "seed", "iterations", "nodes_touched")}, arrays


def assert_same(left, right):
    (header, arrays), (other_header, others) = state_of(left), state_of(right)
    assert header == other_header
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)


def test_settings_are_tried_for_every_algorithm():
    assert set(SETTINGS) == set(ALGORITHMS)


# --- runs ---


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_run_and_one_that_is_resumed(algorithm, command, tmp_path):
    flags = [f"--algorithm={algorithm}", *FAST, *SETTINGS[algorithm], "--seed=3"]
    bound = ["--bound_seconds=0.5"] if algorithm in WITHOUT_TREE else []
    policy, whole, parts = (str(tmp_path / name) for name in ("policy.npz", "whole", "parts"))
    run = ("solve", "kuhn_poker", *flags, *bound)
    outcome = command(*run, "--iterations=6", f"--policy_out={policy}", f"--checkpoint={whole}")
    assert (outcome.code, outcome.err) == (0, "")
    result = outcome.json
    assert (result["game"], result["algorithm"], result["seed"]) == ("kuhn_poker", algorithm, 3)
    assert (result["iterations"], result["stopped"], result["interrupted"]) == (6, None, False)
    assert all(loss > 0 for loss in result["losses"])
    evaluated = command("evaluate", "kuhn_poker", policy, "--json").json
    assert 0 < evaluated["exploitability"] < 11 / 12  # of uniform play
    assert evaluated["exploitability"] == pytest.approx(result["exploitability"], abs=1e-12)
    solver_class = getattr(mccfr_plus.neural, ALGORITHMS[algorithm])
    solver = solver_class.from_checkpoint(whole)
    assert result["settings"] == {
        name: list(value) if isinstance(value, tuple) else value for name, value in solver.config.as_dict().items()
    }
    assert result["nodes_touched"] == solver.nodes_touched
    assert solver.config.hidden_layers == (8,)
    twin = solver_class("kuhn_poker", solver.config, seed=3).run(6)
    if algorithm in WITHOUT_TREE:
        exploitability = mccfr_plus.exploitability("kuhn_poker", twin.average_policy())
        assert evaluated["exploitability"] == pytest.approx(exploitability, abs=1e-12)
    else:
        np.testing.assert_array_equal(twin.average_strategy(), mccfr_plus.load_policy(policy).strategy())

    command(*run, "--iterations=2", f"--checkpoint={parts}")
    assert state_of(parts)[0]["iterations"] == 2
    # Algorithm, settings and seed come from the checkpoint.
    resume = ("solve", "kuhn_poker", "--quiet", "--json", f"--checkpoint={parts}", "--resume", "--iterations=6")
    again = command(*resume, *bound)
    assert again.json["nash_conv"] == result["nash_conv"]
    assert_same(whole, parts)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["parts", "policy.npz", "whole"]


def test_prints_what_it_does(command):
    outcome = command(*DEEP[:3], "--set", "train_steps=3", "--set=traversals=2e1", "--iterations=2", "--seed=5")
    assert outcome.code == 0
    assert "solving with deep_cfr, seed 5: train_steps=3, traversals=20\n" in outcome.err
    rows = {line.split("  ")[0]: line.split("  ", 1)[1].strip() for line in outcome.out.splitlines()}
    assert (rows["algorithm"], rows["settings"]) == ("deep_cfr", "train_steps=3, traversals=20")
    assert (rows["iterations"], rows["seed"]) == ("2", "5")
    assert rows["exploitability"].endswith("in the game's payoffs")
    assert len(rows["losses"].split(", ")) == 2


def test_limits(command, path):
    assert 0 < command(*DEEP, "--target_exploitability=0.45", "--seconds=60").json["exploitability"] <= 0.45
    assert 0.1 <= command(*DEEP, "--seconds=0.1").json["seconds"] < 50
    flags = (*DEEP, f"--checkpoint={path}")
    command(*flags, "--iterations=4")
    before = path.read_bytes()
    assert command(*flags, "--iterations=3", "--resume").json["iterations"] == 4  # limits are totals
    assert path.read_bytes() == before


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_help_lists_the_settings_of_an_algorithm(command, algorithm):
    text = command("solve", f"--algorithm={algorithm}", "--help").out
    config = getattr(mccfr_plus.neural, f"{ALGORITHMS[algorithm]}Config")()
    assert all(f"  {name}=" in text for name in config.as_dict())


# --- what is wrong ---


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--set", "traversal=3"], ["DREAMConfig has no setting 'traversal'. Did you mean 'traversals'?", "epsilon"]),
        (["--set", "baseline_training=3"], ["no setting 'baseline_training'", "baseline_training.train_steps"]),
        (["--set", "traversals=0"], ["traversals=0: must be a whole number"]),
        (["--set", "traversals=1.5"], ["traversals=1.5: must be a whole number"]),
        (["--set", "baseline_training.train_steps=0"], ["baseline_training: train_steps=0: must be a whole number"]),
        (["--set", "memory=heap"], ["memory='heap': give one of aggregated, reservoir"]),
        (["--set", "layer_norm=true"], ["layer_norm='true': must be True or False"]),
        (["--set", "hidden_layers=(64"], ["--set=hidden_layers=(64", "as Python writes it"]),
        (["--set", "hidden_layers=64"], ["hidden_layers=64: give a tuple"]),
        (["--set", "hidden_layers=open('x')"], ["as Python writes it"]),
        (["--set", "traversals"], ["--set=traversals", "must be NAME=VALUE"]),
        (["--set", "=3"], ["must be NAME=VALUE"]),
        (["--set", "traversals=3", "--set", "traversals=4"], ["the setting traversals is given twice"]),
        (["--tree=lazy"], ["--tree=lazy is about --algorithm=tabular, and --algorithm=dream does not take it"]),
        (["--threads=2"], ["--threads is about", "--set threads=N"]),
        (["--algorithm=nfps"], ["--algorithm=nfps", "must be one of tabular, deep_cfr"]),
    ],
    ids=lambda flags: " ".join(flags) if flags[0].startswith("--") else "",
)
def test_bad_flags_are_found_before_the_game_is_compiled(command, monkeypatch, flags, parts):
    monkeypatch.setattr("mccfr_plus.cli.budget.compile_game", None)
    command("solve", "kuhn_poker", "--algorithm=dream", *flags).assert_one_line_error(*parts)


def test_flags_about_tables(command):
    values = {"averaging": "linear", "batch": 2, "memory": "1GB", "keys": "text", "threads": 2, "thread_mode": "fast"}
    values |= {"baseline_rate": 0.5, "bound_seconds": 1, "confidence": 0.9, "estimator": "full", "minimizer": "rm"}
    for name in TABLE_FLAGS:
        flag = f"--{name}={values[name]}" if name in values else f"--{name}"
        outcome = command("solve", "kuhn_poker", "--algorithm=escher", flag)
        outcome.assert_one_line_error(f"--{name} is about --algorithm=tabular, and --algorithm=escher does not take it")
    for flags in ([], ["--algorithm=tabular"]):
        outcome = command("solve", "kuhn_poker", *flags, "--set", "traversals=3")
        outcome.assert_one_line_error("--set is about neural algorithms", "--algorithm=deep_cfr, dream, escher")
    # What no list names must mean something.
    own = {
        "algorithm",
        "set",
        "iterations",
        "seconds",
        "target_exploitability",
        "seed",
        "checkpoint",
        "checkpoint_interval",
        "resume",
        "policy_out",
    }
    own |= {"tree", "rules", "max_nodes", "max_bytes", "json", "quiet", "import", "help", "h"}
    own |= {f"help_{topic}" for topic in COMMANDS["solve"].topics}
    own |= {"cluster", "workers"}
    assert set(COMMANDS["solve"].flags()) == own | set(TABLE_FLAGS)


def test_games_that_no_network_sees(command, monkeypatch):
    command("solve", "leduc_poker", "--algorithm=dream", "--max_nodes=9").assert_one_line_error("budget of 9 nodes")
    monkeypatch.setattr("mccfr_plus.cli.budget.compile_game", None)
    command("solve", "nim", "--algorithm=escher").assert_one_line_error("no information_state_tensor", "ESCHER")
    command("solve", "kuhn_pokr", "--algorithm=escher").assert_one_line_error("did you mean kuhn_poker")


def test_no_room(command):
    outcome = command(*DEEP[:3], "--set", "hidden_layers=(10_000_000,10_000_000)", "--iterations=1")
    outcome.assert_one_line_error("no room for the networks", "--set")


def test_settings():
    config = DREAMConfig().changed([("traversals", 1e3), ("epsilon", 1), ("baseline_training.skip", True)])
    assert config == DREAMConfig(
        traversals=1000, epsilon=1, baseline_training=dataclasses.replace(DREAMConfig().baseline_training, skip=True)
    )
    assert type(config.traversals) is int
    assert config.as_dict()["baseline_training.skip"] is True
    assert config.changed([]) == config


# --- checkpoints ---


def test_the_checkpoint_of_another_run(command, path, tmp_path):
    command(*DEEP, "--iterations=2", f"--checkpoint={path}")
    before = path.read_bytes()
    command(*DEEP, f"--checkpoint={path}").assert_one_line_error("holds a checkpoint: add --resume")
    flags = ("--iterations=4", f"--checkpoint={path}", "--resume")
    for more, text in [
        (["--algorithm=dream"], "is of a run with algorithm=deep_cfr, and the command line says algorithm=dream:"),
        (["--algorithm=tabular"], "is of a run with algorithm=deep_cfr, and the command line says algorithm=tabular:"),
        (["--set", "traversals=21"], "belongs to another run: its traversals is 20, and the solver's is 21."),
        (
            ["--set", "memory=aggregated"],
            "belongs to another run: its memory is reservoir, and the solver's is aggregated.",
        ),
        (["--seed=2"], "is of a run with seed=1, and the command line says seed=2:"),
    ]:
        command("solve", "kuhn_poker", *more, *flags).assert_one_line_error(f"{path} {text}")
    command("solve", "leduc_poker", *flags).assert_one_line_error("its game is kuhn_poker()", "leduc_poker()")
    command("solve", "kuhn_poker", "--estimator=full", *flags).assert_one_line_error("--estimator is about")
    assert path.read_bytes() == before
    table = tmp_path / "table"
    command("solve", "kuhn_poker", "--iterations=2", f"--checkpoint={table}")
    outcome = command("solve", "kuhn_poker", "--algorithm=deep_cfr", f"--checkpoint={table}", "--resume")
    outcome.assert_one_line_error("algorithm=tabular, and the command line says algorithm=deep_cfr")
    assert command(*DEEP, *flags).json["iterations"] == 4  # the same said again is right


def test_the_checkpoint_of_an_algorithm_that_the_command_does_not_know(command, path, monkeypatch):
    command(*DEEP, "--iterations=2", f"--checkpoint={path}")
    monkeypatch.delitem(ALGORITHMS, "deep_cfr")
    outcome = command("solve", "kuhn_poker", f"--checkpoint={path}", "--resume")
    outcome.assert_one_line_error("is of a run of DeepCFR, which is none of --algorithm=dream, escher")


@pytest.mark.parametrize("place", ["header", "array"])
def test_a_damaged_checkpoint_stays_as_it_is(command, path, place):
    command(*DEEP, "--iterations=2", f"--checkpoint={path}")
    data = bytearray(path.read_bytes())
    begin = data.index(b'"algorithm"') if place == "header" else len(data) * 3 // 4
    data[begin : begin + 20] = bytes(byte ^ 0xFF for byte in data[begin : begin + 20])
    path.write_bytes(data)
    outcome = command(*DEEP, f"--checkpoint={path}", "--resume", "--iterations=4")
    outcome.assert_one_line_error(str(path), "is damaged")
    assert path.read_bytes() == data


def test_a_network_that_diverges(command, path, tmp_path, monkeypatch):
    policy, train = tmp_path / "policy.npz", Learner._step

    def step(learner, iteration):
        if iteration == 2:
            learner.vector.data.fill_(1e30)  # as far too long a step leaves it
        train(learner, iteration)

    monkeypatch.setattr(Learner, "_step", step)
    flags = (*DEEP[:3], *SETTINGS["deep_cfr"], "--seed=1", "--iterations=9")
    outcome = command(*flags, f"--checkpoint={path}", f"--policy_out={policy}", "--json")
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
    last = outcome.err.splitlines()
    assert last[-1].startswith(
        "mccfr-plus: error: training diverged in iteration 2: the advantage loss of player 0 is inf"
    )
    assert last[-2] == f"kept: {path} is of iteration 1"
    # What came before it is good.
    assert outcome.json["iterations"] == 1
    assert outcome.json["stopped"] in outcome.err
    assert "1 (then a network diverged)" in outcome.out
    assert len(mccfr_plus.load_policy(policy)) == 12
    kept = mccfr_plus.neural.DeepCFR.from_checkpoint(path)
    twin = mccfr_plus.neural.DeepCFR("kuhn_poker", kept.config, seed=1).run(1)
    for name, array in kept.state().items():
        np.testing.assert_array_equal(array, twin.state()[name], err_msg=name)
    before = path.read_bytes()
    command(*flags, f"--checkpoint={path}", "--resume")
    assert path.read_bytes() == before


def test_without_a_first_iteration_there_is_no_result(command, path):
    flags = (*DEEP[:3], "--set", "learning_rate=1e30", "--quiet", f"--checkpoint={path}")
    command(*flags).assert_one_line_error("training diverged in iteration 1: the advantage loss of player")
    assert not path.exists()


def wait_for(path, process):
    end = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_kill_changes_no_bit(start, command, path, tmp_path):
    process = start(*DEEP, f"--checkpoint={path}", "--checkpoint_interval=0.05s", "--iterations=1e9")
    wait_for(path, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    total = state_of(path)[0]["iterations"] + 3
    command(*DEEP, f"--checkpoint={path}", "--resume", f"--iterations={total}")
    whole = tmp_path / "whole"
    command(*DEEP, f"--iterations={total}", f"--checkpoint={whole}")
    assert_same(path, whole)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [path.name, "whole"]  # no locks, no leftovers


def test_ctrl_c_ends_a_run_with_its_result(command, path, monkeypatch):
    """Within the third iteration, which has then not been."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells take from jobs in the background
    fit, calls = Learner.fit, []

    def interrupt(*arguments):
        calls.append(fit(*arguments))
        if len(calls) == 6:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "fit", interrupt)
        arguments = [flag for flag in DEEP if flag != "--quiet"]
        outcome = command(*arguments, f"--checkpoint={path}", "--iterations=9")
    signal.signal(signal.SIGINT, before)
    assert outcome.code == 0
    assert (outcome.json["iterations"], outcome.json["interrupted"]) == (2, True)
    assert f"interrupted: {path} is of iteration 2; add --resume to go on\n" in outcome.err
    command(*DEEP, f"--checkpoint={path}", "--iterations=4", "--resume")
    command(*DEEP, f"--checkpoint={path}.whole", "--iterations=4")
    assert_same(path, f"{path}.whole")


# --- the display ---


def show_on_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("mccfr_plus.cli.run._REDRAW_AFTER", 0.0)
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((200, 24)))


def test_the_line_tells_phase_losses_and_what_is_left(command, monkeypatch):
    show_on_a_terminal(monkeypatch)
    arguments = [flag for flag in DEEP if flag not in ("--quiet", "--json")]
    outcome = command(*arguments, "--iterations=3")
    assert outcome.code == 0
    lines = [line.strip() for line in outcome.err.split("\r") if " it. " in line]
    phases = [line.split("it. ")[1].split("  loss")[0] for line in lines]
    steps = ["traversals 0", "training 0", "traversals 1", "training 1"]
    assert phases == [text for i in (1, 2, 3) for text in [*(f"{i}: {step}" for step in steps), f"{i} done"]]
    assert "s left" not in lines[0]  # nobody knows yet
    assert lines[0].endswith("exploitability n/a       it. 1: traversals 0  loss n/a n/a")
    number = r"\d[\d.e+-]*"
    expected = rf"{number} s, {number} s left  exploitability {number} +it. 3 done  loss {number} {number}"
    assert re.fullmatch(expected, lines[-1])
    assert len(lines[-1]) < 80


@pytest.mark.parametrize("algorithm", ["dream", "escher"])
def test_values_are_a_phase(algorithm, command, monkeypatch):
    show_on_a_terminal(monkeypatch)
    flags = [flag for flag in (*FAST, *SETTINGS[algorithm]) if flag not in ("--quiet", "--json")]
    outcome = command("solve", "kuhn_poker", f"--algorithm={algorithm}", *flags, "--iterations=1")
    assert " it. 1: values" in outcome.err


def test_what_is_left():
    tree = SimpleNamespace(is_lazy=False, perfect_recall=True)
    solver = SimpleNamespace(tree=tree, exploitability=lambda: 0.5, losses=(0.5, None))

    def line(seconds, iterations=None, limit=None, done=1):
        watch = Watch(True)
        watch.expect(10, iterations, limit)
        return watch._line(Progress(solver, 10 + done, 0, seconds), seconds)

    assert re.match("4.0 s  exploitability n/a +it. 11 done  loss 0.5 n/a", line(4.0))
    assert line(4.0, limit=10.0).startswith("4.0 s, 6 s left")
    assert line(4.0, iterations=6, done=2).startswith("4.0 s, 8 s left")  # of this run, at 2 s each
    assert line(4.0, iterations=6, limit=5.0, done=2).startswith("4.0 s, 1 s left")
    assert line(4.0, limit=3.0).startswith("4.0 s, 0 s left")  # the iteration under way ends


# --- without torch ---


def test_without_torch_or_with_an_old_one():
    """One command needs it and says so; tables and the help do without. One process, as starting it takes longest."""
    code = (
        "import sys, types; sys.modules['torch'] = None\n"
        "from mccfr_plus.cli.main import main\n"
        "codes = [main(['solve', 'kuhn_poker', '--algorithm=dream']), main(['solve', '--help_neural'])]\n"
        "codes.append(main(['solve', 'kuhn_poker', '--iterations=2', '--quiet']))\n"
        "sys.modules['torch'] = types.SimpleNamespace(__version__='1.12.1')\n"
        "codes.append(main(['solve', 'kuhn_poker', '--algorithm=dream']))\n"
        "print(codes)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    missing, old = result.stderr.splitlines()
    assert missing == "mccfr-plus: error: neural solvers need torch: pip install 'mccfr_plus[neural]'."
    assert old.startswith("mccfr-plus: error: neural solvers need torch 2.4 or newer, and this is 1.12.1: pip install")
    assert "--help_neural --algorithm=NAME lists the settings" in result.stdout
    assert result.stdout.splitlines()[-1] == "[2, 0, 0, 2]"
