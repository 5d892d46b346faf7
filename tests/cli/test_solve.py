"""`mccfr-plus solve`."""

import pytest

import mccfr_plus
from mccfr_plus.solver.registry import AVERAGES, ESTIMATORS, MINIMIZERS


def test_prints_a_table_and_json_on_the_last_line(command):
    outcome = command("solve", "kuhn_poker", "--iterations=1000", "--json")
    assert outcome.code == 0
    result = outcome.json
    assert result["game"] == "kuhn_poker"
    assert result["iterations"] == 1000
    assert result["nodes_touched"] == 1000 * 2 * 58
    assert 0 < result["exploitability"] < 1e-4
    assert result["nash_conv"] == pytest.approx(2 * result["exploitability"])
    assert result["values"] == pytest.approx([-1 / 18, 1 / 18], abs=1e-4)
    assert result["iterations_per_second"] == pytest.approx(result["iterations"] / result["seconds"])
    assert result["interrupted"] is False
    assert "full + pdcfr+, power(gamma=5.0) average (t^5), alternating updates" in outcome.out
    assert outcome.out.splitlines()[-2].split()[0] == "exploitability"
    assert outcome.out.splitlines()[-2].endswith(" in the game's payoffs")


def test_is_the_solver_of_the_library(command):
    arguments = ["--estimator=outcome(epsilon=0.3)", "--minimizer=rm+", "--averaging=uniform", "--noalternating"]
    result = command("solve", "--seed", "7", "leduc_poker", *arguments, "--iterations=2e3", "--json").json
    solver = mccfr_plus.Solver("leduc_poker", "outcome(epsilon=0.3)", "rm+", "uniform", alternating=False, seed=7)
    assert result["nash_conv"] == solver.run(2000).nash_conv()
    assert result["estimator"] == "outcome(epsilon=0.3)"
    assert (result["minimizer"], result["averaging"]) == ("rm+", "uniform")
    assert (result["alternating"], result["seed"]) == (False, 7)


def test_prints_a_seed_that_repeats_the_run(command):
    arguments = ("solve", "kuhn_poker", "--estimator=external", "--iterations=50", "--json")
    first = command(*arguments).json
    again = command(*arguments, f"--seed={first['seed']}").json
    assert again["nash_conv"] == first["nash_conv"]
    assert command(*arguments).json["nash_conv"] != first["nash_conv"]


def test_writes_the_average_policy(command, tmp_path):
    path = tmp_path / "kuhn.npz"
    result = command("solve", "kuhn_poker", "--iterations=100", f"--policy_out={path}", "--json").json
    assert mccfr_plus.nash_conv("kuhn_poker", mccfr_plus.load_policy(path)) == pytest.approx(result["nash_conv"])
    assert [f.name for f in tmp_path.iterdir()] == ["kuhn.npz"]


def test_runs_until_an_exploitability(command):
    result = command("solve", "leduc_poker", "--target_exploitability=0.05", "--json").json
    assert 0 < result["exploitability"] <= 0.05


def test_runs_for_a_time(command):
    result = command("solve", "kuhn_poker", "--seconds=0.3", "--json").json
    assert 0.3 <= result["seconds"] < 3  # far more than a busy machine needs, far less than the default


def test_imperfect_recall_has_no_exploitability(command):
    outcome = command("solve", "liars_dice_ir", "--iterations=1000", "--json")
    assert outcome.code == 0
    assert outcome.json["estimator"] == "outcome"
    assert outcome.json["exploitability"] is None
    assert outcome.json["nash_conv"] is None
    assert "n/a" in outcome.out
    assert "imperfect recall" in outcome.err


def test_says_that_a_simultaneous_game_was_converted(command):
    outcome = command("solve", "matrix_rps", "--iterations=10")
    assert outcome.code == 0
    assert "matrix_rps has simultaneous moves" in outcome.err


def test_says_which_components_it_chose(command):
    assert "estimator=full, minimizer=pdcfr+" in command("solve", "kuhn_poker", "--iterations=10").err


def test_quiet_leaves_standard_error_empty(command):
    assert command("solve", "matrix_rps", "--iterations=10", "--quiet").err == ""


def test_a_log_of_the_application_is_left_alone(command, caplog):
    command("solve", "matrix_rps", "--iterations=10", "--quiet")
    mccfr_plus.compile_game("matrix_rps")  # logs an INFO line
    with caplog.at_level("INFO", logger="mccfr_plus"):
        mccfr_plus.compile_game("matrix_rps")
    assert "simultaneous" in caplog.text


def test_bounds_stand_beside_what_was_measured(command):
    arguments = ["--estimator=full", "--minimizer=rm", "--noalternating", "--iterations=1000", "--bounds", "--json"]
    outcome = command("solve", "kuhn_poker", *arguments)
    found = outcome.json["bounds"]
    tree = mccfr_plus.compile_game("kuhn_poker")
    assert found["regret"] == [mccfr_plus.regret_bound(tree, p, 1000, "full", "rm").value for p in (0, 1)]
    assert found["sum"] == sum(found["regret"])
    assert 0 < found["measured"] == outcome.json["nash_conv"] < found["sum"]
    assert found["slack"] == 0
    assert "Lanctot et al. 2009, Theorem 3" in outcome.out
    assert "all players" in outcome.out


