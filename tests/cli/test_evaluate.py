"""`mccfr-plus evaluate`."""

import numpy as np
import pairs_game  # noqa: F401  (registers it)
import pyspiel
import pytest

import mccfr_plus


@pytest.fixture
def kuhn_policy(tmp_path):
    path = tmp_path / "kuhn.npz"
    mccfr_plus.save_policy(mccfr_plus.Solver("kuhn_poker", "full", "rm+").run(100).average_policy(), path)
    return path


def test_uniform_policy(command):
    outcome = command("evaluate", "leduc_poker", "uniform", "--json")
    result = outcome.json
    game = pyspiel.load_game("leduc_poker")
    uniform = pyspiel.UniformRandomPolicy(game)
    assert result["nash_conv"] == pytest.approx(pyspiel.nash_conv(game, uniform), abs=1e-10)
    assert result["exploitability"] == pytest.approx(pyspiel.exploitability(game, uniform), abs=1e-10)
    gains = np.subtract(result["best_response_values"], result["values"])
    assert gains.sum() == pytest.approx(result["nash_conv"])
    for player, expected in enumerate(zip(result["values"], result["best_response_values"], gains, strict=True)):
        (line,) = (line for line in outcome.out.splitlines() if line.startswith(f"player {player} "))
        assert [float(cell) for cell in line.split()[2:]] == pytest.approx(expected, rel=1e-3)


def test_saved_policy(command, kuhn_policy):
    result = command("evaluate", "kuhn_poker", str(kuhn_policy), "--json").json
    policy = mccfr_plus.load_policy(kuhn_policy)
    assert result["exploitability"] == mccfr_plus.exploitability("kuhn_poker", policy)


def test_three_players(command):
    outcome = command("evaluate", "kuhn_poker(players=3)", "uniform", "--json")
    uniform = pyspiel.UniformRandomPolicy(pyspiel.load_game("kuhn_poker(players=3)"))
    expected = pyspiel.nash_conv(pyspiel.load_game("kuhn_poker(players=3)"), uniform)
    assert outcome.json["nash_conv"] == pytest.approx(expected, abs=1e-10)


def test_imperfect_recall(command):
    outcome = command("evaluate", "liars_dice_ir", "uniform", "--json")
    assert outcome.json["nash_conv"] is None
    assert "n/a" in outcome.out
    assert sum(outcome.json["values"]) == pytest.approx(0)


def test_missing_file(command, tmp_path):
    command("evaluate", "chess", f"{tmp_path}/none.npz").assert_one_line_error("there is no file")


def test_truncated_file(command, kuhn_policy):
    kuhn_policy.write_bytes(kuhn_policy.read_bytes()[:300])
    command("evaluate", "kuhn_poker", str(kuhn_policy)).assert_one_line_error("truncated")


def test_foreign_file(command, tmp_path):
    path = tmp_path / "foreign.npz"
    np.savez(path, weights=np.ones(3))
    command("evaluate", "kuhn_poker", str(path)).assert_one_line_error("no policy file of mccfr_plus")


def test_policy_of_another_game(command, kuhn_policy):
    command("evaluate", "leduc_poker", str(kuhn_policy)).assert_one_line_error("kuhn_poker", "leduc_poker")


@pytest.mark.usefixtures("interpreted_loops", "interpreted_evaluation")
def test_by_rules_where_the_tree_does_not_fit(command, tmp_path):
    policy = mccfr_plus.Solver("kuhn_poker", "outcome", tree="lazy", seed=1).run(5).average_policy()
    mccfr_plus.save_policy(policy, tmp_path / "lazy.npz")
    outcome = command("evaluate", "kuhn_poker", str(tmp_path / "lazy.npz"), "--max_nodes=50", "--json")
    assert outcome.json["kind"] == "exact"
    assert outcome.json["nash_conv"] == pytest.approx(mccfr_plus.nash_conv("kuhn_poker", policy), abs=1e-12)
    assert "exact evaluation of 58 histories" in outcome.err


@pytest.mark.usefixtures("interpreted_loops", "interpreted_evaluation")
def test_symmetry(command, tmp_path):
    game, policy = "pairs_game", str(tmp_path / "pairs.npz")
    solved = command(
        "solve", game, "--symmetry", "--estimator=external", "--iterations=50", f"--policy_out={policy}", "--json"
    )
    whole = mccfr_plus.compile_game(game)
    assert 0 < solved.json["information_sets"] < whole.num_infosets / 4
    plain = command("evaluate", game, policy, "--json").json
    result = command("evaluate", game, policy, "--symmetry", "--json").json
    assert result["nash_conv"] == pytest.approx(plain["nash_conv"], abs=1e-12)
    assert result["nash_conv"] == pytest.approx(solved.json["nash_conv"], abs=1e-12)
    outcome = command("evaluate", game, policy, "--max_nodes=100", "--json")
    assert outcome.json["nash_conv"] == pytest.approx(plain["nash_conv"], abs=1e-12)
    histories = float(outcome.err.split("exact evaluation of ")[1].split(" ")[0].replace(",", ""))
    assert histories < whole.num_nodes / 4


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("leduc_poker", "uniform", "--symmetry"), "name no symmetries"),
        (("tic_tac_toe", "uniform", "--symmetry"), "no compiled rules of tic_tac_toe"),
        (("phantom_ttt", "uniform", "--symmetry", "--estimate"), "--symmetry is about exact evaluation by rules"),
    ],
)
def test_symmetry_of_what_has_none(command, arguments, part):
    command("evaluate", *arguments).assert_one_line_error(part)
