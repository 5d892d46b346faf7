"""`mccfr-plus solve` with every component, on games of every kind; batches and baselines; what is refused."""

import pytest
from naive import NEED_FULL

from mccfr_plus.cli.main import COMMANDS
from mccfr_plus.cli.solve import arguments_of
from mccfr_plus.solver.config import SolverConfig
from mccfr_plus.solver.registry import AVERAGES, ESTIMATORS, MINIMIZERS

COMPONENTS = [
    *(("estimator", name) for name in ESTIMATORS),
    *(("minimizer", name) for name in MINIMIZERS),
    *(("averaging", name) for name in AVERAGES),
]


@pytest.mark.parametrize(("kind", "name"), COMPONENTS)
def test_every_component(command, interpreted_loops, kind, name):
    others = {"estimator": "full" if name in NEED_FULL else "external", "minimizer": "rm"} | {kind: name}
    flags = [f"--{key}={value}" for key, value in others.items()]
    found = command("solve", "kuhn_poker", *flags, "--iterations=3", "--seed=1", "--json").json
    assert (found[kind], found["iterations"]) == (name, 3)
    assert found["nodes_touched"] > 3
    assert found["nash_conv"] >= 0


@pytest.mark.parametrize("game", ["leduc_poker", "matrix_rps", "kuhn_poker(players=3)"])
def test_games_of_every_kind(command, game):
    found = command("solve", game, "--estimator=external", "--minimizer=rm", "--iterations=3", "--json").json
    assert (found["game"], found["iterations"]) == (game, 3)
    assert found["nash_conv"] >= 0


@pytest.mark.parametrize("minimizer", [name for name in MINIMIZERS if name not in NEED_FULL])
@pytest.mark.parametrize("estimator", [name for name in ESTIMATORS if name not in ("escher", "best_response")])
def test_flags_become_the_config_that_python_makes(estimator, minimizer):
    flags = [f"--estimator={estimator}", f"--minimizer={minimizer}", "--noalternating", "--memory=1GB"]
    _, values = COMMANDS["solve"].parse(["kuhn_poker", *flags])
    expected = SolverConfig.from_specs(estimator, minimizer, alternating=False, memory=1_000_000_000)
    assert SolverConfig.from_specs(**arguments_of(values)) == expected


def test_batches_and_baselines(command):
    arguments = ["--estimator=outcome", "--minimizer=rm", "--iterations=20", "--seed=1", "--json"]
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
    flags = ("--estimator=outcome(update_all_players=True)", "--iterations=100", "--json")
    outcome = command("solve", "kuhn_poker", *flags)
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
        (["--estimator=escher", "--minimizer=ftrl"], "no gradient, which this minimizer needs"),
        (["--estimator=average_strategy(tau=0.5)"], "tau=0.5"),
        (["--estimator=average_strategy", "--averaging=last"], "averaging='last'"),
        (["--minimizer=ftrl(eta=0)"], "eta=0"),
        (["--minimizer=hedge(eta='x')"], "eta='x'"),
        (["--minimizer=ftrl(weights='none')"], "kroer, least, constant"),
        (["--averaging=lazy(gamma=-1)"], "gamma=-1"),
        (["--averaging=uniform(method='best')"], "method='best'"),
        (["--estimator=chance", "--averaging=sampled"], "averaging='sampled'"),
    ],
    ids=str,
)
def test_bad_input_is_one_line(command, arguments, text):
    command("solve", "kuhn_poker", "--iterations=10", *arguments).assert_one_line_error(text)


def test_an_average_of_two_players_is_refused_for_three(command):
    flags = ("--estimator=external", "--averaging=sampled")
    command("solve", "kuhn_poker(players=3)", *flags).assert_one_line_error("averaging='sampled'", "3 players")


def test_help_says_which_averages_are_biased(command):
    text = command("solve", "--help_components").out
    assert "as if nothing had changed since the last visit: biased" in text


def test_components_with_parameters(command):
    found = command(
        "solve",
        "kuhn_poker",
        "--estimator=average_strategy(epsilon=0.1, tau=10.0, beta=100)",
        "--minimizer=omd(eta=2.0, weights='constant', decay=0.5, optimistic=True)",
        "--averaging=stochastic(gamma=1)",
        "--iterations=50",
        "--json",
    ).json
    assert found["estimator"] == "average_strategy(epsilon=0.1, tau=10.0, beta=100.0)"
    assert found["minimizer"] == "omd(eta=2.0, weights='constant', optimistic=True, decay=0.5)"
    assert found["averaging"] == "stochastic(gamma=1.0)"
