"""`--rules=off`: games with compiled rules are solved and evaluated without them."""

import pytest

SMALL_TREES = ("--max_nodes=1000", "--seed=1", "--json")


@pytest.mark.usefixtures("interpreted_loops")
def test_the_tree_and_the_result(command):
    arguments = ("solve", "leduc_poker", "--estimator=outcome", "--iterations=200", "--bound_seconds=0", *SMALL_TREES)
    by_rules, lazy = command(*arguments), command(*arguments, "--rules=off")
    assert (by_rules.json["tree"], lazy.json["tree"]) == ("rules", "lazy")
    assert by_rules.json["nodes_touched"] == lazy.json["nodes_touched"]
    # By rules only those have a number at which the player itself has been updated.
    assert 0 < by_rules.json["information_sets"] <= lazy.json["information_sets"]


def test_rules_asked_for_and_switched_off(command):
    outcome = command("solve", "kuhn_poker", "--tree=rules", "--rules=off")
    outcome.assert_one_line_error("tree='rules' with rules=False", "use tree='compiled' or 'lazy'")


def test_a_game_that_has_no_rules(command):
    command("solve", "tic_tac_toe", "--tree=rules").assert_one_line_error(
        "no compiled rules of tic_tac_toe", "kuhn_poker"
    )
    outcome = command("solve", "universal_poker(potSize=200)", "--tree=rules")
    outcome.assert_one_line_error("no compiled rules of universal_poker with these parameters", "potSize=200")
    outcome = command("solve", "leduc_poker(action_mapping=True)", "--tree=rules")
    outcome.assert_one_line_error("imperfect recall")


def test_a_run_may_go_on_without_rules(command, tmp_path):
    checkpoint = f"--checkpoint={tmp_path / 'run'}"
    arguments = ("solve", "kuhn_poker", "--estimator=outcome", checkpoint, "--quiet", "--json")
    command(*arguments, "--iterations=10", "--seed=1")
    assert command(*arguments, "--iterations=20", "--resume", "--rules=off").json["iterations"] == 20


@pytest.mark.usefixtures("interpreted_evaluation")
def test_evaluations(command):
    arguments = ("evaluate", "kuhn_poker", "uniform", "--seconds=1", "--max_nodes=50", "--seed=1", "--json")
    by_rules, by_play = command(*arguments), command(*arguments, "--rules=off")
    stored = command("evaluate", "kuhn_poker", "uniform", "--rules=off", "--json")
    assert by_rules.json["nash_conv"] == pytest.approx(stored.json["nash_conv"], abs=1e-12)
    assert by_play.json["kind"] == "estimates"
