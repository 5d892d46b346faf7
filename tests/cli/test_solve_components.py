"""`mccfr-plus solve` with every part, on games of every kind; flags for batches and baselines; what is refused."""

import json

import naive
import pytest

from mccfr_plus.cli.main import COMMANDS
from mccfr_plus.solver.registry import AVERAGES, ESTIMATORS, MINIMIZERS

GAMES = ("kuhn_poker", "leduc_poker", "matrix_rps", "kuhn_poker(players=3)")


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_estimator_and_minimizer(command, estimator, game):
    for minimizer in MINIMIZERS:
        if not naive.go_together(estimator, minimizer):
            outcome = command("solve", game, f"--estimator={estimator}", f"--minimizer={minimizer}", "--iterations=3")
            outcome.assert_one_line_error("no gradient, which this minimizer needs")
            continue
        arguments = [f"--estimator={estimator}", f"--minimizer={minimizer}", "--iterations=3", "--seed=1", "--json"]
        found = command("solve", game, *arguments).json
        assert (found["estimator"], found["minimizer"], found["iterations"]) == (estimator, minimizer, 3)
        assert found["nodes_touched"] > 3
        assert found["nash_conv"] >= 0


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("averaging", AVERAGES)
def test_every_average(command, averaging, game):
    for estimator in ESTIMATORS:
        arguments = [f"--estimator={estimator}", "--minimizer=rm", f"--averaging={averaging}", "--iterations=3"]
        refused = averaging == "sampled" and ("3" in game or estimator in ("full", "chance"))
        refused = refused or (averaging == "last" and estimator == "average_strategy")
        outcome = command("solve", game, *arguments, "--json", "--quiet")
        if refused:
            outcome.assert_one_line_error(f"averaging='{averaging}'")
        else:
            assert outcome.json["averaging"] == averaging


@pytest.mark.parametrize("estimator", [name for name in naive.UNBIASED if name != "full"])
def test_batches_and_baselines(command, estimator):
    arguments = [f"--estimator={estimator}", "--minimizer=rm", "--iterations=20", "--seed=1", "--json"]
    plain = command("solve", "leduc_poker", *arguments)
    assert (plain.json["batch"], plain.json["baseline_rate"]) == (1, None)
    both = command("solve", "leduc_poker", *arguments, "--batch=5", "--baseline")
    assert (both.json["batch"], both.json["baseline_rate"]) == (5, 1.0)
    assert both.json["nodes_touched"] > 3 * plain.json["nodes_touched"]
    assert "batches of 5" in both.out
    assert "baselines" in both.out
    rate = command("solve", "leduc_poker", *arguments, "--baseline_rate=0.5")
    assert rate.json["baseline_rate"] == 0.5


def test_one_history_for_all_players_is_simultaneous(command):
    outcome = command(
        "solve", "kuhn_poker", "--estimator=outcome(update_all_players=True)", "--iterations=100", "--json"
    )
    assert outcome.json["alternating"] is False
    assert "simultaneous updates" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--estimator=full", "--batch=2"], "samples nothing"),
        (["--estimator=full", "--baseline"], "samples nothing"),
        (["--estimator=external", "--batch=0"], "--batch=0"),
        (["--estimator=external", "--batch=1.5"], "--batch=1.5"),
        (["--estimator=external", "--baseline_rate=2"], "rate=2"),
        (["--estimator=external", "--baseline_rate=0"], "--baseline_rate=0"),
        (["--estimator=external", "--baseline=mean"], "true or false"),
        (["--estimator=outcome(update_all_players=True)", "--alternating"], "updated together"),
        (["--estimator=average_strategy(tau=0.5)"], "tau=0.5"),
        (["--estimator=average_strategy(beta=-1)"], "beta=-1"),
        (["--estimator=average_strategy(epsilon=0)"], "epsilon=0"),
        (["--minimizer=ftrl(eta=0)"], "eta=0"),
        (["--minimizer=omd(eta=-1)"], "eta=-1"),
        (["--minimizer=hedge(eta='x')"], "eta='x'"),
        (["--minimizer=ftrl(weights='none')"], "kroer, least, constant"),
        (["--averaging=lazy(gamma=-1)"], "gamma=-1"),
        (["--averaging=uniform(method='best')"], "method='best'"),
    ],
    ids=str,
)
def test_bad_input_is_one_line(command, arguments, text):
    command("solve", "kuhn_poker", "--iterations=10", *arguments).assert_one_line_error(text)


def test_help_says_which_averages_are_biased():
    text = COMMANDS["solve"].help()
    assert "biased from 3 players on" in text
    assert "as if nothing had changed since the last visit: biased" in text


def test_parts_with_parameters(command):
    outcome = command(
        "solve",
        "kuhn_poker",
        "--estimator=average_strategy(epsilon=0.1, tau=10.0, beta=100)",
        "--minimizer=omd(eta=2.0, weights='constant', decay=0.5, optimistic=True)",
        "--averaging=stochastic(gamma=1)",
        "--iterations=50",
        "--json",
    )
    assert json.loads(outcome.out.splitlines()[-1])["minimizer"].startswith("omd(eta=2.0")