def test_bounds_of_all_players_hold_together(command):
    arguments = [
        "--estimator=external",
        "--averaging=stochastic",
        "--iterations=1e5",
        "--bounds",
        "--confidence=0.9",
        "--json",
    ]
    outcome = command("solve", "kuhn_poker", *arguments)
    tree = mccfr_plus.compile_game("kuhn_poker")
    expected = [mccfr_plus.regret_bound(tree, p, 100_000, "external", "rm", p=0.05).value for p in (0, 1)]
    assert outcome.json["bounds"]["regret"] == pytest.approx(expected)
    assert outcome.json["bounds"]["measured"] is None
    assert "n/a" in outcome.out
    assert "the average strategy is sampled or biased" in outcome.out


def test_bounds_of_alternating_updates_have_a_slack(command):
    found = command("solve", "kuhn_poker", "--minimizer=rm+", "--iterations=1000", "--bounds", "--json").json["bounds"]
    assert found["measured"] <= found["sum"] + found["slack"]
    assert found["slack"] == pytest.approx(4 / 500.5)


def test_says_where_there_is_no_bound(command):
    outcome = command("solve", "kuhn_poker", "--minimizer=dcfr", "--iterations=10", "--bounds", "--json")
    assert outcome.json["bounds"]["regret"] == [None, None]
    assert outcome.json["bounds"]["sum"] is None
    assert "only linear" in outcome.out
    assert command("solve", "kuhn_poker", "--iterations=10", "--json").json["bounds"] is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nope_game"], ["'nope_game' is no game of OpenSpiel"]),
        (["kuhn_pokr"], ["did you mean kuhn_poker"]),
        (["mfg_crowd_modelling"], ["mean-field"]),
        (["pathfinding"], ["information_state_string"]),
        (["kuhn_poker(foo=1)"], ["Unknown parameter 'foo'"]),
        (["leduc_poker", "--tree=compiled", "--max_nodes=100"], ["budget of 100 nodes"]),
        (["leduc_poker", "--tree=compiled", "--max_bytes=100"], ["100 bytes"]),
        (["goofspiel", "--tree=compiled"], ["nodes"]),  # simultaneous: the note on that must not come on top
        (["liars_dice_ir", "--estimator=full"], ["imperfect recall", "outcome"]),
        (["liars_dice_ir", "--target_exploitability=0.1"], ["imperfect recall"]),
        (["kuhn_poker", "--estimator=extrenal"], ["Did you mean 'external'"]),
        (["kuhn_poker", "--estimator=outcome(epsilon=7)"], ["epsilon=7"]),
        (["kuhn_poker", "--minimizer=cfr"], ["minimizer='cfr'"]),
        (["kuhn_poker", "--averaging=median"], ["averaging='median'"]),
        (["kuhn_poker", "--iterations=abc"], ["--iterations=abc", "whole number"]),
        (["kuhn_poker", "--iterations=1.5"], ["--iterations=1.5", "whole number"]),
        (["kuhn_poker", "--iterations=0"], ["--iterations=0", "at least 1"]),
        (["kuhn_poker", "--iterations=-3"], ["--iterations=-3"]),
        (["kuhn_poker", "--iterations"], ["Missing value", "--iterations"]),
        (["kuhn_poker", "--seconds=nan"], ["--seconds=nan", "positive"]),
        (["kuhn_poker", "--target_exploitability=0"], ["--target_exploitability=0", "positive"]),
        (["kuhn_poker", "--seed=-1"], ["--seed=-1"]),
        (["kuhn_poker", "--confidence=1"], ["--confidence=1", "below 1"]),
        (["kuhn_poker", "--confidence=high"], ["--confidence=high", "above 0"]),
        (["kuhn_poker", "--json=maybe"], ["--json=maybe", "true or false"]),
        (["kuhn_poker", "--policy_out=/no/such/directory/p.npz"], ["no directory /no/such/directory"]),
    ],
)
def test_bad_input_is_one_line(command, arguments, expected):
    command("solve", *arguments).assert_one_line_error(*expected)


def test_asks_for_the_policy_file_before_it_works(command, tmp_path):
    # The game alone would be refused with another message.
    command("solve", "chess", f"--policy_out={tmp_path}").assert_one_line_error("it is a directory")


def test_a_failed_run_writes_no_policy(command, tmp_path):
    command("solve", "liars_dice_ir", "--estimator=full", f"--policy_out={tmp_path}/p.npz").assert_one_line_error()
    assert list(tmp_path.iterdir()) == []


def test_help_names_all_components(command):
    text = command("solve", "--help").out + command("solve", "--help_components").out
    for name in (*ESTIMATORS, *MINIMIZERS, *AVERAGES):
        assert name in text.replace(",", " ").split()


def test_small_games_get_full_traversals(command):
    found = command("solve", "kuhn_poker", "--iterations=3", "--json").json
    assert [found[name] for name in ("estimator", "minimizer", "averaging")] == ["full", "pdcfr+", "power(gamma=5.0)"]


def test_large_games_are_sampled(command, monkeypatch):
    monkeypatch.setattr("mccfr_plus.solver.defaults._FULL_MAX_NODES", 57)
    found = command("solve", "kuhn_poker", "--iterations=3", "--json").json
    assert [found[name] for name in ("estimator", "minimizer", "averaging")] == ["external", "rm", "uniform"]


def test_what_is_named_is_taken(command):
    found = command("solve", "kuhn_poker", "--minimizer=dcfr", "--iterations=3", "--json").json
    assert [found[name] for name in ("estimator", "minimizer", "averaging")] == ["full", "dcfr", "power"]
