"""`mccfr-plus solve`: its results are those of the Python API, on games and trees of every kind."""

import json

import pytest

import mccfr_plus
from mccfr_plus.cli import solve
from mccfr_plus.files.json_files import read_json_lines
from mccfr_plus.solver import choice
from mccfr_plus.trees import memory

LEDUC = ("solve", "leduc_poker", "--estimator=external", "--minimizer=rm", "--seed=7", "--quiet", "--json")


@pytest.fixture(autouse=True)
def short_bounds(monkeypatch):
    monkeypatch.setattr(solve, "BOUND_SECONDS", 0.3)


def test_prints_a_table_and_json_on_the_last_line(command):
    outcome = command("solve", "kuhn_poker", "--iterations=1000", "--json")
    assert outcome.code == 0
    result = outcome.json
    assert (result["game"], result["iterations"], result["nodes_touched"]) == ("kuhn_poker", 1000, 1000 * 2 * 58)
    assert 0 < result["exploitability"] < 1e-4
    assert result["nash_conv"] == pytest.approx(2 * result["exploitability"])
    assert result["values"] == pytest.approx([-1 / 18, 1 / 18], abs=1e-4)
    assert result["iterations_per_second"] == pytest.approx(result["iterations"] / result["seconds"])
    assert (result["interrupted"], result["tree"], result["information_sets"]) == (False, "compiled", 12)
    assert "full + pdcfr+, power(gamma=5.0) average (t^5), alternating updates" in outcome.out
    assert outcome.out.splitlines()[-2].split()[0] == "exploitability"
    assert "estimator=full, minimizer=pdcfr+" in outcome.err


