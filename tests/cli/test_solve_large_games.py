"""`mccfr-plus solve` on games that do not fit: parts that play them, bounds that end in time, what to do next."""

import pytest

from mccfr_plus.cli import run
from mccfr_plus.solver.engine import Engine


def test_players_who_forget_get_an_average_that_can_be_formed(command):
    outcome = command("solve", "liars_dice_ir", "--tree=lazy", "--iterations=50", "--seed=1", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["estimator"] == "outcome"
    assert outcome.json["averaging"] == "stochastic"
    assert outcome.json["exploitability_bound"] is None
    assert "imperfect recall" in outcome.err


@pytest.mark.usefixtures("interpreted_loops")
def test_what_is_named_is_not_changed(command):
    arguments = ("--tree=lazy", "--iterations=5", "--averaging=last", "--seed=1", "--bound_seconds=0", "--json")
    outcome = command("solve", "liars_dice", *arguments)
    assert outcome.json["averaging"] == "last"


def test_no_bound_where_none_can_be_had_in_time(command):
    outcome = command("solve", "battleship", "--iterations=3", "--seed=1", "--bound_seconds=0.5", "--json")
    assert outcome.code == 0
    assert outcome.json["exploitability_bound"] is None
    assert "evaluate --against" in outcome.out


def test_a_bound_where_one_can(command):
    arguments = ("--tree=lazy", "--iterations=200", "--estimator=external", "--seed=1", "--bound_seconds=1", "--json")
    bound = command("solve", "kuhn_poker", *arguments).json["exploitability_bound"]
    assert bound["kind"] == "lower bound"
    assert bound["low"] < bound["value"] < bound["high"]


def test_walks_that_do_not_end_are_refused(command):
    arguments = ("--estimator=external", "--iterations=1")
    command("solve", "battleship", *arguments).assert_one_line_error("10^", "--estimator=outcome")


@pytest.mark.parametrize(
    "arguments",
    [("stats", "phantom_ttt"), ("stats", "battleship"), ("benchmark", "--games=phantom_ttt")],
)
def test_too_large_to_compile_names_the_next_step(command, arguments):
    command(*arguments).assert_one_line_error("stats GAME --estimate", "about")


@pytest.mark.usefixtures("interpreted_loops", "interpreted_evaluation")
def test_what_comes_before_the_first_iteration_is_announced(command, monkeypatch):
    monkeypatch.setattr(run, "estimated_seconds_to_begin", lambda *_: 90.0)
    arguments = ("solve", "kuhn_poker", "--estimator=full", "--iterations=2", "--seed=1")
    expected = "before the first iteration: 58 histories are traversed to list leaves, about 90 s, which count as"
    assert expected in command(*arguments, "--tree=rules").err
    assert "before the first iteration" not in command(*arguments).err
    assert "before the first iteration" not in command(*arguments, "--tree=rules", "--quiet").err


def test_a_run_that_ends_before_its_first_iteration(command, monkeypatch):
    def too_slow(engine):
        engine.unfinished = "counting leaves: 3 of 256 parts in 60 s"
        return False

    monkeypatch.setattr(Engine, "number_infosets", too_slow)
    outcome = command(
        "solve", "kuhn_poker", "--tree=rules", "--estimator=full", "--seconds=0.1", "--bound_seconds=0", "--json"
    )
    assert outcome.code == 0, outcome.err
    assert "ended before the first iteration (counting leaves: 3 of 256 parts in 60 s): give more time" in outcome.err
    assert outcome.json["iterations"] == 0
    assert outcome.json["exploitability"] is None  # uniform play is not what was asked for
    assert outcome.json["seconds"] >= 0.1


def test_an_exact_evaluation_that_takes_longer_than_a_given_limit(command):
    outcome = command("evaluate", "phantom_ttt", "uniform", "--seconds=0.5", "--seed=1", "--json")
    assert outcome.code == 0, outcome.err
    assert "an exact evaluation would take about " in outcome.err
    assert "estimating instead" in outcome.err
    assert outcome.json["kind"] == "estimates"