def test_a_progress_bar_on_a_terminal(command, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    arguments = ("solve", "leduc_poker", "--seconds=0.6", "--eval_every=0.01s")
    assert "exploitability=" in command(*arguments).err
    assert command(*arguments, "--quiet").err == ""


OPTIONS = [{}, {"threads": 2}, {"tree": "lazy"}, {"tree": "rules", "averaging": "stochastic(gamma=1.0)"}]


@pytest.mark.usefixtures("interpreted_loops", "interpreted_evaluation")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_is_the_solver_of_the_library(command, tmp_path, options):
    given = [f"--{name}={value}" for name, value in options.items()]
    policy = tmp_path / "policy.npz"
    line = ("solve", "kuhn_poker", "--estimator=external", "--minimizer=rm", *given, "--seed=7")
    result = command(*line, "--iterations=2e1", f"--policy_out={policy}", "--json").json
    solver = mccfr_plus.Solver("kuhn_poker", "external", "rm", seed=7, **options).run(20)
    assert (result["estimator"], result["minimizer"], result["seed"]) == ("external", "rm", 7)
    assert result["nodes_touched"] == solver.nodes_touched
    assert result["tree"] == options.get("tree", "compiled")
    assert mccfr_plus.nash_conv("kuhn_poker", mccfr_plus.load_policy(policy)) == pytest.approx(solver.nash_conv())
    if result["tree"] == "compiled":
        assert result["nash_conv"] == solver.nash_conv()
    assert [entry.name for entry in tmp_path.iterdir()] == ["policy.npz"]


def test_a_printed_seed_repeats_the_run(command):
    arguments = ("solve", "kuhn_poker", "--estimator=external", "--iterations=50", "--json")
    first = command(*arguments).json
    assert command(*arguments, f"--seed={first['seed']}").json["nash_conv"] == first["nash_conv"]
    assert command(*arguments).json["nash_conv"] != first["nash_conv"]


def test_a_log_of_evaluations(command, tmp_path):
    log = tmp_path / "log.jsonl"
    checkpoint = f"--checkpoint={tmp_path}/run"
    result = command(*LEDUC, "--iterations=1000000", f"--log={log}", "--eval_every=0.01s", checkpoint).json
    entries = read_json_lines(log, mccfr_plus.ConfigError)
    assert len(entries) >= 2
    assert set(entries[0]) == {"iterations", "nodes_touched", "seconds", "exploitability"}
    assert entries[-1]["exploitability"] == result["exploitability"]
    assert entries[-1]["nodes_touched"] == result["nodes_touched"]
    for name in ("iterations", "seconds"):
        assert [entry[name] for entry in entries] == sorted({entry[name] for entry in entries})
    solver = mccfr_plus.Solver("leduc_poker", "external", "rm", seed=7).run(entries[0]["iterations"])
    assert entries[0]["exploitability"] == solver.exploitability()
    command(*LEDUC, "--seconds=9", f"--log={log}").assert_one_line_error("already exists")
    command(*LEDUC, f"--iterations={result['iterations'] + 9}", f"--log={log}", checkpoint, "--resume")  # continues it
    assert json.loads(log.read_text().splitlines()[-1])["iterations"] > entries[-1]["iterations"]


def test_a_river_is_solved_on_its_public_tree(command, tmp_path):
    """No command stores its 88 million histories."""
    game, policy = "holdem_subgame(board=Ks7h4d2c9s)", f"{tmp_path}/river.npz"
    line = ("solve", game, "--iterations=5", f"--policy_out={policy}", "--json")
    solved = [command(*line, *given).json for given in ((), ("--tree=public",))]
    assert [(each["tree"], each["nodes"], each["estimator"]) for each in solved] == [("public", 63, "full")] * 2
    assert command("evaluate", game, policy, "--json").json["nash_conv"] == solved[1]["nash_conv"]
    assert command("export", game, policy).out.count("\n") == 67_023


@pytest.mark.usefixtures("interpreted_loops")
def test_imperfect_recall_has_both_nash_convs(command):
    game, parts = "liars_dice_ir(dice_sides=3)", {"minimizer": "rm", "averaging": "uniform"}
    outcome = command(
        "solve", game, "--iterations=50", "--json", *(f"--{name}={value}" for name, value in parts.items())
    )
    assert (outcome.code, outcome.json["estimator"]) == (0, "full")
    found = mccfr_plus.Solver(game, "full", **parts).run(50).evaluate()
    for name in ("nash_conv", "perfect_recall_nash_conv"):
        assert outcome.json[name] == pytest.approx(getattr(found, name), abs=1e-12)
    assert "nash_conv, perfect recall" in outcome.out


def test_short_traversals_by_rules_are_those_of_external_sampling():
    chosen, why = choice._components_for("rules", mccfr_plus.load_game("phantom_ttt"), None, None)
    assert chosen == {"estimator": "external", "averaging": "stochastic(gamma=1.0)", "symmetry": True}
    assert "8 symmetries" in why


RULES = ("auto", "rules", "outcome", "8 symmetries of the board are used")
LAZY = ("lazy", "lazy", "outcome", "on the lazy tree a traversal")


@pytest.mark.parametrize(("tree", "chosen", "estimator", "reason"), [RULES, LAZY])
def test_a_large_game_is_not_compiled(command, monkeypatch, tree, chosen, estimator, reason, interpreted_loops):
    # As plain Python, a traversal of external sampling, which is chosen otherwise, takes too long.
    monkeypatch.setattr(choice, "_EXTERNAL_MAX_NODES_BY_RULES", 1)
    monkeypatch.setattr(solve, "_SHORT_EVALUATION", 0.0)
    monkeypatch.setattr(solve, "local_bound", lambda *_, **__: None)  # a fast machine finds one in time
    outcome = command("solve", "phantom_ttt", "--iterations=2", "--seed=1", "--json", f"--tree={tree}")
    result = outcome.json
    assert (result["tree"], result["estimator"], result["exploitability"]) == (chosen, estimator, None)
    assert result["information_sets"] > 0
    assert (result["nodes"] == 0) == (chosen == "rules")
    assert ("symmetries of the board" in outcome.out) == (chosen == "rules")
    assert reason in outcome.err
    exact = "n/a (exact: mccfr-plus evaluate phantom_ttt POLICY, with --policy_out=POLICY here)"
    assert (exact in outcome.out) == (chosen == "rules")


def test_a_bound_in_place_of_the_exploitability(command, monkeypatch, interpreted_loops):
    def patient(*arguments, found=solve.local_bound, **options):
        """Takes as long as a busy machine needs."""
        bounds = (found(*arguments[:2], seconds, **options) for seconds in (0.5, 5.0, 50.0, 300.0))
        return next(filter(None, bounds))

    monkeypatch.setattr(solve, "local_bound", patient)
    outcome = command(*LEDUC, "--tree=lazy", "--iterations=300")
    bound = outcome.json["exploitability_bound"]
    assert bound["kind"] == "lower bound"
    assert bound["low"] < bound["value"] < bound["high"]
    assert outcome.json["values"] == [None, None]
    assert "at least" in outcome.out
    monkeypatch.setattr("mccfr_plus.cli.solve.local_bound", lambda *_, **__: None)
    assert "evaluate --against" in command(*LEDUC, "--tree=lazy", "--iterations=3").out


@pytest.mark.usefixtures("interpreted_loops")
def test_full_memory_ends_the_run(command, monkeypatch):
    plan = memory.plan_memory
    monkeypatch.setattr(memory, "_LEAST", 1)
    monkeypatch.setattr(
        "mccfr_plus.solver.choice.plan_memory", lambda *a, **costs: plan(*a, **costs)._replace(max_infosets=200)
    )
    outcome = command(*LEDUC, "--tree=lazy", "--iterations=1e6")
    assert outcome.code == 0
    assert "memory" in outcome.json["stopped"]
    assert "(memory full)" in outcome.out
    assert 0 < outcome.json["iterations"] < 1e6


def test_a_policy_of_another_game_is_not_overwritten(command, tmp_path, interpreted_loops):
    path = tmp_path / "policy.npz"
    for _ in range(2):  # that of the same game is
        assert command("solve", "kuhn_poker", "--iterations=2", f"--policy_out={path}").code == 0
    before = path.read_bytes()
    refused = command("solve", "kuhn_poker(players=3)", "--iterations=2", f"--policy_out={path}")
    refused.assert_one_line_error("holds a policy for kuhn_poker() and will not be overwritten: delete it")
    assert path.read_bytes() == before
    checkpoint = tmp_path / "run"
    command("solve", "kuhn_poker", "--iterations=2", f"--checkpoint={checkpoint}")
    command("solve", "matrix_rps", "--iterations=2", f"--policy_out={checkpoint}").assert_one_line_error("kuhn_poker()")


BAD_INPUT = {
    "nope_game": "OpenSpiel has no game 'nope_game'",
    "mfg_crowd_modelling": "mean-field",
    "pathfinding": "information_state_string",
    "liars_dice_ir --minimizer=ftrl": "imperfect recall",
    "phantom_ttt --tree=lazy --target_exploitability=0.1": "the exact exploitability needs the whole tree",
    "battleship --estimator=external": "use estimator='outcome'",
    "kuhn_poker --estimator=extrenal": "Did you mean 'external'",
    "kuhn_poker --policy_out=/no/such/directory/p.npz": "no directory /no/such/directory",
    "kuhn_poker --checkpoint=run --policy_out=run.lock": "names the checkpoint or its lock",
}


@pytest.mark.parametrize("line", BAD_INPUT)
def test_bad_input_is_one_line(command, line, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    command("solve", *line.split()).assert_one_line_error(BAD_INPUT[line])
    assert list(tmp_path.iterdir()) == []
